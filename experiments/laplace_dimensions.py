"""Panel 1 (figure 1, left): Laplace draws against N(0, I), n = 1000, power for growing d; RBF."""

from experiments.goodness_of_fit import DIMENSIONS, PowerPanel, laplace

PANEL = PowerPanel(
    __name__,
    "laplace",
    problem=laplace,
    kernel="RBF",
    title="Laplace draws, normal target",
    varied="d",
    values=DIMENSIONS,
    fixed=1000,
)
