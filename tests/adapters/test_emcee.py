"""emcee: walkers as chains, a log probability without a gradient, in every form it may have."""

import emcee
import numpy as np
import pytest

import steinwise as sw


def ensemble(function, *, steps=200, start=None, **options):
    """Eight walkers in two dimensions, after some steps."""
    start = np.random.default_rng(0).normal(size=(8, 2)) if start is None else start
    sampler = emcee.EnsembleSampler(8, 2, function, **options)
    sampler.random_state = np.random.RandomState(1).get_state()
    sampler.run_mcmc(start, steps)
    return sampler


def of_one(x):
    return -0.5 * np.sum(x**2)


def with_blobs(x):
    return -0.5 * np.sum(x**2), 3.0


def of_rows(x):
    return -0.5 * np.sum(x**2, axis=1)


def of_names(x):
    return -0.5 * (x["mu"] ** 2 + x["tau"] ** 2)


def of_vectors(x):
    return -0.5 * np.sum(x["z"] ** 2)


def with_arguments(x, precision, *, factor):
    return -factor * precision * np.sum(x**2)


@pytest.mark.parametrize(
    ("function", "options", "names"),
    [
        (of_one, {}, ("x[0]", "x[1]")),
        (with_blobs, {}, ("x[0]", "x[1]")),
        (of_rows, {"vectorize": True}, ("x[0]", "x[1]")),
        (of_names, {"parameter_names": ["mu", "tau"]}, ("mu", "tau")),
        (of_vectors, {"parameter_names": {"z": [0, 1]}}, ("z[0]", "z[1]")),
        (with_arguments, {"args": (0.25,), "kwargs": {"factor": 2.0}}, ("x[0]", "x[1]")),
    ],
)
def test_walkers_are_chains_and_values_are_enough(function, options, names):
    """Catches steps taken for walkers, blobs taken for log probabilities, and named parameters."""
    sampler = ensemble(function, steps=50, **options)
    samples, target = sw.from_emcee(sampler, discard=10)
    assert samples.values.shape == (8, 40, 2)
    np.testing.assert_array_equal(samples.values[3, 5], sampler.get_chain()[15, 3])
    assert samples.names == names
    values = target.log_values(samples.rows)
    assert values is not None
    np.testing.assert_allclose(values, -0.5 * (samples.rows**2).sum(axis=1))
    assert not target.has_scores(2)


def test_a_check_of_an_ensemble():
    """Catches a gradient that is asked for."""
    samples, target = sw.from_emcee(ensemble(of_rows, steps=3000, vectorize=True), discard=200)
    assert sw.check(samples, target).pvalue > 0.05
    wide = sw.Samples.of(1.4 * samples.values, names=samples.names)
    assert sw.check(wide, target).rejected


def test_bounded_parameters():
    """A prior that is 0 below 0: said by support=, no transform."""

    def half_normals(x):
        inside = (x >= 0).all(axis=1)
        with np.errstate(over="ignore"):  # far out on a line
            return np.where(inside, -0.5 * np.sum(x**2, axis=1), -np.inf)

    start = np.abs(np.random.default_rng(0).normal(size=(8, 2)))
    sampler = ensemble(half_normals, steps=3000, start=start, vectorize=True)
    samples, target = sw.from_emcee(sampler, discard=200, support=sw.support.positive)
    assert sw.check(samples, target).pvalue > 0.05


def test_what_is_no_sampler_is_refused():
    """Catches an attribute error from far inside."""
    with pytest.raises(sw.InputError, match=r"ndarray, without 'get_chain'.*has run"):
        sw.from_emcee(np.zeros((3, 4, 2)))
    with pytest.raises(sw.InputError, match=r"has no chain.*run_mcmc"):
        sw.from_emcee(emcee.EnsembleSampler(8, 2, of_one))
    with pytest.raises(sw.InputError, match="discard is -1"):
        sw.from_emcee(ensemble(of_one, steps=5), discard=-1)
