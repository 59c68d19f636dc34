"""The lines along which the target is followed: the coordinates, and a few directions.

Coordinate lines are blind to a shift along a direction in which p is long and every coordinate line
short, and to modes that no coordinate line joins. So the leading principal directions of a
held-out part of the draws are followed too. Held out, because directions taken from the tested
draws would destroy the level.

A set of lines is what must be known to place any draw on its lines; the draws themselves are not
in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.threads import one_blas_thread
from steinwise.draws.normal_scores import NormalScores
from steinwise.draws.samples import Samples
from steinwise.orbits.nodes import SearchRanges, search_ranges_of

HELD_OUT = 0.2
FEWEST_HELD_OUT = 8
MOST_DIRECTIONS = 10
MOST_OTHERS = 64  # directions that serve as the other coordinates of the leading ones
MOST_SCALE_DRAWS = 10_000  # draws, evenly spaced, that set scales and directions: fewer where
SCALE_ENTRIES, DECOMPOSED_ENTRIES = 2**23, 2**21  # they have more entries than this


@dataclass(frozen=True, eq=False)
class Rotation:
    """Positions along directions, in standard deviations of some draws."""

    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]
    vectors: Float[np.ndarray, "d q"]

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n q"]:
        return ((x - self.mean) / self.sd) @ self.vectors


@dataclass(frozen=True, eq=False)
class LineSet:
    """Lines through every draw, and the other coordinates as seen from each line."""

    group: str
    labels: tuple[str, ...]
    directions: np.ndarray  # integers for coordinates, rows (c, d) for directions
    own: Int[np.ndarray, " c"]  # the column of `positions` that belongs to the line itself
    ranges: SearchRanges
    scores: NormalScores  # of all positions, to see the others by
    rotation: Rotation | None = None
    held_out: int = 0  # at the start of every `period` draws
    period: int = 1

    def positions(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n q"]:
        """Where draws stand: on line k at column own[k]."""
        return x if self.rotation is None else self.rotation(x)

    def tested(self, rows: Int[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """1, or 0 for a draw that is held out, by the draws' numbers."""
        return (rows % self.period >= self.held_out).astype(float)

    def part(self, lines: slice) -> "LineSet":
        """Some of the lines."""
        return replace(
            self,
            labels=self.labels[lines],
            directions=self.directions[lines],
            own=self.own[lines],
            ranges=SearchRanges(*(array[lines] for array in self.ranges)),
        )

    def joined(self, other: "LineSet") -> "LineSet":
        """With more lines of the same kind."""
        return replace(
            self,
            labels=self.labels + other.labels,
            directions=np.concatenate([self.directions, other.directions]),
            own=np.concatenate([self.own, other.own]),
            ranges=SearchRanges(*map(np.concatenate, zip(self.ranges, other.ranges, strict=True))),
        )


def coordinate_lines(samples: Samples, coordinates: Sequence[int]) -> LineSet:
    """The lines of some coordinates."""
    index = np.asarray(coordinates)
    x = scale_draws(samples)
    names = tuple(samples.names[j] for j in index)
    ranges = search_ranges_of(x[:, index])
    return LineSet("coordinates", names, index, index, ranges, NormalScores.among(x))


def scale_draws(samples: Samples) -> Float[np.ndarray, "m d"]:
    """The draws that scales are taken from: all, or as many of them evenly spaced."""
    return samples.evenly_spaced(_most(samples.dim, SCALE_ENTRIES))


def _most(d: int, entries: int) -> int:
    return min(MOST_SCALE_DRAWS, max(1000, entries // d))


def most_directions(d: int) -> int:
    """How many there can be: along the only coordinate there is no other."""
    return 0 if d == 1 else min(d, MOST_DIRECTIONS)


def direction_lines(samples: Samples) -> LineSet | None:
    """The leading principal directions of the first fifth of every chain.

    Those along which they spread more than independent coordinates would by chance; None if there
    is none, since a direction without correlation shows nothing that its coordinates do not.
    """
    length = samples.n if samples.independent else samples.n_draws
    held = int(HELD_OUT * length)
    d = samples.dim
    if most_directions(d) == 0 or held * (samples.n // length) < FEWEST_HELD_OUT:
        return None
    starts = np.arange(0, samples.n, length)
    numbers = (starts[:, None] + np.arange(held)).ravel()
    part = samples.take(numbers[evenly_spaced_indices(len(numbers), _most(d, DECOMPOSED_ENTRIES))])
    mean, sd = part.mean(axis=0), part.std(axis=0)
    if not (sd > 0).all():
        return None
    values, vectors = _principal((part - mean) / sd)
    leading = np.argmax(np.abs(vectors), axis=1)
    vectors = vectors * np.sign(vectors[np.arange(len(vectors)), leading])[:, None]
    chance = (1 + np.sqrt(d / len(part))) ** 2  # the edge of the Marchenko-Pastur distribution
    count = min(int((values > chance).sum()), most_directions(d))
    if count == 0:
        return None
    rotation = Rotation(mean, sd, vectors[:MOST_OTHERS].T)
    along = sd * vectors[:count]
    labels = tuple(
        f"direction {k + 1} ({_largest(vectors[k], samples.names)})" for k in range(count)
    )
    positions = rotation(scale_draws(samples))
    return LineSet(
        "directions",
        labels,
        along,
        np.arange(count),
        search_ranges_of(positions[:, :count]),
        NormalScores.among(positions),
        rotation,
        held,
        length,
    )


@one_blas_thread
def _principal(z: Float[np.ndarray, "m d"]) -> tuple[np.ndarray, np.ndarray]:
    """Variances along principal directions, largest first, and the directions as rows."""
    m, d = z.shape
    if d <= max(m, MOST_OTHERS):
        values, vectors = np.linalg.eigh(z.T @ z / m)
        return values[::-1], vectors[:, ::-1].T
    _, singular, vectors = np.linalg.svd(z, full_matrices=False)
    return singular**2 / m, vectors


def _largest(vector: np.ndarray, names: tuple[str, ...]) -> str:
    """A name for a direction: its largest coordinates, the first with a positive sign."""
    order = np.argsort(-np.abs(vector), kind="stable")
    order = order[np.abs(vector[order]) > 0.5 * np.abs(vector[order[0]])][:3]
    terms = [("+ " if vector[j] > 0 else "- ") + names[j] for j in order]
    more = ", ..." if (np.abs(vector) > 0.5 * np.abs(vector).max()).sum() > len(terms) else ""
    return " ".join(terms).removeprefix("+ ") + more
