"""Draws from files: NumPy, CSV, parquet, netCDF and zarr. Nothing is ever unpickled."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from steinwise._internal.optional import require
from steinwise.draws.samples import Samples
from steinwise.errors import InputError

CHAIN = ("chain", ".chain", "chain__")  # columns of a table that say which chain a row belongs to
DRAW = ("draw", ".draw", "draw__", ".iteration")


def read_draws(path: Path, independent: bool | None = None) -> Samples:
    """The draws of a NumPy or table file; the coordinates are named as in the file."""
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    readers: dict[str, Callable[[Path], tuple[np.ndarray, list[str] | None]]] = {
        ".npy": _npy,
        ".npz": _npz,
        ".csv": _csv,
        ".parquet": _parquet,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path} ends in {path.suffix or 'nothing'}: expected one of {', '.join(readers)}, or "
            "netCDF (.nc) or zarr (.zarr)."
        )
    array, names = reader(path)
    return Samples.of(array, names=names, independent=independent)


def _npy(path: Path) -> tuple[np.ndarray, None]:
    return _load(path, mmap_mode="r"), None  # which may be larger than memory


def _npz(path: Path) -> tuple[np.ndarray, list[str] | None]:
    """The array `draws`, or the only one; `names`, where there is one."""
    with _load(path) as file:
        arrays = {name: _entry(path, file, name) for name in file.files}
    names = arrays.pop("names", None)
    if "draws" not in arrays and len(arrays) != 1:
        raise InputError(
            f"{path} has the arrays {sorted(arrays)}: expected one named 'draws', or only one."
        )
    draws = arrays["draws"] if "draws" in arrays else next(iter(arrays.values()))
    return draws, None if names is None else [str(name) for name in np.atleast_1d(names)]


def _load(path: Path, mmap_mode: Literal["r"] | None = None) -> Any:
    try:
        return np.load(path, mmap_mode=mmap_mode, allow_pickle=False)
    except ValueError as error:
        raise _refused(path, error) from error


def _entry(path: Path, file: Any, name: str) -> np.ndarray:
    try:
        return file[name]
    except ValueError as error:
        raise _refused(path, error, name) from error


def _refused(path: Path, error: ValueError, name: str = "") -> InputError:
    where = f"the array {name!r} of {path}" if name else str(path)
    if "pickle" in str(error).lower() or "Python objects" in str(error):
        return InputError(
            f"{where} holds pickled Python objects, which can run any code and are never loaded. "
            "Save the draws as an array of floats."
        )
    return InputError(f"{where} cannot be read: {error}")


def _csv(path: Path) -> tuple[np.ndarray, list[str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
    if len(rows) < 2:
        raise InputError(f"{path} has {len(rows)} rows: expected a header and one row per draw.")
    header, body = rows[0], rows[1:]
    if all(_is_number(cell) for cell in header):
        raise InputError(
            f"the first row of {path} is all numbers: expected a header with the names of the "
            "coordinates."
        )
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise InputError(
                f"row {number} of {path} has {len(row)} entries, and the header {len(header)}."
            )
        for name, cell in zip(header, row, strict=True):
            if not _is_number(cell):
                raise InputError(f"row {number} of {path} has {cell!r} for {name}: no number.")
    return _by_chain(path, np.array(body, dtype=np.float64), [name.strip() for name in header])


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _parquet(path: Path) -> tuple[np.ndarray, list[str]]:
    parquet = require("pyarrow.parquet", "io", "reading parquet")
    table = parquet.read_table(path)
    names = [str(name) for name in table.column_names]
    columns = [np.asarray(table.column(k).to_numpy()) for k in range(len(names))]
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "iuf":
            raise InputError(f"column {name} of {path} is of type {column.dtype}: no numbers.")
    return _by_chain(path, np.stack(columns, axis=1).astype(np.float64), names)


def _by_chain(path: Path, rows: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Rows as (chain, draw, d) where a column says the chain, else as (n, d)."""
    lower = [name.lower() for name in names]
    chain = next((k for k, name in enumerate(lower) if name in CHAIN), None)
    order = next((k for k, name in enumerate(lower) if name in DRAW), None)
    kept = [k for k in range(len(names)) if k not in (chain, order)]
    labels = [names[k] for k in kept]
    if chain is None:
        return rows[:, kept], labels
    numbers = np.unique(rows[:, chain])
    parts = [rows[rows[:, chain] == number] for number in numbers]
    if len({len(part) for part in parts}) > 1:
        sizes = {f"{number:g}": len(part) for number, part in zip(numbers, parts, strict=True)}
        raise InputError(f"the chains of {path} differ in length: {sizes}.")
    if order is not None:
        parts = [part[np.argsort(part[:, order], kind="stable")] for part in parts]
    return np.stack(parts)[:, :, kept], labels
