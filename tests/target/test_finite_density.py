"""A score counts only where the log density is finite: its formula may go on where p does not."""

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw

X = np.random.default_rng(0).normal(size=(40, 2))  # also negative


def logarithm(x):
    return jnp.sum(jnp.log(x) - x)  # the derivative 1 / x - 1 is finite for negative x, too


def half_plane(x):
    return jnp.where(x[0] > 0, -jnp.sum(x**2) / 2, -jnp.inf)  # outside, the derivative is 0


@pytest.mark.parametrize("density", [logarithm, half_plane])
def test_draws_without_density_are_refused_by_score_and_along_lines(density) -> None:
    """Catches numbers where p has no density, which pass for scores."""
    target, coordinates = sw.Target(density), np.arange(2)
    for scores in (
        lambda: target.score(X),
        lambda: target.line_scores(X, coordinates, X[..., None]),
        lambda: target.block_scores(X, coordinates, X[:, None]),
    ):
        with pytest.raises(sw.TargetError, match="not finite; the first is nan at draw"):
            scores()


@pytest.mark.parametrize("method", ["ksd", "sksd"])
def test_a_method_of_scores_refuses_draws_without_density(method: str) -> None:
    """Catches a verdict on draws that the target cannot have."""
    with pytest.raises(sw.TargetError, match="a log density that is finite"):
        sw.check(X, logarithm, method=method)
