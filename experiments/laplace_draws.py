"""Panel 2 (figure 1, middle): panel 1 with d = 30, power for growing n."""

from dataclasses import replace

from experiments import laplace_dimensions
from experiments.goodness_of_fit import DRAWS

PANEL = replace(laplace_dimensions.PANEL, module=__name__, varied="n", values=DRAWS, fixed=30)
