"""Tests of posterior samplers by simulated data: mistakes in steps and samplers are found."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw

OPTIONS: dict[str, Any] = {"chains": 2000, "steps": 5}


def model(**changed):
    """mu ~ N(0, 1) and three data around it: the posterior is N(sum / 4, 1/4)."""
    given = {
        "name": "normal mean",
        "names": ("mu",),
        "prior": lambda key: jax.random.normal(key, (1,)),
        "simulate": lambda key, theta: theta + jax.random.normal(key, (3,)),
        "log_density": lambda theta, y: -0.5 * theta[0] ** 2 - 0.5 * jnp.sum((y - theta) ** 2),
    }
    return sw.testing.SimulatedModel(**{**given, **changed})


MODEL = model()


def gibbs(sd=0.5):
    def step(key, _, y):
        return jnp.sum(y)[None] / 4 + sd * jax.random.normal(key, (1,))

    return step


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("new_data", [False, True])
def test_an_exact_step_passes(balanced, new_data):
    """Catches an order of steps and new data that is not reversed when chains run backwards."""
    result = sw.testing.check_posterior_step(
        gibbs(), MODEL, balanced=balanced, new_data=new_data, **OPTIONS
    )
    assert result.passed, str(result)
    assert result.both_ways is balanced


def test_a_wrong_posterior_is_found():
    result = sw.testing.check_posterior_step(gibbs(sd=0.65), MODEL, **OPTIONS)
    assert not result.passed
    assert "mu" in {change.name for change in result.changes}


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("new_data", [False, True])
def test_a_step_that_ignores_the_data_is_found(balanced, new_data):
    """Catches new data after the last step, which fit parameters from the prior too."""

    def from_prior(key, theta, _):
        return jax.random.normal(key, theta.shape)

    result = sw.testing.check_posterior_step(
        from_prior, MODEL, balanced=balanced, new_data=new_data, **OPTIONS
    )
    assert not result.passed


def test_what_is_said_is_said_of_parameters():
    """One line for each number of the data would bury what a sampler's author can use."""
    result = sw.testing.check_posterior_step(gibbs(sd=0.65), MODEL, **OPTIONS)
    assert {change.name for change in result.changes} <= {"mu", "log density"}


def test_draws_of_the_joint_target_are_prior_and_data():
    draws = MODEL.joint.draw(0, 4000)
    assert MODEL.joint.names == ("mu", "data[0]", "data[1]", "data[2]")
    assert draws[:, 0].std() == pytest.approx(1, abs=0.05)
    assert np.corrcoef(draws[:, 0], draws[:, 1])[0, 1] == pytest.approx(np.sqrt(0.5), abs=0.05)


def sampler(sd=0.5, shift=0.0):
    def draw(rng, y):
        return shift + y.sum() / 4 + sd * rng.normal(size=(19, 1))

    return draw


def test_calibration_of_a_right_sampler():
    result = sw.testing.check_calibration(sampler(), MODEL)
    assert result.passed
    assert (result.steps, result.subject) == (19, "posterior draws")
    of_mu = ("value", "square", "score", "squared score", "value times score")
    assert set(result.functions) == {"log density", *(f"{kind} of mu" for kind in of_mu)}


def test_calibration_finds_shifts_and_narrow_posteriors():
    shifted = sw.testing.check_calibration(sampler(shift=0.3), MODEL)
    assert shifted.changes[0].kind == "shift"
    assert "19 draws for each of" in str(shifted)
    assert "mu: shift, is too large" in str(shifted)
    nothing = sw.testing.check_calibration(lambda *_: np.full((9, 1), np.nan), MODEL)
    assert str(nothing).splitlines()[1] == "  mu: posterior draws are NaN or infinite"
    narrow = sw.testing.check_calibration(sampler(sd=0.35), MODEL)
    assert {change.name for change in narrow.changes} & {"mu", "log density"}


def test_calibration_refuses_other_shapes():
    with pytest.raises(sw.InputError, match=r"shape \(19,\): expected \(k, 1\)"):
        sw.testing.check_calibration(lambda rng, _: rng.normal(size=19), MODEL)
    with pytest.raises(sw.InputError, match="the same number for all data"):
        sw.testing.check_calibration(
            lambda rng, _: rng.normal(size=(rng.integers(5, 50), 1)), MODEL
        )


def test_assertions_carry_the_message():
    sw.testing.assert_posterior_step(gibbs(), MODEL, chains=200)
    with pytest.raises(AssertionError, match="the steps change the distribution of normal mean"):
        sw.testing.assert_posterior_step(gibbs(sd=0.9), MODEL, **OPTIONS)
    sw.testing.assert_calibrated(sampler(), MODEL)
    with pytest.raises(AssertionError, match="mu: shift, is too large"):
        sw.testing.assert_calibrated(sampler(shift=1.0), MODEL)


def test_models_are_checked():
    with pytest.raises(sw.InputError, match=r"prior\(key\) has shape \(1,\)"):
        model(names=("a", "b"))
    with pytest.raises(sw.InputError, match=r"simulate\(key, theta\) has shape \(3, 1\)"):
        model(simulate=lambda key, theta: theta + jax.random.normal(key, (3, 1)))
    with pytest.raises(sw.InputError, match=r"simulate\(key, theta\) could not be traced"):
        model(simulate=lambda key: jax.random.normal(key, (3,)))
    with pytest.raises(sw.InputError, match=r"log_density\(theta, data\) has shape \(3,\)"):
        model(log_density=lambda theta, y: y - theta)
    with pytest.raises(sw.InputError, match="has shape tuple"):
        model(prior=lambda key: (jax.random.normal(key, (1,)),))


def test_wrong_steps_and_samplers_are_named():
    with pytest.raises(sw.InputError, match=r"given\. Expected .* step\(key, theta, data\)"):
        sw.testing.check_posterior_step(lambda _, theta: theta, MODEL)  # type: ignore[arg-type]
    with pytest.raises(sw.InputError, match=r"step\(key, theta, data\) has shape \(3,\)"):
        sw.testing.check_posterior_step(lambda _, __, y: y, MODEL)
    with pytest.raises(sw.InputError, match=r"called as sampler\(rng, data\)"):
        sw.testing.check_calibration(lambda rng: rng, MODEL)  # type: ignore[arg-type]
    with pytest.raises(sw.InputError, match="returned a NoneType"):
        sw.testing.check_calibration(lambda *_: None, MODEL)
