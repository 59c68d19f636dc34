"""The complete conditionals of q as the user samples them (Algorithm 1 of the paper)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from steinwise._internal.numpy_errors import users_numpy_errors
from steinwise._internal.random import stream
from steinwise._internal.validation import require_whole
from steinwise.conditionals.base import (
    AbstractConditional,
    AbstractFittedConditional,
    Atoms,
    TrainingData,
)
from steinwise.errors import InputError

DRAWS_PER_CALL = 2**22  # 32 MiB of what the user's function returns


@dataclass(frozen=True)
class Sampler(AbstractConditional, AbstractFittedConditional):
    r"""Atoms drawn from q's own complete conditionals.

    Parameters
    ----------
    fn
        ``fn(key, x, n_atoms)`` with x of shape (rows, d), called on the host with chunks of rows,
        returns an array (rows, d, n_atoms): entry [i, j, k] drawn from q(x_j | x_i,-j). With
        blocks, the entries of a block at one k are one joint draw of the block given the rest.
        `key` is two 32-bit words: a key for `jax.random`, or a seed for
        `numpy.random.default_rng`.
    n_atoms
        Draws per row and coordinate.

    Warnings
    --------
    The conditionals must be those of **q, the distribution of the draws**, not those of the target.
    If y comes from `p(. | x_-j)`, Stein's identity in y makes the expected contribution zero
    *whatever the draws are*, and the discrepancy only shrinks like 1/sqrt(n). So a Gibbs sampler's
    own conditionals, which are p's, say nothing about whether that Gibbs sampler has converged.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> def independent_normals(key, x, n_atoms):
    ...     return np.random.default_rng(key).normal(size=(*x.shape, n_atoms))
    >>> draws = np.random.default_rng(0).normal(size=(500, 2))
    >>> conditional = sw.conditionals.Sampler(independent_normals, n_atoms=20)
    >>> discrepancy = sw.kccsd(draws, sw.Gaussian([0, 0], np.eye(2)), conditional=conditional)
    >>> abs(discrepancy.value) < 4 * discrepancy.standard_error
    True
    """

    fn: Callable[[Any, np.ndarray, int], Any]
    n_atoms: int = 10

    learns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise InputError(f"fn is of type {type(self.fn).__name__}: expected a function.")
        require_whole("n_atoms", self.n_atoms, least=1)

    def fit(self, data: TrainingData) -> "Sampler":  # noqa: ARG002
        return self

    def rows_per_call(self, d: int) -> int:
        return max(1, min(1024, DRAWS_PER_CALL // (d * self.n_atoms)))

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:
        key = stream(seed, "conditional", first_row).integers(0, 2**32, size=2, dtype=np.uint32)
        expected = (*x.shape, self.n_atoms)
        try:
            with users_numpy_errors():
                points = np.asarray(self.fn(key, x, self.n_atoms))
        except Exception as error:
            raise InputError(
                f"the conditional sampler raised {type(error).__name__} on rows of shape "
                f"{x.shape}: {error}"
            ) from error
        if points.shape != expected or points.dtype.kind != "f":
            raise InputError(
                f"the conditional sampler returned shape {points.shape} and dtype {points.dtype}: "
                f"expected floats of shape (rows, d, n_atoms) = {expected}."
            )
        if not np.isfinite(points).all():
            first = tuple(int(i) for i in np.argwhere(~np.isfinite(points))[0])
            raise InputError(
                f"the conditional sampler returned {points[first]} for draw "
                f"{first_row + first[0]}, coordinate {first[1]}, atom {first[2]}."
            )
        return Atoms(points.astype(np.float64), np.full(expected, 1.0 / self.n_atoms))
