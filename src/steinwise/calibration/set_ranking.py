r"""The order of sets of draws by what checks say of them.

- A set is *worse* than another if one of its errors exceeds every error of the other by more than
  chance (`exceeds`).
- First come the sets in which no misfit was found, then the others; each by the largest error.
- A p-value falls with the number of draws: few draws find nothing. So a set without a misfit is
  not among the first where one with a misfit is nearer than this one seems to be, even with the
  upper end of its interval and with its largest conditional shift or spread.
- Sets whose errors are not all known come after those whose errors are: the largest may be one that
  is not. Sets that are too small for a check come last.

That the largest error of one set is no larger than that of another means that none of its errors
exceeds *the* largest of the other, whichever that is. All errors of the one set are looked at, so
their differences to that one get the bound for the largest of many :math:`|t|`; all errors of the
other must be exceeded, which needs no correction (intersection-union). The bound is that of the
set's own errors: their differences to one and the same number are more alike than they are, so
that the largest of them is smaller (Slepian).
"""

from collections.abc import Mapping

import numpy as np

from steinwise.results.largest_error import LargestError
from steinwise.results.set_comparison import RankedSet
from steinwise.results.set_evidence import SetEvidence


def rank_sets(evidence: Mapping[str, SetEvidence | None]) -> tuple[RankedSet, ...]:
    """The sets from best to worst; None is the evidence of one that is too small for a check."""
    checked = {name: found for name, found in evidence.items() if found is not None}
    reach = min(
        (_farthest(found) for found in checked.values() if found.rejected), default=np.inf
    )  # of the nearest set that has a misfit
    worse = {
        name
        for name, found in checked.items()
        if any(exceeds(found.largest_error, other.largest_error) for other in checked.values())
    }

    def key(name: str) -> tuple[int, bool, float]:
        found = evidence[name]
        if found is None:
            return 2, True, np.inf
        size = np.inf if found.largest_error.size is None else found.largest_error.size
        first = not found.rejected and name not in worse and not reach < _known(found)
        return (0 if first else 1), not found.all_known, size

    order = sorted(evidence, key=key)  # of equals, as they were given
    best = evidence[order[0]]
    return tuple(
        RankedSet(name, evidence[name], _standing(evidence[name], best, name in worse))
        for name in order
    )


def levels_per_comparison(sets: int) -> int:
    """By how much the level of each interval must be smaller than that of all claims together.

    One claim for each of two sets, whichever is called worse.
    """
    return max(1, sets * (sets - 1))


def exceeds(one: LargestError, other: LargestError) -> bool:
    """Whether the largest error of one set is beyond that of another by more than chance.

    Where the sets are cut into the same batches, the error of a difference is that of the batchwise
    differences; else the sets are taken as independent.
    """
    mine, theirs = one.estimates, other.estimates
    if mine is None or theirs is None or other.high is None:
        return False
    own = np.linalg.norm(mine.deviations, axis=0)
    surest = int(np.argmax(np.abs(mine.errors) - mine.critical * own - mine.doubts))
    deviation = np.sign(mine.errors[surest]) * mine.deviations[:, surest]
    others = np.sign(theirs.errors) * theirs.deviations
    if mine.cut == theirs.cut:
        chance = np.linalg.norm(deviation[:, None] - others, axis=0)
    else:
        chance = np.hypot(own[surest], np.linalg.norm(others, axis=0))
    apart = np.abs(mine.errors[surest]) - np.abs(theirs.errors)
    doubts = mine.doubts[surest] + theirs.doubts
    return bool((apart > max(mine.critical, theirs.critical) * chance + doubts).all())


def _standing(found: SetEvidence | None, best: SetEvidence | None, worse: bool) -> str:
    """How a set compares with the first, `best`."""
    if found is None or best is None:
        standing = "no check"
    elif worse:
        standing = "worse"
    elif found is best and (found.all_known or not found.rejected):
        standing = "first"
    elif not found.all_known:
        standing = "unknown"
    else:
        standing = "indistinguishable" if best.all_known else "not compared"
    return standing


def _farthest(found: SetEvidence) -> float:
    """How far off a set may be, for all that its check says."""
    high = found.largest_error.high
    return np.inf if high is None else max(high, found.conditional_error)


def _known(found: SetEvidence) -> float:
    """How far off a set seems to be."""
    return found.largest_error.size or 0.0
