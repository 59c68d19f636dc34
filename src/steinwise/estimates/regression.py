r"""The constant of a least-squares regression on functions of known mean.

If every column of G has mean 0 under the target, then in

.. math:: h(x) = \theta + G(x) \beta + r(x)

the constant is :math:`\theta = E_p h` up to the mean of r under the target, whatever distribution
the draws have. Where h - theta is in the span of the columns, r is 0 and theta exact.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise.calibration.batches import Batches

# Directions of the columns whose squared length is below this part of the longest hold rounding
# errors only.
NEGLIGIBLE = 1e-13
# A draw that decides its own fitted value has no residual to judge it by: its weight in the error
# is bounded.
LEAST_FREEDOM = 0.05


class Remainder(NamedTuple):
    """Columns without what a basis holds of them, and the constants of what it holds."""

    rest: Float[np.ndarray, "n p"]
    constant: Float[np.ndarray, " p"]


@dataclass(frozen=True, eq=False)
class Basis:
    """Orthonormal combinations of columns, and what each of them holds of the constant.

    A function whose coefficients on `q` are c is fitted with the constant `constant @ c`. A basis
    may extend another one. Columns are contiguous in memory, here and in what is passed on.
    """

    q: Float[np.ndarray, "n k"]
    constant: Float[np.ndarray, " k"]
    base: "Basis | None" = None

    @classmethod
    def of(cls, columns: Float[np.ndarray, "n p"]) -> "Basis":
        """Of a constant and columns whose means under the target are 0."""
        n = len(columns)
        columns = to_unit_size(columns)
        means = columns.mean(axis=0)
        # the columns after their means, which the constant takes: then it is orthogonal to them
        values, vectors = np.linalg.eigh(columns.T @ columns / n - np.outer(means, means))
        kept = values > NEGLIGIBLE * max(1.0, float(values[-1])) if len(values) else values > 0
        mix = vectors[:, kept] / np.sqrt(values[kept] * n)
        q, constant = _by_columns(columns - means, mix), -means @ mix
        # once more, against rounding errors of nearly dependent columns
        means = q.mean(axis=0)
        mix = np.linalg.inv(np.linalg.cholesky(q.T @ q - n * np.outer(means, means))).T
        q, constant = _by_columns(q - means, mix), (constant - means) @ mix
        one = np.full((1, n), n**-0.5)
        return cls(np.concatenate([one, q.T]).T, np.concatenate([one[0, :1], constant]))

    def remainder(self, columns: Float[np.ndarray, "n p"]) -> Remainder:
        """What the basis does not hold of some columns."""
        given = Remainder(columns, np.zeros(columns.shape[1]))
        if self.base is not None:
            given = self.base.remainder(columns)
        known = self.q.T @ given.rest
        return Remainder(
            given.rest - _by_columns(self.q, known), given.constant + self.constant @ known
        )

    def extended(self, columns: Float[np.ndarray, "n p"]) -> "Basis":
        """With more columns whose means under the target are 0."""
        rest, constant = self.remainder(to_unit_size(columns))
        mix = _to_orthonormal(rest.T @ rest, len(rest))
        return Basis(_by_columns(rest, mix), -constant @ mix, self)

    @cached_property
    def leverage(self) -> Float[np.ndarray, " n"]:
        """How much of its own fitted value each draw decides."""
        own = np.einsum("kn,kn->n", self.q.T, self.q.T)
        return own if self.base is None else own + self.base.leverage

    @cached_property
    def weights(self) -> Float[np.ndarray, " n"]:
        """The weight of each draw in the constant of a fit."""
        own = self.q @ self.constant
        return own if self.base is None else own + self.base.weights

    def fit(self, functions: Float[np.ndarray, "n f"], batches: Batches) -> "ConstantFit":
        """The constants of some functions of the draws, with their errors."""
        rest, constant = self.remainder(functions)
        spent = self.leverage, self.weights
        return _constant_fit(constant, rest.T, *spent, functions.var(axis=0), batches)

    def fit_extended(
        self,
        own: Float[np.ndarray, "b p n"],
        functions: Float[np.ndarray, "b f n"],
        batches: Batches,
    ) -> "ConstantFit":
        """The same for several sets of functions, each on this basis and on columns of its own.

        As `extended` and `fit` would for each of them, with larger products of matrices: the fit's
        arrays have one more axis, of the sets. A column of zeros adds nothing.
        """
        sets, p, n = own.shape
        unit = to_unit_size(own.reshape(-1, n).T).T.reshape(own.shape)
        left = self.remainder(np.concatenate([unit, functions], axis=1).reshape(-1, n).T)
        rest = left.rest.T.reshape(sets, -1, n)
        constant = left.constant.reshape(sets, -1)
        columns, rest = rest[:, :p], rest[:, p:]
        mix = np.swapaxes(_to_orthonormal(columns @ np.swapaxes(columns, 1, 2), n), 1, 2)
        q, of_q = mix @ columns, -np.einsum("bkp,bp->bk", mix, constant[:, :p])
        known = rest @ np.swapaxes(q, 1, 2)
        return _constant_fit(
            constant[:, p:] + np.einsum("bfk,bk->bf", known, of_q),
            rest - known @ q,
            self.leverage + np.einsum("bkn,bkn->bn", q, q),
            self.weights + (of_q[:, None] @ q)[:, 0],
            functions.var(axis=2),
            batches,
        )


def _by_columns(
    columns: Float[np.ndarray, "n k"], mix: Float[np.ndarray, "k p"]
) -> Float[np.ndarray, "n p"]:
    """Combinations of columns, contiguous in memory column by column."""
    return (mix.T @ columns.T).T


def _to_orthonormal(products: Float[np.ndarray, "*b p p"], n: int) -> Float[np.ndarray, "*b p p"]:
    """What makes columns of these inner products orthonormal; 0 for those that add nothing."""
    values, vectors = np.linalg.eigh(products)
    kept = values > NEGLIGIBLE * n
    return vectors * (kept / np.sqrt(np.where(kept, values, 1.0)))[..., None, :]


def _constant_fit(
    constant: Float[np.ndarray, "*b f"],
    rest: Float[np.ndarray, "*b f n"],
    leverage: Float[np.ndarray, "*b n"],
    weights: Float[np.ndarray, "*b n"],
    variance: Float[np.ndarray, "*b f"],
    batches: Batches,
) -> "ConstantFit":
    free = np.maximum(1 - leverage, LEAST_FREEDOM)
    residuals = rest / free[..., None, :]  # as if each draw had been left out of the fit
    weighted = np.add.reduceat(weights[..., None, :] * residuals, batches.bounds[:-1], axis=-1)
    return ConstantFit(
        constant,
        np.moveaxis(weighted, -1, 0),
        np.einsum("...n,...n->...", residuals, residuals)
        / rest.shape[-1]
        / np.where(variance > 0, variance, 1.0),
    )


def to_unit_size(columns: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n p"]:
    """Columns whose mean square is 1."""
    scale = np.sqrt(np.einsum("np,np->p", columns, columns) / len(columns))
    return columns / np.where(scale > 0, scale, 1.0)


@dataclass(frozen=True, eq=False)
class ConstantFit:
    """Estimated expectations under the target, one per function."""

    values: Float[np.ndarray, "*b f"]
    # What each batch adds to the values beyond what the others lead to expect. The root of the sum
    # of its squares is the standard error, for chains too if batches are long enough.
    contributions: Float[np.ndarray, "batch *b f"]
    unexplained: Float[np.ndarray, "*b f"]  # 1 - R^2, of draws that were left out of the fit
