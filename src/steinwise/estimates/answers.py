"""Summaries of draws next to the target's, estimated in two ways, with uncertainties that cover.

By scores: the constant of a regression on Stein functions (`moments`), on draws that were refreshed
along lines. By lines: the mean over the target's conditionals through draws that were refreshed. An
error of either shows as a difference between what it says before and after: the half-width of an
interval is two standard errors and that difference, and by lines what may be left of the draws'
first error. Where the regression explains too little, or the draws have not arrived, a way gives no
number.
"""

from dataclasses import dataclass, fields, replace
from typing import NamedTuple

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
NOT_FINITE, WRONG_MODES = "not finite", "wrong modes"


@dataclass(frozen=True, eq=False)
class CorrectedMoments:
    """The means and sds of the target, as one way estimates them, and how far off they may be."""

    mean: Float[np.ndarray, " q"]
    mean_error: Float[np.ndarray, " q"]  # standard error
    mean_reach: Float[np.ndarray, " q"]  # half of a 95 % interval, bias included
    sd: Float[np.ndarray, " q"]
    sd_error: Float[np.ndarray, " q"]
    sd_reach: Float[np.ndarray, " q"]
    mean_given: Bool[np.ndarray, " q"]
    sd_given: Bool[np.ndarray, " q"]
    state: tuple[str, ...]  # why there is no sd, or "given": then both are, and are finite

    def withheld(self, state: str) -> "CorrectedMoments":
        """The same with no number given, for a reason."""
        none = np.zeros(len(self.mean), bool)
        return replace(self, mean_given=none, sd_given=none, state=(state,) * len(none))

    def joined(self, other: "CorrectedMoments") -> "CorrectedMoments":
        """With more quantities."""
        arrays = (
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in self.__dataclass_fields__
            if name != "state"
        )
        return CorrectedMoments(*arrays, state=self.state + other.state)


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Quantiles of the target's marginals, from its conditionals through refreshed draws."""

    values: Float[np.ndarray, "q k"]
    reach: Float[np.ndarray, "q k"]  # half of a 95 % interval
    given: Bool[np.ndarray, " q"]

    def joined(self, other: "Quantiles") -> "Quantiles":
        """With those of more quantities."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Quantiles(*map(np.concatenate, pairs))


def moments_by_scores(
    drawn: tuple[np.ndarray, np.ndarray],
    refreshed: tuple[np.ndarray, np.ndarray],
    batches: Batches,
) -> CorrectedMoments:
    """From draws and their scores, as drawn and refreshed."""
    before, after = (moment_errors(x, s, batches, rich=True) for x, s in (drawn, refreshed))
    return _by_scores(before, after, moment_errors(*refreshed, batches))


def function_moments_by_scores(
    before: Float[np.ndarray, "n f"],
    after: Float[np.ndarray, "n f"],
    drawn: tuple[np.ndarray, np.ndarray],
    refreshed: tuple[np.ndarray, np.ndarray],
    batches: Batches,
) -> CorrectedMoments:
    """The same of functions, whose values at the draws, as drawn and refreshed, come first."""
    return _by_scores(
        function_errors(before, *drawn, batches, rich=True),
        function_errors(after, *refreshed, batches, rich=True),
        function_errors(after, *refreshed, batches),
    )


def _by_scores(
    before: MomentErrors, after: MomentErrors, polynomial: MomentErrors
) -> CorrectedMoments:
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
    return CorrectedMoments(
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


@dataclass(frozen=True, eq=False)
class Moved:
    """Values at draws that sweeps have moved: coordinates or functions of them."""

    first: Float[np.ndarray, "n q"]  # at the draws as they came
    before: Float[np.ndarray, "n q j"]  # places after half of the sweeps; of the draws, if none
    after: Float[np.ndarray, "n q k"]  # places after all sweeps
    batches: Batches


class Arrival(NamedTuple):
    """Whether moved draws have arrived, and how much of their first error may be left."""

    state: str
    left: float  # in terms of what all sweeps have changed

    @classmethod
    def of(cls, moved: Moved, *, reliable: bool) -> "Arrival":
        """Of draws whose batches are long enough to call them settled by, or not.

        If errors fade as correlations with the start do, rho of the first error is left where
        1 - rho of it has gone. The slowest coordinate counts, as it moves those that depend on it,
        with a standard error of its correlation added.
        On a banana, whose far ends are reached slowly by draws of a normal fit, intervals of sds
        without this share covered 0.55, and with it 0.90 (40 samples, 10 of which had settled).
        """
        starts = moved.first, moved.before[..., 0]
        settling = Settling.of(starts, moved.before, moved.after, moved.batches)
        rho = np.sqrt(settling.remembered.max(initial=0.0)) + 1 / np.sqrt(len(moved.first))
        left = float(rho / max(1 - rho, np.finfo(float).eps))
        if not reliable:
            return cls(SLOW, left)
        if settling.settled.all():
            return cls(GIVEN, left)
        return cls(MOVING if settling.moving.any() else REMEMBERED, left)

    def and_of(self, other: "Arrival") -> "Arrival":
        """Of draws of which both must have arrived."""
        return Arrival(
            other.state if self.state == GIVEN else self.state, max(self.left, other.left)
        )


def moments_by_lines(moved: Moved, arrival: Arrival) -> CorrectedMoments:
    """From the conditionals that sweeps went through, once the draws have arrived."""
    before, after, batches = moved.before, moved.after, moved.batches
    mean, sd = after.mean(axis=(0, 2)), after.std(axis=(0, 2))
    mean_error = batch_errors(after.mean(axis=2), batches)
    squares = ((after - mean[:, None]) ** 2).mean(axis=2)
    sd_error = batch_errors(squares, batches) / (2 * np.where(sd > 0, sd, 1.0))
    changes = mean - before.mean(axis=(0, 2)), sd - before.std(axis=(0, 2))
    in_all = mean - moved.first.mean(axis=0), sd - moved.first.std(axis=0)
    mean_reach, sd_reach = (
        ERRORS * error + np.abs(change) + arrival.left * np.abs(total)
        for error, change, total in zip((mean_error, sd_error), changes, in_all, strict=True)
    )
    finite = np.isfinite(mean + mean_reach + sd + sd_reach)
    given = finite & (arrival.state == GIVEN)
    states = np.where(finite | (arrival.state != GIVEN), arrival.state, NOT_FINITE)
    return CorrectedMoments(
        mean,
        mean_error,
        mean_reach,
        sd,
        sd_error,
        sd_reach,
        given,
        given,
        tuple(states.tolist()),
    )


def quantiles_by_lines(
    moved: Moved, arrival: Arrival, shares: Float[np.ndarray, " p"]
) -> Quantiles:
    """Quantiles of the mean over lines of the conditional distributions."""

    def pooled(points: np.ndarray) -> np.ndarray:
        return np.quantile(np.moveaxis(points, 1, 0).reshape(points.shape[1], -1), shares, axis=1).T

    places = moved.after
    values = pooled(places)
    below = np.stack(
        [(places <= values[None, :, p, None]).mean(axis=2) for p in range(len(shares))], axis=2
    )
    n, q = places.shape[:2]
    errors = batch_errors(below.reshape(n, -1), moved.batches).reshape(q, -1)
    # an error of the distribution function is one of the quantile, by the quantiles on either side
    flat = np.moveaxis(places, 1, 0).reshape(q, -1)
    reach = np.empty_like(values)
    for p, share in enumerate(shares):
        width = np.clip(ERRORS * errors[:, p], 1e-6, None)
        for j in range(q):
            ends = np.clip([share - width[j], share + width[j]], 0.0, 1.0)
            low, high = np.quantile(flat[j], ends)
            reach[j, p] = max(values[j, p] - low, high - values[j, p])
    reach += np.abs(values - pooled(moved.before))
    reach += arrival.left * np.abs(values - pooled(moved.first[..., None]))
    finite = np.isfinite(values + reach).all(axis=1)
    return Quantiles(values, reach, np.asarray(finite & (arrival.state == GIVEN)))
