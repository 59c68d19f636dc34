"""The lines along which the target is followed: the coordinates, and a few directions.

Coordinate lines are blind to a shift along a direction in which p is long and every coordinate line
short, and to modes that no coordinate line joins. So the leading principal directions of a
held-out part of the draws are followed too. Held out, because directions taken from the tested
draws would destroy the level.

A frame is what must be known to place any draw on its lines; the draws themselves are not in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri
from scipy.stats import rankdata

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.threads import one_blas_thread
from steinwise.draws.samples import Samples
from steinwise.orbits.quadrature import Guide, make_guide

HELD_OUT = 0.2
FEWEST_HELD_OUT = 8
MOST_DIRECTIONS = 10
MOST_OTHERS = 64  # directions beside which the leading ones are seen
MOST_LOOKED_AT = 10_000  # draws, evenly spaced, that set scales and directions: fewer where
ENTRIES_LOOKED_AT, ENTRIES_DECOMPOSED = 2**23, 2**21  # they have more entries than this


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Normal scores of ranks among some draws, with mean 0 and variance 1 among them.

    Robust, and allowed by the theory, which lets the other coordinates be changed in any way.
    Between those draws they are interpolated, beyond them they stay as they are.
    """

    places: Float[np.ndarray, "q m"]
    scores: Float[np.ndarray, "q m"]

    @classmethod
    def among(cls, x: Float[np.ndarray, "m q"]) -> "NormalScores":
        z = ndtri((rankdata(x, axis=0) - 0.5) / len(x))
        z = (z - z.mean(axis=0)) / z.std(axis=0)
        return cls(np.sort(x, axis=0).T.copy(), np.sort(z, axis=0).T.copy())

    def __call__(self, x: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n q"]:
        out = np.empty_like(x)
        for j, (places, scores) in enumerate(zip(self.places, self.scores, strict=True)):
            out[:, j] = np.interp(x[:, j], places, scores)
        return out


@dataclass(frozen=True, eq=False)
class Rotation:
    """DrawIndex along directions, in standard deviations of some draws."""

    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]
    vectors: Float[np.ndarray, "d q"]

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n q"]:
        return ((x - self.mean) / self.sd) @ self.vectors


@dataclass(frozen=True, eq=False)
class Frame:
    """Lines through every draw, and the other coordinates as seen from each line."""

    group: str
    labels: tuple[str, ...]
    directions: np.ndarray  # integers for coordinates, rows (c, d) for directions
    own: Int[np.ndarray, " c"]  # the place that belongs to the line itself
    guide: Guide
    scores: NormalScores  # of all places, to see the others by
    rotation: Rotation | None = None
    held: tuple[int, int] = (0, 1)  # so many of this many consecutive draws are held out

    def places(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n q"]:
        """Where draws stand: on line k at place own[k]."""
        return x if self.rotation is None else self.rotation(x)

    def tested(self, rows: Int[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """1, or 0 for a draw that is held out, by the draws' numbers."""
        first, of = self.held
        return (rows % of >= first).astype(float)

    def part(self, lines: slice) -> "Frame":
        """Some of the lines."""
        return replace(
            self,
            labels=self.labels[lines],
            directions=self.directions[lines],
            own=self.own[lines],
            guide=Guide(*(one[lines] for one in self.guide)),
        )

    def joined(self, other: "Frame") -> "Frame":
        """With more lines of the same frame."""
        return replace(
            self,
            labels=self.labels + other.labels,
            directions=np.concatenate([self.directions, other.directions]),
            own=np.concatenate([self.own, other.own]),
            guide=Guide(*map(np.concatenate, zip(self.guide, other.guide, strict=True))),
        )


def axes(samples: Samples, coordinates: Sequence[int]) -> Frame:
    """The lines of some coordinates."""
    index = np.asarray(coordinates)
    x = looked_at(samples)
    names = tuple(samples.names[j] for j in index)
    guide = make_guide(x[:, index])
    return Frame("coordinates", names, index, index, guide, NormalScores.among(x))


def looked_at(samples: Samples) -> Float[np.ndarray, "m d"]:
    """The draws that scales are taken from: all, or as many of them evenly spaced."""
    return samples.spaced(_most(samples.dim, ENTRIES_LOOKED_AT))


def _most(d: int, entries: int) -> int:
    return min(MOST_LOOKED_AT, max(1000, entries // d))


@one_blas_thread
def most_directions(d: int) -> int:
    """How many there can be: along the only coordinate there is no other."""
    return 0 if d == 1 else min(d, MOST_DIRECTIONS)


def directions(samples: Samples) -> Frame | None:
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
    part = samples.take(numbers[evenly_spaced_indices(len(numbers), _most(d, ENTRIES_DECOMPOSED))])
    mean, sd = part.mean(axis=0), part.std(axis=0)
    if not (sd > 0).all():
        return None
    values, vectors = _principal((part - mean) / sd)
    leading = np.argmax(np.abs(vectors), axis=1)
    vectors = vectors * np.sign(vectors[np.arange(len(vectors)), leading])[:, None]
    chance = (1 + np.sqrt(d / len(part))) ** 2  # the edge of the Marchenko-Pastur law
    count = min(int((values > chance).sum()), most_directions(d))
    if count == 0:
        return None
    rotation = Rotation(mean, sd, vectors[:MOST_OTHERS].T)
    along = sd * vectors[:count]
    labels = tuple(
        f"direction {k + 1} ({_largest(vectors[k], samples.names)})" for k in range(count)
    )
    places = rotation(looked_at(samples))
    return Frame(
        "directions",
        labels,
        along,
        np.arange(count),
        make_guide(places[:, :count]),
        NormalScores.among(places),
        rotation,
        (held, length),
    )


def _principal(z: Float[np.ndarray, "m d"]) -> tuple[np.ndarray, np.ndarray]:
    """Variances along principal directions, largest first, and the directions as rows."""
    m, d = z.shape
    if d <= max(m, MOST_OTHERS):
        values, vectors = np.linalg.eigh(z.T @ z / m)
        return values[::-1], vectors[:, ::-1].T
    _, singular, vectors = np.linalg.svd(z, full_matrices=False)
    return singular**2 / m, vectors


def _largest(vector: np.ndarray, names: tuple[str, ...]) -> str:
    """A direction by its largest coordinates, the first of which it raises."""
    order = np.argsort(-np.abs(vector), kind="stable")
    order = order[np.abs(vector[order]) > 0.5 * np.abs(vector[order[0]])][:3]
    terms = [("+ " if vector[j] > 0 else "- ") + names[j] for j in order]
    more = ", ..." if (np.abs(vector) > 0.5 * np.abs(vector).max()).sum() > len(terms) else ""
    return " ".join(terms).removeprefix("+ ") + more
