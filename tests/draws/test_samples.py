"""Samples: what is accepted unchanged, and subsets that remember which draws they are."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import steinwise as sw
from steinwise import Samples


def _draws(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def test_rows_are_independent_and_chains_are_not():
    """The two shapes mean different things; mixing them up rejects every chain."""
    rows, chains = Samples.of(_draws(50, 3)), Samples.of(_draws(4, 50, 3))
    assert rows.independent
    assert not chains.independent
    assert (rows.n_chains, rows.n_draws, rows.n, rows.dim) == (1, 50, 50, 3)
    assert (chains.n_chains, chains.n_draws, chains.n, chains.dim) == (4, 50, 200, 3)


def test_rows_come_one_chain_after_the_other():
    """An interleaved order would scatter a batch over the chains."""
    draws = _draws(2, 30, 3)
    np.testing.assert_array_equal(Samples.of(draws).rows, np.concatenate([draws[0], draws[1]]))


@pytest.mark.parametrize("kind", [np.float32, ">f8", np.float64], ids=str)
def test_floats_are_widened_never_changed(kind):
    """A float32 draw has one float64 value; nothing is rounded on the way."""
    draws = _draws(40, 2).astype(kind)
    found = Samples.of(draws)
    assert found.values.dtype == np.float64
    np.testing.assert_array_equal(found.rows, np.asarray(draws, dtype=np.float64))


def test_the_users_array_is_copied():
    """A Samples that changes when the user's buffer is used again."""
    draws = _draws(40, 2)
    found = Samples.of(draws)
    draws[:] = 0
    assert found.rows.std() > 0


def test_jax_arrays_and_lists_are_draws_too():
    draws = _draws(40, 2).astype(np.float32)
    np.testing.assert_array_equal(Samples.of(jnp.asarray(draws)).rows, draws)
    np.testing.assert_array_equal(Samples.of(draws.tolist()).rows, draws)


def test_a_data_frame_brings_its_names():
    """Columns without their names leave the user counting."""
    frame = pd.DataFrame(_draws(40, 2), columns=["mu", "log_sigma"])
    assert Samples.of(frame).names == ("mu", "log_sigma")
    assert Samples.of(frame, names=["a", "b"]).names == ("a", "b")
    assert Samples.of(_draws(40, 2)).names == ("x[0]", "x[1]")


def test_names_of_a_data_frame_survive_independent_false():
    """check(frame, independent=False) must not lose the columns on the way to one chain."""
    frame = pd.DataFrame(_draws(200, 2), columns=["mu", "log_sigma"])
    found = Samples.of(frame, independent=False)
    assert found.names == ("mu", "log_sigma")
    assert not found.independent
    assert found.values.shape == (1, 200, 2)


def test_a_samples_passes_through():
    """Checked once, not again; options still hold."""
    given = Samples.of(_draws(4, 50, 2), names=["a", "b"])
    assert Samples.of(given) is given
    renamed = Samples.of(given, names=["c", "d"], independent=True)
    assert renamed.names == ("c", "d")
    assert renamed.independent
    assert given.names == ("a", "b")
    with pytest.raises(sw.InputError, match="3 names were given for 2 coordinates"):
        Samples.of(given, names=["a", "b", "c"])


def test_repr_says_what_the_draws_are():
    many = Samples.of(_draws(40, 7))
    assert repr(many) == (
        "Samples(40 independent draws, 7 coordinates: x[0], x[1], x[2], x[3], x[4], ...)"
    )
    assert repr(Samples.of(_draws(1, 40, 1))) == "Samples(1 chain x 40 draws, 1 coordinate: x[0])"


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "a file"])
def test_subsets_know_which_draws_they_are(stored, tmp_path):
    """Catches an influential draw that is reported by its place in a subset."""
    draws = _draws(3, 40, 2)
    np.save(tmp_path / "draws.npy", draws)
    samples = Samples.of(np.load(tmp_path / "draws.npy", mmap_mode="r" if stored else None))
    order = np.random.default_rng(1).permutation(10)
    subset = samples.thinned(4).reordered(order).split(0.3, 0.7)[1]
    assert subset.values.shape == (3, 7, 2)
    for row in range(subset.n):
        chain, draw = subset.draw_index.of(row)
        np.testing.assert_array_equal(subset.rows[row], draws[chain, draw])


def test_rows_of_a_subset_lead_back_to_the_draws():
    """Catches rows that were kept in a second step and are counted as if all had been kept."""
    draws = _draws(2, 20, 1)
    samples = Samples.of(draws).thinned(2)
    kept = np.array([1, 9, 10, 17])
    index = dataclasses.replace(samples.draw_index, rows=kept)
    found = [draws[index.of(row)] for row in range(4)]
    np.testing.assert_array_equal(found, samples.take(kept))


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_evenly_spaced_draws_run_through_all_chains(most):
    """Catches a sample of the first chain alone."""
    draws = _draws(2, 30, 1)
    found = Samples.of(draws).evenly_spaced(most)
    assert len(found) == min(most, 60)
    flat = draws.reshape(-1, 1)
    np.testing.assert_array_equal(found[0], flat[0])
    if most > 1:
        np.testing.assert_array_equal(found[-1], flat[-1])
