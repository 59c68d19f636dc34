"""Draws from tables with a column per coordinate: CSV and parquet."""

import csv
import re
from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from steinwise._internal.counting import counted
from steinwise._internal.escaping import printable
from steinwise._internal.optional import require
from steinwise.draws.chain_columns import by_chain, is_index
from steinwise.draws.float_types import DISCRETE
from steinwise.errors import InputError

# float() takes more: 1_0 for ten, and the digits of all scripts
NUMBER = re.compile(
    r"\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)\s*", re.ASCII | re.IGNORECASE
)
WHOLE_NUMBER = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)


def read_csv(path: Path, memory: int) -> tuple[np.ndarray, list[str]]:
    """A header with the names, and one row per draw; lines that begin with # are left out."""
    shown = printable(str(path))
    values = array("d")
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file)
        cells = (row for row in lines if row and not row[0].startswith("#"))
        header = [name.strip() for name in next(cells, [])]
        if header and all(NUMBER.fullmatch(cell) for cell in header):
            raise InputError(
                f"the first row of {shown} is all numbers: expected a header with the names of the "
                "coordinates."
            )
        whole = [True] * len(header)
        for row in cells:
            if len(row) != len(header):
                raise InputError(
                    f"line {lines.line_num} of {shown} has "
                    f"{counted(len(row), 'entry', 'entries')}, and the header has {len(header)}."
                )
            for j, cell in enumerate(row):
                if not NUMBER.fullmatch(cell):
                    raise InputError(
                        f"line {lines.line_num} of {shown} has {cell[:50]!r} for "
                        f"{printable(header[j])}: expected a number."
                    )
                whole[j] = whole[j] and WHOLE_NUMBER.fullmatch(cell) is not None
            values.extend(map(float, row))
            _require_within(memory, 8 * len(values), shown)
    if not values:
        count = 1 if header else 0
        raise InputError(
            f"{shown} has {counted(count, 'row')}: expected a header and one row per draw."
        )
    table = np.frombuffer(values).reshape(-1, len(header))
    _refuse_integers(shown, header, whole)
    return by_chain(shown, table, header)


def read_parquet(path: Path, memory: int) -> tuple[np.ndarray, list[str]]:
    """One column of numbers per coordinate."""
    shown = printable(str(path))
    pyarrow = require("pyarrow", "io", "reading parquet")
    stored = require("pyarrow.dataset", "io", "reading parquet").dataset(
        path, format="parquet", partitioning="hive"
    )
    names = [str(name) for name in stored.schema.names]
    for name, kind in zip(names, stored.schema.types, strict=True):
        if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
            raise InputError(
                f"column {printable(name)} of {shown} is of type {kind}: expected numbers."
            )
    _require_within(memory, 8 * len(names) * stored.count_rows(), shown)
    table = stored.to_table()
    for name, column in zip(names, table.columns, strict=True):
        if column.null_count:
            raise InputError(
                f"column {printable(name)} of {shown} has {column.null_count} missing values: "
                "expected every entry of every draw."
            )
    rows = np.stack([column.to_numpy().astype(np.float64) for column in table.columns], axis=1)
    whole = [pyarrow.types.is_integer(kind) for kind in stored.schema.types]
    _refuse_integers(shown, names, whole)
    return by_chain(shown, rows, names)


def _require_within(memory: int, size: int, shown: str) -> None:
    if size > memory:
        raise InputError(
            f"{shown} has more numbers than memory= allows ({memory / 2**20:.0f} MiB). Save them "
            "with np.save as .npy, which is read in slabs, or raise memory=."
        )


def _refuse_integers(shown: str, names: Sequence[str], whole: Sequence[bool]) -> None:
    integers = [name for name, one in zip(names, whole, strict=True) if one and not is_index(name)]
    if integers:
        raise InputError(f"column {printable(integers[0])} of {shown} has integers. {DISCRETE}")
