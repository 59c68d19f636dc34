"""How a JAX density is differentiated: modes, precision, and what is refused."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from tests.target.cases import (
    BLOCK,
    BLOCK_POINTS,
    COORDINATES,
    COVARIANCE,
    LINE_POINTS,
    MEAN,
    PRECISION,
    D,
    X,
    host_score,
    jax_lines,
    log_density,
)


def test_a_line_score_takes_one_derivative_not_d():
    """A full gradient with d - 1 unused entries: counts the tangents at run time."""
    counts = {"points": 0, "tangents": 0}

    def count(what, _):
        counts[what] += 1

    @jax.custom_jvp
    def squares(x):
        return jnp.sum(x**2)

    @squares.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        jax.debug.callback(partial(count, "points"), x[0])
        jax.debug.callback(partial(count, "tangents"), t[0])
        return squares(x), 2 * jnp.dot(x, t)

    d = 64
    x, y = np.ones((2, d)), np.full((2, 2, 1), 3.0)
    found = sw.Target(squares).line_scores(x, np.array([5, 60]), y, memory=2**20)
    jax.effects_barrier()
    np.testing.assert_array_equal(found, 6.0)
    assert counts["points"] >= 4
    assert counts["tangents"] == counts["points"]


def test_a_while_loop_goes_by_forward_mode():
    """Reverse mode alone refuses a loop of unknown length."""

    def density(x):
        def halve(state):
            return state[0] / 2, state[1] + 1

        _, steps = jax.lax.while_loop(lambda s: s[0] > 1, halve, (jnp.sum(x**2), 0))
        return -0.5 * jnp.sum(x**2) + 0.0 * steps

    target = sw.Target(density)
    np.testing.assert_allclose(target.score(X), -X, atol=1e-10)
    expected = -LINE_POINTS
    np.testing.assert_allclose(target.line_scores(X, COORDINATES, LINE_POINTS), expected)
    np.testing.assert_allclose(target.block_scores(X, BLOCK, BLOCK_POINTS), -BLOCK_POINTS)


def test_a_custom_vjp_goes_by_reverse_mode():
    """Forward mode alone refuses a function with its own reverse rule."""

    @jax.custom_vjp
    def density(x):
        return -0.5 * jnp.sum(x**2)

    density.defvjp(lambda x: (density(x), x), lambda x, g: (-g * x,))
    target = sw.Target(density)
    np.testing.assert_allclose(target.score(X), -X, atol=1e-10)
    np.testing.assert_allclose(target.line_scores(X, COORDINATES, LINE_POINTS), -LINE_POINTS)
    np.testing.assert_allclose(target.block_scores(X, BLOCK, BLOCK_POINTS), -BLOCK_POINTS)


def _scan_density(x):
    """Legal in 32 bit, where a float32 carry fits; in 64 bit the carry changes its type."""

    def step(total, value):
        return total - 0.5 * value**2, None

    return jax.lax.scan(step, jnp.float32(0.0), x)[0]


def test_float32_code_falls_back_to_float32_and_says_so():
    """An error for a density that runs fine in the user's own session, or a silent loss."""
    target = sw.Target(_scan_density)
    with pytest.warns(sw.SteinwiseWarning, match=r"float32.*x\.dtype"):
        assert target.prepare(D) == "float32"
    np.testing.assert_allclose(target.score(X), -X, rtol=1e-6)
    with jax.enable_x64(True):  # the plan once made holds in any precision of the caller
        np.testing.assert_allclose(target.score(X[:5]), -X[:5], rtol=1e-6)
        found = target.line_scores(X, COORDINATES, LINE_POINTS)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, -LINE_POINTS, rtol=1e-6)


def test_float32_is_reported_in_the_result():
    with pytest.warns(sw.SteinwiseWarning, match="float32"):
        result = sw.check(
            np.random.default_rng(0).normal(size=(60, 2)), _scan_density, method="ksd"
        )
    assert result.dtype == "float32"
    assert "the density was evaluated in float32" in str(result)


def test_closed_over_float32_arrays_are_used_in_64_bit():
    """A NumPyro-style density: data and parameters made in the caller's 32 bit."""
    data = jnp.asarray(np.random.default_rng(1).normal(size=(50, D)), dtype=jnp.float32)
    responses = (data[:, 0] > 0).astype(jnp.float32)

    def logistic_regression(x):
        parts = {"weights": x[:3], "bias": x[3]}
        logits = data[:, :3] @ parts["weights"] + parts["bias"]
        return jnp.sum(responses * logits - jnp.logaddexp(0.0, logits)) - 0.5 * jnp.sum(x**2)

    target = sw.Target(logistic_regression)
    assert target.prepare(D) == "float64"
    features = np.column_stack([np.asarray(data, float)[:, :3], np.ones(50)])
    errors = np.asarray(responses, float) - 1 / (1 + np.exp(-X @ features.T))
    np.testing.assert_allclose(target.score(X), errors @ features - X, atol=1e-10)


@pytest.mark.parametrize("ambient", [False, True])
def test_the_callers_precision_changes_no_number(ambient):
    """Results that depend on jax_enable_x64."""
    with jax.enable_x64(ambient):
        target = sw.Target(lambda x: -jnp.sum(jnp.cosh(x)))
        assert target.prepare(D) == "float64"
        np.testing.assert_allclose(target.score(X), -np.sinh(X), atol=1e-10)


def test_a_density_that_is_not_a_scalar():
    """Summing over coordinates forgotten."""
    with pytest.raises(sw.TargetError, match=r"one draw of shape \(4,\).*scalar.*jnp\.sum"):
        sw.Target(lambda x: -0.5 * x**2).prepare(D)


def test_a_density_of_integers():
    with pytest.raises(sw.TargetError, match="dtype int32"):
        sw.Target(lambda _: jnp.int32(0)).prepare(D)


def test_a_density_that_raises_keeps_its_error_as_the_cause():
    """A traceback that ends in the library and hides the user's own line."""
    original = RuntimeError("no data for this model")

    def fails(x):
        raise original

    with pytest.raises(sw.TargetError, match="RuntimeError: no data for this model") as caught:
        sw.Target(fails).prepare(D)
    assert caught.value.__cause__ is original


def test_a_density_of_another_dimension():
    """d mismatch: the message guesses it."""
    with pytest.raises(sw.TargetError, match="another number of coordinates than the 3 of"):
        sw.Target(log_density).prepare(3)
    with pytest.raises(sw.InputError, match="the draws have 3 coordinates and the target has 4"):
        sw.ksd(X[:, :3], sw.Gaussian(MEAN, COVARIANCE))


def test_a_density_that_cannot_be_differentiated():
    """Neither mode: its values are used, with a warning, and its score is refused."""

    def opaque(x, vmap_method=None):
        shape = jax.ShapeDtypeStruct((), x.dtype)
        return jax.pure_callback(lambda v: np.sum(v, axis=-1), shape, x, vmap_method=vmap_method)

    with pytest.raises(sw.TargetError, match=r"not differentiated.*jax.vmap.*from_log_density"):
        sw.Target(opaque).prepare(D)
    target = sw.Target(lambda x: opaque(x, "expand_dims"))
    with pytest.warns(sw.SteinwiseWarning, match=r"not differentiated.*values are used"):
        target.prepare(D)
    assert not target.has_scores(D)
    with pytest.raises(sw.TargetError, match=r"not differentiated.*from_score"):
        target.score(X)
    with pytest.raises(sw.InputError, match=r"'ksd' needs scores.*method='transported'"):
        sw.check(X, target, method="ksd")
    found = target.log_values(X)
    assert found is not None
    np.testing.assert_allclose(found, X.sum(axis=1))
    values, slopes = target.line_values(X, COORDINATES, LINE_POINTS)
    assert slopes is None
    assert values is not None
    others = X.sum(axis=1)[:, None] - X[:, COORDINATES]
    np.testing.assert_allclose(values, others[..., None] + LINE_POINTS)


def test_lines_of_the_wrong_shape():
    """A conditional score that returns the whole gradient."""

    def whole_gradient(x, j, y):
        return (MEAN - x.at[j].set(y)) @ PRECISION

    with pytest.raises(sw.TargetError, match=r"lines\(x, j, y\) returned .*expected shape \(\)"):
        sw.Target(log_density, lines=whole_gradient).prepare(D)
    host = sw.Target.from_score(host_score, lines=lambda x, _j, _y: x)
    with pytest.raises(sw.TargetError, match=r"lines function returned shape \(37, 4\)"):
        host.line_scores(X, COORDINATES, LINE_POINTS)


def test_lines_that_do_not_know_blocks():
    """A scalar for a block of two would be broadcast over the block."""

    def sum_over_block(x, j, y):
        return jnp.sum(jax_lines(x, j, y))

    target = sw.Target(log_density, lines=sum_over_block)
    assert target.line_scores(X, COORDINATES, LINE_POINTS).shape == LINE_POINTS.shape
    square = BLOCK_POINTS[:, :2]  # as many atoms as coordinates, where broadcasting would succeed
    with pytest.raises(sw.TargetError, match=r"(?s)lines\(x, j, y\).*block.*\(2,\)"):
        target.block_scores(X, BLOCK, square)


def test_lines_that_fail_keep_their_error_as_the_cause():
    def fails(x, j, y):
        raise RuntimeError("only for coordinate 0")

    with pytest.raises(sw.TargetError, match="only for coordinate 0") as caught:
        sw.Target(log_density, lines=fails).prepare(D)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_a_density_in_numpy() -> None:
    """Catches a question about the number of coordinates where NumPy is the cause."""
    with pytest.raises(sw.TargetError, match=r"NumPy where jax.numpy is needed.*import jax.numpy"):
        sw.Target(lambda x: -np.sum(np.asarray(x) ** 2)).prepare(3)


def test_a_forgotten_return_is_asked_for():
    """Catches advice to sum over coordinates where nothing was returned."""

    def density(x):
        _ = -jnp.sum(x**2)

    with pytest.raises(sw.TargetError, match=r"returned None.*return statement missing"):
        sw.check(X, density)


@pytest.mark.parametrize(
    ("density", "said"),
    [
        (lambda a, b, c: -(a**2) - b**2 - c**2, "3 arguments, a, b and c: .* inside: a, b, c = x"),
        (lambda x, data: -jnp.sum((x - data) ** 2), r"lambda x: log_density\(x, data\)"),
    ],
)
def test_a_density_of_several_arguments_is_answered_with_one(density, said):
    """Catches a TypeError of Python where the fix is one line."""
    with pytest.raises(sw.TargetError, match=said):
        sw.check(np.random.default_rng(0).normal(size=(50, 3)), density)


@pytest.mark.parametrize(
    ("log_density", "fix"),
    [
        (lambda x: -(x[0] ** 2) if x[0] > 0 else -x[1], "a Python if.*jnp.where.*from_log_density"),
        (lambda x: -math.exp(x[0]), "the math module.*jax.numpy.*from_log_density"),
    ],
)
def test_python_that_asks_for_values_is_told_from_a_wrong_dimension(log_density, fix: str) -> None:
    with pytest.raises(sw.TargetError, match=fix) as raised:
        sw.Target(log_density).prepare(2)
    assert "number of coordinates" not in str(raised.value)
