"""Compiled functions on many rows: padding, the number of shapes, and precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from steinwise._internal.compiled import call_in_chunks, precision, rows_of

X = np.random.default_rng(0).normal(size=(11, 3))
LABELS = np.arange(11.0)


@pytest.mark.parametrize("size", [1, 4, 11, 64])
def test_the_padding_is_cut_off(size: int) -> None:
    """Catches rows that are lost, repeated or out of order at the end of a chunk."""
    found = call_in_chunks(lambda x, label: x.sum(axis=1) + label, rows_of(X, LABELS), 11, size)
    np.testing.assert_allclose(found, X.sum(axis=1) + LABELS, rtol=1e-15)


def test_results_may_have_axes_of_their_own() -> None:
    """Catches an axis that is cut where the rows are meant."""
    found = call_in_chunks(lambda x: x[:, :, None] * x[:, None], rows_of(X), 11, 4)
    np.testing.assert_allclose(found, X[:, :, None] * X[:, None], rtol=1e-15)


def test_one_shape_is_compiled() -> None:
    """Catches a last chunk with a shape of its own, which takes a second compilation."""
    shapes = []

    @jax.jit
    def doubled(x):
        shapes.append(x.shape)  # runs once for every compilation
        return 2 * x

    for count in (11, 3):
        np.testing.assert_array_equal(call_in_chunks(doubled, rows_of(X), count, 4), 2 * X[:count])
    assert shapes == [(4, 3)]


def test_a_chunk_is_padded_with_its_own_rows() -> None:
    """Catches an index beyond the last row, and rows from elsewhere, which would move a centre."""
    asked = []

    def rows_at(index: np.ndarray) -> tuple:
        asked.append(index.tolist())
        return (X[index],)

    call_in_chunks(lambda x: x, rows_at, 5, 3)
    assert asked == [[0, 1, 2], [3, 4, 3]]


@pytest.mark.parametrize("ambient", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_the_precision_is_that_of_the_call(ambient: bool, wide: bool) -> None:
    """Catches numbers that depend on jax_enable_x64, and a flag that is left changed."""
    with jax.enable_x64(ambient):
        found = call_in_chunks(jax.jit(lambda x: x / 3), rows_of(X), 11, 4, wide=wide)
        assert jnp.zeros(1, float).dtype == (np.float64 if ambient else np.float32)
    expected = X.astype(np.float64 if wide else np.float32) / 3
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-15 if wide else 1e-6)


@pytest.mark.parametrize("wide", [False, True])
def test_precision_is_left_as_it_was_after_an_error(wide: bool) -> None:
    """Catches a user's density that raises and leaves JAX in another precision."""
    before = jnp.zeros(1, float).dtype
    with pytest.raises(ZeroDivisionError), precision(wide):
        raise ZeroDivisionError
    assert jnp.zeros(1, float).dtype == before


def test_an_absent_array_stays_absent() -> None:
    assert rows_of(X, None)(np.array([2]))[1] is None
