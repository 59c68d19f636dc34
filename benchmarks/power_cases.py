"""What `benchmarks.power` measures: wrong draws and correct draws, judged by the default check."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import steinwise as sw
from benchmarks import alternatives, simulate, targets
from benchmarks.alternatives import TARGETS, Draw, equicorrelated, two_modes
from benchmarks.cases import LEVEL, Case, Outcome, Rule
from benchmarks.size_cases import CHAINS, DRAWS
from steinwise.methods import AbstractMethod, Transported
from steinwise.target import AbstractTarget

DEFAULT = "transported"
NAMED = "named if rejected"
METHODS: dict[str, str | AbstractMethod] = {
    DEFAULT: "transported",
    "KSD, RBF": sw.methods.KSD(),
    "KSD, IMQ": sw.methods.KSD(sw.kernels.IMQ()),
    "univariate KSDs": sw.methods.SlicedKSD(),
}
SIZES = (50, 200, 1000)


def judge(draws: np.ndarray, target: AbstractTarget, method: str | AbstractMethod, seed: int):
    """The check with 1000 bootstraps; draws of shape (n, d) are taken as independent."""
    with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
        return sw.check(
            draws,
            target,
            method=method,
            alpha=LEVEL,
            n_bootstrap=1000,
            seed=seed,
            independent=draws.ndim == 2,
            progress=False,
        )


def flagged(result: sw.CheckResult) -> np.ndarray:
    """Which coordinates are flagged; the directions, which come after them, are left out."""
    coordinates = result.findings.coordinates[: result.draws.dim]
    return np.array([c.adjusted_pvalue <= LEVEL for c in coordinates])


class WrongDraws(NamedTuple):
    """Wrong draws for a target, and what is required of the default check."""

    target: str
    n: int
    draw: Draw
    bound: float | None  # of the power
    named: bool = False  # whether rejections must flag coordinate 0


def power(wrong: WrongDraws) -> Case:
    """How often wrong draws are found, by the default check and by its rivals."""

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        draws, target = wrong.draw(rng, wrong.n), TARGETS[wrong.target].target
        results = {row: judge(draws, target, method, seed) for row, method in METHODS.items()}
        out: dict[str, Outcome] = {
            row: {"hit": float(result.rejected)} for row, result in results.items()
        }
        if wrong.named and results[DEFAULT].rejected:
            out[NAMED] = {"hit": float(flagged(results[DEFAULT])[0])}
        return out

    rules = {row: Rule("shown") for row in METHODS}
    if wrong.bound is not None:
        rules[DEFAULT] = Rule("surely at least", wrong.bound)
    return Case(run, rules | ({NAMED: Rule("surely at least", 0.8)} if wrong.named else {}))


def size(name: str, n: int, method: str = DEFAULT) -> Case:
    """Correct draws from a target."""
    target, _, draw = TARGETS[name]

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        result = judge(draw(rng, n), target, method, seed)
        return {method: {"hit": float(result.rejected)}}

    return Case(run, Rule("level"))


def uniform(n: int, method: Transported) -> Case:
    """Correct draws, correlations 0.5, whose p-values must be uniform from 0 to 1."""
    target = targets.correlated(30)

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        draws = simulate.independent(rng, target.covariance, n)
        result = judge(draws, target, method, seed)
        return {DEFAULT: {"hit": float(result.rejected), "pvalue": result.pvalue}}

    return Case(run, Rule("uniform", 0.01))


def chain_size(
    target: AbstractTarget, draw: Callable[[np.random.Generator], np.ndarray], method: str
) -> Case:
    """Right chains; those with too few batches for a verdict are counted separately."""

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        try:
            result = judge(draw(rng), target, method, seed)
        except sw.TooFewDraws:
            return {method: {"refused": 1.0}}
        batches = float(result.draws.n_batches)
        return {method: {"hit": float(result.rejected), "refused": 0.0, "batches": batches}}

    return Case(run, Rule("level"))


def autoregressive(method: str = DEFAULT) -> Case:
    rho = np.full(10, 0.9)
    return chain_size(
        targets.standard(10), lambda rng: simulate.autoregressive(rng, rho, CHAINS, DRAWS), method
    )


def nuts(method: str = DEFAULT) -> Case:
    target = targets.correlated(10)

    def draw(rng: np.random.Generator) -> np.ndarray:
        start = simulate.independent(rng, target.covariance, CHAINS)
        return simulate.nuts(rng, targets.correlated_log_density, start, DRAWS, step=0.5)

    return chain_size(target, draw, method)


def one_wrong(shift: float, method: str = DEFAULT) -> Case:
    """One of 20 independent coordinates is shifted: are right coordinates flagged?"""
    draw = alternatives.first_shifted(20, shift)

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        result = judge(draw(rng, 300), TARGETS["normal-20"].target, method, seed)
        flags = flagged(result)
        return {
            "a right one": {"hit": float(flags[1:].any())},
            "the wrong one": {"hit": float(flags[0])},
        }

    return Case(run, {"a right one": Rule("at most", 0.07), "the wrong one": Rule("shown")})


def _normal(covariance: np.ndarray, shift: float = 0.0) -> Draw:
    return lambda rng, n: simulate.independent(rng, covariance, n) + shift


WRONG: dict[str, WrongDraws] = {
    "modes-axis": WrongDraws(
        "modes-axis", 200, lambda rng, n: two_modes(rng, n, alternatives.AXIS, 0.95), 0.95
    ),
    "modes-diagonal": WrongDraws(
        "modes-diagonal", 200, lambda rng, n: two_modes(rng, n, alternatives.DIAGONAL, 0.95), 0.6
    ),
    "t5-for-t3": WrongDraws("t3", 200, lambda rng, n: rng.standard_t(5, size=(n, 5)), 0.5),
    "far-out": WrongDraws("normal-5", 200, alternatives.far_out, 0.95),
    "shift-correlated": WrongDraws(
        "near-singular", 200, _normal(equicorrelated(10, 1.0, 0.999), 0.3), 0.6
    ),
    "shift-1-of-20": WrongDraws(
        "normal-20", 300, alternatives.first_shifted(20, 0.3), 0.8, named=True
    ),
    "equicorrelation": WrongDraws("normal-20", 300, _normal(equicorrelated(20, 1.0, 0.1)), 0.95),
    "laplace-50-30": WrongDraws(
        "normal-30", 50, lambda rng, n: alternatives.laplace(rng, n, 30), 0.95
    ),
    "noise-300-20": WrongDraws("correlated-20", 300, alternatives.correlated_with_noise(20), 0.95),
    "sign-before": WrongDraws("normal-30", 300, alternatives.sign_of_previous, 0.95),
    "neighbours": WrongDraws("normal-30", 300, alternatives.neighbours_correlated(30, 0.2), 0.95),
    "scale-by-size": WrongDraws("normal-30", 500, alternatives.scale_by_size, 0.95),
    "sign-of-product": WrongDraws("normal-30", 500, alternatives.sign_of_a_product, 0.95),
    "sizes-together": WrongDraws("normal-30", 500, alternatives.sizes_together, None),
    "noise-500-30": WrongDraws("correlated-30", 500, alternatives.correlated_with_noise(30), 0.95),
    "shift-1-of-50": WrongDraws("normal-50", 200, alternatives.first_shifted(50, 0.3), 0.6),
    "banana-laplace": WrongDraws("banana", 500, alternatives.banana_with_laplace, 0.9),
    "laplace-100-100": WrongDraws(
        "normal-100", 100, lambda rng, n: alternatives.laplace(rng, n, 100), 0.95
    ),
}
"""The rows of the table, roughly from the cheapest to the most expensive."""

POWER: dict[str, Case] = {name: power(wrong) for name, wrong in WRONG.items()}
"""The default check and its rivals."""


def _sizes(of_dimension: Callable[[int], bool], method: str) -> dict[str, Case]:
    return {
        f"{name}, n = {n}": size(name, n, method)
        for n in SIZES
        for name, target in TARGETS.items()
        if of_dimension(target.dim)
    }


def sizes(method: str) -> dict[str, Case]:
    """Correct draws from the same targets, roughly from the cheapest to the most expensive."""
    return {
        "one-wrong-0.3": one_wrong(0.3, method),
        "one-wrong-0.5": one_wrong(0.5, method),
        **_sizes(lambda d: d <= 10, method),
        "ar-0.9": autoregressive(method),
        **_sizes(lambda d: 10 < d <= 50, method),
        "nuts": nuts(method),
        **_sizes(lambda d: d > 50, method),
    }


SIZE: dict[str, Case] = sizes(DEFAULT)
"""Correct draws, and the default check."""

SCORES_SIZE: dict[str, Case] = sizes("scores")
"""Correct draws, and the check by scores alone."""

UNIFORM: dict[str, Case] = {
    "n = 3000": uniform(3000, Transported(every_line=True)),
    "n = 3000, standard": uniform(3000, Transported()),
}
"""Correct draws in 30 dimensions: p-values in the middle, which a size does not show."""
