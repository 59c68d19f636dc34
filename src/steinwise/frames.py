"""The lines along which the target is followed: the coordinates, and a few directions.

Coordinate lines are blind to a shift along a direction in which p is long and every coordinate line
short, and to modes that no coordinate line joins. So the leading principal directions of a
held-out part of the draws are followed too. Held out, because directions taken from the tested
draws would destroy the level.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri
from scipy.stats import rankdata

from steinwise.samples import Samples

HELD_OUT = 0.2
FEWEST_HELD_OUT = 8
MOST_DIRECTIONS = 10


@dataclass(frozen=True, eq=False)
class Frame:
    """Lines through every draw, and the other coordinates as seen from each line."""

    group: str
    labels: tuple[str, ...]
    directions: np.ndarray  # integers for coordinates, rows (c, d) for directions
    at: Float[np.ndarray, "n c"]  # where each draw stands on its lines
    others: Float[np.ndarray, "n q"]  # normal scores of the coordinates of this frame
    own: np.ndarray  # (c,) the column of `others` that belongs to the line itself
    tested: Float[np.ndarray, " n"]  # 1, or 0 for a draw that is held out


def axes(samples: Samples) -> Frame:
    """The coordinate lines."""
    index = np.arange(samples.dim)
    x = samples.rows
    everyone = np.ones(samples.n)
    return Frame("coordinates", samples.names, index, x, normal_scores(x), index, everyone)


def directions(samples: Samples) -> Frame | None:
    """The leading principal directions of the first fifth of every chain.

    Those along which they spread more than independent coordinates would by chance; None if there
    is none, since a direction without correlation shows nothing that its coordinates do not.
    """
    chains = samples.values if not samples.independent else samples.rows[None]
    held = int(HELD_OUT * chains.shape[1])
    n, d = samples.n, samples.dim
    if d == 1 or held * chains.shape[0] < FEWEST_HELD_OUT:
        return None
    part = chains[:, :held].reshape(-1, d)
    sd = part.std(axis=0)
    if not (sd > 0).all():
        return None
    values, vectors = np.linalg.eigh(np.corrcoef(part.T))
    values, vectors = values[::-1], vectors[:, ::-1]
    chance = (1 + np.sqrt(d / len(part))) ** 2  # the edge of the Marchenko-Pastur law
    count = min(int((values > chance).sum()), MOST_DIRECTIONS)
    if count == 0:
        return None
    along = (sd[:, None] * vectors[:, :count]).T
    place = ((samples.rows - part.mean(axis=0)) / sd) @ vectors
    tested = np.ones(chains.shape[:2])
    tested[:, :held] = 0.0
    labels = tuple(
        f"direction {k + 1} ({_largest(vectors[:, k], samples.names)})" for k in range(count)
    )
    return Frame(
        "directions",
        labels,
        along,
        place[:, :count],
        normal_scores(place),
        np.arange(count),
        tested.reshape(n),
    )


def _largest(vector: np.ndarray, names: tuple[str, ...]) -> str:
    """A direction by its largest coordinates, with their signs relative to the first."""
    order = np.argsort(-np.abs(vector), kind="stable")
    order = order[np.abs(vector[order]) > 0.5 * np.abs(vector[order[0]])][:3]
    lead = np.sign(vector[order[0]])
    terms = [("+ " if vector[j] * lead > 0 else "- ") + names[j] for j in order]
    more = ", ..." if (np.abs(vector) > 0.5 * np.abs(vector).max()).sum() > len(terms) else ""
    return " ".join(terms).removeprefix("+ ") + more


def normal_scores(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """Normal scores of the ranks, with mean 0 and variance 1: robust, and allowed by the theory."""
    z = ndtri((rankdata(x, axis=0) - 0.5) / len(x))
    return (z - z.mean(axis=0)) / z.std(axis=0)
