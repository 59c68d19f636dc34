"""Draws from files."""

import csv
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

import steinwise as sw
from steinwise.draws.files import READERS, read_draws

X = np.random.default_rng(0).normal(size=(30, 2))


def write_csv(path: Path, header: list[str], rows) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def test_numpy_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X)
    np.testing.assert_array_equal(read_draws(tmp_path / "a.npy").rows, X)
    np.savez(tmp_path / "b.npz", draws=X[None], names=["mu", "tau"], other=np.ones(3))
    found = read_draws(tmp_path / "b.npz")
    assert found.names == ("mu", "tau")
    assert not found.independent
    np.savez(tmp_path / "c.npz", anything=X)
    np.testing.assert_array_equal(read_draws(tmp_path / "c.npz").rows, X)
    np.savez(tmp_path / "d.npz", one=X, two=X)
    with pytest.raises(
        sw.InputError, match=r"arrays \['one', 'two'\]: expected one named.*np.stack"
    ):
        read_draws(tmp_path / "d.npz")


def test_pickled_objects_are_refused_by_name(tmp_path: Path) -> None:
    """Catches allow_pickle: a file that runs code when it is read."""

    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    trap = np.array([Trap()], dtype=object)
    np.save(tmp_path / "a.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "b.npz", draws=trap)
    (tmp_path / "c.npy").write_bytes(pickle.dumps(X))
    for name in ("a.npy", "b.npz", "c.npy"):
        with pytest.raises(sw.InputError, match=f"{name} holds pickled"):
            read_draws(tmp_path / name)
    np.savez(tmp_path / "d.npz", draws=X, extra=trap)  # which nobody asked for
    np.testing.assert_array_equal(read_draws(tmp_path / "d.npz").rows, X)
    assert not (tmp_path / "sprung").exists()


def test_a_table_with_chains_in_any_order(tmp_path: Path) -> None:
    rows = [[2, 1, 5.0], [1, 1, 3.0], [1, 0, 2.0], [2, 0, 4.0]]
    path = write_csv(tmp_path / "a.csv", [".chain", ".draw", "mu"], rows)
    np.testing.assert_array_equal(read_draws(path).values[..., 0], [[2.0, 3.0], [4.0, 5.0]])
    path = write_csv(tmp_path / "b.csv", ["mu", "tau"], X)
    found = read_draws(path)
    assert found.independent
    assert found.names == ("mu", "tau")
    np.testing.assert_array_equal(found.rows, X)


@pytest.mark.parametrize(
    ("header", "rows", "message"),
    [
        (["1.0", "2.0"], [[1, 2], [3, 4]], "all numbers: expected a header"),
        (["a", "b"], [[1, 2], [3]], "line 3 .* has 1 entry, and the header has 2"),
        (["a", "b"], [[1, 2], [3, "x"]], "line 3 .* has 'x' for b"),
        (["a"], [], "has 1 row: expected a header and one row per draw"),
        (["chain", "a"], [[1, 1.5], [1, 2], [2, 1]], "differ in length: {'1': 2, '2': 1}"),
    ],
)
def test_bad_tables_are_answered(tmp_path: Path, header, rows, message: str) -> None:
    with pytest.raises(sw.InputError, match=message):
        read_draws(write_csv(tmp_path / "a.csv", header, rows))


def test_unknown_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(sw.InputError, match="there is no file"):
        read_draws(tmp_path / "a.npy")
    (tmp_path / "a.pkl").write_bytes(b"")
    with pytest.raises(sw.InputError, match=r"ends in \.pkl: expected one of \.npy"):
        read_draws(tmp_path / "a.pkl")


def test_every_suffix_that_the_message_names_has_a_reader(tmp_path: Path) -> None:
    """Catches a second list of formats, which promises more than the table of readers holds."""
    (tmp_path / "a.nc").write_bytes(b"")
    with pytest.raises(sw.InputError) as caught:
        read_draws(tmp_path / "a.nc")
    promised = str(caught.value).partition("expected one of ")[2].partition(". ")[0]
    assert promised.split(", ") == list(READERS)
    assert "sw.from_arviz" in str(caught.value)


def test_a_file_that_was_cut_off_is_answered(tmp_path: Path) -> None:
    np.save(tmp_path / "whole.npy", np.ones((100, 2)))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "whole.npy").read_bytes()[:500])
    with pytest.raises(sw.InputError, match=r"cut\.npy cannot be read"):
        read_draws(tmp_path / "cut.npy")


def test_of_an_archive_only_what_is_asked_for_is_read(tmp_path: Path) -> None:
    """Catches gigabytes read for nothing, and an array that declares more than there is."""
    path = tmp_path / "a.npz"
    np.savez(path, draws=X, names=["mu", "tau"])
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 2), }"
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("huge.npy", (header % 10**12).ljust(127) + b"\n")
    np.testing.assert_array_equal(read_draws(path).rows, X)
    with pytest.raises(sw.InputError, match=r"more than memory= allows.*np\.save as \.npy"):
        read_draws(path, memory=8 * X.size - 1)
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.writestr("draws.npy", (header % 10**12).ljust(127) + b"\n")
    with pytest.raises(sw.InputError, match="15258789 MiB: more than memory="):
        read_draws(tmp_path / "b.npz")


def npz_with(tmp_path: Path, names) -> Path:
    np.savez(tmp_path / "names.npz", draws=X, names=names)
    return tmp_path / "names.npz"


def test_names_in_an_archive_are_texts(tmp_path: Path) -> None:
    assert read_draws(npz_with(tmp_path, np.array([b"mu", b"tau"]))).names == ("mu", "tau")
    for names in ([1, 2], [["mu", "tau"]]):
        with pytest.raises(sw.InputError, match="expected one text per coordinate"):
            read_draws(npz_with(tmp_path, names))


BROKEN = {
    "empty.npy": (b"", "is empty"),
    "text.npy": (b"1.0, 2.0\n", "begins with b'1.0, 2.0': expected an array as np.save"),
    "empty.npz": (b"", "is not a .npz file"),
    "zip.npz": (b"PK\x03\x04 and no more", "is not a .npz file"),
    "header.npy": (b"\x93NUMPY\x01\x00\x10\x00{'descr': nonsense", "header.npy cannot be read"),
    "version.npy": (b"\x93NUMPY\x07\x00\x10\x00", "version 7 of the format"),
    "latin.csv": ("größe,b\n1.5,2\n".encode("latin-1"), "cannot be read: UnicodeDecodeError"),
    "long.csv": (b"a" * 200_000 + b"\n1.0\n", "cannot be read: Error: field larger"),
    "empty.csv": (b"", "has 0 rows"),
    "score.csv": (b"a\n1_0\n", "line 2 of .* has '1_0' for a: expected a number"),
    "arabic.csv": ("a\n\u0661\n".encode(), "for a: expected a number"),
    "integers.csv": (b"a,b\n1.5,1\n2.5,2\n", "column b of .* has integers.*support="),
    "twice.csv": (b"chain,draw,a\n0,1,.5\n0,1,.6\n", "more than one row of .* is chain 0, draw 1"),
    "unnumbered.csv": (
        b"draw,a\n0,.5\n0,.6\n",
        "row of .* is draw 0. Several chains need",
    ),
    "half.csv": (b"chain,a\n0.5,.5\n0,.6\n", "column chain of .* must have whole numbers"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_answered(tmp_path: Path, name: str) -> None:
    """Catches words about another fault, and errors that only the reader understands."""
    content, message = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(sw.InputError, match=message):
        read_draws(tmp_path / name)


def test_folders_and_impossible_paths_are_answered(tmp_path: Path) -> None:
    for suffix in READERS:
        if suffix == ".parquet":
            continue  # a folder of parquet files is one table
        (tmp_path / f"folder{suffix}").mkdir()
        with pytest.raises(sw.InputError, match=r"cannot be read|is not a"):
            read_draws(tmp_path / f"folder{suffix}")
    with pytest.raises(sw.InputError, match="cannot be read"):
        read_draws(tmp_path / ("a" * 300 + ".npy"))
    os.mkfifo(tmp_path / "pipe.npy")  # which would wait for a writer forever
    with pytest.raises(sw.InputError, match="is a pipe or a device"):
        read_draws(tmp_path / "pipe.npy")


def test_columns_that_say_where_a_row_belongs_are_no_coordinates(tmp_path: Path) -> None:
    """Catches `.iteration` of the R package posterior among the coordinates."""
    header = [".chain", ".iteration", ".draw", "mu"]
    path = write_csv(tmp_path / "a.csv", header, [[1, 2, 2, 0.5], [1, 1, 1, 1.5]])
    found = read_draws(path)
    assert found.names == ("mu",)
    np.testing.assert_array_equal(found.values[0, :, 0], [1.5, 0.5])
    path = write_csv(tmp_path / "b.csv", ["draw", "mu"], [[1.0, 0.5], [0.0, 1.5]])
    np.testing.assert_array_equal(read_draws(path, independent=True).rows[:, 0], [1.5, 0.5])
