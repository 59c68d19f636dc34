"""A second figure for panel 6, not in the paper: d = 30, power for growing n; RBF."""

from experiments.goodness_of_fit import PowerPanel, laplace_noise

PANEL = PowerPanel(
    __name__,
    "laplace_noise",
    problem=laplace_noise,
    kernel="RBF",
    title="Laplace noise, correlated normal target",
    varied="n",
    values=(200, 500, 1000, 2000, 5000),
    fixed=30,
    repetitions=30,
)
