"""Checks of the array that a user passes as draws: everything that can be wrong is reported here.

Every message says what came, what was expected, the likely cause and the fix.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from steinwise.draws.chain_diagnostics import hidden_chain_window, row_autocorrelation
from steinwise.draws.storage import is_chunked, map_slabs, read_rows
from steinwise.errors import InputError

# float64 reaches from 2e-308 to 2e308: a product of three entries must not overflow, and the square
# of a coordinate's range, by which squared distances are divided, must not underflow.
LARGEST_ENTRY = 1e100
SMALLEST_RANGE = 1e-150


def as_float_array(draws: Any) -> Any:
    """The user's draws as an array of floats: in memory as float64, or as stored on disk."""
    from jax.core import Tracer

    if is_chunked(draws):
        return _chunked_array(draws)
    if isinstance(draws, Tracer):
        raise InputError(
            "draws is a JAX tracer: this function runs on the host and cannot be called inside "
            "jit, vmap or grad. Use the pure functions of sw.functional there."
        )
    if isinstance(draws, dict):
        raise InputError(
            f"draws is a dict with {sorted(map(str, draws))[:5]}: expected one array whose last "
            "axis is the coordinate. Concatenate the unconstrained parameters along the last axis "
            "(jax.flatten_util.ravel_pytree does it for one draw)."
        )
    if np.ma.is_masked(draws):
        raise InputError(
            f"draws is a masked array with {np.ma.count_masked(draws)} masked entries: expected "
            "every entry of every draw. np.ma.compress_rows(draws) drops the rows that have any."
        )
    try:
        array = np.asarray(draws)
    except Exception as error:
        raise InputError(
            f"draws of type {type(draws).__name__} cannot be converted to a NumPy array: {error}"
        ) from error
    if array.dtype.kind in "iub":
        raise InputError(
            f"draws have dtype {array.dtype}: expected floats. Stein's identity needs continuous "
            "parameters; discrete ones cannot be checked. If these are real numbers that happen "
            "to be whole, pass draws.astype(float)."
        )
    if array.dtype.kind == "O":
        raise InputError(
            "draws have dtype object: expected float32 or float64. Rows of unequal length, or "
            "mixed types, make an object array."
        )
    _require_float(array.dtype)
    return array if isinstance(draws, np.memmap) else array.astype(np.float64)


def _chunked_array(draws: Any) -> Any:
    """An array that is stored in chunks, unchanged; xarray's wrapper is removed."""
    array = getattr(draws, "data", draws) if hasattr(draws, "dims") else draws
    _require_float(array.dtype)
    if any(np.isnan(size) for size in array.shape):
        raise InputError(
            f"draws have shape {array.shape}: Dask does not know how many rows there are. "
            "Call draws.compute_chunk_sizes() first."
        )
    return array


def _require_float(dtype: np.dtype) -> None:
    if dtype.kind != "f" or dtype.itemsize > 8:
        raise InputError(
            f"draws have dtype {dtype}: expected float32 or float64. Convert them yourself: a "
            "conversion here could lose digits unnoticed."
        )


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse shapes other than (n, d) and (chain, draw, d), and axes in the wrong order."""
    if len(shape) not in (2, 3):
        hint = "For one coordinate pass draws[:, None]." if len(shape) == 1 else ""
        raise InputError(
            f"draws have shape {shape}, {len(shape)} axes: expected (n, d) for independent "
            f"draws or (chain, draw, d) for MCMC. {hint}".rstrip()
        )
    if 0 in shape:
        raise InputError(f"draws have shape {shape}: there is nothing to check.")
    if len(shape) == 3 and shape[0] > shape[1]:
        raise InputError(
            f"draws have shape {shape}: {shape[0]} chains with {shape[1]} draws "
            "each. The order of the axes is (chain, draw, d); if these are (draw, chain, d), pass "
            "np.swapaxes(draws, 0, 1). For many short independent runs pass their last draws as "
            "(n, d)."
        )
    if shape[-2] < 2:
        raise InputError(
            f"draws have shape {shape}: at least 2 draws are needed"
            + (" in each chain." if len(shape) == 3 else ". Is this (d, n)? Then pass draws.T.")
        )


def coordinate_names(names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    """One name for each of d coordinates; x[0], x[1], ... if the user gave none."""
    if names is None:
        return tuple(f"x[{j}]" for j in range(d))
    labels = tuple(names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in labels):
        raise InputError(f"names is {names!r}: expected a sequence of strings.")
    if len(labels) != d:
        raise InputError(f"{len(labels)} names were given for {d} coordinates: {labels[:5]}...")
    if len(set(labels)) != d:
        repeated = next(name for name in labels if labels.count(name) > 1)
        raise InputError(f"the name {repeated!r} was given to more than one coordinate.")
    return labels


def check_values(values: Any, names: Sequence[str]) -> None:
    """Refuse draws (chain, draw, d) with entries that are not finite, too large or constant."""
    slabs = [summary for _, summary in map_slabs(values, _summarise_slab)]
    _check_entries(values, names, slabs)
    low = np.min([slab.low for slab in slabs], axis=0)
    high = np.max([slab.high for slab in slabs], axis=0)
    constant = np.flatnonzero(low == high)
    if constant.size:
        shown = ", ".join(f"{names[j]} = {low[j]:.6g}" for j in constant[:5])
        raise InputError(
            f"{constant.size} of {len(names)} coordinates never change: {shown}. Drop them from "
            "the draws and fix them in the density, or find out why the sampler never moved them."
        )
    narrowest = int(np.argmin(high - low))
    if high[narrowest] - low[narrowest] < SMALLEST_RANGE:
        raise InputError(
            f"{names[narrowest]} varies by only {high[narrowest] - low[narrowest]:.3g}, less than "
            f"{SMALLEST_RANGE:g}: its square underflows. Use another unit in draws and density."
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
                f"{not_finite} of {int(np.prod(values.shape))} entries of the draws are NaN or "
                f"infinite; the first is {value} at {_position(values, names, index)}. Did the "
                "sampler diverge, or is a bounded parameter at its bound, which the transform "
                "sends to infinity?"
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
    return f"index {shown} ({names[column]})"


def refuse_autocorrelated(values: Any, names: Sequence[str]) -> None:
    """Refuse rows (1, n, d) that were passed as independent draws and are visibly a chain."""
    _, n, d = values.shape
    autocorrelation = row_autocorrelation(
        read_rows(values, slice(0, min(n, hidden_chain_window(d))))
    )
    if autocorrelation is None:
        return
    raise InputError(
        f"draws have shape {values.shape[1:]}, which means independent draws, but their rows are "
        f"autocorrelated: {autocorrelation.value:.2f} at lag {autocorrelation.lag} in "
        f"{names[autocorrelation.coordinate]} ({autocorrelation.signal}). A single MCMC chain has "
        "this shape; treated as independent draws, even a correct chain can be rejected. The fix "
        "is draws[None] for one chain, or the shape (chain, draw, d) for several; pass "
        "independent=True if the draws are independent and the order of the rows means nothing "
        "(a sorted data set: shuffle it)."
    )
