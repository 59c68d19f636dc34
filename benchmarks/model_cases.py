"""What `benchmarks.power --suite models` measures: claims of `sw.compare_models`.

"false claim" counts runs in which one of the best models is called worse than the best: the
family-wise error. "found" is the share of the worse models that are called worse.
"""

import warnings
from collections.abc import Callable

import numpy as np

import steinwise as sw
from benchmarks import simulate, targets
from benchmarks.cases import LEVEL, Case, Outcome, Rule
from benchmarks.rates import interval

METHODS = {
    "KSD": "ksd",
    "KCC-SD, Linear": sw.methods.KCCSD(
        sw.conditionals.Linear(), variant="unit-ball", standardise=False
    ),
    "KCC-SD, Histogram": sw.methods.KCCSD(variant="unit-ball", standardise=False),
}
FAST = ("KSD", "KCC-SD, Linear")  # the methods for cases with many models
DRAWS, REPETITIONS = 500, 300
# the shift of nine wrong models in one coordinate of ten, in standard deviations
SHIFTS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)


def shifted(d: int, coordinate: int, shift: float) -> sw.Gaussian:
    """N(shift e_j, I)."""
    return sw.Gaussian(shift * (np.arange(d) == coordinate), np.eye(d))


def claims(
    draws: np.ndarray,
    models: dict[str, sw.Gaussian],
    best: set[str],
    seed: int,
    methods: tuple[str, ...],
) -> dict[str, Outcome]:
    """Whether one of the best models is called worse, and which of the others are."""
    out: dict[str, Outcome] = {}
    for name in methods:
        with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
            comparison = sw.compare_models(
                draws,
                models,
                method=METHODS[name],
                seed=seed,
                independent=draws.ndim == 2,
                progress=False,
            )
        worse = set(models) - set(comparison.candidates)
        out[f"{name}: false claim"] = {"hit": float(bool(worse & best))}
        if len(best) < len(models):
            others = {other: float(other in worse) for other in models if other not in best}
            out[f"{name}: found"] = {"hit": float(np.mean(list(others.values()))), **others}
    return out


def case(
    draw: Callable[[np.random.Generator], np.ndarray],
    models: dict[str, sw.Gaussian],
    best: set[str],
) -> Case:
    methods = tuple(METHODS)
    if len(models) == 10:
        # ten equally wrong models have equal discrepancies for KSD only (see below)
        methods = FAST[: 1 if len(best) == 10 else 2]

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        return claims(draw(rng), models, best, seed, methods)

    most = Rule("at most", interval(LEVEL, REPETITIONS)[1])
    # Equally wrong models have equal KSDs. For KCC-SD only a right model has a known value, 0 with
    # any stand-in; the values of two wrong models differ by the randomness of the stand-in.
    exact = {name: name == "KSD" or len(best) < len(models) for name in methods}
    rules = {f"{name}: false claim": most if exact[name] else Rule("shown") for name in methods}
    return Case(run, rules | {f"{name}: found": Rule("shown") for name in methods})


def normal(d: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.normal(size=(DRAWS, d))


def chains(d: int, rho: float) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: simulate.autoregressive(rng, np.full(d, rho), 4, 1000)


def one_wrong(shift: float) -> Case:
    """The right model and one that is shifted."""
    models = {"right": shifted(5, 0, 0.0), "wrong": shifted(5, 0, shift)}
    return case(normal(5), models, {"right"})


def equally_wrong(d: int, draw: Callable[[np.random.Generator], np.ndarray]) -> Case:
    """Every model is shifted by the same amount, each in a different coordinate."""
    models = {f"model {j}": shifted(d, j, 0.3) for j in range(d)}
    return case(draw, models, set(models))


def correlated() -> Case:
    """All coordinates are correlated: the right model and five wrong ones."""
    right = targets.correlated(5)
    covariance, zero = right.covariance, np.zeros(5)
    variances = np.diag(np.diag(covariance))
    models = {
        "right": right,
        "wide": sw.Gaussian(zero, 1.2 * covariance),
        "narrow": sw.Gaussian(zero, covariance / 1.2),
        "less correlated": sw.Gaussian(zero, 0.8 * covariance + 0.2 * variances),
        "independent": sw.Gaussian(zero, variances),
        "shifted": sw.Gaussian(zero + 0.15, covariance),
    }
    return case(lambda rng: simulate.independent(rng, covariance, DRAWS), models, {"right"})


MODELS: dict[str, Case] = {
    "two-wrong-alike": equally_wrong(2, normal(2)),
    "two-wrong-alike-chains": equally_wrong(2, chains(2, 0.7)),
    "ten-wrong-alike": equally_wrong(10, normal(10)),
    **{f"two-shift-{shift:g}": one_wrong(shift) for shift in (0.1, 0.2, 0.3)},
    "six-correlated": correlated(),
    "ten-shifts": case(
        normal(10),
        {"right": shifted(10, 0, 0.0)} | {f"shift {s:g}": shifted(10, 0, s) for s in SHIFTS},
        {"right"},
    ),
}
"""n = 500, or 4 chains of 1000 draws."""
