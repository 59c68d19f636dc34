"""A second figure for panel 6, not in the paper: d = 30, power for growing n."""

from dataclasses import replace

from experiments import laplace_noise

PANEL = replace(
    laplace_noise.PANEL,
    module=__name__,
    varied="n",
    values=(200, 500, 1000, 2000, 5000),
    fixed=30,
    repetitions=30,
)
