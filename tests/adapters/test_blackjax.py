"""BlackJAX: states and positions, their axes, their trees."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw

CONCENTRATION = jnp.array([2.0, 3.0, 4.0])
LABELS = ("chol", "mu[0, 0]", "mu[0, 1]", "tau", "w[0]", "w[1]")


def _stick_breaking(y):
    """Two real numbers to three shares, with the log determinant."""
    first = jax.nn.sigmoid(y[0] - jnp.log(2.0))
    second = (1 - first) * jax.nn.sigmoid(y[1])
    shares = jnp.stack([first, second, 1 - first - second])
    log_det = jax.nn.log_sigmoid(y[0] - jnp.log(2.0)) + jax.nn.log_sigmoid(-y[0] + jnp.log(2.0))
    log_det += jnp.log1p(-first) + jax.nn.log_sigmoid(y[1]) + jax.nn.log_sigmoid(-y[1])
    return shares, log_det


def log_density(position):
    """Half-normal, Dirichlet, and the Cholesky factor of a 2 x 2 correlation, unconstrained."""
    tau = jnp.exp(position["tau"])
    shares, log_det = _stick_breaking(position["w"])
    correlation = jnp.tanh(position["chol"])
    return (
        -(tau**2) / 2
        + position["tau"]
        + jnp.sum((CONCENTRATION - 1) * jnp.log(shares))
        + log_det
        + 2 * jnp.log1p(-(correlation**2))  # LKJ with shape 2, and the Jacobian of tanh
        - jnp.sum(position["mu"] ** 2) / 2
    )


START = {"tau": jnp.zeros(()), "w": jnp.zeros(2), "chol": jnp.zeros(()), "mu": jnp.zeros((1, 2))}


def _chains(n_chains, n_draws):
    """As BlackJAX's documentation does it: a scan over vmapped chains, so (draw, chain)."""
    kernel = blackjax.nuts(log_density, step_size=0.4, inverse_mass_matrix=jnp.ones(6))
    starts = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (n_chains, *leaf.shape)), START)
    states = jax.vmap(kernel.init)(starts)  # type: ignore[call-arg]

    def step(states, key):
        states, _ = jax.vmap(kernel.step)(jax.random.split(key, n_chains), states)
        return states, states

    _, states = jax.jit(lambda s, k: jax.lax.scan(step, s, k))(
        states, jax.random.split(jax.random.key(0), 200 + n_draws)
    )
    return jax.tree.map(lambda leaf: leaf[200:], states)


@pytest.fixture(scope="module")
def states():
    return _chains(2, 400)


def test_draws_first_then_chains(states):
    """(draw, chain) read as (chain, draw) would be refused, or checked as noise."""
    assert states.logdensity.shape == (400, 2)
    samples, _ = sw.from_blackjax(states, log_density)
    assert samples.names == LABELS
    assert (samples.n_chains, samples.n_draws, samples.independent) == (2, 400, False)
    expected = np.asarray(states.position["mu"])[:, 1, 0, 1]
    np.testing.assert_array_equal(samples.values[1, :, 2], expected.astype(np.float64))


def test_chains_first_too(states):
    turned = jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), states)
    by_shape, _ = sw.from_blackjax(turned, log_density)
    by_word, _ = sw.from_blackjax(turned.position, log_density, axes="chain draw")
    given, _ = sw.from_blackjax(states, log_density)
    np.testing.assert_array_equal(by_shape.values, given.values)
    np.testing.assert_array_equal(by_word.values, given.values)


def test_the_density_takes_the_users_tree(states):
    samples, target = sw.from_blackjax(states, log_density)
    assert isinstance(target, sw.Target)
    with jax.enable_x64(True):
        ours = np.array([float(target.log_density(jnp.asarray(x))) for x in samples.values[1, :30]])
    np.testing.assert_allclose(ours, np.asarray(states.logdensity)[:30, 1], rtol=1e-4)


def test_right_draws_fit_and_wrong_ones_do_not(states):
    samples, target = sw.from_blackjax(states, log_density)
    assert not sw.check(samples, target, alpha=0.01).rejected
    moved = samples.values.copy()
    moved[..., LABELS.index("tau")] += 0.5
    assert sw.check(sw.Samples.of(moved), target, alpha=0.01).rejected


def test_one_chain_of_states_is_a_chain(states):
    one = jax.tree.map(lambda leaf: leaf[:, 0], states)
    samples, _ = sw.from_blackjax(one, log_density)
    assert (samples.n_chains, samples.n_draws, samples.independent) == (1, 400, False)


def test_positions_alone():
    """Pathfinder's draws are independent; a chain's positions would be taken for that."""
    state, _ = blackjax.vi.pathfinder.approximate(
        jax.random.key(0), lambda x: -jnp.sum(x**2) / 2, jnp.ones(3)
    )
    draws, _ = blackjax.vi.pathfinder.sample(jax.random.key(1), state, 200)
    samples, target = sw.from_blackjax(draws, lambda x: -jnp.sum(x**2) / 2)
    assert samples.independent
    assert samples.names == ("x[0]", "x[1]", "x[2]")
    assert not sw.check(samples, target, alpha=0.01).rejected

    walk = np.cumsum(np.random.default_rng(0).normal(size=(300, 2)), axis=0)
    with pytest.raises(sw.InputError, match="autocorrelated"):
        sw.from_blackjax(walk, lambda x: -jnp.sum(x**2) / 2)
    chain, _ = sw.from_blackjax(walk, lambda x: -jnp.sum(x**2) / 2, independent=False)
    assert not chain.independent


def test_exact_draws_of_the_bounded_parameters():
    """The hand-written transforms themselves: exact draws of each law must fit."""
    rng = np.random.default_rng(3)
    w = rng.dirichlet([2.0, 3.0, 4.0], size=400)
    sticks = np.stack([w[:, 0], w[:, 1] / (1 - w[:, 0])], axis=1)
    positions = {
        "tau": np.log(np.abs(rng.normal(size=400))),
        "w": np.log(sticks / (1 - sticks)) + np.array([np.log(2.0), 0.0]),
        "chol": np.arctanh(2 * rng.beta(2.0, 2.0, size=400) - 1),
        "mu": rng.normal(size=(400, 1, 2)),
    }
    assert not sw.check(*sw.from_blackjax(positions, log_density), alpha=0.01).rejected


@pytest.mark.parametrize("axes", ["chains", "chain draw"])
def test_axes_that_do_not_fit(axes):
    with pytest.raises(sw.InputError, match="axes is"):
        sw.from_blackjax(np.zeros(10), lambda x: -(x**2) / 2, axes=axes)


def test_a_single_state_is_refused(states):
    last = jax.tree.map(lambda leaf: leaf[-1, 0], states)
    with pytest.raises(sw.InputError, match="Was only the last state kept"):
        sw.from_blackjax(last, log_density)


def test_states_are_recognised(states):
    """Catches `sw.check(states, logdensity)` that needs the adapter by name."""
    expected = sw.check(*sw.from_blackjax(states, log_density))
    assert sw.check(states, log_density).pvalue == expected.pvalue
