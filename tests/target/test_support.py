"""Supports as users write them, and bounded coordinates on the real line."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.target import Unconstrained, on_real_line
from steinwise.target.support import interval, positive, real, supports_of

NAMES = ("a", "b", "c")
SUPPORTS = (real, positive, interval(-1, 2), interval(-np.inf, 3), interval(5, np.inf))
X = np.array([[-3.0, 0.5, 1.5, 2.0, 6.0], [4.0, 7.0, -0.9, -8.0, 5.5]])


def test_supports_are_read_in_every_form():
    """Catches a name that is taken for a number, or a list that is not one per coordinate."""
    whole = sw.support.integers(0, None)
    assert supports_of(positive, NAMES) == (positive,) * 3
    assert supports_of([real, positive, whole], NAMES) == (real, positive, whole)
    assert supports_of({"b": positive, 2: whole}, NAMES) == (real, positive, whole)
    with pytest.raises(sw.InputError, match="support has 2 entries and the draws have 3"):
        supports_of([real, positive], NAMES)
    with pytest.raises(sw.InputError, match=r"the key 'sigma'.*there are 3: a, b, c"):
        supports_of({"sigma": positive}, NAMES)


def test_what_a_support_contains():
    """Catches an edge that is left out, and halves that are taken for whole numbers."""
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    assert positive.contains(x).tolist() == [False, True, True, True, True]
    assert interval(0, 1).contains(x).tolist() == [False, True, True, True, False]
    assert sw.support.integers(0, 1).contains(x).tolist() == [False, True, False, True, False]
    assert sw.support.integers(None, 0).contains(x).tolist() == [True, True, False, False, False]
    assert sw.support.values([2, -1]).contains(x).tolist() == [True, False, False, False, True]


def test_the_real_line_and_back():
    """Catches a transform that decreases, and a wrong Jacobian or its derivative."""
    space = Unconstrained.of(SUPPORTS)
    y = space.to_line(X)
    np.testing.assert_allclose(space.from_line(y), X, rtol=1e-12)
    step = 1e-6
    slope = (space.from_line(y + step) - space.from_line(y - step)) / (2 * step)
    assert (slope > 0).all()
    np.testing.assert_allclose(np.log(slope), space.log_jacobian(y), atol=1e-8)
    bend = (space.log_jacobian(y + step) - space.log_jacobian(y - step)) / (2 * step)
    np.testing.assert_allclose(space.slopes(y, np.zeros_like(y)), bend, atol=1e-8)


def test_draws_at_their_edges_have_finite_places():
    """Catches -inf for a draw that was rounded to 0."""
    space = Unconstrained.of(SUPPORTS)
    edges = np.array([[0.0, 0.0, -1.0, 3.0, 5.0], [0.0, 1.0, 2.0, 3.0, 5.0]])
    y = space.to_line(edges)
    assert np.isfinite(y).all()
    least, most = space.limits
    assert (y > least).all()
    assert (y < most).all()


def log_density(x):
    logs = jnp.log(x[1]) - x[1] - jnp.log(3 - x[3] + 1) - 0.3 * (x[4] - 5)
    return -0.5 * (x[0] - x[2]) ** 2 + 2 * logs - 0.1 * x[3] ** 2


def test_a_host_target_on_the_real_line_agrees_with_a_jax_one():
    """Catches a chain rule that differs between coordinates, directions and scores."""
    space = Unconstrained.of(SUPPORTS)

    def of_rows(function):
        return lambda x: np.asarray(jax.vmap(function)(x))

    with jax.enable_x64(True):
        host = sw.Target.from_score(of_rows(jax.grad(log_density)), of_rows(log_density))
        targets = [on_real_line(target, space) for target in (sw.Target(log_density), host)]
        y = space.to_line(X)
        coordinates, directions = np.array([1, 2, 4]), np.random.default_rng(0).normal(size=(2, 5))
        points = y[:, coordinates, None] + np.array([-0.5, 0.3])
        steps = np.random.default_rng(1).normal(size=(2, 2, 3))
        jax_target, host_target = (
            [
                target.score(y),
                target.line_scores(y, coordinates, points),
                *target.line_values(y, coordinates, points),
                *target.direction_values(y, directions, steps),
                target.block_scores(y, coordinates, points.transpose(0, 2, 1)),
            ]
            for target in targets
        )
    for one, other in zip(jax_target, host_target, strict=True):
        difference = one - other if one.ndim == 2 else (one - other) - (one - other)[..., :1]
        np.testing.assert_allclose(difference, 0.0, atol=1e-9)
    slopes = (jax_target[0], jax_target[1], jax_target[3], jax_target[5], jax_target[6])
    for one, other in zip(slopes, (host_target[k] for k in (0, 1, 3, 5, 6)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("support", ["positive", ["real", "positive"], {"tau": "positive"}])
def test_a_support_by_its_printed_name_is_answered_with_the_object(support):
    """Catches a list of all forms where the word is that which targets print."""
    with pytest.raises(sw.InputError, match=r"a string: expected sw\.support\.(positive|real), an"):
        sw.Target(log_density, support=support)
