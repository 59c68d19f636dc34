"""Ranks among draws, as quantiles of the standard normal distribution."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.quantiles import quantiles_of_sorted

Sorting = Literal["quicksort", "stable"]


class RankedRows(NamedTuple):
    """Rows of numbers in increasing order, and the normal scores of their ranks."""

    order: Int[np.ndarray, "q m"]  # which entry of a row comes first, second, ...
    values: Float[np.ndarray, "q m"]  # sorted
    scores: Float[np.ndarray, "q m"]  # of the sorted values

    def in_place(self) -> Float[np.ndarray, "q m"]:
        """The scores in the order of the entries."""
        out = np.empty_like(self.scores)
        out.reshape(-1)[_flat(self.order)] = self.scores
        return out

    def by_distance(self, offset: float = 0.5) -> "RankedRows":
        """The same of the distances from each row's median.

        In the order of the values they fall and then rise: sorting them is one merge.
        """
        middle = quantiles_of_sorted(self.values, np.array([0.5])).T
        ranked = rank_rows(np.abs(self.values - middle), offset, kind="stable")
        return ranked._replace(order=np.take(self.order, _flat(ranked.order)))


def _flat(order: Int[np.ndarray, "q m"]) -> Int[np.ndarray, "q m"]:
    """Indices of entries of all rows, one after the other: half the time of `take_along_axis`."""
    q, m = order.shape
    return order + m * np.arange(q)[:, None]


def rank_rows(
    rows: Float[np.ndarray, "q m"], offset: float = 0.5, kind: Sorting = "quicksort"
) -> RankedRows:
    """Sort every row, and score the rank r among m by Phi^-1((r - offset) / (m + 1 - 2 offset)).

    Entries that are equal share their mean rank. With a table of the scores of all ranks, which
    rows share, this takes little longer than sorting. A "stable" sort is the faster one of rows
    that consist of a few runs, and gives the same.

    >>> rank_rows(np.array([[5.0, 1.0, 5.0]])).in_place().round(2).tolist()
    [[0.43, -0.97, 0.43]]
    """
    from scipy.special import ndtri

    q, m = rows.shape
    rows = np.ascontiguousarray(rows)
    order = np.argsort(rows, axis=1, kind=kind)
    values = np.take(rows, _flat(order))
    of_half_ranks = ndtri((np.arange(2, 2 * m + 1) / 2 - offset) / (m + 1 - 2 * offset))
    scores = np.tile(of_half_ranks[::2], (q, 1))
    differ = values[:, 1:] > values[:, :-1]
    tied = np.flatnonzero(~differ.all(axis=1))
    if tied.size:
        place = np.arange(m)
        edge = np.ones((tied.size, 1), bool)
        first = np.concatenate([edge, differ[tied]], axis=1)
        last = np.concatenate([differ[tied], edge], axis=1)
        first = np.maximum.accumulate(np.where(first, place, 0), axis=1)
        last = np.minimum.accumulate(np.where(last, place, m)[:, ::-1], axis=1)[:, ::-1]
        scores[tied] = of_half_ranks[first + last]
    return RankedRows(order, values, scores)


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Normal scores of ranks among given draws, with mean 0 and variance 1 among these.

    A robust change of scale, which the theory allows: the other coordinates may be transformed in
    any way. Scores are interpolated between the draws and constant beyond them.

    >>> scores = NormalScores.among(np.array([[1.0], [2.0], [30.0]]))
    >>> scores(np.array([[1.0], [2.0], [100.0]])).round(2).tolist()
    [[-1.22], [0.0], [1.22]]
    """

    values: Float[np.ndarray, "q m"]  # each coordinate's draws, sorted
    scores: Float[np.ndarray, "q m"]  # their scores

    @classmethod
    def among(cls, x: Float[np.ndarray, "m q"]) -> "NormalScores":
        """Scores of the ranks among the rows of x."""
        return cls.with_own(x)[0]

    @classmethod
    def with_own(cls, x: Float[np.ndarray, "m q"]) -> "tuple[NormalScores, np.ndarray]":
        """The same, and the scores of these draws themselves, one row per coordinate."""
        ranked = rank_rows(x.T)
        z = ranked.scores
        z -= z.mean(axis=1, keepdims=True)
        sd = z.std(axis=1, keepdims=True)
        z /= np.where(sd > 0, sd, 1.0)  # constant if discrete
        return cls(ranked.values, z), ranked.in_place()

    def __call__(self, x: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n q"]:
        out = np.empty_like(x)
        for j, (values, scores) in enumerate(zip(self.values, self.scores, strict=True)):
            out[:, j] = np.interp(x[:, j], values, scores)
        return out

    def part(self, columns: Int[np.ndarray, " k"]) -> "NormalScores":
        """Of some of the coordinates."""
        return NormalScores(self.values[columns], self.scores[columns])
