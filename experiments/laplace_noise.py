"""Panel 6 (figure 2, right): correlated normal draws with Laplace noise, n = 500; RBF."""

from experiments.goodness_of_fit import DIMENSIONS, PowerPanel, laplace_noise

PANEL = PowerPanel(
    __name__,
    "laplace_noise",
    problem=laplace_noise,
    kernel="RBF",
    title="Laplace noise, correlated normal target",
    varied="d",
    values=DIMENSIONS,
    fixed=500,
)
