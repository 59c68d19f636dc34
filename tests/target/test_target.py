"""Targets: every way in gives the same scores, in the right precision, within the budget."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw

D = 4
MEAN = np.array([0.5, -1.0, 0.0, 2.0])
FACTOR = np.tril(np.random.default_rng(7).normal(size=(D, D))) + 2 * np.eye(D)
COVARIANCE = FACTOR @ FACTOR.T
PRECISION = np.linalg.inv(COVARIANCE)
BLOCK = np.array([2, 0])
COORDINATES = np.array([3, 1])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(37, D))
LINE_POINTS = RNG.normal(size=(37, 2, 5))
BLOCK_POINTS = RNG.normal(size=(37, 6, 2))


def log_density(x):
    return -0.5 * (x - MEAN) @ PRECISION @ (x - MEAN)


def host_score(x):
    return (MEAN - x) @ PRECISION


def jax_lines(x, j, y):
    """The conditional score, for a coordinate or a block."""
    return ((MEAN - x.at[j].set(y)) @ jnp.asarray(PRECISION))[j]


def host_lines(x, j, y):
    moved = np.repeat(x[:, None], y.shape[1], axis=1)
    moved[..., j] = y
    return host_score(moved)[..., j]


TARGETS = {
    "log density": sw.Target(log_density),
    "log density with lines": sw.Target(log_density, lines=jax_lines),
    "host score": sw.Target.from_score(host_score),
    "host score with lines": sw.Target.from_score(host_score, lines=host_lines),
    "gaussian": sw.Gaussian(MEAN, COVARIANCE),
}


@pytest.fixture(params=TARGETS.values(), ids=TARGETS.keys())
def target(request):
    return request.param


@pytest.fixture(autouse=True)
def _flag_untouched():
    """The library never changes JAX's configuration."""
    before = jax.config.jax_enable_x64
    yield
    assert jax.config.jax_enable_x64 == before
    assert jnp.zeros(1).dtype == (np.float64 if before else np.float32)


# -- every route, the same numbers ---------------------------------------------------------------


def test_scores_agree(target):
    """A route that works in 32 bit, or swaps an axis."""
    np.testing.assert_allclose(target.score(X), (MEAN - X) @ PRECISION, rtol=0, atol=1e-10)


def test_line_scores_agree(target):
    """Coordinate j of another point than x with x_j replaced."""
    expected = np.empty(LINE_POINTS.shape)
    for i, c, m in np.ndindex(*LINE_POINTS.shape):
        moved = X[i].copy()
        moved[COORDINATES[c]] = LINE_POINTS[i, c, m]
        expected[i, c, m] = ((MEAN - moved) @ PRECISION)[COORDINATES[c]]
    found = target.line_scores(X, COORDINATES, LINE_POINTS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_block_scores_agree(target):
    """The block's coordinates in another order, or the rest of the point not kept."""
    expected = np.empty(BLOCK_POINTS.shape)
    for i, m in np.ndindex(*BLOCK_POINTS.shape[:2]):
        moved = X[i].copy()
        moved[BLOCK] = BLOCK_POINTS[i, m]
        expected[i, m] = ((MEAN - moved) @ PRECISION)[BLOCK]
    found = target.block_scores(X, BLOCK, BLOCK_POINTS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def _funnel(x):
    return -(x[0] ** 2) / 18 - 0.5 * jnp.sum(x[1:] ** 2) * jnp.exp(-x[0]) - x[0] * (D - 1) / 2


def test_a_density_that_is_not_gaussian():
    """Closed-form habits that only a quadratic forgives."""

    def by_hand(x):
        first = -x[:, 0] / 9 + 0.5 * (x[:, 1:] ** 2).sum(1) * np.exp(-x[:, 0]) - (D - 1) / 2
        return np.column_stack([first, -x[:, 1:] * np.exp(-x[:, :1])])

    funnel, host = sw.Target(_funnel), sw.Target.from_score(by_hand)
    np.testing.assert_allclose(funnel.score(X), by_hand(X), atol=1e-10)
    lines = (X, np.arange(D), RNG.normal(size=(37, D, 3)))
    np.testing.assert_allclose(funnel.line_scores(*lines), host.line_scores(*lines), atol=1e-10)
    blocks = (X, BLOCK, BLOCK_POINTS)
    np.testing.assert_allclose(funnel.block_scores(*blocks), host.block_scores(*blocks), atol=1e-10)


def test_lines_are_used_where_given():
    """A target that ignores the model's cheaper conditional score."""
    own = sw.Target(log_density, lines=lambda _x, _j, y: 7.0 + 0 * y)
    assert (own.line_scores(X, COORDINATES, LINE_POINTS) == 7.0).all()
    host = sw.Target.from_score(host_score, lines=lambda _x, _j, y: np.full(y.shape, 7.0))
    assert (host.line_scores(X, COORDINATES, LINE_POINTS) == 7.0).all()


@pytest.mark.parametrize("name", ["log density", "log density with lines", "host score"])
def test_the_memory_budget_changes_no_number(name):
    """A chunk boundary that drops, repeats or pads a row."""
    target, wide = TARGETS[name], np.tile(X, (80, 1))
    points = np.tile(LINE_POINTS, (80, 1, 1))
    small, large = (
        (
            target.score(wide, memory=memory),
            target.line_scores(wide, COORDINATES, points, memory=memory),
        )
        for memory in (2**20, 2**30)
    )
    for one, other in zip(small, large, strict=True):
        np.testing.assert_array_equal(one, other)


# -- how the derivative is taken -----------------------------------------------------------------


def test_a_line_score_takes_one_derivative_not_d():
    """A full gradient of which d - 1 parts are thrown away: counts the tangents at run time."""
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


# -- precision -----------------------------------------------------------------------------------


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


# -- errors --------------------------------------------------------------------------------------


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
    """Neither mode: the user must know that lines= or from_score is the way."""

    def opaque(x):
        return jax.pure_callback(lambda v: np.sum(v), jax.ShapeDtypeStruct((), x.dtype), x)

    with pytest.raises(sw.TargetError, match=r"not differentiated.*from_score"):
        sw.Target(opaque).prepare(D)


def test_a_score_that_is_not_finite_names_draw_and_coordinate():
    """log of a negative number at one draw; the NaN must not reach the statistic."""
    x = np.abs(X) + 0.1
    x[20, 2] = -1.0
    for target in (
        sw.Target(lambda x: jnp.sum(jnp.log(x) - x) + jnp.sum(jnp.sqrt(x))),
        sw.Target.from_score(lambda x: np.where(x > 0, -x, np.nan)),
    ):
        with pytest.raises(sw.TargetError, match=r"1 of .*draw 20, coordinate 2\b.*Jacobian"):
            target.score(x)


def test_a_line_score_that_is_not_finite_names_draw_and_coordinate():
    """The index into the list of coordinates is not the coordinate."""
    y = np.abs(LINE_POINTS) + 0.1
    y[30, 1, 4] = -1.0
    for target in (
        sw.Target(lambda x: jnp.sum(jnp.sqrt(x))),
        sw.Target.from_score(lambda x: np.where(x > 0, -x, np.nan)),
    ):
        with pytest.raises(sw.TargetError, match=r"1 of .*draw 30, coordinate 1\b"):
            target.line_scores(np.abs(X), COORDINATES, y)


def test_a_line_score_deep_in_the_draws_names_its_draw():
    """Rows are taken in chunks: the number of a row in its chunk is not that of the draw."""
    x = np.random.default_rng(0).normal(size=(1500, 2))
    x[1400, 0] = 100.0

    def away_from_here(key, x, n_atoms):
        return np.where(x > 50, -x, x)[..., None] + np.zeros(n_atoms)

    target = sw.Target.from_score(lambda x: np.where(x > -50, -x, np.nan))
    sampler = sw.conditionals.Sampler(away_from_here)
    with pytest.raises(sw.TargetError, match="draw 1400, coordinate 0"):
        sw.kccsd(x, target, conditional=sampler)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (lambda x: x[:, :2], r"returned shape \(37, 2\).*expected shape \(37, 4\)"),
        (lambda x: x.sum(), r"returned shape \(\).*one draw in a loop"),
        (lambda x: x.astype(int), "dtype int64"),
        (lambda x: x.astype(object), "dtype object"),
        (lambda x: x.astype(complex), "dtype complex128"),
    ],
    ids=["fewer columns", "scalar", "integers", "objects", "complex"],
)
def test_a_host_score_of_the_wrong_kind(score, expected):
    """Broadcasting would accept all of these in silence."""
    with pytest.raises(sw.TargetError, match=expected):
        sw.Target.from_score(score).score(X)


def test_a_host_score_that_raises_keeps_its_error_as_the_cause():
    def fails(x):
        raise KeyError("theta")

    with pytest.raises(sw.TargetError, match=r"raised KeyError on input \(37, 4\)") as caught:
        sw.Target.from_score(fails).score(X)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_host_score_that_writes_into_its_input_spoils_nothing():
    """x -= mean is common in NumPy code; the draws that follow must be the draws."""

    def in_place(x):
        x -= MEAN
        return -x @ PRECISION

    before = X.copy()
    np.testing.assert_allclose(sw.Target.from_score(in_place).score(X), host_score(X), atol=1e-12)
    np.testing.assert_array_equal(X, before)


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


@pytest.mark.parametrize("thing", [3.0, "normal", np.eye(2), None])
def test_a_target_must_be_a_function(thing):
    """The message names the ways in."""
    with pytest.raises(sw.InputError, match=r"target is of type .*sw\.Gaussian"):
        sw.ksd(X, thing)
    with pytest.raises(sw.InputError, match="expected a function"):
        sw.Target(thing)
    with pytest.raises(sw.InputError, match="expected a function"):
        sw.Target.from_score(thing)


@pytest.mark.parametrize(
    ("mean", "covariance", "expected"),
    [
        ([0.0, 0.0], [1.0, 1.0], r"covariance \(2,\).*np\.diag"),
        ([[0.0]], [[1.0]], r"mean has shape \(1, 1\)"),
        ([0.0, np.nan], np.eye(2), "not finite"),
        ([0.0, 0.0], [[1.0, 0.5], [0.4, 1.0]], "not symmetric: it differs by up to 0.1"),
        ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], "smallest eigenvalue is -1"),
    ],
    ids=["vector of variances", "matrix mean", "nan", "asymmetric", "indefinite"],
)
def test_a_gaussian_that_is_none(mean, covariance, expected):
    with pytest.raises(sw.InputError, match=expected):
        sw.Gaussian(mean, covariance)
