"""Files of draws through the command line: parquet, netCDF and zarr."""

import json
from pathlib import Path

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import xarray
import zarr

import steinwise as sw
from steinwise.cli import run
from steinwise.draws.files import read_draws

X = np.random.default_rng(0).normal(size=(4, 100, 2))
TARGET = "import jax.numpy as jnp\ndef normal(x):\n    return -0.5 * jnp.sum(x**2)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "target.py").write_text(TARGET)
    dims = ("chain", "draw", "school")
    data = xarray.Dataset({"theta": (dims, X), "log_lik": (("chain", "draw"), X[..., 0])})
    data.to_netcdf(tmp_path / "run.nc", group="posterior", engine="h5netcdf")
    data.to_zarr(tmp_path / "run.zarr", group="posterior", consolidated=False)
    return tmp_path


def test_parquet_with_and_without_chains(tmp_path: Path) -> None:
    rows = X.reshape(-1, 2)
    columns = {"mu": rows[:, 0], "tau": rows[:, 1]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    np.testing.assert_array_equal(read_draws(tmp_path / "a.parquet").rows, rows)
    columns |= {".chain": np.repeat(np.arange(4), 100), ".draw": np.tile(np.arange(100), 4)}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "b.parquet")
    found = read_draws(tmp_path / "b.parquet")
    for samples in (found, sw.Samples.of(pyarrow.table(columns))):
        np.testing.assert_array_equal(samples.values, X)
        assert samples.names == ("mu", "tau")
    words = pyarrow.table({"mu": ["a", "b"]})
    pyarrow.parquet.write_table(words, tmp_path / "c.parquet")
    with pytest.raises(sw.InputError, match=r"column mu of .* expected numbers"):
        read_draws(tmp_path / "c.parquet")


@pytest.mark.parametrize("file", ["run.nc", "run.zarr"])
def test_containers_need_the_space(folder: Path, capsys, file: str) -> None:
    arguments = ["check", str(folder / file), "--target", f"{folder / 'target.py'}:normal"]
    assert run(arguments) == 2
    assert "may hold constrained parameters. Say --space" in capsys.readouterr().err
    arguments += ["--space", "unconstrained", "--json"]
    assert run(arguments) == 2
    assert "pass var_names=" in capsys.readouterr().err
    assert run([*arguments, "--var-names", "theta"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"theta[0]", "theta[1]"} <= {c["name"] for c in found["coordinates"]}


def draws_of_a_model(tmp_path: Path) -> list[str]:
    """Arguments: a run of a PyMC model, and the model."""
    source = (
        "import pymc as pm\n"
        "def model():\n"
        "    with pm.Model() as made:\n"
        "        pm.HalfNormal('tau', 1.0)\n"
        "    return made\n"
    )
    (tmp_path / "target.py").write_text(source)
    tau = np.abs(np.random.default_rng(0).normal(size=(4, 100)))
    data = xarray.Dataset({"tau": (("chain", "draw"), tau)})
    data.to_netcdf(tmp_path / "run.nc", group="posterior", engine="h5netcdf")
    target = f"{tmp_path / 'target.py'}:model"
    return [str(tmp_path / "run.nc"), "--target", target, "--space", "model"]


def test_a_model_as_the_target(tmp_path: Path, capsys) -> None:
    assert run(["check", *draws_of_a_model(tmp_path)]) == 0
    assert "tau" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["sigma", "tau"])
def test_new_names_for_the_parameters_of_a_model(tmp_path: Path, name: str, capsys) -> None:
    """Catches log(tau) and tau in one summary under two names."""
    page = tmp_path / "page.html"
    arguments = ["check", *draws_of_a_model(tmp_path)]
    arguments += ["--names", name, "--summary", "--json", "--report", str(page)]
    assert run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert [c["name"] for c in found["coordinates"]] == [name]
    assert [q["name"] for q in found["summary"]["quantities"]] == [name]
    assert page.exists()


def test_a_zarr_array_that_wants_to_be_unpickled_is_refused(folder: Path, capsys) -> None:
    """Catches a store that runs code when it is read."""
    group = zarr.open_group(folder / "run.zarr" / "posterior", mode="a")
    group.create_array("trap", data=np.zeros(3))
    metadata = folder / "run.zarr" / "posterior" / "trap" / "zarr.json"
    found = json.loads(metadata.read_text())
    found["codecs"] = [{"name": "numcodecs.pickle", "configuration": {"id": "pickle"}}]
    metadata.write_text(json.dumps(found))
    arguments = ["check", str(folder / "run.zarr"), "--target", f"{folder / 'target.py'}:normal"]
    assert run([*arguments, "--space", "unconstrained", "--var-names", "theta"]) == 2
    assert "array posterior/trap of" in capsys.readouterr().err


def test_a_zarr_array_is_checked_by_chunk(tmp_path: Path) -> None:
    """Catches an array of zarr that is taken for something else, or read whole."""
    draws = np.random.default_rng(2).normal(size=(4, 500, 3))
    stored = zarr.create_array(tmp_path / "draws.zarr", shape=draws.shape, chunks=(1, 100, 3),
                               dtype="f8")  # fmt: skip
    stored[:] = draws
    target = sw.Gaussian(np.zeros(3), np.eye(3))
    samples = sw.Samples.of(zarr.open_array(tmp_path / "draws.zarr", mode="r"))
    assert not samples.in_memory
    found, expected = sw.check(samples, target), sw.check(draws, target)
    assert found.pvalue == expected.pvalue
    np.testing.assert_allclose(found.statistic, expected.statistic, rtol=1e-9)
    with pytest.warns(sw.SteinwiseWarning, match=r"one in \d+ draws was tested"):
        thinned = sw.check(samples, lambda x: -0.5 * (x**2).sum(), evaluations=5000)
    assert thinned.draws.n_draws < 500


@pytest.mark.parametrize("shape", [(400, 2), (4, 100, 2)])
def test_arrays_of_zarr_and_hdf5_in_both_shapes(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """Catches an axis that only NumPy and Dask can add."""
    draws = X.reshape(shape)
    target = sw.Gaussian([0, 0], np.eye(2))
    expected = sw.check(draws, target, method="ksd").pvalue
    stored = zarr.open_array(tmp_path / "a.zarr", mode="w", shape=shape, dtype="f8", chunks=shape)
    stored[:] = draws
    assert sw.check(stored, target, method="ksd").pvalue == expected
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, chunks in (("chunked", True), ("contiguous", None)):
            dataset = file.create_dataset(name, data=draws, chunks=chunks)
            assert not sw.Samples.of(dataset).in_memory
            assert sw.check(dataset, target, method="ksd").pvalue == expected
        empty = file.create_dataset("empty", dtype="f8", data=h5py.Empty("f8"))
        with pytest.raises(sw.InputError, match="empty HDF5 dataset"):
            sw.Samples.of(empty)
    with pytest.raises(sw.InputError, match="Was the file closed"):
        sw.Samples.of(dataset)


def test_variables_that_would_be_dropped_or_mixed_are_refused(folder: Path, capsys) -> None:
    arguments = ["check", str(folder / "run.nc"), "--target", f"{folder / 'target.py'}:normal"]
    arguments += ["--space", "unconstrained", "--var-names", "theta,theta"]
    assert run(arguments) == 2
    assert "var_names has a name twice: ['theta', 'theta']" in capsys.readouterr().err
    with pytest.raises(sw.InputError, match="var_names is a set, which has no order"):
        sw.from_arviz(folder / "run.nc", "unconstrained", target=sum, var_names={"theta"})  # type: ignore[arg-type]


def test_parquet_without_a_number_in_every_entry(tmp_path: Path) -> None:
    table = pyarrow.table({"a": [0.5, None], "b": [1.5, 2.5]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(sw.InputError, match=r"column a of .* has 1 missing values"):
        read_draws(tmp_path / "a.parquet")
    pyarrow.parquet.write_table(
        pyarrow.table({"a": [0.5, 1.5], "b": [1, 2]}), tmp_path / "b.parquet"
    )
    with pytest.raises(sw.InputError, match=r"column b of .* has integers"):
        read_draws(tmp_path / "b.parquet")
    with pytest.raises(sw.InputError, match="more numbers than memory= allows"):
        read_draws(tmp_path / "a.parquet", memory=31)
    (tmp_path / "c.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(sw.InputError, match=r"c\.parquet cannot be read"):
        read_draws(tmp_path / "c.parquet")


def test_broken_containers_are_wrong_input(folder: Path, capsys) -> None:
    """Catches status 3, a failure inside, for a file that is none."""
    (folder / "text.nc").write_text("no netCDF")
    (folder / "cut.nc").write_bytes((folder / "run.nc").read_bytes()[:500])
    (folder / "folder.nc").mkdir()
    (folder / "text.zarr").write_text("no zarr")
    (folder / "bad.zarr").mkdir()
    (folder / "bad.zarr" / "zarr.json").write_bytes(b"\xff\xfe")
    options = ["--target", f"{folder / 'target.py'}:normal", "--space", "unconstrained"]
    for name in ("text.nc", "cut.nc", "folder.nc", "text.zarr", "bad.zarr"):
        assert run(["check", str(folder / name), *options]) == 2, name
        said = capsys.readouterr().err
        assert f"{name} cannot be read" in said
        assert "Traceback" not in said


def test_of_a_file_only_the_variables_that_are_asked_for_are_read(folder: Path) -> None:
    """Catches gigabytes of log likelihoods that are loaded for nothing."""
    chunk = next((folder / "run.zarr" / "posterior" / "log_lik" / "c").rglob("0"))
    while chunk.is_dir():
        chunk = chunk / "0"
    chunk.write_bytes(b"broken")
    normal = sw.Gaussian([0, 0], np.eye(2))
    options = {"target": normal, "var_names": ["theta"]}
    samples, _ = sw.from_arviz(folder / "run.zarr", "unconstrained", **options)
    np.testing.assert_array_equal(samples.values, X)
    with pytest.raises(sw.InputError, match=r"run\.zarr cannot be read"):
        sw.from_arviz(folder / "run.zarr", "unconstrained", target=normal, var_names=["log_lik"])
