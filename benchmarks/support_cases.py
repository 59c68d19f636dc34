"""What `benchmarks.power --suite support` measures: bounded, discrete and mixed targets."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

import steinwise as sw
from benchmarks import support_models as models
from benchmarks.cases import LEVEL, Case, Outcome, Rule

NUMBERS = (50, 200, 1000)
COUPLINGS = (0.1, 0.3, 0.5)
# of KSDAgg with a parametric bootstrap, for draws of Gamma(5 + delta, 5), n = 500
PUBLISHED = {0.1: 0.175, 0.2: 0.495, 0.3: 0.82, 0.4: 0.945}
Draw = Callable[[np.random.Generator], np.ndarray]


FEWER_BOOTSTRAPS = 499  # than the default, where there are many coordinates


def case(target: Any, draw: Draw, rule: Rule, n_bootstrap: int = FEWER_BOOTSTRAPS) -> Case:
    """One check of draws that are declared independent, unless they come as chains."""

    def run(rng: np.random.Generator, repetition: int) -> dict[str, Outcome]:
        draws = draw(rng)
        independent = True if draws.ndim == 2 else None
        with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
            try:
                result = sw.check(
                    draws,
                    target,
                    alpha=LEVEL,
                    n_bootstrap=n_bootstrap,
                    seed=repetition,
                    independent=independent,
                    progress=False,
                )
            except sw.TooFewDraws:
                return {"transported": {"refused": 1.0}}
        return {"transported": {"hit": float(result.rejected), "pvalue": result.pvalue}}

    return Case(run, rule)


def single(target: Any, draw: Draw, rule: Rule) -> Case:
    """A check of a single coordinate, with as many simulations as by default."""
    return case(target, draw, rule, n_bootstrap=1000)


def column(distribution: Any, n: int) -> Draw:
    return lambda rng: distribution.rvs(size=(n, 1), random_state=rng).astype(float)


SINGLE = {
    "gamma-0.5": (models.gamma(0.5), stats.gamma(0.5)),
    "gamma-5": (models.gamma(5.0), stats.gamma(5.0)),
    "beta-0.5": (models.beta(0.5), stats.beta(0.5, 0.5)),
    "uniform": (models.beta(1.0), stats.uniform()),
    "truncated-normal": (models.normal_between(-0.5, 1.0), stats.truncnorm(-0.5, 1.0)),
    "poisson-0.3": (models.poisson(0.3), stats.poisson(0.3)),
    "poisson-30": (models.poisson(30.0), stats.poisson(30.0)),
    "bernoulli-0.02": (models.bernoulli(0.02), stats.bernoulli(0.02)),
    "bernoulli-0.5": (models.bernoulli(0.5), stats.bernoulli(0.5)),
}
RARE = {"bernoulli-0.02-50", "bernoulli-0.02-200", "poisson-0.3-50"}  # fewer than 20 rare outcomes


def level(name: str) -> Rule:
    """A few draws of a rare outcome have few possible statistics: the level cannot be met."""
    return Rule("at most", 0.074) if name in RARE else Rule("level")


SUPPORT_SIZE: dict[str, Case] = {
    f"{name}-{n}": single(target, column(distribution, n), level(f"{name}-{n}"))
    for name, (target, distribution) in SINGLE.items()
    for n in NUMBERS
}
SUPPORT_SIZE |= {
    f"ising-{coupling}-{n}": case(
        models.ising(coupling),
        lambda rng, coupling=coupling, n=n: models.ising_draws(rng, coupling, n),
        Rule("level"),
    )
    for coupling in COUPLINGS
    for n in NUMBERS
}
SUPPORT_SIZE |= {
    f"rare-{n}": case(
        models.rare_events(),
        lambda rng, n=n: (rng.random((n, 5)) < models.RARE_EVENT).astype(float),
        Rule("at most", 0.074),
    )
    for n in NUMBERS
}
SUPPORT_SIZE |= {
    f"machine-{n}": case(
        models.machine(), lambda rng, n=n: models.machine_draws(rng, n), Rule("level")
    )
    for n in NUMBERS
}
SUPPORT_SIZE |= {
    f"mixture-{n}": case(
        models.mixture(), lambda rng, n=n: models.mixture_draws(rng, n), Rule("level")
    )
    for n in NUMBERS
}
SUPPORT_SIZE["mixture-chains"] = case(
    models.mixture(), lambda rng: models.mixture_draws(rng, 4, 2500), Rule("level")
)
"""Correct draws of bounded, discrete and mixed targets."""

SUPPORT: dict[str, Case] = {
    f"gamma-shape-{delta}": single(
        models.gamma(5.0, 5.0),
        column(stats.gamma(5.0 + delta, scale=0.2), 500),
        Rule("surely at least", published),
    )
    for delta, published in PUBLISHED.items()
}


def two_bumps(rng: np.random.Generator) -> np.ndarray:
    """Of mean 0 and variance 1, each bump 0.75 from 0."""
    sides = np.where(rng.random((300, 1)) < 0.5, 0.75, -0.75)
    return sides + np.sqrt(1 - 0.75**2) * rng.normal(size=(300, 1))


SUPPORT |= {
    f"single-{name}": single(models.normal(), draw, Rule("shown"))
    for name, draw in {
        "far": lambda rng: np.where(rng.random((100, 1)) < 0.03, 4.0, rng.normal(size=(100, 1))),
        "student": lambda rng: rng.standard_t(5, size=(300, 1)) * np.sqrt(3 / 5),
        "laplace": lambda rng: rng.laplace(size=(120, 1)) / np.sqrt(2),
        "wide": lambda rng: 1.1 * rng.normal(size=(300, 1)),
        "narrow": lambda rng: 0.92 * rng.normal(size=(300, 1)),
        "shifted": lambda rng: 0.15 + rng.normal(size=(200, 1)),
        "skewed": lambda rng: (rng.gamma(9.0, size=(200, 1)) - 9) / 3,
        "bumps": two_bumps,
    }.items()
}
SUPPORT |= {
    "ising-coupling": case(
        models.ising(0.3),
        lambda rng: models.ising_draws(rng, 0.33, 1000),
        Rule("shown"),
    ),
    "mixture-forgets": case(
        models.mixture(),
        lambda rng: models.mixture_draws(rng, 500, forget=True),
        Rule("at least", 0.95),
    ),
    "bernoulli-0.04": single(
        models.bernoulli(0.02), column(stats.bernoulli(0.04), 1000), Rule("at least", 0.85)
    ),
    "poisson-31.5": single(models.poisson(30.0), column(stats.poisson(31.5), 200), Rule("shown")),
}
"""Wrong draws of the same targets."""
