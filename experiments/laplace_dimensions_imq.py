"""Panel 8 (appendix, left): panel 1 with the IMQ kernel."""

from dataclasses import replace

from experiments import laplace_dimensions

PANEL = replace(laplace_dimensions.PANEL, module=__name__, kernel="IMQ")
