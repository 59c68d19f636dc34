"""Summaries of draws next to the target's, estimated in two ways, with uncertainties that cover.

By scores: the constant of a regression on Stein functions (`moments`), on draws that were refreshed
along lines. By lines: the mean over the target's conditionals through draws that were refreshed. An
error of either shows as a difference between what it says before and after: the half-width of an
interval is two standard errors and that difference. Where the regression explains too little, or
the draws have not arrived, a way gives no number.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from steinwise.calibration.batches import Batches
from steinwise.calibration.jackknife import jackknife_errors
from steinwise.estimates.moments import (
    MOST_UNEXPLAINED,
    MOST_UNEXPLAINED_BY_POLYNOMIALS,
    MomentErrors,
    function_errors,
    moment_errors,
)
from steinwise.estimates.settling import Settling, batch_errors

ROUNDING = 1e-6  # in sds: what is left where regressions are exact
ERRORS = 2.0  # standard errors in the half-width of an interval
GIVEN, WEAK = "given", "explains too little"
MOVING, REMEMBERED, SLOW = "still moving", "not forgotten", "too slow"


@dataclass(frozen=True, eq=False)
class Way:
    """The means and sds of the target, as one way estimates them, and how far off they may be."""

    mean: Float[np.ndarray, " q"]
    mean_error: Float[np.ndarray, " q"]  # standard error
    mean_reach: Float[np.ndarray, " q"]  # half of a 95 % interval, bias included
    sd: Float[np.ndarray, " q"]
    sd_error: Float[np.ndarray, " q"]
    sd_reach: Float[np.ndarray, " q"]
    mean_given: Bool[np.ndarray, " q"]
    sd_given: Bool[np.ndarray, " q"]
    state: tuple[str, ...]  # why there is no number, or "given"

    def joined(self, other: "Way") -> "Way":
        """With more quantities."""
        arrays = (
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in self.__dataclass_fields__
            if name != "state"
        )
        return Way(*arrays, state=self.state + other.state)


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Quantiles of the target's marginals, from its conditionals through refreshed draws."""

    values: Float[np.ndarray, "q k"]
    reach: Float[np.ndarray, "q k"]  # half of a 95 % interval
    given: Bool[np.ndarray, " q"]


def moments_by_scores(
    drawn: tuple[np.ndarray, np.ndarray],
    refreshed: tuple[np.ndarray, np.ndarray],
    batches: Batches,
) -> Way:
    """From draws and their scores, as drawn and refreshed."""
    before, after = (moment_errors(x, s, batches, rich=True) for x, s in (drawn, refreshed))
    return _by_scores(before, after, moment_errors(*refreshed, batches))


def function_moments_by_scores(
    before: Float[np.ndarray, "n f"],
    after: Float[np.ndarray, "n f"],
    drawn: tuple[np.ndarray, np.ndarray],
    refreshed: tuple[np.ndarray, np.ndarray],
    batches: Batches,
) -> Way:
    """The same of functions, whose values at the draws, as drawn and refreshed, come first."""
    return _by_scores(
        function_errors(before, *drawn, batches, rich=True),
        function_errors(after, *refreshed, batches, rich=True),
        function_errors(after, *refreshed, batches),
    )


def _by_scores(before: MomentErrors, after: MomentErrors, polynomial: MomentErrors) -> Way:
    """From estimates before and after refreshing, and after it from polynomials alone."""
    mean_error = jackknife_errors(after.corrected_mean_without)
    sd_error = jackknife_errors(after.corrected_sd_without)
    rounding = ROUNDING * after.corrected_sd
    mean_change = np.abs(after.corrected_mean - before.corrected_mean)
    sd_change = np.abs(after.corrected_sd - before.corrected_sd)
    mean_reach = ERRORS * mean_error + mean_change + rounding
    sd_reach = ERRORS * sd_error + sd_change + rounding
    mean_given = np.isfinite(mean_reach) & (after.mean_unexplained <= MOST_UNEXPLAINED)
    mean_given &= polynomial.mean_unexplained <= MOST_UNEXPLAINED_BY_POLYNOMIALS
    sd_given = mean_given & np.isfinite(sd_reach) & (after.sd_unexplained <= MOST_UNEXPLAINED)
    sd_given &= polynomial.sd_unexplained <= MOST_UNEXPLAINED_BY_POLYNOMIALS
    return Way(
        after.corrected_mean,
        mean_error,
        mean_reach,
        after.corrected_sd,
        sd_error,
        sd_reach,
        mean_given,
        sd_given,
        tuple(GIVEN if given else WEAK for given in sd_given),
    )


def moments_by_lines(
    first: Float[np.ndarray, "n q"],
    before: Float[np.ndarray, "n q j"],
    after: Float[np.ndarray, "n q k"],
    batches: Batches,
    *,
    reliable: bool = True,
) -> Way:
    """From the conditionals that the last two sweeps went through.

    Parameters
    ----------
    first
        The draws as they came.
    before, after
        The places of the last sweep but one (where there is none, of the draws), and of the last.
    batches
        Of these draws.
    reliable
        Whether the batches are long enough for the errors by which draws are called settled.
    """
    settling = Settling.of(first, before, after, batches)
    mean, sd = after.mean(axis=(0, 2)), after.std(axis=(0, 2))
    mean_error = batch_errors(after.mean(axis=2), batches)
    squares = ((after - mean[:, None]) ** 2).mean(axis=2)
    sd_error = batch_errors(squares, batches) / (2 * np.where(sd > 0, sd, 1.0))
    mean_change = np.abs(mean - before.mean(axis=(0, 2)))
    sd_change = np.abs(sd - before.std(axis=(0, 2)))
    # a coordinate that has not arrived moves those that depend on it: all wait for the last
    given = np.full(mean.shape, reliable and bool(settling.settled.all()))
    missing = SLOW if not reliable else MOVING if settling.moving.any() else REMEMBERED
    return Way(
        mean,
        mean_error,
        ERRORS * mean_error + mean_change,
        sd,
        sd_error,
        ERRORS * sd_error + sd_change,
        given,
        given,
        tuple(GIVEN if arrived else missing for arrived in given),
    )


def quantiles_by_lines(
    earlier: Float[np.ndarray, "n q j"],
    places: Float[np.ndarray, "n q k"],
    given: Bool[np.ndarray, " q"],
    shares: Float[np.ndarray, " p"],
    batches: Batches,
) -> Quantiles:
    """Quantiles of the mean over lines of the conditional distributions."""

    def pooled(points: np.ndarray) -> np.ndarray:
        return np.quantile(np.moveaxis(points, 1, 0).reshape(points.shape[1], -1), shares, axis=1).T

    values = pooled(places)
    below = np.stack(
        [(places <= values[None, :, p, None]).mean(axis=2) for p in range(len(shares))], axis=2
    )
    n, q = places.shape[:2]
    errors = batch_errors(below.reshape(n, -1), batches).reshape(q, -1)
    # an error of the distribution function is one of the quantile, by the quantiles on either side
    flat = np.moveaxis(places, 1, 0).reshape(q, -1)
    reach = np.empty_like(values)
    for p, share in enumerate(shares):
        width = np.clip(ERRORS * errors[:, p], 1e-6, None)
        for j in range(q):
            ends = np.clip([share - width[j], share + width[j]], 0.0, 1.0)
            low, high = np.quantile(flat[j], ends)
            reach[j, p] = max(values[j, p] - low, high - values[j, p])
    return Quantiles(values, reach + np.abs(values - pooled(earlier)), given)
