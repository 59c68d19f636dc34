"""Containers and files: what is read, how it is labelled, and what is refused."""

import arviz
import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pymc as pm
import pytensor
import pytest
import xarray
from numpyro.infer import MCMC, NUTS

import steinwise as sw

NORMAL = sw.Gaussian(np.zeros(4), np.eye(4))
SHAPE = ("chain", "draw")
KINDS = ["ArviZ", "DataTree", "node", "Dataset", "netCDF", "zarr"]


def container_of(groups):
    """What this version of ArviZ makes: an InferenceData before 1.0, a DataTree since."""
    kind = vars(arviz).get("InferenceData", xarray.DataTree)  # ArviZ warns of a name it lost
    return xarray.DataTree.from_dict(groups) if kind is xarray.DataTree else kind(**groups)


def variable(name, values):
    axes = [f"{name}_dim_{k}" for k in range(values.ndim - 2)]
    return xarray.Dataset({name: ((*SHAPE, *axes), values)})


@pytest.fixture(scope="module")
def posterior():
    """Four coordinates in two variables; the second is not in the order (chain, draw)."""
    rng = np.random.default_rng(0)
    schools = np.array(["a", "b", "c"], dtype=object)  # zarr warns of fixed-length strings
    return xarray.Dataset(
        {
            "mu": (SHAPE, rng.normal(size=(2, 300))),
            "theta": (("school", "draw", "chain"), rng.normal(size=(3, 300, 2))),
            "count": (SHAPE, rng.poisson(3.0, size=(2, 300))),
        },
        coords={"school": schools, "chain": [0, 1], "draw": np.arange(300)},
    )


@pytest.fixture(scope="module")
def groups(posterior):
    warm_up = xarray.zeros_like(posterior)
    stats = xarray.Dataset({"lp": (SHAPE, np.zeros((2, 300)))})
    return {"posterior": posterior, "sample_stats": stats, "warmup_posterior": warm_up}


@pytest.fixture(scope="module")
def idata(groups):
    return container_of(groups)


@pytest.fixture(params=KINDS)
def container(request, idata, groups, posterior, tmp_path):
    if request.param == "ArviZ":
        return idata
    if request.param == "Dataset":
        return posterior
    if request.param == "netCDF":
        idata.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
        return tmp_path / "run.nc"
    tree = xarray.DataTree.from_dict(groups)
    if request.param == "zarr":
        tree.to_zarr(tmp_path / "run.zarr", consolidated=False)
        return str(tmp_path / "run.zarr")
    return tree if request.param == "DataTree" else tree["posterior"]


def test_every_container_gives_the_same(container, posterior):
    """Axes in another order, the warm-up group read instead, labels by position."""
    samples, target = sw.from_arviz(
        container, "unconstrained", target=NORMAL, var_names=["theta", "mu"]
    )
    assert samples.names == ("theta[a]", "theta[b]", "theta[c]", "mu")
    expected = posterior["theta"].transpose("chain", "draw", "school").values
    np.testing.assert_array_equal(samples.values[..., :3], expected)
    np.testing.assert_array_equal(samples.values[..., 3], posterior["mu"].values)
    assert not sw.check(samples, target, alpha=0.01).rejected


def test_labels_join_the_summary(idata):
    """`.to_dataframe()` joins `az.summary`, row by row."""
    samples, target = sw.from_arviz(
        idata, "unconstrained", target=NORMAL, var_names=["mu", "theta"]
    )
    table = sw.check(samples, target).to_dataframe()
    summary = arviz.summary(idata, var_names=["mu", "theta"])
    joined = summary.join(table)
    assert list(joined.index) == ["mu", "theta[a]", "theta[b]", "theta[c]"]
    assert joined["verdict"].notna().all()
    assert joined.loc["theta[b]", "mean"] == summary.loc["theta[b]", "mean"]


def test_labels_of_a_matrix_are_those_of_the_summary():
    values = np.random.default_rng(0).normal(size=(2, 200, 2, 2))
    idata = container_of({"posterior": variable("theta", values)})
    target = sw.Gaussian(np.zeros(4), np.eye(4))
    samples, _ = sw.from_arviz(idata, "unconstrained", target=target)
    assert list(samples.names) == list(arviz.summary(idata).index)
    assert samples.names[1] == "theta[0, 1]"


def test_coords_choose_chains_draws_and_entries(posterior):
    samples, _ = sw.from_arviz(
        posterior,
        "unconstrained",
        target=sw.Gaussian(np.zeros(2), np.eye(2)),
        var_names="theta",
        coords={"school": ["c", "a"], "chain": 1, "draw": slice(100, None)},
    )
    assert samples.names == ("theta[c]", "theta[a]")
    assert samples.values.shape == (1, 200, 2)


def test_results_go_back_into_the_users_file(posterior, tmp_path):
    """As the docstring of to_dataset says it, with the draws left as they were."""
    samples, target = sw.from_arviz(
        posterior, "unconstrained", target=NORMAL, var_names=["mu", "theta"]
    )
    result = sw.check(samples, target, seed=3)
    found = result.to_dataset()
    assert {"version", "method", "seed"} <= set(found.attrs)
    posterior.to_netcdf(tmp_path / "run.nc", group="posterior", engine="h5netcdf")
    posterior.to_zarr(tmp_path / "run.zarr", group="posterior", consolidated=False)
    found.to_netcdf(tmp_path / "run.nc", mode="a", group="stein", engine="h5netcdf")
    found.to_zarr(tmp_path / "run.zarr", mode="w", group="stein", consolidated=False)
    for name in ("run.nc", "run.zarr"):
        options = {"engine": "zarr", "consolidated": False} if name.endswith("zarr") else {}
        with xarray.open_dataset(tmp_path / name, group="stein", **options) as back:
            assert back.attrs["version"] == sw.__version__
            assert (back.attrs["method"], back.attrs["seed"]) == ("transported", 3)
            verdicts = {c.name: c.verdict for c in result.coordinates}
            assert back["verdict"].sel(coordinate="theta[b]").item() == verdicts["theta[b]"]
            assert back["pvalue"].dtype == np.float64
        again, _ = sw.from_arviz(
            tmp_path / name, "unconstrained", target=NORMAL, var_names=["mu", "theta"]
        )
        np.testing.assert_array_equal(again.values, samples.values)


def test_results_go_back_into_the_users_container(idata, posterior):
    target = sw.Gaussian(np.zeros(3), np.eye(3))
    result = sw.check(*sw.from_arviz(idata, "unconstrained", target=target, var_names="theta"))
    if hasattr(idata, "add_groups"):
        mine = idata.copy()
        mine.add_groups(stein=result.to_dataset())
        assert mine.stein.attrs["method"] == "transported"
    tree = xarray.DataTree.from_dict({"posterior": posterior})
    tree["stein"] = xarray.DataTree(result.to_dataset())
    assert tree["stein"].attrs["method"] == "transported"


def test_a_summary_is_a_dataset_and_joins_that_of_arviz(idata):
    samples, target = sw.from_arviz(
        idata, "unconstrained", target=sw.Gaussian(np.zeros(3), np.eye(3)), var_names="theta"
    )
    answers = sw.summary(samples, target, sweeps=1)
    found, frame = answers.to_dataset(), answers.to_dataframe()
    np.testing.assert_allclose(found["corrected_sd"].values, frame["corrected_sd"])
    assert found.attrs["sweeps"] == 1
    assert list(frame.index) == ["theta[a]", "theta[b]", "theta[c]"]  # as az.summary has them


def test_a_result_without_coordinates_or_with_a_key_is_a_dataset_too(tmp_path):
    draws = np.random.default_rng(0).normal(size=(60, 2))
    target = sw.Gaussian([0, 0], np.eye(2))
    found = sw.check(draws, target, method="ksd", seed=jax.random.key(7)).to_dataset()
    found.to_netcdf(tmp_path / "empty.nc", group="stein", engine="h5netcdf")
    assert found.sizes == {"coordinate": 0}
    assert found.attrs["seed"] == [0, 7]


@pytest.fixture(scope="module")
def bounded():
    with pm.Model(coords={"school": ["a", "b"]}) as model:
        pm.HalfNormal("tau", 1.0)
        pm.Normal("theta", 0.0, 1.0, dims="school")
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        prior = pm.sample_prior_predictive(400, model=model, random_seed=1)
    return prior, model


def test_a_pymc_model_brings_transforms_and_density(bounded):
    idata, model = bounded
    samples, target = sw.from_arviz(idata, model, group="prior", independent=True)
    assert samples.names == ("tau", "theta[a]", "theta[b]")
    assert not sw.check(samples, target, alpha=0.01).rejected
    same, _ = sw.from_pymc(idata, model, group="prior", independent=True)
    np.testing.assert_array_equal(samples.values, same.values)


def test_a_part_of_the_parameters_is_refused_with_a_model(bounded):
    """The model's density is that of all parameters: a part of them has another one."""
    idata, model = bounded
    with pytest.raises(sw.InputError, match=r"the draws have no tau.*filter\(like='theta'"):
        sw.from_arviz(idata, model, group="prior", var_names=["theta"])
    with pytest.raises(sw.InputError, match="Coords that leave out entries"):
        sw.from_arviz(idata, model, group="prior", coords={"school": ["a"]})
    samples, _ = sw.from_arviz(idata, model, group="prior", coords={"draw": slice(0, 99)})
    assert samples.n_draws == 100


def test_a_numpyro_mcmc_brings_its_model():
    def model(scale):
        numpyro.sample("tau", dist.HalfNormal(scale))

    mcmc = MCMC(NUTS(model), num_warmup=200, num_samples=100, progress_bar=False)
    mcmc.run(jax.random.key(0), 2.0)
    tau = np.asarray(mcmc.get_samples(True)["tau"])
    idata = container_of({"posterior": variable("tau", tau)})
    samples, _ = sw.from_arviz(idata, mcmc)
    expected, _ = sw.from_numpyro(mcmc)
    np.testing.assert_array_equal(samples.values, expected.values)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("constrained",), {}, "the space is 'constrained': expected 'unconstrained'"),
        (("unconstrained",), {"var_names": "mu"}, "draws alone cannot be checked: pass target="),
        (("unconstrained",), {"target": NORMAL}, "pass var_names= in the order"),
        (("unconstrained",), {"target": NORMAL, "var_names": "count"}, "count is discrete"),
        (("unconstrained",), {"target": NORMAL, "var_names": ["nu"]}, "var_names has 'nu'"),
        (("unconstrained",), {"target": NORMAL, "coords": {"year": 1}}, "coords has 'year'"),
        (("unconstrained",), {"target": NORMAL, "coords": {"school": "z"}}, "a label that"),
        (("unconstrained",), {"target": NORMAL, "group": "prior"}, "there is no group 'prior'"),
        ((lambda x: -(x**2),), {}, "A density does not say how"),
        ((NORMAL,), {}, "A density does not say how"),
        ((3,), {}, "the model is of type int"),
    ],
)
def test_what_is_refused(idata, arguments, options, message):
    with pytest.raises(sw.InputError, match=message):
        sw.from_arviz(idata, *arguments, **options)


def test_what_no_container_is(tmp_path, posterior):
    options = {"target": NORMAL, "var_names": ["mu", "theta"]}
    with pytest.raises(sw.InputError, match="the draws are of type list"):
        sw.from_arviz([1.0], "unconstrained", **options)
    with pytest.raises(sw.InputError, match="there is no file"):
        sw.from_arviz(tmp_path / "none.nc", "unconstrained", **options)
    posterior.to_netcdf(tmp_path / "run.nc", group="posterior", engine="h5netcdf")
    with pytest.raises(sw.InputError, match="group 'prior' of"):
        sw.from_arviz(tmp_path / "run.nc", "unconstrained", group="prior", **options)
    stacked = posterior[["mu"]].stack(sample=("chain", "draw"))
    with pytest.raises(sw.InputError, match="unstack"):
        sw.from_arviz(stacked, "unconstrained", target=NORMAL)


def test_one_chain_without_its_axis():
    draws = xarray.Dataset({"x": (("draw", "i"), np.random.default_rng(0).normal(size=(99, 2)))})
    samples, _ = sw.from_arviz(draws, "unconstrained", target=sw.Gaussian([0, 0], np.eye(2)))
    assert (samples.n_chains, samples.n_draws, samples.independent) == (1, 99, False)
