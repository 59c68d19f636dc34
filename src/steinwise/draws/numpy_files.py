"""Draws from NumPy's files: .npy stays on disk, of .npz only the draws and their names are read."""

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from steinwise._internal.escaping import printable
from steinwise.errors import InputError

PICKLE_START = b"\x80"  # of every protocol since 2
TEXT_KINDS = "US"


def read_npy(path: Path, memory: int) -> tuple[np.ndarray, None]:  # noqa: ARG001
    """The array of a file, which may be larger than memory."""
    with path.open("rb") as file:
        _read_header(file, printable(str(path)))
    return np.load(path, mmap_mode="r", allow_pickle=False), None


def read_npz(path: Path, memory: int, wanted: str = "draws") -> tuple[np.ndarray, list[str] | None]:
    """The array `wanted`, or the only array; names from the array `names`, if there is one."""
    shown = printable(str(path))
    if not zipfile.is_zipfile(path):
        raise InputError(f"{shown} is not a .npz file, or only a part of one. np.savez writes it.")
    with zipfile.ZipFile(path) as archive:
        arrays = {name.removesuffix(".npy"): name for name in archive.namelist()}
        named = arrays.pop("names", None)
        if wanted not in arrays and len(arrays) != 1:
            raise InputError(
                f"{shown} has the arrays {sorted(arrays)}: expected one named {wanted!r}, or only "
                "one. Parameters that are saved one by one, as mcmc.get_samples() gives them, make "
                f"one array by np.savez(file, {wanted}=np.stack([a, b, ...], axis=-1)), in the "
                "order and on the scale of the density (log sigma, if it takes that)."
            )
        chosen = arrays.get(wanted) or next(iter(arrays.values()))
        draws = _read_member(archive, chosen, shown, memory)
        if named is None:
            return draws, None
        names = np.atleast_1d(_read_member(archive, named, shown, memory))
    if names.ndim != 1 or names.dtype.kind not in TEXT_KINDS:
        raise InputError(
            f"the array 'names' of {shown} has shape {names.shape} and dtype {names.dtype}: "
            "expected one text per coordinate."
        )
    return draws, (np.char.decode(names, "utf-8") if names.dtype.kind == "S" else names).tolist()


def _read_member(archive: zipfile.ZipFile, name: str, path: str, memory: int) -> np.ndarray:
    """One array of an archive, if what its header declares fits the budget."""
    shown = f"the array {name.removesuffix('.npy')!r} of {path}"
    with archive.open(name) as file:
        shape, dtype = _read_header(file, shown)
    size = math.prod(shape) * dtype.itemsize
    if size > memory:
        raise InputError(
            f"{shown} has shape {shape} and dtype {dtype}, {size / 2**20:.0f} MiB: more than "
            f"memory= allows ({memory / 2**20:.0f} MiB). Save it with np.save as .npy, which is "
            "read in slabs, or raise memory=."
        )
    with archive.open(name) as file:
        return npy.read_array(file, allow_pickle=False)


def _read_header(file: IO[bytes], shown: str) -> tuple[tuple[int, ...], Any]:
    """The shape and the dtype of an array, from the beginning of its file."""
    start = file.read(npy.MAGIC_LEN)
    if not start.startswith(npy.MAGIC_PREFIX):
        if not start:
            raise InputError(f"{shown} is empty.")
        if start.startswith(PICKLE_START):
            raise _pickled(shown)
        raise InputError(f"{shown} begins with {start!r}: expected an array as np.save writes it.")
    versions = {1: npy.read_array_header_1_0, 2: npy.read_array_header_2_0}
    if start[6] not in versions:
        raise InputError(f"{shown} has version {start[6]} of the format: expected 1 or 2.")
    shape, _, dtype = versions[start[6]](file)
    if dtype.hasobject:
        raise _pickled(shown)
    return shape, dtype


def _pickled(shown: str) -> InputError:
    return InputError(
        f"{shown} holds pickled Python objects, which can run any code and are never loaded. "
        "Save the draws as an array of floats."
    )
