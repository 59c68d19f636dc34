"""Panel 9 (appendix, middle): panel 2 with the IMQ kernel."""

from experiments.goodness_of_fit import DRAWS, PowerPanel, laplace

PANEL = PowerPanel(
    __name__,
    "laplace",
    problem=laplace,
    kernel="IMQ",
    title="Laplace draws, normal target",
    varied="n",
    values=DRAWS,
    fixed=30,
)
