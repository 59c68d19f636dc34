"""What `benchmarks.power --suite tolerance` measures: answers about draws at the very edge.

Draws of the target, one coordinate of which is moved by 0.1 sd or stretched by a tenth, so that its
error is just what `tolerance=0.1` accepts. Then "beyond" and "within" are both wrong, and neither
may be said more often than the level. With twice the error "beyond" is true, and with none
"within".
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, polygamma

import steinwise as sw
from benchmarks.alternatives import Draw, SampledTarget, equicorrelated, gaussian, log_gamma
from benchmarks.cases import LEVEL, Case, Outcome, Rule
from benchmarks.simulate import autoregressive

TOLERANCE = 0.1
FEW = 99  # bootstraps: they judge the misfit, not the errors
FALSE = Rule("at most", 0.074)  # the most of 1000 that a rate of 0.05 exceeds once in a thousand
DIM, CHAINS, RHO = 5, 4, 0.5


class Moments(NamedTuple):
    """Of the first coordinate."""

    mean: float = 0.0
    sd: float = 1.0


class Known(NamedTuple):
    """A target whose first coordinate has known moments, and how many draws are judged."""

    target: SampledTarget
    moments: Moments = Moments()
    draws: tuple[int, ...] = (500, 4000)


def chains(d: int) -> Draw:
    """Chains with a standard normal distribution."""
    return lambda rng, n: autoregressive(rng, np.full(d, RHO), CHAINS, n // CHAINS)


def skewed(shape: float) -> Known:
    """Logs of Gamma variables."""
    moments = Moments(float(digamma(shape)), float(np.sqrt(polygamma(1, shape))))
    return Known(log_gamma(shape, DIM), moments)


KNOWN = {
    "normal": Known(gaussian(equicorrelated(DIM, 1.0, 0.5))),
    "chains": Known(
        SampledTarget(gaussian(np.eye(DIM)).target, DIM, chains(DIM)),
        draws=(1000, 4000),  # of 500, some are worth too few independent ones for a verdict
    ),
    "log-gamma-3": skewed(3.0),
    "log-gamma-0.5": skewed(0.5),
}
# how far the first coordinate is moved, in sds, and stretched: wrong answers, and the true one
ERRORS: dict[str, tuple[float, float, tuple[str, ...]]] = {
    "mean at the edge": (TOLERANCE, 1.0, ("beyond", "within")),
    "sd at the edge": (0.0, 1 + TOLERANCE, ("beyond", "within")),
    "mean twice": (2 * TOLERANCE, 1.0, ("within",)),
    "sd twice": (0.0, 1 + 2 * TOLERANCE, ("within",)),
    "right": (0.0, 1.0, ("beyond",)),
}


def answers(known: Known, n: int, error: str) -> Case:
    """How often a check says either of such draws."""
    (target, _, draw), (mean, sd), _ = known
    moved, stretched, false = ERRORS[error]

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        draws = draw(rng, n)
        first = draws[..., 0]
        draws[..., 0] = mean + moved * sd + stretched * (first - mean)
        with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
            found = sw.check(
                draws,
                target,
                effort="quick",  # errors are estimated in the same way at every effort
                tolerance=TOLERANCE,
                alpha=LEVEL,
                seed=seed,
                n_bootstrap=FEW,
                independent=draws.ndim == 2,
                progress=False,
            ).tolerance
        assert found is not None
        return {one: {"hit": float(found.answer == one)} for one in ("beyond", "within")}

    rules = {one: FALSE if one in false else Rule("shown") for one in ("beyond", "within")}
    return Case(run, rules)


TOLERANCES: dict[str, Case] = {
    f"{name}, n = {n}, {error}": answers(known, n, error)
    for name, known in KNOWN.items()
    for n in known.draws
    for error in ERRORS
}
