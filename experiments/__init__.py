"""The paper's experiments, one file for each panel; run with ``python -m experiments``."""

PANELS = (
    "laplace_dimensions",
    "laplace_draws",
    "laplace_time",
    "right_draws",
    "right_marginals",
    "laplace_noise",
    "laplace_noise_draws",
    "laplace_noise_imq",
    "laplace_dimensions_imq",
    "laplace_draws_imq",
    "laplace_time_imq",
    "sgld_network",
    "gibbs_factorisation",
    "biased_metropolis",
)
"""The modules of this package that define a `PANEL`, in the order of the page."""
