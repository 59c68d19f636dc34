"""Panel 7 (appendix): panel 6 with the IMQ kernel."""

from experiments.goodness_of_fit import DIMENSIONS, PowerPanel, laplace_noise

PANEL = PowerPanel(
    __name__,
    "laplace_noise",
    problem=laplace_noise,
    kernel="IMQ",
    title="Laplace noise, correlated normal target",
    varied="d",
    values=DIMENSIONS,
    fixed=500,
)
