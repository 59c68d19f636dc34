"""Checks of the array that a user passes as the scores at the draws."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from steinwise._internal.counting import by_count
from steinwise._internal.escaping import printable
from steinwise.draws.storage import as_one_chain, is_chunked, map_slabs, refuse_masked
from steinwise.errors import InputError


def as_scores(scores: Any, shape: tuple[int, int, int], names: Sequence[str]) -> Any:
    """The user's scores for draws of this shape, as an array (chain, draw, d).

    In memory as float64, or as stored elsewhere: memory-mapped, zarr, HDF5, Dask.
    """
    array = _as_float_array(scores)
    if tuple(array.shape) not in (shape, shape[1:] if shape[0] == 1 else shape):
        raise InputError(_of_wrong_shape(tuple(array.shape), shape))
    chains = array if array.ndim == 3 else as_one_chain(array)
    _require_finite(chains, names)
    return chains


def _as_float_array(scores: Any) -> Any:
    given = getattr(scores, "values", scores) if hasattr(scores, "draw_index") else scores
    if is_chunked(given):
        array = getattr(given, "data", given) if hasattr(given, "dims") else given
    else:
        refuse_masked(given, "scores")
        try:
            array = np.asarray(given)
        except Exception as error:
            raise InputError(
                f"scores of type {type(scores).__name__} cannot be converted to a NumPy array: "
                f"{error}"
            ) from error
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise InputError(
            f"scores are of type {type(scores).__name__} and dtype {array.dtype}: expected an "
            "array of float32 or float64 in the shape of the draws, the gradient of the log "
            "density at each. A function that computes them goes into sw.Target.from_score."
        )
    stored = is_chunked(given) or isinstance(given, np.memmap)
    return array if stored else array.astype(np.float64)


def _of_wrong_shape(came: tuple[int, ...], expected: tuple[int, ...]) -> str:
    chains, draws, d = expected
    shown = (draws, d) if chains == 1 else expected
    hint = "Are they of another run, or of draws before thinning or warm-up was taken off?"
    if came == (draws, chains, d):
        hint = "These look like (draw, chain, d): pass np.swapaxes(scores, 0, 1)."
    elif came == (chains * draws, d):
        hint = f"If one chain comes after the other, pass scores.reshape{expected}."
    elif came[-1:] != (d,):
        hint = "The last axis is the coordinate. Do the scores leave out parameters, or add some?"
    return (
        f"the scores have shape {came}, and the draws {shown}: expected one score for every draw, "
        f"in the same order. {hint}"
    )


def _require_finite(scores: Any, names: Sequence[str]) -> None:
    """Refuse scores that are not finite; name the draw and the coordinate of the first."""
    slabs = [found for _, found in map_slabs(scores, _not_finite)]
    count = sum(one.entries for one in slabs)
    if not count:
        return
    row, column, value = next(one.first for one in slabs if one.first is not None)
    chains, draws, _ = scores.shape
    chain, draw = divmod(row, draws)
    of_chain = f" of chain {chain}" if chains > 1 else ""
    raise InputError(
        f"{count} of {int(np.prod(scores.shape))} scores {by_count(count, 'is', 'are')} not "
        f"finite; the first is {value} at "
        f"draw {draw}{of_chain}, coordinate {printable(names[column])}. Did the sampler keep a "
        "divergent point, or is the density 0 there? The gradient of the log density must exist at "
        "every draw."
    )


class _NotFinite(NamedTuple):
    """The scores of a slab that are not finite, and the first of them: row, column, value."""

    entries: int
    first: tuple[int, int, float] | None


def _not_finite(start: int, rows: np.ndarray) -> _NotFinite:
    bad = np.argwhere(~np.isfinite(rows))
    if not len(bad):
        return _NotFinite(0, None)
    row, column = (int(i) for i in bad[0])
    return _NotFinite(len(bad), (start + row, column, float(rows[row, column])))
