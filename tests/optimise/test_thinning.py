"""Stein thinning's greedy choice, against the same choice with the whole matrix computed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from tests.optimise.cases import draws_of_two_modes, stein_gram, two_modes


def naive(pairs: np.ndarray, m: int, penalty=0.0, reward=0.0) -> list[int]:
    """The greedy choice from the whole matrix."""
    chosen: list[int] = []
    for t in range(m):
        objective = np.diag(pairs) + 2 * pairs[:, chosen].sum(axis=1) + penalty - (t + 1) * reward
        chosen.append(int(np.argmin(objective)))
    return chosen


@pytest.mark.parametrize("regularised", [False, True])
def test_the_greedy_choice_is_the_naive_one(regularised: bool) -> None:
    """Catches running sums that drift from the objective, and a term with a wrong weight or sign.

    A full matrix as preconditioner, a target with convex parts, and enough points that some are
    chosen twice.
    """
    x, density = draws_of_two_modes(0.7, 2.0, 60), two_modes(0.7, 2.0)
    matrix = np.array([[1.0, 0.4], [0.4, 0.5]])
    thinned = sw.thin(x, density, 80, preconditioner=matrix, regularised=regularised)
    scale = np.abs(x - x.mean(axis=0)).mean(axis=0)
    pairs = stein_gram(x / scale, density.score(x) * scale, matrix)
    terms = {}
    if regularised:
        with jax.enable_x64(True):
            rows = jnp.asarray(x)
            second = jax.jit(jax.vmap(lambda row: jnp.diag(jax.hessian(density.log_density)(row))))
            penalties = np.asarray(second(rows))
            values = np.asarray(jax.vmap(density.log_density)(rows))
        terms["penalty"] = np.maximum(penalties * scale**2, 0).sum(axis=1)
        terms["reward"] = values / 80
        assert terms["penalty"].max() > 0.1
    assert thinned.indices.tolist() == naive(pairs, 80, **terms)
    chosen = pairs[np.ix_(thinned.indices, thinned.indices)]
    assert thinned.ksd[-1] == pytest.approx(chosen.mean())
    assert thinned.ksd[9] == pytest.approx(chosen[:10, :10].mean())
