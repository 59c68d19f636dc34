"""Panel 9 (appendix, middle): panel 2 with the IMQ kernel."""

from dataclasses import replace

from experiments import laplace_draws

PANEL = replace(laplace_draws.PANEL, module=__name__, kernel="IMQ")
