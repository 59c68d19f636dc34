"""Draws from files."""

import csv
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
    with pytest.raises(sw.InputError, match=r"has the arrays \['one', 'two'\]: expected one named"):
        read_draws(tmp_path / "d.npz")


def test_pickled_objects_are_refused_by_name(tmp_path: Path) -> None:
    """Catches allow_pickle: a file that runs code when it is read."""

    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    trap = np.array([Trap()], dtype=object)
    np.save(tmp_path / "a.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "b.npz", draws=X, extra=trap)
    for name, which in (("a.npy", "a.npy holds pickled"), ("b.npz", "array 'extra' of .* holds")):
        with pytest.raises(sw.InputError, match=which):
            read_draws(tmp_path / name)
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
        (["a", "b"], [[1, 2], [3]], "row 3 .* has 1 entries, and the header has 2"),
        (["a", "b"], [[1, 2], [3, "x"]], "row 3 .* has 'x' for b"),
        (["a"], [], "has 1 rows: expected a header and one row per draw"),
        (["chain", "a"], [[1, 1], [1, 2], [2, 1]], "differ in length: {'1': 2, '2': 1}"),
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
