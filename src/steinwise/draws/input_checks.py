"""Checks of the array that a user passes as draws: everything that can be wrong is reported here.

Every message says what came, what was expected, the likely cause and the fix.
"""

from collections.abc import Callable, Collection, Iterable, KeysView, Sequence, Set
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from steinwise._internal.counting import by_count, counted
from steinwise._internal.escaping import clause_of, listed, printable
from steinwise._internal.memory import chunks
from steinwise.draws.chain_diagnostics import (
    Autocorrelation,
    hidden_chain_window,
    row_autocorrelation,
)
from steinwise.draws.float_types import require_float
from steinwise.draws.frames import is_frame
from steinwise.draws.storage import is_chunked, map_slabs, read_rows, refuse_masked
from steinwise.errors import InputError

# float64 reaches from 2e-308 to 2e308: a product of three entries must not overflow, and the square
# of a coordinate's range, by which squared distances are divided, must not underflow.
LARGEST_ENTRY = 1e100
SMALLEST_RANGE = 1e-150
COMPARED_DRAWS = 10_000  # of two chains, at a time


def as_float_array(draws: Any, all_discrete: Callable[[int], bool] = lambda d: False) -> Any:  # noqa: ARG005
    """The user's draws as an array of floats: in memory as float64, or as stored on disk.

    Integers are converted where `all_discrete` says so of their number of coordinates.
    """
    from jax.core import Tracer

    try:
        if is_chunked(draws):
            return _chunked_array(draws)
    except InputError:
        raise
    except Exception as error:  # h5py raises several kinds
        raise InputError(
            f"draws of type {type(draws).__name__} cannot be read: {clause_of(error)}. Was the "
            "file closed that they are in?"
        ) from error
    if isinstance(draws, Tracer):
        raise InputError(
            "draws is a JAX tracer: this function runs on the host and cannot be called inside "
            "jit, vmap or grad. Use the pure functions of sw.functional there."
        )
    if isinstance(draws, (str, PathLike)):
        raise InputError(
            f"draws is the path {str(draws)!r}: expected what is in that file. Load it, by "
            'np.load(path) for .npy, np.load(path)["draws"] for .npz, pandas.read_csv(path), '
            "pandas.read_parquet(path), or sw.from_arviz for .nc and .zarr; or use the command "
            f"line: steinwise check {printable(str(draws))} --target model.py:log_density."
        )
    if isinstance(draws, dict):
        raise InputError(
            f"draws is a dict with {sorted(map(str, draws))[:5]}: expected one array whose last "
            "axis is the coordinate. Concatenate the unconstrained parameters along the last axis "
            "(jax.flatten_util.ravel_pytree does it for one draw)."
        )
    if isinstance(draws, (list, tuple)) and any(is_frame(one) for one in draws):
        raise InputError(
            "draws is a list of data frames, whose columns may differ: expected one array. "
            "np.stack([frame[columns] for frame in frames]) makes (chain, draw, d) of them."
        )
    refuse_masked(draws)
    try:
        array = np.asanyarray(draws)
        refuse_masked(array)  # what an object of another library turned into
        array = np.asarray(array)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"draws of type {type(draws).__name__} cannot be converted to a NumPy array: {error}"
        ) from error
    if array.dtype.kind == "O":
        raise InputError(
            "draws have dtype object: expected float32 or float64. Rows of unequal length, or "
            "mixed types, make an object array."
        )
    if array.dtype.kind in "iub" and array.ndim > 1 and all_discrete(array.shape[-1]):
        return array.astype(np.float64)
    require_float(array.dtype)
    return array if isinstance(draws, np.memmap) else array.astype(np.float64)


def _chunked_array(draws: Any) -> Any:
    """An array that is stored in chunks, unchanged; xarray's wrapper is removed."""
    array = getattr(draws, "data", draws) if hasattr(draws, "dims") else draws
    require_float(array.dtype)
    if array.shape is None:
        raise InputError("draws is an empty HDF5 dataset: there is nothing to check.")
    if any(np.isnan(size) for size in array.shape):
        raise InputError(
            f"draws have shape {array.shape}: Dask does not know how many rows there are. "
            "Call draws.compute_chunk_sizes() first."
        )
    return array


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse shapes other than (n, d) and (chain, draw, d), and axes in the wrong order."""
    if len(shape) not in (2, 3):
        hint = "For one coordinate pass draws[:, None]." if len(shape) == 1 else ""
        raise InputError(
            f"draws have shape {shape}, {counted(len(shape), 'axis', 'axes')}: expected (n, d) for "
            f"independent draws or (chain, draw, d) for MCMC. {hint}".rstrip()
        )
    if 0 in shape:
        raise InputError(f"draws have shape {shape}: there is nothing to check.")
    if len(shape) == 3 and shape[0] > shape[1]:
        fixes = ["(draw, chain, d), pass np.swapaxes(draws, 0, 1)"]
        if shape[2] > shape[0]:
            fixes.insert(0, "(chain, d, draw), pass np.swapaxes(draws, 1, 2)")
        raise InputError(
            f"draws have shape {shape}: {shape[0]} chains with {counted(shape[1], 'draw')} "
            f"each. The order of the axes is (chain, draw, d); if these are {'; if '.join(fixes)}. "
            "For many short independent runs pass their last draws as (n, d)."
        )
    if shape[-2] < 2:
        raise InputError(
            f"draws have shape {shape}: at least 2 draws are needed"
            + (" in each chain." if len(shape) == 3 else ". Is this (d, n)? Then pass draws.T.")
        )


def coordinate_names(
    names: Sequence[str] | None, d: int, n_draws: int | None = None
) -> tuple[str, ...]:
    """One name for each of d coordinates; x[0], x[1], ... if the user gave none."""
    if names is None:
        return tuple(f"x[{j}]" for j in range(d))
    if isinstance(names, Set) and not isinstance(names, KeysView):
        raise InputError("names is a set, which has no order: expected a list of strings.")
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"names is {names!r}: expected a sequence of strings.")
    labels = tuple(names)
    if not all(isinstance(name, str) for name in labels):
        raise InputError(f"names is {names!r}: expected a sequence of strings.")
    if len(labels) != d:
        swapped = len(labels) == n_draws
        hint = " There are as many draws as names: did you mean draws.T?" if swapped else ""
        shown = listed([repr(label) for label in labels]) or "none"
        raise InputError(
            f"{counted(len(labels), 'name was', 'names were')} given for "
            f"{counted(d, 'coordinate')}: {shown}. Expected one for each.{hint}"
        )
    if len(set(labels)) != d:
        repeated = next(name for name in labels if labels.count(name) > 1)
        raise InputError(f"the name {repeated!r} was given to more than one coordinate.")
    return labels


def check_values(values: Any, names: Sequence[str], discrete: Collection[int] = ()) -> None:
    """Refuse draws (chain, draw, d) with entries that are not finite, too large or constant.

    Coordinates that are discrete may be constant: a rare value may not come up.
    """
    slabs = [summary for _, summary in map_slabs(values, _summarise_slab)]
    _check_entries(values, names, slabs)
    low = np.min([slab.low for slab in slabs], axis=0)
    high = np.max([slab.high for slab in slabs], axis=0)
    others = np.setdiff1d(np.arange(len(names)), list(discrete))
    constant = others[low[others] == high[others]]
    if constant.size:
        shown = ", ".join(f"{printable(names[int(j)])} = {low[j]:.6g}" for j in constant[:5])
        change = by_count(constant.size, "changes", "change")
        them = by_count(constant.size, "it", "them")
        raise InputError(
            f"{constant.size} of {len(names)} coordinates never {change}: {shown}. Drop {them} "
            f"from the draws and fix {them} in the density, or find out why the sampler never "
            f"moved {them}."
        )
    if not others.size:
        return
    narrowest = int(others[np.argmin((high - low)[others])])
    if high[narrowest] - low[narrowest] < SMALLEST_RANGE:
        name, width = printable(names[narrowest]), high[narrowest] - low[narrowest]
        raise InputError(
            f"{name} varies by only {width:.3g}, less than {SMALLEST_RANGE:g}: its square "
            "underflows. Use another unit in draws and density."
        )


class _SlabSummary(NamedTuple):
    """The range of a slab of draws, and its first entry that cannot be used."""

    low: np.ndarray
    high: np.ndarray
    not_finite: int
    first_bad: Any  # ((row, coordinate), value), or None


def _summarise_slab(start: int, rows: np.ndarray) -> _SlabSummary:
    with np.errstate(invalid="ignore"):
        low, high = rows.min(axis=0), rows.max(axis=0)
    if np.abs([low, high]).max() <= LARGEST_ENTRY:  # False if there is a NaN
        return _SlabSummary(low, high, 0, None)
    bad = ~np.isfinite(rows)
    count = int(bad.sum())
    row, column = np.argwhere(bad if count else np.abs(rows) > LARGEST_ENTRY)[0]
    return _SlabSummary(low, high, count, ((start + int(row), int(column)), rows[row, column]))


def _check_entries(values: Any, names: Sequence[str], slabs: list[_SlabSummary]) -> None:
    not_finite = sum(slab.not_finite for slab in slabs)
    for slab in slabs:
        if slab.not_finite:
            index, value = slab.first_bad
            raise InputError(
                f"{not_finite} of {int(np.prod(values.shape))} entries of the draws "
                f"{by_count(not_finite, 'is', 'are')} NaN or infinite; the first is {value} at "
                f"{_position(values, names, index)}. Did the sampler diverge, or is a "
                "bounded parameter at its bound, which the transform sends to infinity?"
            )
    for slab in slabs:
        if slab.first_bad is not None:
            index, value = slab.first_bad
            raise InputError(
                f"a draw has the value {value:.3g} at {_position(values, names, index)}, beyond "
                f"{LARGEST_ENTRY:g}: powers of it overflow. Did the sampler diverge?"
            )


def _position(values: Any, names: Sequence[str], index: tuple[int, int]) -> str:
    """An entry, by its index in the array that the user passed."""
    row, column = index
    chain, draw = divmod(row, values.shape[1])
    shown = (draw, column) if values.shape[0] == 1 else (chain, draw, column)
    return f"index {shown} ({printable(names[column])})"


def refuse_equal_chains(values: Any) -> None:
    """Refuse chains (chain, draw, d) of which two are the same, draw by draw."""
    n_chains, n_draws, _ = values.shape
    seen: dict[bytes, int] = {}
    for chain in range(n_chains):
        end = (chain + 1) * n_draws
        earlier = seen.setdefault(read_rows(values, slice(end - 1, end)).tobytes(), chain)
        if earlier != chain and _equal_chains(values, earlier, chain):
            raise InputError(
                f"chains {earlier} and {chain} are the same, draw by draw: expected chains that "
                "were run apart. Equal ones count as twice the evidence, and a correct sampler "
                "can be rejected. Did they start from the same seed, or was one stacked twice?"
            )


def _equal_chains(values: Any, one: int, other: int) -> bool:
    n_draws = values.shape[1]
    starts = one * n_draws, other * n_draws
    for part in chunks(n_draws, COMPARED_DRAWS):
        ours, theirs = (read_rows(values, slice(s + part.start, s + part.stop)) for s in starts)
        if not np.array_equal(ours, theirs):
            return False
    return True


def row_dependence(values: Any) -> Autocorrelation | None:
    """Significant autocorrelation along the rows of draws (chain, draw, d), of the first ones."""
    chains, draws, d = values.shape
    rows = slice(0, min(chains * draws, hidden_chain_window(d)))
    return row_autocorrelation(read_rows(values, rows))


def refuse_autocorrelated(values: Any, names: Sequence[str]) -> None:
    """Refuse rows (1, n, d) that were passed as independent draws and are visibly a chain."""
    autocorrelation = row_dependence(values)
    if autocorrelation is None:
        return
    raise InputError(
        f"draws have shape {values.shape[1:]}, which means independent draws, but their rows are "
        f"autocorrelated: {autocorrelation.value:.2f} at lag {autocorrelation.lag} in "
        f"{printable(names[autocorrelation.coordinate])} ({autocorrelation.signal}). A single MCMC "
        "chain has this shape; treated as independent draws, even a correct chain can be rejected. "
        "The fix is draws[None] for one chain, or the shape (chain, draw, d) for several; pass "
        "independent=True if the draws are independent and the order of the rows means nothing "
        "(a sorted data set: shuffle it)."
    )
