r"""The Stein kernel of a preconditioned inverse multiquadric, for choosing points one by one.

.. math::
    k(x, y) = (1 + (x - y)' L (x - y))^{-1/2}, \qquad
    k_0(x, y) = \frac{\langle b_x, b_y \rangle}{q^{1/2}}
    + \frac{\mathrm{tr} L + \langle b_x - b_y, L (x - y) \rangle}{q^{3/2}}
    - \frac{3 |L (x - y)|^2}{q^{5/2}}

with q = 1 + (x - y)' L (x - y). Draws are standardised first: each coordinate is divided by its
mean absolute deviation, and the scores are multiplied by it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from steinwise._internal.spread import pulled_in
from steinwise._internal.validation import as_numbers, as_symmetric, require_flag
from steinwise.errors import InputError
from steinwise.kernels.median import MEDIAN_ROWS
from steinwise.kernels.precision import robust_centre
from steinwise.target import AbstractTarget

WORDS = {
    "id": "identity",
    "med": "median",
    "sclmed": "scaled median",
    "smpcov": "sample covariance",
}
# The step of central difference quotients of scores, in units of the scaled space: near the cube
# root of the rounding error times the scale, with room for scores of fewer digits.
DIFFERENCE_STEP = 1e-4
# The least eigenvalue of a covariance, as a share of the largest, that is not taken as rounding:
# the inverse would otherwise multiply noise by more than 1e12.
SINGULAR_SHARE = 1e-12

Rows = Float[np.ndarray, "n d"]


@dataclass(frozen=True, eq=False)
class ScaledSpace:
    """Coordinates divided by a scale, in which the KSD is measured, and its preconditioner L."""

    scale: Float[np.ndarray, " d"]
    matrix: Float[np.ndarray, "d d"]  # L
    description: str

    @classmethod
    def of(cls, rows: Rows, preconditioner: Any, standardise: bool) -> "ScaledSpace":
        """The scale and the preconditioner that these draws give."""
        require_flag("standardise", standardise)
        scale = np.ones(rows.shape[1])
        if standardise:
            near = pulled_in(rows)  # one far draw would set the scale of all others
            scale = np.abs(near - near.mean(axis=0)).mean(axis=0)
        matrix = _matrix(rows / scale, preconditioner)
        kind = WORDS.get(preconditioner) if isinstance(preconditioner, str) else "given"
        return cls(scale, matrix, f"IMQ kernel, {kind} preconditioner")

    @property
    def isotropic(self) -> bool:
        """Whether L is a number times the identity."""
        return bool((self.matrix == self.matrix[0, 0] * np.eye(len(self.matrix))).all())

    def positive_curvature(
        self, target: AbstractTarget, x: Rows, memory: int
    ) -> Float[np.ndarray, " n"]:
        """The sum of the positive second derivatives of log p along the scaled coordinates.

        By differences of the score along coordinate lines, which every target has. `x` is in the
        coordinates of the target.
        """
        coordinates, h = np.arange(x.shape[1]), DIFFERENCE_STEP * self.scale
        lines = x[..., None] + h[:, None] * np.array([-1.0, 1.0])
        slopes = target.line_scores(x, coordinates, lines, memory=memory)
        second = (slopes[..., 1] - slopes[..., 0]) / (2 * h) * self.scale**2
        return np.maximum(second, 0.0).sum(axis=1)


def _matrix(x: Rows, preconditioner: Any) -> Float[np.ndarray, "d d"]:
    n, d = x.shape
    if not isinstance(preconditioner, str):
        return _given(preconditioner, d)
    if preconditioner == "id":
        return np.eye(d)
    if preconditioner in ("med", "sclmed"):
        from scipy.spatial.distance import pdist

        # as the package stein-thinning takes them, rounded down
        spaced = x if n <= MEDIAN_ROWS else x[np.linspace(0, n - 1, MEDIAN_ROWS, dtype=int)]
        median = float(np.median(pdist(spaced)))
        if median == 0:
            raise InputError(
                "the median distance is 0: more than half of the pairs of draws are equal. Pass "
                "preconditioner='id', or drop the repeated draws."
            )
        return np.eye(d) / median**2 * (np.log(len(spaced)) if preconditioner == "sclmed" else 1.0)
    if preconditioner == "smpcov":
        covariance = np.atleast_2d(np.cov(x, rowvar=False))
        eigenvalues = np.linalg.eigvalsh(covariance)
        if eigenvalues[0] <= SINGULAR_SHARE * eigenvalues[-1]:
            raise InputError(
                f"the covariance of the {n} draws of {d} coordinates is singular: expected more "
                "draws than coordinates, none a linear function of the others. Pass "
                "preconditioner='med'."
            )
        inverse = np.linalg.inv(covariance)
        return (inverse + inverse.T) / 2
    raise InputError(
        f"preconditioner is {preconditioner!r}: expected one of {tuple(WORDS)}, or a "
        "positive definite matrix (d, d)."
    )


def _given(value: Any, d: int) -> Float[np.ndarray, "d d"]:
    matrix = as_numbers(value)
    if matrix is None or matrix.shape != (d, d) or not np.isfinite(matrix).all():
        shape = "" if matrix is None else f" and shape {matrix.shape}"
        raise InputError(
            f"preconditioner is of type {type(value).__name__}{shape}: expected one of "
            f"{tuple(WORDS)}, or a positive definite matrix ({d}, {d})."
        )
    symmetric = as_symmetric("the preconditioner", matrix)
    if np.linalg.eigvalsh(symmetric)[0] <= 0:
        raise InputError("the preconditioner is not positive definite.")
    return symmetric


@dataclass(frozen=True, eq=False)
class SteinColumns:
    """k_0 between fixed points and any other, at the price of one product of matrices.

    What belongs to a fixed point alone is computed once. Points and scores are those of the scaled
    space, and each is a column: a product then gives contiguous rows.
    """

    centre: Float[np.ndarray, " d"]  # of the points
    matrix: Float[np.ndarray, "d d"]  # L
    multiple: float | None  # of the identity, if L is one
    columns: Float[np.ndarray, "two_d n"]  # L (x - centre) above the scores
    lengths: Float[np.ndarray, " n"]  # (x - centre)' L (x - centre)
    along: Float[np.ndarray, " n"]  # <score, L (x - centre)>
    steepness: Float[np.ndarray, " n"]  # |L (x - centre)|^2
    diagonal: Float[np.ndarray, " n"]  # k_0(x, x)

    @classmethod
    def of(cls, space: ScaledSpace, x: Rows, score: Rows) -> "SteinColumns":
        # squares of differences lose digits far from 0; a shift changes nothing else. Measured from
        # the mean, one far draw would cost all others their digits.
        centre = robust_centre(x)
        x = x - centre
        preconditioned = x @ space.matrix
        return cls(
            centre=centre,
            matrix=space.matrix,
            multiple=float(space.matrix[0, 0]) if space.isotropic else None,
            columns=np.concatenate([preconditioned.T, score.T]),
            lengths=np.einsum("nd,nd->n", x, preconditioned),
            along=np.einsum("nd,nd->n", score, preconditioned),
            steepness=np.einsum("nd,nd->n", preconditioned, preconditioned),
            diagonal=np.einsum("nd,nd->n", score, score) + float(np.trace(space.matrix)),
        )

    def with_point(
        self, y: Float[np.ndarray, " d"], score_y: Float[np.ndarray, " d"]
    ) -> Float[np.ndarray, " n"]:
        """k_0(x_i, y) for all fixed points x_i."""
        y = y - self.centre
        ly, zeros = y @ self.matrix, np.zeros(len(y))
        rows = [(y, zeros), (score_y, ly), (zeros, score_y)]
        if self.multiple is None:
            rows.append((ly, zeros))
        products = np.stack([np.concatenate(row) for row in rows]) @ self.columns
        distance = np.maximum(self.lengths + y @ ly - 2 * products[0], 0.0)
        along = self.along + score_y @ ly - products[1]
        if self.multiple is None:
            steepness = self.steepness + ly @ ly - 2 * products[3]
        else:
            steepness = self.multiple * distance
        inverse = 1 / (1 + distance)
        inner = float(np.trace(self.matrix)) + along - 3 * steepness * inverse
        return np.sqrt(inverse) * (products[2] + inverse * inner)
