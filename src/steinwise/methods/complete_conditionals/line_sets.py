"""The lines along which the target is followed: the coordinates, and a few directions.

Coordinate lines are blind to a shift along a direction in which p is long and every coordinate line
short, and to modes that no coordinate line joins. So the leading principal directions of a
held-out part of the draws are followed too. Held out, because directions taken from the tested
draws would destroy the level.

A set of lines is what must be known to place any draw on its lines. The draws themselves are not in
it; their normal scores are, where finding them has cost nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.orientation import oriented
from steinwise._internal.threads import one_blas_thread
from steinwise.draws.normal_scores import NormalScores
from steinwise.draws.samples import Samples
from steinwise.draws.scales import coordinate_labels
from steinwise.methods.complete_conditionals.normal_map import NormalMap
from steinwise.orbits.nodes import SearchRanges, search_ranges_of_sorted

HELD_OUT = 0.2  # the share of the draws that directions and modes are learned from
FEWEST_HELD_OUT = 8  # of fewer draws nothing is learned
MOST_DIRECTIONS = 10  # that are followed
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
        return (x - self.mean) @ (self.vectors / self.sd[:, None])


class HeldOut(NamedTuple):
    """The draws from which directions and modes are learned: the first of each period, or none."""

    first: int = 0  # how many draws of each period are held out
    period: int = 1

    def tested(self, numbers: Int[np.ndarray, "*shape"]) -> Bool[np.ndarray, "*shape"]:
        """Whether draws are none of these, by the draws' numbers."""
        return numbers % self.period >= self.first

    def numbers(self, n: int) -> Int[np.ndarray, " m"]:
        """These, of n draws."""
        return np.nonzero(~self.tested(np.arange(n)))[0]


NONE_HELD_OUT = HeldOut()


@dataclass(frozen=True, eq=False)
class LineSet:
    """Lines through every draw, and the normal scores of all coordinates."""

    group: str
    labels: tuple[str, ...]
    directions: np.ndarray  # integers for coordinates, rows (c, d) for directions
    own: Int[np.ndarray, " c"]  # the column of `positions` that belongs to the line itself
    ranges: SearchRanges
    normal_map: NormalMap  # of the positions on each line
    scores: NormalScores  # of all positions: what features of the others are made of
    rotation: Rotation | None = None
    held_out: HeldOut = NONE_HELD_OUT
    # the normal scores of all draws, where these are in memory and all of them set the scale
    of_draws: Float[np.ndarray, "q n"] | None = None

    def others(self, start: int, positions: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "q n"]:
        """Normal scores of the positions of consecutive draws, the first of them number `start`."""
        if self.of_draws is None:
            return self.scores(positions).T
        return self.of_draws[:, start : start + len(positions)]

    def positions(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n q"]:
        """Where draws stand: on line k at column own[k]."""
        return x if self.rotation is None else self.rotation(x)

    def normal_scores(
        self, start: int, x: Float[np.ndarray, "n d"], lines: Int[np.ndarray, " k"]
    ) -> Float[np.ndarray, "n k"]:
        """Where consecutive draws stand on some of the lines, as normal scores."""
        columns = self.own[lines]
        if self.of_draws is not None:
            return self.of_draws[columns, start : start + len(x)].T
        return self.scores.part(columns)(self.positions(x)[:, columns])

    @property
    def weights(self) -> Float[np.ndarray, "d c"]:
        """The weights of the coordinates in the position on each line along a direction."""
        assert self.rotation is not None
        return self.rotation.vectors[:, self.own] / self.rotation.sd[:, None]

    def along(self, gradients: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n c"]:
        """The slopes along the lines, from gradients."""
        if self.directions.ndim == 1:
            return gradients[:, self.directions]
        return gradients @ self.directions.T

    def thinned(self, step: int, chains: int, draws: int) -> "LineSet":
        """For every step-th draw of each chain, of which each then has `draws`."""
        if step == 1:
            return self
        of_draws = self.of_draws
        if of_draws is not None:
            by_chain = of_draws.reshape(len(of_draws), chains, -1)[..., ::step]
            of_draws = by_chain.reshape(len(of_draws), -1)
        whole = chains if self.held_out.period > draws * step else 1  # all chains as one
        held_out = HeldOut(-(-self.held_out.first // step), whole * draws)
        return replace(self, held_out=held_out, of_draws=of_draws)

    def part(self, lines: slice) -> "LineSet":
        """Some of the lines."""
        return replace(
            self,
            labels=self.labels[lines],
            directions=self.directions[lines],
            own=self.own[lines],
            ranges=SearchRanges(*(array[lines] for array in self.ranges)),
            normal_map=self.normal_map.part(lines),
        )

    def joined(self, other: "LineSet") -> "LineSet":
        """With more lines of the same kind."""
        return replace(
            self,
            labels=self.labels + other.labels,
            directions=np.concatenate([self.directions, other.directions]),
            own=np.concatenate([self.own, other.own]),
            ranges=SearchRanges(*map(np.concatenate, zip(self.ranges, other.ranges, strict=True))),
            normal_map=self.normal_map.joined(other.normal_map),
        )


DISCRETE = "discrete coordinates"  # whose orbits are finite sets and no lines


def coordinate_lines(
    samples: Samples, coordinates: Sequence[int], group: str = "coordinates"
) -> LineSet:
    """The lines of some coordinates, or the orbits of discrete ones."""
    index = np.asarray(coordinates)
    x = scale_draws(samples)
    names = tuple(samples.names[j] for j in index)
    scores, of_draws = NormalScores.with_own(x)
    along = scores.values[index]
    return LineSet(
        group,
        names,
        index,
        index,
        search_ranges_of_sorted(along),
        NormalMap.of_sorted(along),
        scores,
        of_draws=of_draws if _are_all(samples, x) else None,
    )


def scale_draws(samples: Samples) -> Float[np.ndarray, "m d"]:
    """The draws that scales are taken from: all, or as many of them evenly spaced."""
    return samples.evenly_spaced(_most(samples.dim, SCALE_ENTRIES))


def _are_all(samples: Samples, scale: Float[np.ndarray, "m d"]) -> bool:
    """Whether the draws that set the scale are all there are, and at hand."""
    return samples.in_memory and len(scale) == samples.n


def _most(d: int, entries: int) -> int:
    return min(MOST_SCALE_DRAWS, max(1000, entries // d))


def most_directions(d: int) -> int:
    """How many there can be: along the only coordinate there is no other."""
    return 0 if d == 1 else min(d, MOST_DIRECTIONS)


def held_out_draws(samples: Samples) -> HeldOut:
    """The first fifth of every chain, or of all draws where these are independent."""
    length = samples.n if samples.independent else samples.n_draws
    return HeldOut(int(HELD_OUT * length), length)


def direction_lines(
    samples: Samples, discrete: Bool[np.ndarray, " d"] | None = None
) -> LineSet | None:
    """The leading principal directions of the first fifth of every chain, without discrete ones.

    Those along which they spread more than independent coordinates would by chance; None if there
    is none, since a direction without correlation shows nothing that its coordinates do not.
    """
    held_out = held_out_draws(samples)
    numbers = held_out.numbers(samples.n)
    moved = np.arange(samples.dim) if discrete is None else np.flatnonzero(~discrete)
    d = len(moved)
    if most_directions(d) == 0 or len(numbers) < FEWEST_HELD_OUT:
        return None
    part = samples.take(numbers[evenly_spaced_indices(len(numbers), _most(d, DECOMPOSED_ENTRIES))])
    mean, sd = part.mean(axis=0), part.std(axis=0)
    if not (sd[moved] > 0).all():
        return None
    values, leading_vectors = _principal(((part - mean) / np.where(sd > 0, sd, 1.0))[:, moved])
    vectors = np.zeros((len(leading_vectors), samples.dim))
    vectors[:, moved] = leading_vectors
    sd = np.where(sd > 0, sd, 1.0)
    vectors = oriented(vectors)
    chance = (1 + np.sqrt(d / len(part))) ** 2  # the edge of the Marchenko-Pastur distribution
    count = min(int((values > chance).sum()), most_directions(d))
    if count == 0:
        return None
    rotation = Rotation(mean, sd, vectors[:MOST_OTHERS].T)
    along = sd * vectors[:count]
    printed = coordinate_labels(samples)
    labels = tuple(f"direction {k + 1} ({_largest(vectors[k], printed)})" for k in range(count))
    scale = scale_draws(samples)
    scores, of_draws = NormalScores.with_own(rotation(scale))
    along_lines = scores.values[:count]
    return LineSet(
        "directions",
        labels,
        along,
        np.arange(count),
        search_ranges_of_sorted(along_lines),
        NormalMap.of_sorted(along_lines),
        scores,
        rotation,
        held_out,
        of_draws if _are_all(samples, scale) else None,
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
