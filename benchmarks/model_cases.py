"""What `benchmarks.power --suite models` measures: claims of `sw.compare_models`.

"false claim" counts runs in which a model that none beats is called worse than the best: the
family-wise error. "found" is the share of models that are worse and are called so.
"""

import warnings
from collections.abc import Callable

import numpy as np

import steinwise as sw
from benchmarks import examples, simulate
from benchmarks.cases import LEVEL, Case, Outcome, Rule
from benchmarks.size import interval
from steinwise.results.comparison import WORSE

METHODS = {
    "KSD": "ksd",
    "KCC-SD, Linear": "kccsd",
    "KCC-SD, Histogram": sw.methods.KCCSD(variant="unit-ball"),
}
FAST = ("KSD", "KCC-SD, Linear")  # for many models
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
    """Whether a best model is called worse, and which of the others are."""
    out: dict[str, Outcome] = {}
    for name in methods:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sw.SteinwiseWarning)
            found = sw.compare_models(
                draws,
                models,
                method=METHODS[name],
                seed=seed,
                independent=draws.ndim == 2,
                progress=False,
            )
        worse = {ranked.name for ranked in found.ranking if ranked.verdict == WORSE}
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
    if len(models) == 10:  # and only for KSD are ten models that are equally wrong equal
        methods = FAST[: 1 if len(best) == 10 else 2]

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        return claims(draw(rng), models, best, seed, methods)

    most = Rule("at most", interval(LEVEL, REPETITIONS)[1])
    # Models that are equally wrong are so for KSD; the squared means of KCC-SD are 0 for a right
    # model whatever the stand-in, but no two wrong ones are equal for a stand-in with its chance.
    exact = {name: name == "KSD" or len(best) < len(models) for name in methods}
    rules = {f"{name}: false claim": most if exact[name] else Rule("shown") for name in methods}
    return Case(run, rules | {f"{name}: found": Rule("shown") for name in methods})


def normal(d: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.normal(size=(DRAWS, d))


def chains(d: int, rho: float) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: simulate.autoregressive(rng, np.full(d, rho), 4, 1000)


def one_wrong(shift: float) -> Case:
    """The right model beside one that is shifted."""
    models = {"right": shifted(5, 0, 0.0), "wrong": shifted(5, 0, shift)}
    return case(normal(5), models, {"right"})


def wrong_alike(d: int, draw: Callable[[np.random.Generator], np.ndarray]) -> Case:
    """Every model is shifted, each in a coordinate of its own: all are equally far."""
    models = {f"model {j}": shifted(d, j, 0.3) for j in range(d)}
    return case(draw, models, set(models))


def correlated() -> Case:
    """The right model and five others, all coordinates correlated: wrong spread, dependence."""
    right = examples.correlated(5)
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
    "two-wrong-alike": wrong_alike(2, normal(2)),
    "two-wrong-alike-chains": wrong_alike(2, chains(2, 0.7)),
    "ten-wrong-alike": wrong_alike(10, normal(10)),
    **{f"two-shift-{shift:g}": one_wrong(shift) for shift in (0.1, 0.2, 0.3)},
    "six-correlated": correlated(),
    "ten-shifts": case(
        normal(10),
        {"right": shifted(10, 0, 0.0)} | {f"shift {s:g}": shifted(10, 0, s) for s in SHIFTS},
        {"right"},
    ),
}
"""n = 500, or 4 chains of 1000 draws."""
