"""Panel 10 (appendix, right): panel 3 with the IMQ kernel."""

from experiments.goodness_of_fit import DRAWS, TimePanel, laplace

PANEL = TimePanel(
    __name__,
    "laplace_time",
    problem=laplace,
    kernel="IMQ",
    title="Cost, Laplace draws, normal target",
    varied="n",
    values=DRAWS,
    fixed=30,
)
