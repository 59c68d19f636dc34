"""The museum of documented mistakes: its pieces run, and its results can be read."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import RESULTS, museum
from benchmarks.long_chains import Sampler
from benchmarks.museum_distances import distances
from benchmarks.museum_nuts import nuts_step
from benchmarks.museum_pieces import PIECES

each_piece = pytest.mark.parametrize("piece", PIECES, ids=[piece.name for piece in PIECES])


@each_piece
@pytest.mark.parametrize("wrong", [False, True])
def test_a_piece_takes_states_to_states(piece, wrong):
    sampler = piece.make(wrong)
    key, x = jax.random.key(0), jnp.ones(piece.target.dim)
    state = x if sampler.init is None else jax.eval_shape(sampler.init, key, x)
    moved = jax.eval_shape(sampler.step, key, state)
    assert jax.tree.structure(moved) == jax.tree.structure(state)
    assert [leaf.shape for leaf in jax.tree.leaves(moved)] == [
        leaf.shape for leaf in jax.tree.leaves(state)
    ]


def test_the_right_tree_chooses_by_weight():
    """Catches a tree that prefers some of its points: on a flat density all eight are as likely."""
    keys = jax.random.split(jax.random.key(0), 4000)
    step = jax.jit(jax.vmap(nuts_step(lambda x: 0.0 * jnp.sum(x)), in_axes=(0, None)))
    moved = np.asarray(step(keys, jnp.zeros(2)))
    # p does not change: the step is a multiple of it, from -7 to 7 with weights 8 - |multiple|
    stayed = (moved == 0).all(axis=1).mean()
    assert abs(stayed - 1 / 8) < 4.5 * np.sqrt(7 / 64 / 4000)


def test_the_right_tree_stays_where_trajectories_diverge():
    """Catches weights that are all 0, or not finite, and a choice among chances that are NaN."""
    step = jax.vmap(nuts_step(lambda x: -0.5 * jnp.sum(x**4), size=50.0))
    start = jnp.linspace(0.5, 2.0, 50)[:, None]
    moved = step(jax.random.split(jax.random.key(0), 50), start)
    np.testing.assert_array_equal(moved, start)


def test_the_committed_results_are_two_tables():
    results = json.loads((RESULTS / "museum.json").read_text("utf-8"))
    assert set(results) <= {piece.name for piece in PIECES}
    for part in museum.table(results).split("\n\n"):
        head, line, *rows = (row.count("|") for row in part.splitlines())
        assert [head, line, *rows] == [head] * (2 + len(results))


def test_a_step_that_moves_nothing_has_no_distance():
    """Catches draws that are compared with other functions of themselves."""
    piece = PIECES[0]._replace(make=lambda _: Sampler(lambda _, x: x))
    found = distances(piece, chains=2000)
    assert max(found.values()) < 0.07  # the distance of 2000 from 2000 draws with p = 1e-4
    moved = piece._replace(make=lambda _: Sampler(lambda _, x: x + 1.0))
    assert max(distances(moved, chains=2000).values()) > 0.3
