"""Scores that are not finite: the message names the draw and the coordinate."""

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from tests.target.cases import COORDINATES, LINE_POINTS, X


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
