"""Draws from a data frame, column by column: each has a type and missing values of its own."""

from typing import Any

import numpy as np

from steinwise._internal.escaping import printable
from steinwise.errors import InputError


def is_frame(draws: Any) -> bool:
    """Whether this is a data frame, of pandas or alike."""
    return hasattr(draws, "columns") and hasattr(draws, "to_numpy")


def frame_columns(frame: Any) -> list[tuple[str, np.ndarray]]:
    """The columns of a data frame with their names, none of which has a missing value.

    All at once, a frame becomes an array of one type, in which an integer is a float and a missing
    value is an object or a number.
    """
    names = [str(name) for name in frame.columns]
    return [(name, _values(frame, k, name)) for k, name in enumerate(names)]


def _values(frame: Any, position: int, name: str) -> np.ndarray:
    column = frame.iloc[:, position] if hasattr(frame, "iloc") else frame[:, position]
    nullable = hasattr(column, "isna") and not isinstance(column.dtype, np.dtype)
    missing = int(column.isna().sum()) if nullable else 0
    if missing:
        raise InputError(
            f"column {printable(name)} of the draws has {missing} missing values: expected every "
            "entry of every draw. frame.dropna() drops the rows that have any."
        )
    return np.asarray(column.to_numpy())
