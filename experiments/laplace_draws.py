"""Panel 2 (figure 1, middle): Laplace draws against N(0, I), d = 30, power for growing n; RBF."""

from experiments.goodness_of_fit import DRAWS, PowerPanel, laplace

PANEL = PowerPanel(
    __name__,
    "laplace",
    problem=laplace,
    kernel="RBF",
    title="Laplace draws, normal target",
    varied="n",
    values=DRAWS,
    fixed=30,
)
