"""Panel 8 (appendix, left): panel 1 with the IMQ kernel."""

from experiments.goodness_of_fit import DIMENSIONS, PowerPanel, laplace

PANEL = PowerPanel(
    __name__,
    "laplace",
    problem=laplace,
    kernel="IMQ",
    title="Laplace draws, normal target",
    varied="d",
    values=DIMENSIONS,
    fixed=1000,
)
