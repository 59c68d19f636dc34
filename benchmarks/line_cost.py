"""What the parts of a line cost: its series, values to compare it with, and u with its terms."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measuring import best_of
from benchmarks.posteriors import LogDensity

DRAWS, POINTS, ROUNDS = 512, 6, 5


def line_costs(log_density: LogDensity, draws: np.ndarray, data: int) -> dict[str, float]:
    """CPU nanoseconds a datum and line, those of the machine's own exps, and those of the rest.

    In turn with each other, because the speed of the processor varies over time.
    """
    import jax

    from steinwise.methods.complete_conditionals.terms import terms_of
    from steinwise.orbits.places import Places
    from steinwise.orbits.series import ORDER, places_from_series
    from steinwise.target.series import plan_series

    x = draws[:DRAWS]
    n, d = x.shape
    with jax.enable_x64(True):
        plan = plan_series(log_density, d, ORDER)
    coefficients = plan.coordinate_series(x)
    steps = np.linspace(-0.1, 0.1, POINTS) * np.ones((n // 16, d, 1))
    numbers = np.random.default_rng(0).normal(size=2**20)
    out = np.empty_like(numbers)
    double = np.dtype(float)

    def finish() -> None:
        terms_of(Places.of_transforms(places_from_series(coefficients).u, 0.0, 0), double)

    # what is done, how often, and the name of one of it
    jobs: dict[str, tuple[Callable[[], Any], int, float]] = {
        "series, ns a datum and line": (lambda: plan.coordinate_series(x), n * d * data, 1e9),
        "values, ns a datum, line and point": (
            lambda: plan.coordinate_values(x[: len(steps)], steps),
            steps.size * data,
            1e9,
        ),
        "an exp of the machine, ns": (lambda: np.exp(numbers, out=out), numbers.size, 1e9),
        "finishing a line, microseconds": (finish, n * d, 1e6),
    }
    seconds = dict.fromkeys(jobs, float("inf"))
    for _ in range(1 + ROUNDS):
        for name, (job, _, _) in jobs.items():
            seconds[name] = min(seconds[name], best_of(1, job).cpu_seconds)
    return {name: unit * seconds[name] / count for name, (_, count, unit) in jobs.items()}
