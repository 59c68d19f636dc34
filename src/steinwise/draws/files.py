"""Draws from files of arrays and tables: NumPy (.npy, .npz), CSV and parquet.

Nothing is ever unpickled. NetCDF and zarr files hold named variables in groups; `sw.from_arviz`
reads those.
"""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from steinwise._internal.optional import require
from steinwise.draws.samples import Samples
from steinwise.errors import InputError

CHAIN_COLUMNS = ("chain", ".chain", "chain__")  # the names that Stan, posterior and ArviZ use
DRAW_COLUMNS = ("draw", ".draw", "draw__", ".iteration")


def read_draws(path: Path, independent: bool | None = None) -> Samples:
    """The draws of a file with one of the suffixes in `READERS`, named as in the file."""
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path} ends in {path.suffix or 'nothing'}: expected one of {', '.join(READERS)}. "
            "netCDF and zarr files are read by sw.from_arviz, or by the command line with --space."
        )
    array, names = reader(path)
    return Samples.of(array, names=names, independent=independent)


def _read_npy(path: Path) -> tuple[np.ndarray, None]:
    return _load(path, mmap_mode="r"), None  # the file may be larger than memory


def _read_npz(path: Path) -> tuple[np.ndarray, list[str] | None]:
    """The array `draws`, or the only array; names from the array `names`, if there is one."""
    with _load(path) as file:
        arrays = {name: _load_entry(path, file, name) for name in file.files}
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
        raise _unreadable(str(path), error) from error


def _load_entry(path: Path, file: Any, name: str) -> np.ndarray:
    try:
        return file[name]
    except ValueError as error:
        raise _unreadable(f"the array {name!r} of {path}", error) from error


def _unreadable(what: str, error: ValueError) -> InputError:
    if "pickle" in str(error).lower() or "Python objects" in str(error):
        return InputError(
            f"{what} holds pickled Python objects, which can run any code and are never loaded. "
            "Save the draws as an array of floats."
        )
    return InputError(f"{what} cannot be read: {error}")


def _read_csv(path: Path) -> tuple[np.ndarray, list[str]]:
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
                f"row {number} of {path} has {len(row)} entries, and the header has {len(header)}."
            )
        for name, cell in zip(header, row, strict=True):
            if not _is_number(cell):
                raise InputError(
                    f"row {number} of {path} has {cell!r} for {name}: expected a number."
                )
    return _by_chain(path, np.array(body, dtype=np.float64), [name.strip() for name in header])


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_parquet(path: Path) -> tuple[np.ndarray, list[str]]:
    parquet = require("pyarrow.parquet", "io", "reading parquet")
    table = parquet.read_table(path)
    names = [str(name) for name in table.column_names]
    columns = [np.asarray(table.column(k).to_numpy()) for k in range(len(names))]
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "iuf":
            raise InputError(
                f"column {name} of {path} is of type {column.dtype}: expected numbers."
            )
    return _by_chain(path, np.stack(columns, axis=1).astype(np.float64), names)


def _by_chain(path: Path, rows: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Rows as (chain, draw, d) if a column gives the chain, else as (n, d)."""
    lower = [name.lower() for name in names]
    chain = next((k for k, name in enumerate(lower) if name in CHAIN_COLUMNS), None)
    order = next((k for k, name in enumerate(lower) if name in DRAW_COLUMNS), None)
    kept = [k for k in range(len(names)) if k not in (chain, order)]
    labels = [names[k] for k in kept]
    if chain is None:
        return rows[:, kept], labels
    numbers = np.unique(rows[:, chain])
    chains = [rows[rows[:, chain] == number] for number in numbers]
    if len({len(one_chain) for one_chain in chains}) > 1:
        sizes = {f"{number:g}": len(rows) for number, rows in zip(numbers, chains, strict=True)}
        raise InputError(f"the chains of {path} differ in length: {sizes}.")
    if order is not None:
        chains = [rows[np.argsort(rows[:, order], kind="stable")] for rows in chains]
    return np.stack(chains)[:, :, kept], labels


# Every format: a new one is a function here and an entry below.
READERS: dict[str, Callable[[Path], tuple[np.ndarray, list[str] | None]]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}
