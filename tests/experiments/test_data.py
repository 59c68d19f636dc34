"""The loaders of the data sets, on small files of the same format."""

import hashlib
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from experiments import data

YACHT = b"-2.3 0.568 4.78 3.99 3.17 0.125  0.11\n0 1 2 3 4 5 6.5 \n"
RATINGS = b"196\t242\t3\t881250949\n186\t302\t5\t891717742\n"


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A folder with an archive of both small files, whose checksums count as the right ones."""
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("yacht_hydrodynamics.data", YACHT)
        files.writestr("ml-100k/u.data", RATINGS)
    for name, content in (("YACHT", YACHT), ("MOVIELENS", RATINGS)):
        checksum = hashlib.sha256(content).hexdigest()
        source = replace(getattr(data, name), sha256=checksum, archive=archive.as_uri())
        monkeypatch.setattr(data, name, source)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(data.FOLDER, raising=False)
    return tmp_path


def test_double_and_trailing_blanks_are_not_columns(folder):
    (folder / "yacht_hydrodynamics.data").write_bytes(YACHT)
    inputs, response = data.yacht(folder)
    np.testing.assert_array_equal(inputs[1], [0, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(response, [0.11, 6.5])


def test_users_and_movies_are_counted_from_zero(folder, monkeypatch):
    (folder / "u.data").write_bytes(RATINGS)
    monkeypatch.setenv(data.FOLDER, str(folder))
    user, movie, rating = data.movielens()
    assert user.tolist() == [195, 185]
    assert movie.tolist() == [241, 301]
    assert rating.tolist() == [3.0, 5.0]


def test_a_download_is_cached(folder):
    assert data.movielens()[2].tolist() == [3.0, 5.0]
    (folder / "archive.zip").unlink()
    assert data.movielens()[2].tolist() == [3.0, 5.0]
    assert [path.name for path in (folder / "cache" / "steinwise").iterdir()] == ["u.data"]


def test_a_changed_file_is_refused_in_a_folder_and_in_the_cache(folder):
    (folder / "u.data").write_bytes(RATINGS.replace(b"\n", b"\r\n"))
    with pytest.raises(ValueError, match=r"u\.data has the sha256 .*expected"):
        data.movielens(folder)
    data.movielens()
    (folder / "cache" / "steinwise" / "u.data").write_bytes(b"")
    with pytest.raises(ValueError, match=r"cache/steinwise/u\.data has the sha256"):
        data.movielens()


def test_a_missing_file_in_a_given_folder_is_an_error(folder):
    """Downloading it instead would hide a typing error in the folder's name."""
    with pytest.raises(FileNotFoundError, match="unset STEINWISE_DATA"):
        data.yacht(folder / "elsewhere")


def test_a_failed_download_says_what_to_do(folder):
    (folder / "archive.zip").unlink()
    with pytest.raises(RuntimeError, match=r"by hand.*STEINWISE_DATA.*CC BY"):
        data.yacht()
