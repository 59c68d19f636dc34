"""sw.testing.check_invariance: right steps pass, wrong ones are found and named."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise.testing.invariance import repeatable

NORMAL, DISCRETE = sw.testing.targets("normal", "discrete")


MEDIAN = stats.chi2.median(1)


def metropolis(target, power=1.0):
    """A random walk; a power other than 1 is a wrong temperature."""

    def step(key, x):
        proposal, accept = jax.random.split(key)
        new = x + target.sd * jax.random.normal(proposal, x.shape)
        log_ratio = power * (target.log_density(new) - target.log_density(x))
        return jnp.where(jnp.log(jax.random.uniform(accept)) < log_ratio, new, x)

    return step


def autoregression(memory=0.8, noise=0.6, drift: Any = 0.0):
    def step(rng, x):
        return drift + memory * x + noise * rng.normal(size=x.shape)

    return step


@pytest.mark.parametrize("both_ways", [False, True])
def test_metropolis_passes_and_a_wrong_temperature_does_not(both_ways):
    right, wrong = metropolis(NORMAL), metropolis(NORMAL, power=0.6)
    sw.testing.assert_invariant(right, NORMAL, reverse=right if both_ways else None)
    result = sw.testing.check_invariance(wrong, NORMAL, reverse=wrong if both_ways else None)
    assert not result.passed
    assert result.both_ways is both_ways
    assert "log density" in {change.kind for change in result.changes}
    assert result.steps_used == 10 * result.chains


def test_alarms_of_right_steps_are_rare():
    """Catches p-values that are too small: 60 seeds at 0.1."""
    for reverse in (None, autoregression()):
        test = repeatable(
            autoregression(), NORMAL, reverse=reverse, steps=2, chains=40, false_alarm=0.1,
            host=True,
        )  # fmt: skip
        alarms = sum(not test(seed).passed for seed in range(60))
        assert alarms <= stats.binom.ppf(0.9995, 60, 0.1)


def test_messages_name_coordinate_kind_size_and_steps():
    with pytest.raises(AssertionError) as raised:
        sw.testing.assert_invariant(autoregression(drift=np.array([0.0, 0.2])), NORMAL, host=True)
    message = str(raised.value)
    assert "x[1]: shift, becomes too large by 0.8" in message
    assert "x[0]" not in message.split("x[1]")[0]
    assert "after 40000 steps in 4000 chains" in message
    assert "false alarm rate 1e-05" in message


def test_a_spread_is_told():
    result = sw.testing.check_invariance(autoregression(noise=0.75), NORMAL, host=True)
    spreads = [change for change in result.changes if change.kind == "spread"]
    assert {change.name for change in spreads} == {"x[0]", "x[1]"}
    assert spreads[0].ratio == pytest.approx(1.25, abs=0.08)
    assert result.to_dict()["changes"][0]["kind"] in ("spread", "log density")


@pytest.mark.parametrize("scale", [5.0, 300.0])
def test_large_spreads_are_told_in_full(scale):
    """Catches sizes that end at 10 sd, and a "shape" of what is too wide."""

    def widen(rng, x):
        return x + scale * rng.normal(size=2)

    found = sw.testing.check_invariance(widen, NORMAL, host=True, chains=400)
    assert "shape" not in {change.kind for change in found.changes}
    spreads = [change.ratio for change in found.changes if change.kind == "spread"]
    assert spreads == pytest.approx([np.sqrt(1 + 10 * scale**2)] * 2, rel=0.15)


def test_a_systematic_gibbs_sweep_is_invariant():
    """Invariant without detailed balance: right without reverse, and told with a wrong one."""
    precision = np.linalg.inv(0.9 * np.ones((2, 2)) + 0.1 * np.eye(2))
    root = np.linalg.cholesky(np.linalg.inv(precision))
    target = sw.testing.ExactTarget(
        "pair",
        ("a", "b"),
        lambda x: -0.5 * x @ precision @ x,
        lambda rng, n: rng.normal(size=(n, 2)) @ root.T,
        mean=np.zeros(2),
        sd=np.ones(2),
    )

    def sweep(rng, x):
        a = 0.9 * x[1] + np.sqrt(0.19) * rng.normal()
        return np.array([a, 0.9 * a + np.sqrt(0.19) * rng.normal()])

    def backwards(rng, x):
        b = 0.9 * x[0] + np.sqrt(0.19) * rng.normal()
        return np.array([0.9 * b + np.sqrt(0.19) * rng.normal(), b])

    options = {"chains": 300, "steps": 3, "host": True}
    sw.testing.assert_invariant(sweep, target, **options)
    unbalanced = str(sw.testing.check_invariance(sweep, target, reverse=sweep, **options))
    assert unbalanced.startswith("the steps are not in detailed balance with their reverse, or")
    assert "without reverse=" in unbalanced
    sw.testing.assert_invariant(sweep, target, reverse=backwards, **options)


def test_states_that_are_more_than_a_position():
    """Catches a momentum that is lost, or not drawn: a rotation of (position, momentum)."""

    def step(key, state):
        x, p = state
        angle = jax.random.uniform(key)
        return x * jnp.cos(angle) + p * jnp.sin(angle), p * jnp.cos(angle) - x * jnp.sin(angle)

    options = {"position": lambda state: state[0], "chains": 300, "steps": 3}
    drawn = sw.testing.check_invariance(
        step, NORMAL, init=lambda key, x: (x, jax.random.normal(key, x.shape)), **options
    )
    assert drawn.passed
    still = sw.testing.check_invariance(
        step, NORMAL, init=lambda _, x: (x, jnp.zeros_like(x)), **options
    )
    assert "spread" in {change.kind for change in still.changes}


def test_own_functions_are_ranked_too():
    """An error that no default function sees: the sign of x[0] follows the size of x[1]."""

    def folded(_, x):
        return np.array([abs(x[0]) * np.sign(x[1] ** 2 - MEDIAN), x[1]])

    def agreement(x):
        return float(x[0] * (x[1] ** 2 - MEDIAN) > 0)

    options = {"host": True, "chains": 400, "steps": 1}
    assert sw.testing.check_invariance(folded, NORMAL, **options).passed
    options["functions"] = {"agreement": agreement}
    (change,) = sw.testing.check_invariance(folded, NORMAL, **options).changes
    assert (change.name, change.kind) == ("agreement", "function")
    assert sw.testing.check_invariance(autoregression(), NORMAL, **options).passed


def test_scores_see_a_coordinate_given_the_others():
    """A spread that is 1.15 times too wide given v, which the spread over all v hides."""
    (funnel,) = sw.testing.targets("funnel")

    def step(key, x):
        return x.at[1].set(1.15 * jnp.exp(x[0] / 2) * jax.random.normal(key))

    result = sw.testing.check_invariance(step, funnel, steps=1, seed=1)
    first = result.changes[0]
    assert (first.name, first.kind) == ("x[0]", "value times score")
    assert first.pvalue < 1e-8
    assert all(c.pvalue > 1e-7 for c in result.changes if c.kind in ("shift", "spread", "shape"))
    assert "x[0]: the slope of the log density along it" in str(result)


def test_scores_that_are_not_finite_have_ranks():
    """Catches NaN, which is neither below nor above: the slope is 0/0 in the middle of p."""
    flat = sw.testing.ExactTarget(
        "flat in the middle",
        ("a",),
        lambda x: -0.5 * jnp.sum(jnp.sqrt(jnp.maximum(jnp.sum(x**2) - 1, 0.0)) ** 2),
        lambda rng, n: np.where(
            rng.uniform(size=(n, 1)) < 2 / (2 + np.sqrt(2 * np.pi * np.e) * 2 * stats.norm.sf(1)),
            rng.uniform(-1, 1, size=(n, 1)),
            stats.norm.isf(rng.uniform(size=(n, 1)) * stats.norm.sf(1))
            * rng.choice([-1, 1], size=(n, 1)),
        ),
        mean=np.zeros(1),
        sd=np.ones(1),
    )
    step = metropolis(flat)
    assert sw.testing.check_invariance(step, flat, reverse=step, chains=500).passed


def rotation(angle):
    cosine, sine = np.cos(angle), np.sin(angle)

    def step(_, x):
        return jnp.array([cosine * x[0] - sine * x[1], sine * x[0] + cosine * x[1]])

    return step


def test_rounding_does_not_decide_ranks():
    """Catches p = 0 for steps that preserve the log density, but for its last digits."""
    found = sw.testing.check_invariance(rotation(0.3), NORMAL, reverse=rotation(-0.3))
    assert found.passed, str(found)
    far = sw.testing.ExactTarget(
        "far from 0",
        ("a", "b"),
        lambda x: 1e4 - 0.5 * jnp.sum((x - 100) ** 2),
        lambda rng, n: 100 + rng.normal(size=(n, 2)),
        mean=np.full(2, 100.0),
        sd=np.ones(2),
    )

    def swap(rng, x):
        return x[::-1] * (1 + 1e-16 * rng.normal(size=2))

    options = {"host": True, "steps": 4, "chains": 500}
    assert sw.testing.check_invariance(swap, far, reverse=swap, **options).passed


def test_discrete_targets():
    def step(rng, x):  # a draw of k given n, which is exact; or one that forgets the chance
        return np.array([x[0], rng.binomial(int(x[0]), 0.4)])

    def wrong(rng, x):
        return np.array([x[0], rng.binomial(int(x[0]), 0.5)])

    options = {"reverse": step, "host": True, "steps": 2, "chains": 500}
    assert sw.testing.check_invariance(step, DISCRETE, **options).passed
    found = sw.testing.check_invariance(wrong, DISCRETE, **{**options, "reverse": wrong})
    assert found.changes[0].name.endswith("k")


def test_steps_to_nan_are_an_alarm():
    found = sw.testing.check_invariance(
        lambda _, x: np.array([x[0], np.nan]), DISCRETE, host=True, chains=50
    )
    assert [(change.name, change.kind) for change in found.changes] == [("k", "not finite")]
    assert "NaN" in str(found)
    assert "p =" not in str(found)


def test_tiny_pvalues_are_bounds():
    far = sw.testing.check_invariance(lambda _, x: x + 1.0, NORMAL, host=True, chains=2000)
    assert "p < 1e-300" in str(far)
    assert "p = 0" not in str(far)


def test_the_same_seed_gives_the_same_result():
    first, second = (
        sw.testing.check_invariance(autoregression(), NORMAL, host=True, seed=5, chains=50)
        for _ in range(2)
    )
    assert first.to_dict() == second.to_dict()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda rng, n: rng.normal(size=(2, n)), r"transpose"),
        (lambda rng, n: rng.normal(size=(n, 3)), r"expected \(40, 2\)"),
        (lambda rng, n: rng.normal(size=(n, 2)) * [1, np.nan], "NaN or infinite values of x.1"),
        (lambda rng, n: None, "no array of numbers"),  # noqa: ARG005
    ],
)
def test_exact_draws_are_checked(wrong, message):
    """Catches draws that are reshaped until they fit."""
    target = sw.testing.ExactTarget(
        "own", ("x[0]", "x[1]"), NORMAL.log_density, wrong, np.zeros(2), np.ones(2)
    )
    step = autoregression()
    with pytest.raises(sw.InputError, match=message):
        sw.testing.check_invariance(step, target, host=True, chains=40, reverse=step)
    with pytest.raises(sw.InputError, match=message):
        target.draw(0, 40)


def test_wrong_forms_are_refused_before_anything_runs():
    with pytest.raises(sw.InputError, match=r"step takes a state .* returns .* the state alone"):
        sw.testing.check_invariance(lambda _, x: (x, 1.0), NORMAL)
    with pytest.raises(sw.InputError, match=r"position\(state\) has shape \(1,\)"):
        sw.testing.check_invariance(lambda _, x: x, NORMAL, position=lambda x: x[:1])
    with pytest.raises(sw.InputError, match=r"position\(state\) has shape \(2, 2\)"):
        sw.testing.check_invariance(lambda _, x: (x, x), NORMAL, host=True)
    with pytest.raises(sw.InputError, match="expected an ExactTarget"):
        sw.testing.check_invariance(lambda _, x: x, sw.Gaussian([0], [[1]]))  # type: ignore[arg-type]


JAX_STEP = metropolis(NORMAL)


@pytest.mark.parametrize(
    ("step", "host", "message"),
    [
        (lambda x, key: JAX_STEP(key, x), False, r"step\(key, state\) could not be traced"),
        (lambda x: x, False, r"called as step\(key, state\)"),
        (lambda _, x, __: x, False, r"called as step\(key, state\)"),
        (autoregression(), False, "needs host=True"),
        (JAX_STEP, True, "needs host=False"),
        (lambda x: x, True, r"called as step\(rng, state\)"),
        (lambda _, x: (x, 1.0), True, "return the state alone"),
    ],
)
def test_wrong_signatures_are_named(step, host, message):
    with pytest.raises(sw.InputError, match=message):
        sw.testing.check_invariance(step, NORMAL, host=host, chains=20)


@pytest.mark.parametrize("host", [False, True])
@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"v": lambda x: x}, r"functions\['v'\]\(x\) .*expected one number"),
        ({"v": lambda: 1.0}, r"called as functions\['v'\]\(x\)"),
        ({"v": lambda x: np.nan * x[0]}, r"functions\['v'\]\(x\) is NaN at all"),
        ({"x[0]": lambda x: x[0]}, "that of a coordinate: choose another"),
        ({"log density": lambda x: x[0]}, "looked at anyway: choose another"),
    ],
)
def test_wrong_functions_are_named(functions, message, host):
    """Catches functions that pass in silence, and tracebacks from inside JAX."""
    step = autoregression() if host else JAX_STEP
    with pytest.raises(sw.InputError, match=message):
        sw.testing.check_invariance(step, NORMAL, functions=functions, host=host, chains=20)
