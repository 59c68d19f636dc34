"""Panel 3 (figure 1, right): what the tests of panel 2 cost, including training."""

from experiments.goodness_of_fit import DRAWS, TimePanel, laplace

PANEL = TimePanel(
    __name__,
    "laplace_time",
    problem=laplace,
    kernel="RBF",
    title="Cost, Laplace draws, normal target",
    varied="n",
    values=DRAWS,
    fixed=30,
)
