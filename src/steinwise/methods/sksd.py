r"""Sliced KSD: univariate Stein kernels of projected draws, one slice per coordinate.

With the score direction r = e_j and a unit vector g_j to project on, write x_g = <x, g_j>. r
is not learned: on the axes every slice is about one coordinate, and none is left out. A slice
compares draws through

    h_j(x, y) = b_j(x) b_j(y) k + g_jj (b_j(y) dk/dx + b_j(x) dk/dy) + g_jj^2 d2k/dxdy,

where k is a univariate kernel at x_g and y_g, and g_jj = <r, g_j>. Its mean over independent x, y
is zero under the target, whatever g_j is, and the discrepancy is the sum over j of these means.

References
----------
Gong, Li, Hernandez-Lobato (2021), Sliced kernelized Stein discrepancy, ICLR.
Gong, Zhang, Li, Hernandez-Lobato (2021), Active slices for sliced Stein discrepancy, ICML.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.compiled import precision
from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.notes import Note
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import as_points, require_choice, require_share
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, TooFewDraws
from steinwise.functional import slice_stein_gram
from steinwise.kernels import RBF, AbstractKernel
from steinwise.kernels.base import require_kernel
from steinwise.kernels.per_coordinate import one_per_coordinate
from steinwise.kernels.precision import cast_centred
from steinwise.methods.bandwidth_notes import coordinate_bandwidth_notes
from steinwise.methods.base import AbstractFitted, AbstractMethod, scores_of
from steinwise.methods.sksd_directions import active_directions, learned_directions, unit_rows
from steinwise.methods.statistics import Gram, GramPerCoordinate, draws_and_scores
from steinwise.target import AbstractTarget

SLICES = ("axes", "learned", "active")
LEAST_TRAINING, MOST_TRAINING = 10, 500  # draws


def _given(directions: object) -> np.ndarray | None:
    if directions is None:
        return None
    return as_points("directions", directions, "an array (d, d), one row per coordinate")


class SlicedKSD(AbstractMethod):
    r"""The sliced kernelized Stein discrepancy with score directions along the axes.

    .. math::
        \sum_j E\, h_j(x, y), \qquad
        h_j = b_j(x) b_j(y) k + g_{jj} (b_j(y) \partial_x k + b_j(x) \partial_y k)
        + g_{jj}^2 \partial_x \partial_y k

    with a univariate kernel k at <x, g_j> and <y, g_j>. Every coordinate gets a verdict.

    With slices "axes" it is a sum of univariate KSDs with the joint score's coordinates. **It then
    looks at one coordinate at a time**: of a target with independent coordinates it tests nothing
    but the marginals, and draws with right marginals and a wrong dependence pass. Learned and
    active slices see more, for a part of the draws that is held out to find them.

    Parameters
    ----------
    slices
        "axes" for g_j = e_j. "learned" for the maximum over g_j, by 100 steps of Adam on the
        U-statistic of the held-out draws. "active" for the leading eigenvector of
        E grad f_j grad f_j', where f_j(y) = E_x [b_j(x) k(x, y)] - dq/dy_j: the difference of the
        scores times the density q of the draws, smoothed by an RBF kernel with the median width on
        the standardised draws. q is the kernel density estimate of the held-out draws.
    kernel
        A univariate kernel, by default RBF with the median width of each projection; a vector as
        bandwidth gives one per slice.
    train
        The share of every chain, from its start, that slices are found on; at most 500 draws of
        it are used. Nothing is held out for "axes".
    directions
        The g_j as rows, where they are known already: they are not looked for then.

    Examples
    --------
    Marginals are right and the dependence is wrong.

    >>> import numpy as np, steinwise as sw
    >>> covariance = [[1.0, 0.8], [0.8, 1.0]]
    >>> draws = np.random.default_rng(0).multivariate_normal([0, 0], covariance, size=400)
    >>> target = sw.Gaussian(np.zeros(2), np.eye(2))
    >>> for slices in ("axes", "learned", "active"):
    ...     print(slices, sw.check(draws, target, method=sw.methods.SlicedKSD(slices)).rejected)
    axes False
    learned True
    active True
    """

    slices: Literal["axes", "learned", "active"] = "axes"
    kernel: AbstractKernel = RBF("median")
    train: float = 0.2
    directions: Float[np.ndarray, "d d"] | None = eqx.field(converter=_given, default=None)

    name: ClassVar[str] = "sksd"

    def __check_init__(self) -> None:
        require_choice("slices", self.slices, SLICES)
        require_kernel(self.kernel)
        require_share("train", self.train)
        if self.directions is not None and self.slices == "axes":
            raise InputError(
                "directions came with slices='axes', which project on the axes: drop directions=, "
                "or pass slices='learned'."
            )

    def describe(self) -> str:
        return f"sliced KSD ({type(self.kernel).__name__} kernel, {self.slices} slices)"

    @property
    def elsewhere(self) -> str:
        return ""

    def prepare(
        self, samples: Samples, target: AbstractTarget, run: RunOptions
    ) -> "Iterator[FittedSlicedKSD]":
        """Unit vectors to project on, found on the first draws, and the other draws."""
        if self.slices == "axes":
            yield FittedSlicedKSD(self, samples, np.eye(samples.dim))
            return
        if self.directions is not None:
            yield FittedSlicedKSD(self, samples, _as_unit_rows(self.directions, samples.dim))
            return
        held_out, tested = samples.split(self.train, 1 - self.train)
        if held_out.n < LEAST_TRAINING:
            raise TooFewDraws(
                f"train={self.train:g} holds out {held_out.n} of {samples.n} draws to find slices "
                f"on: at least {LEAST_TRAINING} are needed. Take more draws, a larger share, or "
                "slices='axes', which holds out nothing."
            )
        index = evenly_spaced_indices(held_out.n, MOST_TRAINING)
        x = held_out.take(index)
        score = scores_of(held_out, target, run, index)
        if self.slices == "learned":
            directions = learned_directions(self.kernel, x, score, run.seed)
        else:
            directions = active_directions(x, score, run.seed)
        yield FittedSlicedKSD(self, tested, unit_rows(directions))


def _as_unit_rows(directions: Float[np.ndarray, "k m"], d: int) -> Float[np.ndarray, "d d"]:
    if directions.shape != (d, d) or not np.linalg.norm(directions, axis=1).all():
        raise InputError(
            f"directions have shape {directions.shape}: expected ({d}, {d}), one row for each "
            "coordinate of the draws, none of them zero."
        )
    return unit_rows(directions)


@dataclass(frozen=True, eq=False)
class FittedSlicedKSD(AbstractFitted[SlicedKSD]):
    """Sliced KSD with the unit vectors that it projects on, and the draws that it tests."""

    directions: Float[np.ndarray, "d d"]

    @property
    def labels(self) -> tuple[str, ...]:
        return self.samples.names

    def notes(self) -> tuple[Note, ...]:
        projected = self.samples.rows @ self.directions.T
        return coordinate_bandwidth_notes([self.method.kernel], projected, self.labels)

    def statistic(self, target: AbstractTarget, run: RunOptions) -> GramPerCoordinate:
        scores = self.scores(target, run)
        projected = self.samples.rows @ self.directions.T
        kernel = self.method.kernel.resolve(projected, run.seed, per_coordinate=True)
        (near,) = cast_centred(kernel, run.dtype, projected)
        columns = near.T, scores.T.astype(run.dtype)
        monitored = draws_and_scores(projected, scores)
        kernels = _one_each(kernel, self.samples.dim)
        return GramPerCoordinate(
            tuple(
                Gram(_slice_tile, (kernels[j], self.directions[j, j]), rows, monitored, run.memory)
                for j, rows in enumerate(zip(*columns, strict=True))
            )
        )


def _slice_tile(parameters: tuple, rows: tuple, others: tuple) -> Array:
    kernel, alignment = parameters
    (x, score_x), (y, score_y) = rows, others
    return slice_stein_gram(kernel, x, y, score_x, score_y, alignment)[None]


def _one_each(kernel: AbstractKernel, d: int) -> list[AbstractKernel]:
    """The kernel of every slice."""
    with precision():
        kernels = jax.tree.map(np.asarray, one_per_coordinate(kernel, d))
    return [jax.tree.map(lambda leaf: leaf[j], kernels) for j in range(d)]  # noqa: B023
