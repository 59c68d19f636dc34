"""What `benchmarks.power --suite modes` measures: draws that miss a mode, or share them wrongly.

`n_modes` is the number of modes found, on average; copies by exchangeable coordinates count as one.
"""

import warnings
from collections.abc import Callable
from functools import cache

import numpy as np

import steinwise as sw
from benchmarks import mode_models as models
from benchmarks.bernoulli_machine import machine
from benchmarks.cases import LEVEL, Case, Outcome, Rule
from benchmarks.sensor_network import sensors

DIMENSIONS = (2, 5, 20, 50)
WIDE = {"weights": (0.7, 0.3), "sds": (1.0, 2.0)}
FIRST, SECOND = (1.0, 0.0), (0.0, 1.0)
RIGHT_NUMBERS = (100, 1000)
NINE = (1 / 9,) * 9 + (0.0,)
SWEEPS = (300, 2000, 8000)  # of the Gibbs sampler of the Gaussian-Bernoulli machine


def case(
    make: Callable[[], models.Modes], n: int, weights: tuple[float, ...] | None, rule: Rule
) -> Case:
    """One check of independent draws whose parts have these weights."""

    made = cache(make)  # compiled once in each process

    def run(rng: np.random.Generator, repetition: int) -> dict[str, Outcome]:
        modes = made()
        return {"transported": verdict(modes.draws(rng, n, weights), modes.target, repetition)}

    return Case(run, rule)


def gibbs_case(n: int, sweeps: int) -> Case:
    """Checks of the machine's Gibbs sampler, with modes and without, and its mean log density."""

    made = cache(machine)

    def run(rng: np.random.Generator, repetition: int) -> dict[str, Outcome]:
        draws, target = made().gibbs(rng, n, sweeps), made().target
        values = target.log_values(draws, memory=2**28)
        assert values is not None
        return {
            "transported": verdict(draws, target, repetition) | {"log p": float(values.mean())},
            "modes=False": verdict(draws, target, repetition, modes=False),
        }

    return Case(run, Rule("shown"))


def verdict(draws: np.ndarray, target: sw.Target, seed: int, modes: bool = True) -> Outcome:
    with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
        result = sw.check(
            draws,
            target,
            method=sw.methods.Transported(modes=modes),
            alpha=LEVEL,
            n_bootstrap=499,
            seed=seed,
            independent=True,
            progress=False,
        )
    found = 1 if result.modes is None else max(1, len(result.modes.modes))
    return {"hit": float(result.rejected), "pvalue": result.pvalue, "n_modes": float(found)}


NEEDED = Rule("at least", 0.95)
MODES: dict[str, Case] = {
    f"one-of-two-{d}": case(lambda d=d: models.two_apart(d), 200, FIRST, NEEDED) for d in DIMENSIONS
}
MODES |= {
    f"widths-{d}": case(lambda d=d: models.two_apart(d, **WIDE), 200, FIRST, NEEDED)
    for d in DIMENSIONS
}
# all draws in the wide mode: the narrow one is a small target for a search
MODES |= {
    f"narrow-missing-{d}": case(lambda d=d: models.two_apart(d, **WIDE), 200, SECOND, Rule("shown"))
    for d in DIMENSIONS
}
MODES |= {
    "weights-5": case(lambda: models.two_apart(5), 300, (0.8, 0.2), NEEDED),
    "weights-50": case(lambda: models.two_apart(50), 300, (0.8, 0.2), NEEDED),
    "nine-of-ten": case(models.ten, 300, NINE, Rule("at least", 0.9)),
    "one-banana": case(models.bananas, 200, FIRST, Rule("shown")),
    "one-labelling": case(models.label_switching, 200, FIRST, Rule("level")),
    "one-side": case(sensors, 200, FIRST, Rule("shown")),
    "other-side": case(sensors, 200, SECOND, Rule("shown")),
}
MODES |= {f"gibbs-{sweeps}": gibbs_case(500, sweeps) for sweeps in SWEEPS}

RIGHT = {
    **{f"two-{d}": lambda d=d: models.two_apart(d) for d in DIMENSIONS},
    "widths-5": lambda: models.two_apart(5, **WIDE),
    "ten": models.ten,
    "bananas": models.bananas,
    "labels": models.label_switching,
    "sensors": sensors,
}
MODES_SIZE: dict[str, Case] = {
    f"{name}-{n}": case(make, n, None, Rule("level"))
    for name, make in RIGHT.items()
    for n in RIGHT_NUMBERS
}
