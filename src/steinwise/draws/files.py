"""Draws from files of arrays and tables: NumPy (.npy, .npz), CSV and parquet.

Nothing is ever unpickled. NetCDF and zarr files hold named variables in groups; `sw.from_arviz`
reads those.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from steinwise._internal.escaping import printable
from steinwise.draws.numpy_files import read_npy, read_npz
from steinwise.draws.samples import Samples
from steinwise.draws.table_files import read_csv, read_parquet
from steinwise.errors import InputError

Reader = Callable[[Path, int], tuple[Any, list[str] | None]]

# Every format: a new one is a function from a path and a memory budget to an array and names.
READERS: dict[str, Reader] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_csv,
    ".parquet": read_parquet,
}


def read_draws(path: Path, independent: bool | None = None, memory: int = 2**30) -> Samples:
    """The draws of a file with one of the suffixes in `READERS`, named as in the file.

    `memory` is how many bytes they may take, if they cannot be left in the file.
    """
    array, names = _read(path, memory, READERS)
    return Samples.of(array, names=names, independent=independent)


def read_scores(path: Path, names: tuple[str, ...], memory: int = 2**30) -> Any:
    """The array of scores in a file, in one of the formats of draws whose coordinates have `names`.

    Of an archive the array `scores`, or the only array.
    """
    array, own = _read(path, memory, {**READERS, ".npz": partial(read_npz, wanted="scores")})
    if own is not None and tuple(own) != names and sorted(own) == sorted(names):
        raise InputError(
            f"{printable(str(path))} has the coordinates in another order than the draws: "
            f"{own[:5]}, and {list(names[:5])}. Write both in one order."
        )
    return array


def _read(path: Path, memory: int, readers: Mapping[str, Reader]) -> tuple[Any, list[str] | None]:
    shown, reader = printable(str(path)), readers.get(path.suffix.lower())
    try:
        if not path.exists():
            raise InputError(f"there is no file {shown}.")
        if reader is None:
            raise InputError(
                f"{shown} ends in {printable(path.suffix) or 'nothing'}: expected one of "
                f"{', '.join(READERS)}. netCDF and zarr files are read by sw.from_arviz, or by the "
                "command line with --space."
            )
        if not (path.is_file() or path.is_dir()):
            raise InputError(f"{shown} is a pipe or a device: expected a file.")
        return reader(path, memory)
    except (InputError, ModuleNotFoundError):
        raise
    except Exception as error:  # a broken file can make its reader raise anything
        raise InputError(f"{shown} cannot be read: {type(error).__name__}: {error}") from error
