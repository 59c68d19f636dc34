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

from steinwise.errors import InputError
from steinwise.kernels.median import MEDIAN_ROWS
from steinwise.target import AbstractTarget

WORDS = {
    "id": "identity",
    "med": "median",
    "sclmed": "scaled median",
    "smpcov": "sample covariance",
}
STEP = 1e-4  # of a difference quotient, in mean absolute deviations

Rows = Float[np.ndarray, "n d"]


@dataclass(frozen=True, eq=False)
class Frame:
    """The coordinates that a discrepancy is measured in, and its preconditioner L there."""

    scale: Float[np.ndarray, " d"]
    matrix: Float[np.ndarray, "d d"]
    words: str

    @classmethod
    def of(cls, rows: Rows, preconditioner: Any, standardise: bool) -> "Frame":
        """The frame that these draws give."""
        if not isinstance(standardise, bool):
            raise InputError(f"standardise is {standardise!r}: expected True or False.")
        scale = np.ones(rows.shape[1])
        if standardise:
            scale = np.abs(rows - rows.mean(axis=0)).mean(axis=0)
        matrix = _matrix(rows / scale, preconditioner)
        how = WORDS.get(preconditioner) if isinstance(preconditioner, str) else "given"
        return cls(scale, matrix, f"IMQ kernel, {how} preconditioner")

    @property
    def isotropic(self) -> bool:
        """Whether L is a number times the identity."""
        return bool((self.matrix == self.matrix[0, 0] * np.eye(len(self.matrix))).all())

    def positive_curvature(
        self, target: AbstractTarget, x: Rows, memory: int
    ) -> Float[np.ndarray, " n"]:
        """The sum of the positive second derivatives of log p along the axes of the frame.

        By differences of the score along coordinate lines, which every target has.
        """
        every, h = np.arange(x.shape[1]), STEP * self.scale
        lines = x[..., None] + h[:, None] * np.array([-1.0, 1.0])
        slopes = target.line_scores(x, every, lines, memory=memory)
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

        some = x if n <= MEDIAN_ROWS else x[np.linspace(0, n - 1, MEDIAN_ROWS, dtype=int)]
        median = float(np.median(pdist(some)))
        if median == 0:
            raise InputError(
                "the median distance is 0: more than half of the pairs of draws are equal. Pass "
                "preconditioner='id', or drop the repeated draws."
            )
        return np.eye(d) / median**2 * (np.log(len(some)) if preconditioner == "sclmed" else 1.0)
    if preconditioner == "smpcov":
        covariance = np.atleast_2d(np.cov(x, rowvar=False))
        eigenvalues = np.linalg.eigvalsh(covariance)
        if eigenvalues[0] <= 1e-12 * eigenvalues[-1]:
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
    matrix = np.asarray(value)
    if matrix.shape != (d, d) or matrix.dtype.kind not in "iuf" or not np.isfinite(matrix).all():
        raise InputError(
            f"preconditioner is of type {type(value).__name__} and shape {matrix.shape}: expected "
            f"one of {tuple(WORDS)}, or a positive definite matrix ({d}, {d})."
        )
    matrix = matrix.astype(np.float64)
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0) or np.linalg.eigvalsh(matrix)[0] <= 0:
        raise InputError("the preconditioner is not symmetric and positive definite.")
    return matrix


class SteinColumns:
    """k_0 between fixed points and any other, at the price of one product of matrices.

    What belongs to a fixed point alone is computed once. Points and scores are those of the frame,
    and each is a column: a product then gives contiguous rows.
    """

    def __init__(self, frame: Frame, x: Rows, score: Rows) -> None:
        # squares of differences lose digits far from 0; a shift changes nothing else
        self.centre = x.mean(axis=0)
        x = x - self.centre
        self.matrix, self.trace = frame.matrix, float(np.trace(frame.matrix))
        self.common = float(frame.matrix[0, 0]) if frame.isotropic else None
        preconditioned = x @ frame.matrix
        self.columns = np.concatenate([preconditioned.T, score.T])
        self.lengths = np.einsum("nd,nd->n", x, preconditioned)
        self.along = np.einsum("nd,nd->n", score, preconditioned)
        self.steepness = np.einsum("nd,nd->n", preconditioned, preconditioned)
        self.diagonal = np.einsum("nd,nd->n", score, score) + self.trace

    def with_point(
        self, y: Float[np.ndarray, " d"], score_y: Float[np.ndarray, " d"]
    ) -> Float[np.ndarray, " n"]:
        """k_0(x_i, y) for all fixed points x_i."""
        y = y - self.centre
        ly, nothing = y @ self.matrix, np.zeros(len(y))
        rows = [(y, nothing), (score_y, ly), (nothing, score_y)]
        if self.common is None:
            rows.append((ly, nothing))
        products = np.stack([np.concatenate(row) for row in rows]) @ self.columns
        distance = np.maximum(self.lengths + y @ ly - 2 * products[0], 0.0)
        along = self.along + score_y @ ly - products[1]
        if self.common is None:
            steepness = self.steepness + ly @ ly - 2 * products[3]
        else:
            steepness = self.common * distance
        inverse = 1 / (1 + distance)
        inner = self.trace + along - 3 * steepness * inverse
        return np.sqrt(inverse) * (products[2] + inverse * inner)
