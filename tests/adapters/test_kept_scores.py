"""Scores that samplers keep: handed over with the draws, unless they are not the target's."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pymc as pm
import pytest
import xarray

import steinwise as sw
from steinwise.adapters.kept_scores import cmdstan_scores

rng = np.random.default_rng(8)
POSITION = {"mu": rng.normal(size=(100, 2)), "z": rng.normal(size=(100, 2, 3))}


def log_density(position):
    return -jnp.sum(position["mu"] ** 2) / 2 - jnp.sum(jnp.cosh(position["z"]))


def states(gradient):
    """As BlackJAX's states of HMC, from a scan over vmapped chains: (draw, chain)."""
    value = np.zeros((100, 2))
    return SimpleNamespace(position=POSITION, logdensity=value, logdensity_grad=gradient)


def test_gradients_of_blackjax_are_the_scores() -> None:
    gradient = {"mu": -POSITION["mu"], "z": -np.sinh(POSITION["z"]).astype(np.float32)}
    samples, target = sw.from_blackjax(states(gradient), log_density)
    assert samples.scores_of is target
    assert samples.scores is not None
    known = samples.scores_by(lambda x: np.full(x.shape, np.nan))  # not asked
    np.testing.assert_allclose(known, target.score(samples.rows), rtol=1e-6)


@pytest.mark.parametrize(
    "gradient",
    [
        {"mu": POSITION["mu"], "z": -np.sinh(POSITION["z"])},
        {"mu": -POSITION["mu"][::-1], "z": -np.sinh(POSITION["z"])},
        {"mu": np.full((100, 2), np.nan), "z": -np.sinh(POSITION["z"])},
        {"mu": -POSITION["mu"]},
        None,
    ],
    ids=["another density", "another order", "not finite", "fewer", "none"],
)
def test_gradients_of_anything_else_are_left_aside(gradient) -> None:
    """Catches a check against another density than the sampler's, by the sampler's own scores."""
    samples, _ = sw.from_blackjax(states(gradient), log_density)
    assert samples.scores is None


def test_a_run_of_nuts(jax_precision_stays) -> None:
    import blackjax

    kernel = blackjax.nuts(lambda x: -jnp.sum(x**2) / 2, 0.5, jnp.ones(2))
    state = kernel.init(jnp.zeros(2))  # type: ignore[call-arg]
    keys = jax.random.split(jax.random.key(0), 60)

    def step(state: Any, key: jax.Array) -> tuple[Any, Any]:
        moved, _ = kernel.step(key, state)
        return moved, moved

    _, chain = jax.lax.scan(step, state, keys)
    samples, target = sw.from_blackjax(chain, lambda x: -jnp.sum(x**2) / 2)
    np.testing.assert_allclose(samples.scores[0], -samples.values[0], rtol=1e-5)
    assert sw.from_blackjax(chain, lambda x: -jnp.sum(x**4) / 2)[0].scores is None
    assert samples.scores_of is target


def test_gradients_of_nutpie_are_the_scores() -> None:
    with pm.Model() as model:
        pm.Normal("mu", 0, 2)
        pm.HalfNormal("tau")
    mu, tau = rng.normal(size=(2, 50)), np.abs(rng.normal(size=(2, 50)))
    posterior = xarray.Dataset({"mu": (("chain", "draw"), mu), "tau": (("chain", "draw"), tau)})
    gradient = np.stack([-mu / 4, 1 - tau**2], axis=2)

    def kept(values):
        dims = ("chain", "draw", "unconstrained_parameter")
        statistics = xarray.Dataset({"gradient": (dims, values)})
        tree = xarray.DataTree.from_dict({"posterior": posterior, "sample_stats": statistics})
        return sw.from_pymc(tree, model)

    samples, target = kept(gradient)
    assert samples.scores_of is target
    np.testing.assert_array_equal(samples.scores, gradient)
    assert kept(gradient[..., ::-1])[0].scores is None
    assert sw.from_pymc(posterior, model)[0].scores is None


def test_the_diagnostic_files_of_cmdstan(tmp_path) -> None:
    """The columns g_ are the gradient of the potential energy, after as many draws of warm-up."""
    files = []
    for chain in range(2):
        rows = rng.normal(size=(7, 2)).round(3)
        lines = [f"{chain},{x},{y},0,0,{x},{y}" for x, y in rows]
        header = "lp__,mu,log_tau,p_mu,p_log_tau,g_mu,g_log_tau"
        files.append(tmp_path / f"{chain}.csv")
        files[-1].write_text("\n".join(["# stan_version", header, "# Adaptation", *lines]) + "\n")
    fit = SimpleNamespace(runset=SimpleNamespace(diagnostic_files=[str(file) for file in files]))
    scores = cmdstan_scores(fit, 5)
    assert scores is not None
    assert scores.shape == (2, 5, 2)
    last = files[1].read_text().splitlines()[-1].split(",")
    np.testing.assert_array_equal(scores[1, -1], [-float(last[1]), -float(last[2])])
    assert cmdstan_scores(SimpleNamespace(), 5) is None
