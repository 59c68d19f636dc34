r"""Graphical KSD: one Stein kernel per coordinate, on its Markov blanket.

Given its neighbours N(j) in the graph of p, coordinate j is independent of all others under p, and
its score b_j depends on x_j and x_N(j) alone. With a kernel k on these coordinates C_j,

.. math::
    \sum_j E\, \Big[ b_j(x) b_j(y) k + b_j(x) \partial_{y_j} k + b_j(y) \partial_{x_j} k
    + \partial_{x_j} \partial_{y_j} k \Big], \qquad k = k(x_{C_j}, y_{C_j}),

is 0 if and only if every coordinate has p's distribution given its neighbours. No kernel sees more
coordinates than a blanket has, so that the power does not fade with d.

Zhuo, Liu, Shi, Zhu, Chen and Zhang, "Message passing Stein variational gradient descent", 2018;
Wang, Zeng and Liu, "Stein variational message passing for continuous graphical models", 2018.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import jax
import numpy as np
from jaxtyping import Array, Bool

from steinwise._internal.notes import Note
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import require_share
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.functional import coordinate_stein_gram
from steinwise.kernels import RBF, AbstractKernel
from steinwise.kernels.base import require_kernel
from steinwise.kernels.precision import cast_centred
from steinwise.methods.bandwidth_notes import bandwidth_notes
from steinwise.methods.base import AbstractFitted, AbstractMethod
from steinwise.methods.statistics import Gram, GramPerCoordinate, draws_and_scores
from steinwise.target import AbstractTarget
from steinwise.target.couplings import hessian_couplings
from steinwise.target.graph_input import as_graph

POINTS = 10  # draws at which zeros of the Hessian are looked for

Graph = np.ndarray | Sequence[tuple[int | str, int | str]] | Mapping[int | str, Sequence[int | str]]


class GraphicalKSD(AbstractMethod):
    r"""The kernelized Stein discrepancy on Markov blankets, with a verdict on every coordinate.

    .. math::
        \sum_j E\, h_j(x, y), \qquad h_j = b_j(x) b_j(y) k + b_j(x) \partial_{y_j} k
        + b_j(y) \partial_{x_j} k + \partial_{x_j} \partial_{y_j} k

    with k a kernel of the coordinates j and its neighbours.

    **It looks no further than the blankets.** A wrong dependence between coordinates that are not
    neighbours in the target's graph can pass unseen; of a target with independent coordinates it
    tests nothing but the marginals. Add edges to look for more.

    Parameters
    ----------
    graph
        The neighbours in the target's graph: a symmetric array (d, d) of 0 and 1, a list of edges
        or a dict of neighbours, by index or by name. By default it is found from the zeros of the
        target's Hessian (`sw.graphs.markov_graph`).
    kernel
        A kernel for blankets of any size; RBF with the median heuristic of each by default.
    tolerance
        The largest coupling that counts as none, where the graph is looked for.

    Examples
    --------
    A chain of ten coordinates, each of which depends on the one before; the last is too wide.

    >>> import numpy as np, steinwise as sw
    >>> precision = 2 * np.eye(10) - 0.9 * (np.eye(10, k=1) + np.eye(10, k=-1))
    >>> target = sw.Gaussian(np.zeros(10), np.linalg.inv(precision))
    >>> draws = np.random.default_rng(0).multivariate_normal(np.zeros(10), target.covariance, 500)
    >>> draws[:, -1] *= 1.4
    >>> result = sw.check(draws, target, method=sw.methods.GraphicalKSD())
    >>> [c.name for c in result.coordinates if c.verdict == "misfit"]
    ['x[9]']
    """

    graph: Graph | None = None
    kernel: AbstractKernel = RBF("median")
    tolerance: float = 1e-6

    name: ClassVar[str] = "graphical"
    flag_meaning: ClassVar[str] = "blanket"

    def __check_init__(self) -> None:
        require_kernel(self.kernel)
        if any(np.ndim(parameter) for parameter in jax.tree.leaves(self.kernel)):
            raise InputError(
                "the kernel has a vector of parameters, and the blankets that it serves differ in "
                "their coordinates: give one number, or 'median'."
            )
        require_share("tolerance", self.tolerance)

    def describe(self) -> str:
        return f"graphical KSD ({type(self.kernel).__name__} kernel)"

    @property
    def elsewhere(self) -> str:
        if self.graph is not None:
            return ""
        return "finds its graph from scores around the draws (unless it is given: graph=)"

    def prepare(
        self, samples: Samples, target: AbstractTarget, run: RunOptions
    ) -> "Iterator[FittedGraphicalKSD]":
        """The graph as a matrix, given or found; no draws are held out."""
        yield FittedGraphicalKSD(self, samples, self._matrix(samples, target, run))

    def _matrix(
        self, samples: Samples, target: AbstractTarget, run: RunOptions
    ) -> Bool[np.ndarray, "d d"]:
        if self.graph is not None:
            return as_graph(self.graph, samples.names)
        couplings = hessian_couplings(
            target, samples.rows, samples.names, points=POINTS, memory=run.memory
        )
        return couplings > self.tolerance


@dataclass(frozen=True, eq=False)
class FittedGraphicalKSD(AbstractFitted[GraphicalKSD]):
    """Graphical KSD with the graph that it follows, and the draws that it tests."""

    graph: Bool[np.ndarray, "d d"]

    @property
    def labels(self) -> tuple[str, ...]:
        return self.samples.names

    def notes(self) -> tuple[Note, ...]:
        return bandwidth_notes(self.method.kernel, self.samples.rows)

    def describe(self) -> str:
        sizes = 1 + self.graph.sum(axis=1)
        kernel = type(self.method.kernel).__name__
        blankets = f"blankets of {sizes.min()} to {sizes.max()} coordinates"
        return f"graphical KSD ({kernel} kernel, {blankets})"

    def statistic(self, target: AbstractTarget, run: RunOptions) -> GramPerCoordinate:
        x, kernel = self.samples.rows, self.method.kernel
        scores = self.scores(target, run)
        monitored = draws_and_scores(x, scores)
        grams = []
        for j in range(self.samples.dim):
            rows = x[:, np.concatenate([[j], np.flatnonzero(self.graph[j])])]
            resolved = kernel.resolve(rows, run.seed, per_coordinate=False)
            both = *cast_centred(kernel, run.dtype, rows), scores[:, j].astype(run.dtype)
            grams.append(Gram(_blanket_tile, resolved, both, monitored, run.memory))
        return GramPerCoordinate(tuple(grams))


def _blanket_tile(kernel: AbstractKernel, rows: tuple, others: tuple) -> Array:
    (x, score_x), (y, score_y) = rows, others
    return coordinate_stein_gram(kernel, x, y, score_x, score_y)[None]
