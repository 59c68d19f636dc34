"""Whether the conditionals of discrete coordinates that a user gives are those of the density."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from steinwise._internal.escaping import printable
from steinwise._internal.indices import evenly_spaced_indices
from steinwise.errors import TargetError
from steinwise.target.base import AbstractTarget
from steinwise.target.support import AbstractSupport, all_values

MOST_COORDINATES, MOST_COMPARED = 8, 64  # that are looked at, and values of each
# Differences of log probabilities that are taken for one: that of 32 bit, relative to their size.
ABSOLUTE, RELATIVE = 1e-3, 1e-6
LEAST_LOG = -25.0  # of the likeliest value's: others say nothing


def require_agreement(
    target: AbstractTarget,
    draw: Float[np.ndarray, "1 d"],
    supports: Sequence[AbstractSupport],
    names: Sequence[str],
) -> None:
    """Refuse conditionals whose differences at a draw are not those of the log density."""
    discrete = [j for j, support in enumerate(supports) if support.kind == "discrete"]
    for j in np.asarray(discrete)[evenly_spaced_indices(len(discrete), MOST_COORDINATES)]:
        values = all_values(supports[j])
        if values is None:
            continue  # conditionals are not used
        given = target.outcome_values(draw, int(j), values)[0]
        compared = evenly_spaced_indices(len(values), MOST_COMPARED)
        given, values = given[compared], values[compared]
        points = np.repeat(draw, len(values), axis=0)
        points[:, j] = values
        logs = target.log_values(points)
        if logs is None:
            return
        _require_same(given, logs, values, printable(str(names[int(j)])))


def _require_same(
    given: Float[np.ndarray, " k"],
    logs: Float[np.ndarray, " k"],
    values: Float[np.ndarray, " k"],
    name: str,
) -> None:
    best = int(np.argmax(np.where(np.isfinite(logs), logs, -np.inf)))
    if not (np.isfinite(logs[best]) and np.isfinite(given[best])):
        return  # said where the draws are looked at
    by_given, by_density = given - given[best], logs - logs[best]
    size = np.abs(logs[np.isfinite(logs)]).max()
    likely = (by_density > LEAST_LOG) | (by_given > LEAST_LOG)
    with np.errstate(invalid="ignore"):
        apart = ~(np.abs(by_given - by_density) <= ABSOLUTE + RELATIVE * size)
    wrong = np.flatnonzero(likely & apart)
    if len(wrong):
        k = wrong[0]
        raise TargetError(
            f"conditionals= and the log density disagree at the first draw: of {name} = "
            f"{values[k]:.16g} and {values[best]:.16g}, the log probabilities differ by "
            f"{by_given[k]:.6g} by conditionals= and by {by_density[k]:.6g} by the density. "
            "Are the values in increasing order, as in the support, and all terms with this "
            "coordinate in both?"
        )
