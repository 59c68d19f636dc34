"""Whether draws that are moved by sweeps have arrived: do their summaries still move?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from steinwise._internal.counting import counted
from steinwise._internal.notes import Note, note
from steinwise.calibration.batch_plan import FEWEST_BATCHES, plan_for_error
from steinwise.calibration.batches import Batches, cut_evenly
from steinwise.draws.samples import Samples
from steinwise.errors import TooFewDraws

MOST_BATCHES = 64
TOO_SLOW = "chains too slow"  # the kind of a note
LEVEL = 0.05  # of calling any summary of settled draws moving
# The largest squared correlation of a coordinate before some sweeps and after the last one. At
# 0.05 at most a quarter of an error of the mean is left, if errors fade as correlations do.
MOST_REMEMBERED = 0.05


def batches_for_errors(samples: Samples) -> tuple[Batches, tuple[Note, ...]]:
    """Batches of draws for standard errors of their means and sds, and what must be said of them.

    Chains that are too slow for them are cut into as few as are of use: their errors are too small
    then, and a note says so.
    """

    def monitored(_: int, x: np.ndarray, __: object) -> np.ndarray:
        z = (x - centre) / scale
        return np.concatenate([z, z**2], axis=1)

    some = samples.evenly_spaced(10_000)
    centre, scale = some.mean(axis=0), some.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    plan = plan_for_error(samples, monitored, most=MOST_BATCHES)
    if plan is not None:
        return plan.batches, plan.notes
    batches = cut_evenly(samples, -(-FEWEST_BATCHES // samples.n_chains))
    if batches.count < FEWEST_BATCHES:
        raise TooFewDraws(
            f"{counted(samples.n_chains, 'chain')} of {samples.n_draws} draws: errors of means "
            f"and sds need at least {FEWEST_BATCHES} draws."
        )
    return batches, (note(TOO_SLOW, count=batches.count),)


@dataclass(frozen=True, eq=False)
class Settling:
    """What some sweeps changed, the last among them, and what draws still have of their start."""

    mean_change: Float[np.ndarray, " d"]
    mean_change_error: Float[np.ndarray, " d"]
    sd_change: Float[np.ndarray, " d"]
    sd_change_error: Float[np.ndarray, " d"]
    remembered: Float[np.ndarray, " d"]  # squared correlations of first and last values or squares
    moving: Bool[np.ndarray, " d"]  # changes beyond their error, of all summaries together

    @property
    def settled(self) -> Bool[np.ndarray, " d"]:
        return ~self.moving & (self.remembered <= MOST_REMEMBERED)

    @classmethod
    def of(
        cls,
        starts: Sequence[Float[np.ndarray, "n d"]],
        before: Float[np.ndarray, "n d j"],
        after: Float[np.ndarray, "n d k"],
        batches: Batches,
    ) -> "Settling":
        """Where draws were before, which is to be forgotten, and their places before some sweeps
        and after them.

        Places are those of a `Sweep`: where a draw is comes first, and its conditional's other
        quantiles after it make changes show that the noise of the draws would hide.
        """
        from scipy import stats

        d = after.shape[1]
        sd = after.std(axis=(0, 2))
        sd = np.where(sd > 0, sd, 1.0)
        squares = [((x - x.mean(axis=(0, 2))[:, None]) ** 2).mean(axis=2) for x in (before, after)]
        moves = after.mean(axis=2) - before.mean(axis=2), (squares[1] - squares[0]) / (2 * sd)
        changes = np.array([move.mean(axis=0) for move in moves])
        errors = np.array([batch_errors(move, batches) for move in moves])
        critical = stats.t.isf(LEVEL / (4 * d), batches.count - 1)
        moving = np.asarray((np.abs(changes) > critical * errors).any(axis=0))
        last = after[..., 0]
        remembered = np.max([_squared_correlations(start, last) for start in starts], axis=0)
        return cls(changes[0], errors[0], changes[1], errors[1], remembered, moving)


def _squared_correlations(
    first: Float[np.ndarray, "n d"], last: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, " d"]:
    """Of values or of their squared deviations, whichever is larger.

    On a banana draws may change sides and still be as far out as they were.
    """
    found = []
    for power in (1, 2):
        one, other = ((x - x.mean(axis=0)) ** power for x in (first, last))
        one, other = one - one.mean(axis=0), other - other.mean(axis=0)
        scales = np.maximum(one.std(axis=0) * other.std(axis=0), np.finfo(float).tiny)
        found.append(((one * other).mean(axis=0) / scales) ** 2)
    return np.maximum(*found)


def batch_errors(values: Float[np.ndarray, "n q"], batches: Batches) -> Float[np.ndarray, " q"]:
    """Standard errors of means."""
    sums = batches.sums(values - values.mean(axis=0))
    return np.sqrt((sums**2).sum(axis=0) * batches.count / (batches.count - 1)) / len(values)
