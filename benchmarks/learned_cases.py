"""What `benchmarks.power --suite learned` measures: KCC-SD with every learned conditional."""

from collections.abc import Callable, Iterable

import numpy as np

import steinwise as sw
from benchmarks import alternatives, simulate, targets
from benchmarks.cases import Case, Outcome, Rule
from benchmarks.power_cases import judge
from steinwise.conditionals import (
    KDE,
    AbstractConditional,
    Auto,
    Histogram,
    Linear,
    MixtureDensity,
    Sampled,
    Transported,
)
from steinwise.target import AbstractTarget

MODELS: dict[str, AbstractConditional] = {
    "Auto": Auto(),
    "Histogram": Histogram(),
    "KDE": KDE(),
    "Linear": Linear(),
    "MixtureDensity": MixtureDensity(),
    "Transported": Transported(),
}
NETWORKS: dict[str, AbstractConditional] = {
    "10 bins": Histogram(10),
    "20 bins": Histogram(20),
    "40 bins": Histogram(40),
    "step 0.003": Histogram(learning_rate=0.003),
    "step 0.03": Histogram(learning_rate=0.03),
    "1 draw": Sampled(Histogram(), 1),
    "10 draws": Sampled(Histogram(), 10),
}
"""Settings that the paper does not give, varied around our defaults."""

ALWAYS = Rule("at least", 1.0)
SHOWN = Rule("shown")


def surely(bound: float) -> Rule:
    return Rule("surely at least", bound, coverage=0.99)


def case(
    target: AbstractTarget,
    draw: Callable[[np.random.Generator], np.ndarray],
    models: dict[str, AbstractConditional],
    rules: dict[str, Rule] | Rule,
) -> Case:
    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        draws, out = draw(rng), {}
        for name, model in models.items():
            result = judge(draws, target, sw.methods.KCCSD(model, standardise=False), seed)
            out[name] = {"hit": float(result.rejected), "pvalue": result.pvalue}
        return out

    return Case(run, rules)


def laplace(n: int, d: int, models: Iterable[str], rule: Rule) -> Case:
    """Laplace draws for N(0, I); the rule is for the first model, the others are shown."""
    chosen = {name: MODELS[name] for name in models}
    return case(
        targets.standard(d),
        lambda rng: alternatives.laplace(rng, n, d),
        chosen,
        {name: rule if name == next(iter(chosen)) else SHOWN for name in chosen},
    )


def noise(d: int) -> Case:
    target = sw.Gaussian(np.zeros(d), alternatives.equicorrelated(d, 2.0, 0.5))
    draw = alternatives.correlated_with_noise(d)
    rules = dict.fromkeys(MODELS, SHOWN) | {"Auto": surely(0.8)}
    return case(target, lambda rng: draw(rng, 500), MODELS, rules)


def equicorrelated(d: int) -> Case:
    covariance = alternatives.equicorrelated(d, 1.0, 0.5)
    # Transported takes its dependence from p, where there is none: no power is expected of it
    rules = dict.fromkeys(MODELS, ALWAYS) | {"Transported": SHOWN}
    return case(
        targets.standard(d), lambda rng: simulate.independent(rng, covariance, 500), MODELS, rules
    )


def size(n: int, d: int) -> Case:
    target = targets.correlated(d)
    return case(
        target, lambda rng: simulate.independent(rng, target.covariance, n), MODELS, Rule("level")
    )


LEARNED: dict[str, Case] = {
    "laplace-50-30": laplace(50, 30, ["Linear"], ALWAYS),
    "laplace-200-30": laplace(
        200,
        30,
        ["Histogram", "KDE", "Linear", "MixtureDensity", "Transported", "Auto"],
        surely(0.85),
    ),
    **{
        f"laplace-1000-{d}": laplace(1000, d, ["Histogram"], ALWAYS)
        for d in (2, 5, 10, 30, 60, 100)
    },
    **{f"noise-{d}": noise(d) for d in (5, 10, 20, 30)},
    "equicorrelated-10": equicorrelated(10),
    "settings-200-30": case(
        targets.standard(30),
        lambda rng: alternatives.laplace(rng, 200, 30),
        NETWORKS,
        SHOWN,
    ),
}
"""Wrong draws."""

LEARNED_SIZE: dict[str, Case] = {
    f"correlated-{n}-{d}": size(n, d) for n in (200, 1000) for d in (10, 30)
}
"""Correct draws."""
