"""Panel 7 (appendix): panel 6 with the IMQ kernel."""

from dataclasses import replace

from experiments import laplace_noise

PANEL = replace(laplace_noise.PANEL, module=__name__, kernel="IMQ")
