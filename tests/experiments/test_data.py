"""The loaders, on small files of the same format."""

import hashlib
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from experiments import data

YACHT = b"-2.3 0.568 4.78 3.99 3.17 0.125  0.11\n0 1 2 3 4 5 6.5 \n"
RATINGS = b"196\t242\t3\t881250949\n186\t302\t5\t891717742\n"


@pytest.fixture
def known(monkeypatch, tmp_path):
    """Both sources with the checksums of the small files, and an archive that holds them."""
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


def test_two_blanks_and_a_blank_at_the_end_are_no_columns(known):
    (known / "yacht_hydrodynamics.data").write_bytes(YACHT)
    inputs, response = data.yacht(known)
    np.testing.assert_array_equal(inputs[1], [0, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(response, [0.11, 6.5])


def test_users_and_movies_are_counted_from_zero(known, monkeypatch):
    (known / "u.data").write_bytes(RATINGS)
    monkeypatch.setenv(data.FOLDER, str(known))
    user, movie, rating = data.movielens()
    assert user.tolist() == [195, 185]
    assert movie.tolist() == [241, 301]
    assert rating.tolist() == [3.0, 5.0]


def test_what_is_downloaded_is_kept(known):
    assert data.movielens()[2].tolist() == [3.0, 5.0]
    (known / "archive.zip").unlink()
    assert data.movielens()[2].tolist() == [3.0, 5.0]
    assert [path.name for path in (known / "cache" / "steinwise").iterdir()] == ["u.data"]


def test_a_changed_file_is_refused_wherever_it_is(known):
    (known / "u.data").write_bytes(RATINGS.replace(b"\n", b"\r\n"))
    with pytest.raises(ValueError, match=r"u\.data has the sha256 .*expected"):
        data.movielens(known)
    data.movielens()
    (known / "cache" / "steinwise" / "u.data").write_bytes(b"")
    with pytest.raises(ValueError, match=r"cache/steinwise/u\.data has the sha256"):
        data.movielens()


def test_a_named_folder_is_never_passed_over(known):
    """A download in its place would hide a typing error."""
    with pytest.raises(FileNotFoundError, match="unset STEINWISE_DATA"):
        data.yacht(known / "elsewhere")


def test_no_network_says_what_to_do(known):
    (known / "archive.zip").unlink()
    with pytest.raises(RuntimeError, match=r"by hand.*STEINWISE_DATA.*CC BY"):
        data.yacht()
