"""The two data sets of the paper: from a folder of the user, from the cache, or downloaded.

A file is used only if it has the known sha256 checksum.
"""

import hashlib
import io
import os
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER = "STEINWISE_DATA"  # the environment variable with the folder of the user


@dataclass(frozen=True)
class Source:
    """Where to get a file, and how to recognise it."""

    name: str
    sha256: str
    archive: str  # the address of a zip file
    member: str  # the path of the file in the archive
    terms: str


YACHT = Source(
    "yacht_hydrodynamics.data",
    "00dfecc0fc01ddd4c90b558a3ac11b246df8ebcfea130724223475a9a67f0ea1",
    "https://archive.ics.uci.edu/static/public/243/yacht+hydrodynamics.zip",
    "yacht_hydrodynamics.data",
    "CC BY 4.0; Gerritsma, Onnink and Versluis (1981), doi 10.24432/C5XG7R",
)
MOVIELENS = Source(
    "u.data",
    "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490",
    "https://files.grouplens.org/datasets/movielens/ml-100k.zip",
    "ml-100k/u.data",
    "research use, no redistribution; Harper and Konstan (2015), doi 10.1145/2827872",
)


def yacht(folder: str | Path | None = None) -> tuple[np.ndarray, np.ndarray]:
    """UCI Yacht Hydrodynamics: six inputs (308, 6) and the response (308,)."""
    table = np.array(fetch(YACHT, folder).decode().split(), float).reshape(-1, 7)
    return table[:, :6], table[:, 6]


def movielens(folder: str | Path | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """MovieLens 100K: the user and the movie of every rating, from 0, and the rating (1 to 5)."""
    table = np.array(fetch(MOVIELENS, folder).decode().split(), int).reshape(-1, 4)
    return table[:, 0] - 1, table[:, 1] - 1, table[:, 2].astype(float)


def fetch(source: Source, folder: str | Path | None = None) -> bytes:
    """The content of a file, with the right checksum.

    Parameters
    ----------
    source
        The file.
    folder
        The user's folder with the file; by default that of the environment variable STEINWISE_DATA.
        Without either, the file is taken from the cache, and downloaded if it is not there.
    """
    given = folder if folder is not None else os.environ.get(FOLDER)
    if given is not None:
        path = Path(given) / source.name
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} does not exist. Extract {source.member} from {source.archive}, or unset "
                f"{FOLDER} to have it downloaded."
            )
        return _checked(path.read_bytes(), source, str(path))
    cached = _cache() / source.name
    if cached.is_file():
        return _checked(cached.read_bytes(), source, str(cached))
    content = _checked(_download(source), source, f"{source.member} of {source.archive}")
    cached.parent.mkdir(parents=True, exist_ok=True)
    fresh = cached.with_name(f"{cached.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.replace(cached)  # complete or not at all, even with several processes
    return content


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "steinwise"


def _download(source: Source) -> bytes:
    try:
        with urllib.request.urlopen(source.archive, timeout=60) as response:
            archive = response.read()
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            return files.read(source.member)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise RuntimeError(
            f"{source.name} could not be downloaded from {source.archive} ({error}). Extract "
            f"{source.member} from that archive by hand, put it into a folder, and set {FOLDER} "
            f"to that folder. Terms: {source.terms}."
        ) from error


def _checked(content: bytes, source: Source, where: str) -> bytes:
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != source.sha256:
        raise ValueError(
            f"{where} has the sha256 {sha256}, expected {source.sha256}. It is another version, or "
            "it was truncated or edited (line endings count). Replace it by a fresh copy from "
            f"{source.archive}."
        )
    return content
