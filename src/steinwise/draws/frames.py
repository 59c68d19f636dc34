"""Draws from a data frame, column by column: each has a type and missing values of its own."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from steinwise._internal.escaping import printable
from steinwise.draws.chain_columns import by_chain, is_index
from steinwise.draws.float_types import require_float
from steinwise.errors import InputError


def is_frame(draws: Any) -> bool:
    """Whether this is a data frame, of pandas or alike, or a table of pyarrow."""
    return hasattr(draws, "columns") and (hasattr(draws, "to_numpy") or _is_arrow(draws))


def read_frame(
    frame: Any,
    discrete: Callable[[Sequence[str]], Collection[int]] = lambda names: (),  # noqa: ARG005
) -> tuple[np.ndarray, list[str]]:
    """Draws with the names of their coordinates: (chain, draw, d) if a column gives the chain.

    All at once, a frame becomes an array of one type, in which an integer is a float and a missing
    value is an object or a number. Columns of discrete coordinates may have integers.
    """
    names = [str(name) for name in (frame.column_names if _is_arrow(frame) else frame.columns)]
    columns = [_values(frame, k, name) for k, name in enumerate(names)]
    integers = [c.dtype.kind in "iub" for c in columns]
    labels = [name for name in names if not is_index(name)]
    whole = {labels[j] for j in discrete(labels)} if any(integers) else set()
    for name, column, has_integers in zip(names, columns, integers, strict=True):
        if not (has_integers and (is_index(name) or name in whole)):
            require_float(column.dtype, f"column {printable(name)} of the draws has")
    floats = [column.astype(np.float64) for column in columns]
    rows = np.stack(floats, axis=1) if floats else np.empty((len(frame), 0))
    return by_chain("the draws", rows, names)


def _is_arrow(draws: Any) -> bool:
    return hasattr(draws, "column_names") and hasattr(draws, "num_rows")


def _values(frame: Any, position: int, name: str) -> np.ndarray:
    if _is_arrow(frame):
        column = frame.column(position)
        missing = column.null_count
    else:
        column = frame.iloc[:, position] if hasattr(frame, "iloc") else frame[:, position]
        nullable = hasattr(column, "isna") and not isinstance(column.dtype, np.dtype)
        missing = int(column.isna().sum()) if nullable else 0
    if missing:
        raise InputError(
            f"column {printable(name)} of the draws has {missing} missing values: expected every "
            "entry of every draw. frame.dropna() drops the rows that have any."
        )
    return np.asarray(column.to_numpy())
