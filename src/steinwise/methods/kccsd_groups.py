"""The coordinates of KCC-SD in groups that are evaluated together: blocks, and their kernels."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from steinwise.errors import InputError
from steinwise.kernels import AbstractKernel
from steinwise.kernels.per_coordinate import as_kernels


class KernelGroup(NamedTuple):
    """Columns of what draws contribute, the coordinates behind them, and their kernel."""

    columns: slice
    coordinates: Int[np.ndarray, " c"]
    kernel: AbstractKernel


def block_coordinates(
    blocks: Sequence[Sequence[int | str]], names: Sequence[str]
) -> list[Int[np.ndarray, " c"]]:
    """The coordinates of each block, given by their numbers or names."""
    dim = len(names)
    position: dict[int | str, int] = {name: j for j, name in enumerate(names)}
    position |= {j: j for j in range(dim)}
    try:
        parts = [np.array([position[j] for j in block], dtype=int) for block in blocks]
    except (KeyError, TypeError) as error:
        raise InputError(
            f"blocks is {blocks!r}: expected lists of coordinate indices below {dim} or of names."
        ) from error
    found = np.sort(np.concatenate([*parts, np.empty(0, int)]))
    if not all(len(part) for part in parts) or not np.array_equal(found, np.arange(dim)):
        raise InputError(
            f"blocks hold the coordinates {found.tolist()[:20]}: expected a partition, every "
            f"one of the {dim} coordinates in exactly one block, no block empty."
        )
    return parts


def block_labels(blocks: Sequence[np.ndarray], names: Sequence[str]) -> tuple[str, ...]:
    """What blocks are called: the first few of their coordinates."""
    return tuple(
        ", ".join(names[int(j)] for j in block[:3]) + (", ..." if len(block) > 3 else "")
        for block in blocks
    )


def block_groups(
    kernel: AbstractKernel | Sequence[AbstractKernel],
    x: Float[np.ndarray, "n d"],
    blocks: Sequence[np.ndarray],
    seed: object,
) -> list[KernelGroup]:
    """A group for each block."""
    kernels = as_kernels(kernel, len(blocks)) or [kernel] * len(blocks)
    return [
        KernelGroup(slice(b, b + 1), index, _resolved(of_block, x[:, index], seed, False))
        for b, (index, of_block) in enumerate(zip(blocks, kernels, strict=True))
    ]


def coordinate_groups(
    kernel: AbstractKernel | Sequence[AbstractKernel],
    x: Float[np.ndarray, "n d"],
    tested: Int[np.ndarray, " c"],
    seed: object,
) -> list[KernelGroup]:
    """All tested coordinates at once; each by itself, where each has a kernel of its own."""
    d = x.shape[1]
    kernels = as_kernels(kernel, d)
    if kernels is None:
        whole = _resolved(kernel, x, seed, True)
        return [KernelGroup(slice(None), tested, _of_coordinates(whole, tested, d))]
    return [
        KernelGroup(slice(k, k + 1), np.array([j]), _resolved(kernels[j], x[:, [j]], seed, True))
        for k, j in enumerate(tested)
    ]


def _of_coordinates(kernel: AbstractKernel, tested: np.ndarray, d: int) -> AbstractKernel:
    """The kernel of some coordinates: parameters that differ by coordinate are taken from them."""
    return jax.tree.map(lambda a: a[tested] if np.shape(a) == (d,) else a, kernel)


def _resolved(
    kernel: object, rows: np.ndarray, seed: object, per_coordinate: bool
) -> AbstractKernel:
    assert isinstance(kernel, AbstractKernel)
    resolved = kernel.resolve(rows, seed, per_coordinate=per_coordinate)
    return eqx.tree_at(lambda k: jax.tree.leaves(k), resolved, replace_fn=np.asarray)
