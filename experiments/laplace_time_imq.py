"""Panel 10 (appendix, right): panel 3 with the IMQ kernel."""

from dataclasses import replace

from experiments import laplace_time

PANEL = replace(laplace_time.PANEL, module=__name__, kernel="IMQ")
