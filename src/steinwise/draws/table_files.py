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
from steinwise.draws.input_checks import DISCRETE
from steinwise.errors import InputError

CHAIN_COLUMNS = ("chain", ".chain", "chain__")  # the names that Stan, posterior and ArviZ use
DRAW_COLUMNS = ("draw", ".draw", "draw__", ".iteration")

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
    return _by_chain(shown, table, header, whole)


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
    return _by_chain(shown, rows, names, whole)


def _require_within(memory: int, size: int, shown: str) -> None:
    if size > memory:
        raise InputError(
            f"{shown} has more numbers than memory= allows ({memory / 2**20:.0f} MiB). Save them "
            "with np.save as .npy, which is read in slabs, or raise memory=."
        )


def _by_chain(
    shown: str, rows: np.ndarray, names: Sequence[str], whole: Sequence[bool]
) -> tuple[np.ndarray, list[str]]:
    """Rows as (chain, draw, d) if a column gives the chain, else as (n, d)."""
    lower = [name.lower() for name in names]
    chain = next((k for k, name in enumerate(lower) if name in CHAIN_COLUMNS), None)
    order = next((k for k, name in enumerate(lower) if name in DRAW_COLUMNS), None)
    kept = [k for k, name in enumerate(lower) if name not in CHAIN_COLUMNS + DRAW_COLUMNS]
    discrete = [names[k] for k in kept if whole[k]]
    if discrete:
        raise InputError(f"column {printable(discrete[0])} of {shown} has integers. {DISCRETE}")
    labels = [names[k] for k in kept]
    index = [k for k in (chain, order) if k is not None]
    for k in index:
        if not (rows[:, k] == np.round(rows[:, k])).all():
            raise InputError(f"column {names[k]} of {shown} must have whole numbers.")
    if order is not None:
        _refuse_repeated(shown, rows[:, index], [names[k] for k in index])
        rows = rows[np.argsort(rows[:, order], kind="stable")]
    if chain is None:
        return rows[:, kept], labels
    numbers = np.unique(rows[:, chain])
    chains = [rows[rows[:, chain] == number] for number in numbers]
    if len({len(one_chain) for one_chain in chains}) > 1:
        sizes = {f"{number:g}": len(rows) for number, rows in zip(numbers, chains, strict=True)}
        raise InputError(f"the chains of {shown} differ in length: {sizes}.")
    return np.stack(chains)[:, :, kept], labels


def _refuse_repeated(shown: str, index: np.ndarray, names: Sequence[str]) -> None:
    """Refuse two rows for one draw: a file that was written twice, or chains without numbers."""
    found, counts = np.unique(index, axis=0, return_counts=True)
    if (counts > 1).any():
        first = found[counts > 1][0]
        draw = ", ".join(f"{name} {value:g}" for name, value in zip(names, first, strict=True))
        hint = "" if len(names) > 1 else " Several chains need a column 'chain'."
        raise InputError(f"{shown} has more than one row for {draw}.{hint}")
