"""KCC-SD: Stein discrepancies of the complete conditionals, one coordinate or block at a time."""

import functools
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from steinwise import functional
from steinwise.conditionals.abstract import AbstractConditional
from steinwise.errors import InputError
from steinwise.kernels import RBF, AbstractKernel, as_kernels
from steinwise.memory import chunks
from steinwise.methods.abstract import AbstractMethod, Work
from steinwise.results import DEPENDENCE_NOTE
from steinwise.samples import Samples
from steinwise.statistics import Mean
from steinwise.target import AbstractTarget

ROWS_PER_CALL = 256


class KCCSD(AbstractMethod):
    r"""The kernelized complete conditional Stein discrepancy.

    .. math::
        w_j^2 = E_{x_{-j}} E_{x_j, y_j \sim q(\cdot | x_{-j})} k_{cc}^j(x_j, y_j; x_{-j}),
        \qquad \mathrm{KCCSD} = \sum_j w_j^2

    The test takes h(x_i) = sum_j mean_k k_cc^j(x_ij, y_ijk; x_i,-j), its mean as the statistic and
    signs per batch of draws for its null. The p-value is (1 + #)/(1 + L), where the paper takes the
    plain share #/L: a p-value of 0 cannot come out.

    Parameters
    ----------
    conditional
        The stand-in for q(x_j | x_-j).
    kernel
        A univariate kernel, or a list with one per coordinate (per block, with `blocks`). A vector
        as bandwidth gives one per coordinate.
    blocks
        A partition of the coordinates into lists of indices or names; each block then has one
        kernel on R^|I|.
    variant
        "norm" for the paper's discrepancy, "unit-ball" for sum_j E sqrt(E k_cc).
    """

    conditional: AbstractConditional
    kernel: AbstractKernel | Sequence[AbstractKernel] = RBF(1.0)
    blocks: Sequence[Sequence[int | str]] | None = None
    variant: Literal["norm", "unit-ball"] = "norm"

    name: ClassVar[str] = "kccsd"
    flag_note: ClassVar[str] = DEPENDENCE_NOTE

    def __check_init__(self) -> None:
        if not isinstance(self.conditional, AbstractConditional):
            raise InputError(
                f"conditional is of type {type(self.conditional).__name__}: expected a stand-in "
                "for q(x_j | x_-j) such as sw.conditionals.Sampler(fn)."
            )
        if self.variant not in ("norm", "unit-ball"):
            raise InputError(f"variant is {self.variant!r}: expected 'norm' or 'unit-ball'.")

    def describe(self) -> str:
        kernel = self.kernel if isinstance(self.kernel, AbstractKernel) else self.kernel[0]
        blocks = "" if self.blocks is None else f", {len(self.blocks)} blocks"
        return f"KCC-SD ({type(kernel).__name__} kernel, {self.variant}{blocks})"

    def labels(self, samples: Samples) -> tuple[str, ...]:
        if self.blocks is None:
            return samples.names
        names = [[samples.names[j] for j in block] for block in self._partition(samples)]
        return tuple(", ".join(b[:3]) + (", ..." if len(b) > 3 else "") for b in names)

    def statistic(self, samples: Samples, target: AbstractTarget, work: Work) -> Mean:
        if self.conditional.from_tested_draws:
            raise InputError(
                f"{type(self.conditional).__name__} is made from the draws themselves: it gives "
                "the value of the discrepancy (sw.kccsd), but the mean of its contributions is not "
                'calibrated by signs. Test with method="transported".'
            )
        return Mean(self.contributions(samples, target, work))

    def contributions(
        self, samples: Samples, target: AbstractTarget, work: Work
    ) -> Float[np.ndarray, "n k"]:
        """H: one row per draw, one column per coordinate or block."""
        x = samples.rows
        groups = self._groups(samples, work.seed)
        scores = target.score(x, memory=work.memory)
        out = np.empty((samples.n, len(self.labels(samples))))
        conditional = self.conditional.fit(samples, target, work.memory)
        parts = list(chunks(samples.n, conditional.rows_per_call(samples.dim)))
        for part in work.bar(parts, len(parts), "KCC-SD"):
            atoms = conditional.atoms(x[part], work.seed, part.start)
            for columns, index, kernel in groups:
                if self.blocks is None:
                    points, weights = atoms.points[:, index], atoms.weights[:, index]
                    found = target.line_scores(
                        x[part], index, points, memory=work.memory, first_row=part.start
                    )
                    function = _coordinates
                else:
                    points = np.moveaxis(atoms.points[:, index], 1, 2)
                    weights = atoms.weights[:, index[0]]
                    found = target.block_scores(
                        x[part], index, points, memory=work.memory, first_row=part.start
                    )
                    function = _block
                out[part, columns] = self._evaluate(
                    function(self.variant),
                    kernel,
                    (x[part][:, index], scores[part][:, index], points, found, weights),
                    work.memory,
                )
        return out

    def witness(
        self, samples: Samples, target: AbstractTarget, work: Work
    ) -> Callable[..., np.ndarray]:
        r"""The best test function as a callable.

        ``f(x)`` gives f*_j(x_ij; x_i,-j) as (n, d). ``f(x, points)`` with points (n, d, p) follows
        each line of each row instead, and gives (n, d, p).
        """
        if self.blocks is not None:
            raise InputError("the witness is a function of one coordinate: drop blocks=.")
        groups = self._groups(samples, work.seed)
        conditional = self.conditional.fit(samples, target, work.memory)

        def at(x: np.ndarray, points: np.ndarray | None = None) -> np.ndarray:
            x = np.asarray(x, dtype=np.float64)
            lines = x[..., None] if points is None else np.asarray(points, dtype=np.float64)
            if x.ndim != 2 or x.shape[1] != samples.dim or lines.shape[:2] != x.shape:
                raise InputError(
                    f"x has shape {x.shape} and points {lines.shape}: expected (n, "
                    f"{samples.dim}) and (n, {samples.dim}, p)."
                )
            out = np.empty(lines.shape)
            for part in chunks(len(x), conditional.rows_per_call(samples.dim)):
                atoms = conditional.atoms(x[part], work.seed, part.start)
                for columns, index, kernel in groups:
                    y, weights = atoms.points[:, index], atoms.weights[:, index]
                    scores = target.line_scores(
                        x[part], index, y, memory=work.memory, first_row=part.start
                    )
                    with jax.enable_x64(True):
                        out[part, columns] = _witness(
                            kernel, lines[part][:, index], y, scores, weights
                        )
            return out[..., 0] if points is None else out

        return at

    def _groups(
        self, samples: Samples, seed: object
    ) -> list[tuple[slice, np.ndarray, AbstractKernel]]:
        """Columns of H, the coordinates behind them, and their kernel, evaluated together."""
        x = samples.rows
        if self.blocks is not None:
            blocks = self._partition(samples)
            kernels = as_kernels(self.kernel, len(blocks)) or [self.kernel] * len(blocks)
            return [
                (slice(b, b + 1), index, _resolved(kernel, x[:, index], seed, False))
                for b, (index, kernel) in enumerate(zip(blocks, kernels, strict=True))
            ]
        every = np.arange(samples.dim)
        kernels = as_kernels(self.kernel, samples.dim)
        if kernels is None:
            return [(slice(None), every, _resolved(self.kernel, x, seed, True))]
        return [
            (slice(j, j + 1), every[j : j + 1], _resolved(kernel, x[:, [j]], seed, True))
            for j, kernel in enumerate(kernels)
        ]

    def _partition(self, samples: Samples) -> list[np.ndarray]:
        position = {name: j for j, name in enumerate(samples.names)}
        position |= {j: j for j in range(samples.dim)}  # type: ignore[misc]
        assert self.blocks is not None
        try:
            blocks = [np.array([position[j] for j in block], dtype=int) for block in self.blocks]
        except (KeyError, TypeError) as error:
            raise InputError(
                f"blocks is {self.blocks!r}: expected lists of coordinate indices below "
                f"{samples.dim} or of names."
            ) from error
        found = np.sort(np.concatenate([*blocks, np.empty(0, int)]))
        if not all(len(block) for block in blocks) or not np.array_equal(
            found, np.arange(samples.dim)
        ):
            raise InputError(
                f"blocks hold the coordinates {found.tolist()[:20]}: expected a partition, every "
                f"one of the {samples.dim} coordinates in exactly one block, no block empty."
            )
        return blocks

    def _evaluate(
        self, function: Callable, kernel: AbstractKernel, arrays: tuple, memory: int
    ) -> np.ndarray:
        """Run a compiled function over chunks of rows of one shape."""
        n, atoms = len(arrays[0]), arrays[2].size / len(arrays[0])
        if self.variant == "unit-ball":
            atoms *= arrays[4].shape[-1]
        rows = int(np.clip(memory // (8 * 16 * atoms), 1, ROWS_PER_CALL))
        pieces = []
        with jax.enable_x64(True):
            for part in chunks(n, rows):
                size = part.stop - part.start
                padded = [np.resize(array[part], (rows, *array.shape[1:])) for array in arrays]
                pieces.append(np.asarray(function(kernel, *padded))[:size])
        out = np.concatenate(pieces)
        return out if out.ndim == 2 else out[:, None]


@functools.cache
def _coordinates(variant: str) -> Callable:
    return jax.jit(functools.partial(functional.kccsd_contributions, variant=variant))


@functools.cache
def _block(variant: str) -> Callable:
    return jax.jit(functools.partial(functional.block_contributions, variant=variant))


_witness = jax.jit(functional.witness)


def _resolved(
    kernel: object, rows: np.ndarray, seed: object, per_coordinate: bool
) -> AbstractKernel:
    assert isinstance(kernel, AbstractKernel)
    resolved = kernel.resolve(rows, seed, per_coordinate=per_coordinate)
    return eqx.tree_at(lambda k: jax.tree.leaves(k), resolved, replace_fn=np.asarray)
