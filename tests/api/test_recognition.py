"""What an adapter knows is recognised, and what it does not gets a message with the way to it."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.api.recognition import recognised

DRAWS = np.random.default_rng(0).normal(size=(200, 2))
TARGET = sw.Gaussian([0, 0], np.eye(2))


def log_density(x: Any) -> Any:
    return -jnp.sum(x**2) / 2


def of_library(module: str, name: str, **attributes: Any) -> Any:
    """An object whose class has the name and the module of another library's."""
    return type(name, (), {"__module__": module, **attributes})()


@pytest.mark.parametrize("target", [TARGET, log_density])
@pytest.mark.parametrize("verb", [sw.check, sw.assert_fits])
def test_the_forgotten_star(verb: Callable[..., Any], target: Any) -> None:
    """Catches a pair of an adapter that is taken for draws."""
    pair = (sw.Samples.of(DRAWS), target)
    assert verb(pair).pvalue == verb(*pair).pvalue


def test_a_pair_for_every_verb_that_needs_one() -> None:
    pair = (sw.Samples.of(DRAWS), TARGET)
    assert len(sw.summary(pair, sweeps=1).quantities) == 2
    assert sw.refresh(pair, sweeps=1).samples.n == 200


@pytest.mark.parametrize(
    ("draws", "target"), [(TARGET, DRAWS), (log_density, DRAWS), (log_density, DRAWS.tolist())]
)
def test_swapped_arguments(draws: Any, target: Any) -> None:
    for verb in (sw.check, sw.summary, sw.refresh):
        with pytest.raises(sw.InputError, match=r"swapped. The draws come first: sw.check\(draws"):
            verb(draws, target)
    with pytest.raises(sw.InputError, match="swapped"):
        sw.thin(draws, target, 5)


PYMC_MODEL = of_library("pymc.model.core", "Model")


@pytest.mark.parametrize(
    ("draws", "target", "words"),
    [
        (DRAWS, None, "target is of type NoneType"),
        (log_density, None, "there are no draws"),
        ({"mu": DRAWS[:, 0]}, None, r"mu \(200,\).*sw.check\(mcmc\)"),
        ({"mu": DRAWS[:, 0]}, log_density, r"mu \(200,\).*sw.check\(mcmc\)"),
        (of_library("numpyro.infer.svi", "SVI"), None, r"params=svi_result.params"),
        (of_library("numpyro.infer.svi", "SVI"), object(), r"of type SVI.*params=svi_result"),
        (of_library("numpyro.infer.svi", "SVIRunResult"), log_density, r"params=svi_result"),
        (of_library("numpyro.infer.autoguide", "AutoGuide"), None, r"params=svi_result"),
        (of_library("pymc.variational.opvi", "Approximation"), PYMC_MODEL, r"\.sample\(1000\)"),
        (of_library("arviz.data", "InferenceData"), None, r"sw.check\(idata, model\)"),
        (of_library("arviz.data", "InferenceData"), log_density, "sw.from_arviz"),
        (of_library("stan.fit", "Fit"), None, r"sw.check\(fit, model\)"),
        (of_library("cmdstanpy.stanfit", "CmdStanMCMC"), None, r"sw.check\(fit, model\)"),
        (of_library("pymc.variational.opvi", "Approximation"), None, "independent=True"),
        (of_library("numpyro.infer.mcmc", "MCMC"), log_density, "a density of its own"),
        (PYMC_MODEL, DRAWS, "swapped"),
    ],
)
def test_what_is_missing(draws: Any, target: Any, words: str) -> None:
    """Catches a message that sends a user of a library elsewhere than to its adapter."""
    with pytest.raises(sw.InputError, match=words):
        sw.check(draws, target)


def test_an_ensemble_brings_its_density() -> None:
    """emcee is no dependency: an object with the interface of its sampler."""

    class EnsembleSampler:
        __module__ = "emcee.ensemble"
        parameter_names = None

        def __init__(self) -> None:
            self.log_prob_fn = lambda x: -0.5 * np.sum(x**2)
            self.chain = np.random.default_rng(1).normal(size=(300, 4, 2))

        def get_chain(self, **_: int) -> np.ndarray:
            return self.chain

    samples, target = recognised(EnsembleSampler(), None)
    assert (samples.n_chains, samples.n_draws, samples.dim) == (4, 300, 2)
    assert sw.check(samples, target).pvalue == sw.check(EnsembleSampler()).pvalue
