"""Seeds and streams of random numbers."""

import jax
import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.random import plain_seed, seed_words, stream


def test_a_stream_depends_on_seed_purpose_and_index_alone() -> None:
    """Catches global state, and two purposes that share their numbers."""
    draws = {
        key: stream(*key).normal()
        for key in [(0, "a"), (1, "a"), (0, "b"), (0, "a", 1), (0, "a", 2)]
    }
    assert len(set(draws.values())) == 5
    assert stream(np.int32(0), "a").normal() == draws[0, "a"]


def test_old_and_new_jax_keys_are_one_seed() -> None:
    assert seed_words(jax.random.key(7)) == seed_words(jax.random.PRNGKey(7)) == [0, 7]
    assert plain_seed(jax.random.key(7)) == [0, 7]
    assert plain_seed(np.int64(7)) == 7


@pytest.mark.parametrize("bad", [-1, True, 1.0, "1", None, np.random.default_rng(0), np.zeros(2)])
def test_what_is_no_seed(bad: object) -> None:
    """Catches True as the seed 1, and a generator whose state is ignored."""
    with pytest.raises(sw.InputError, match="expected a non-negative integer or"):
        stream(bad, "a")


def test_several_keys_are_no_seed() -> None:
    with pytest.raises(sw.InputError, match="one JAX key"):
        seed_words(jax.random.split(jax.random.key(0)))
