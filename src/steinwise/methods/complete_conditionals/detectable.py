"""How small a misfit of one coordinate the default check would have found."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from steinwise.calibration.batch_plan import BatchPlan
from steinwise.calibration.batch_sums import ExpectedSquares
from steinwise.methods.complete_conditionals.known_null import threshold_of_kind
from steinwise.methods.complete_conditionals.normal_map import NormalMap
from steinwise.methods.complete_conditionals.sources import (
    AbstractSource,
    DrawScores,
    FollowedLines,
    terms_and_moments,
)
from steinwise.methods.complete_conditionals.terms import BASE_TERMS, terms_of
from steinwise.orbits.places import Places
from steinwise.results.misfit import POWER, Effect

GRID = ndtri((np.arange(256) + 0.5) / 256)  # quantiles of N(0, 1), in place of draws
LEAST, MOST = 1e-4, 1e4  # misfits that are tried
FACTOR, HALVINGS = 4.0, 9  # of a bracket around a misfit, which ends below a percent of it


def detectable(
    threshold: float,
    plan: BatchPlan,
    source: AbstractSource,
    bases: Sequence[str],
    expected: ExpectedSquares | None,
) -> Effect:
    """The shift, and the excess of width, that are found with power 0.8.

    Of a coordinate whose conditional is normal, by itself, when its statistic in the best of the
    bases must come above a threshold, in standard deviations of its bootstraps.
    """

    def surplus(z: Float[np.ndarray, " m"]) -> float:
        terms = TERMS_OF_NORMAL[source.name](z)
        sides = (source.layout.sides(base, terms) for base in bases)
        low, squares = np.array([_low(left, right, plan) for left, right in sides]).T
        squares = squares if expected is None else expected.shrink(squares)
        return float((low / np.sqrt(squares)).max()) - threshold

    shift = _first_positive(lambda shift: surplus(GRID + shift))
    excess = _first_positive(lambda excess: surplus(GRID * (1 + excess)))
    return Effect(shift, 1 + excess)


def detectable_by_simulation(threshold: float, draws: int, bases: Sequence[str]) -> Effect:
    """The same where correct draws are simulated: by the first two Hermite polynomials alone.

    These belong to "shift" and "tails", which must be among the bases.
    """

    def first_found(order: int, base: str, z: Callable[[float], np.ndarray]) -> float:
        decides = threshold_of_kind(threshold, base, bases)

        def surplus(size: float) -> float:
            term = _terms_of_places(z(size))[BASE_TERMS["tails"][0]][order]
            low = abs(term.mean()) * np.sqrt(draws) + ndtri(1 - POWER) * term.std()
            return float(low) - decides

        return _first_positive(surplus)

    shift = first_found(0, "shift", lambda shift: GRID + shift)
    excess = first_found(1, "tails", lambda excess: GRID * (1 + excess))
    return Effect(shift, 1 + excess)


def _terms_of_places(z: Float[np.ndarray, " m"]) -> Float[np.ndarray, "term m"]:
    return terms_of(Places.of_normal_scores(z[:, None]), np.dtype(float))[:, 0]


def _terms_of_scores(z: Float[np.ndarray, " m"]) -> Float[np.ndarray, "term m"]:
    column = z[:, None]
    terms, moments = terms_and_moments(NormalMap.of(column), column, -column, np.ones(len(z)))
    return terms[:, 0] * moments.term_scale


# The terms of draws z where the target's conditional is N(0, 1), by the name of their source. There
# are none for discrete coordinates.
TERMS_OF_NORMAL = {FollowedLines.name: _terms_of_places, DrawScores.name: _terms_of_scores}


def _low(
    left: Float[np.ndarray, "f m"], right: Float[np.ndarray, "f m"], plan: BatchPlan
) -> tuple[float, float]:
    """The statistic that all but 1 - POWER of the samples exceed, and its bootstraps' mean square.

    By its mean and variance over G batches of b draws each: all grow with the misfit.
    """
    count = plan.batches.count
    b = plan.effective_draws / count
    pairs = count * (count - 1)
    f, m = left.shape
    means = np.concatenate([left, right]).mean(axis=1)
    centred = np.concatenate([left, right]) - means[:, None]
    covariance = b * (centred @ centred.T) / m
    second = covariance + b**2 * np.outer(means, means)
    mean = pairs * b**2 * (means[:f] @ means[f:])
    influence = centred[:f].T @ means[f:] + centred[f:].T @ means[:f]
    variance = count * (count - 1) ** 2 * b**3 * (influence**2).mean()
    variance += pairs * _both_ways(covariance, f)
    low = mean + ndtri(1 - POWER) * np.sqrt(variance)
    return float(low), pairs * _both_ways(second, f)


def _both_ways(moments: Float[np.ndarray, "m m"], f: int) -> float:
    """E (l r')^2 + E (l r') (l' r) from the second moments of (l, r), with (l', r') like it."""
    left, right, across = moments[:f, :f], moments[f:, f:], moments[:f, f:]
    return float((left * right).sum() + (across * across.T).sum())


def _first_positive(function: Callable[[float], float]) -> float:
    """Where a function that starts below 0 first comes to it, to a percent; inf if it does not."""
    high = LEAST
    while function(high) < 0:
        high *= FACTOR
        if high > MOST:
            return float("inf")
    low = high / FACTOR
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) >= 0 else (middle, high)
    return high
