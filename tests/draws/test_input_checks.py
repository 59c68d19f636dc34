"""The checks of draws: what is refused, and in which words."""

from typing import Any

import dask.array
import jax
import numpy as np
import pandas
import pytest

import steinwise as sw
from steinwise import Samples


def _draws(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def _chain(n: int, d: int, rho: float, seed: int = 0) -> np.ndarray:
    noise = _draws(n, d, seed=seed)
    x = noise.copy()
    for t in range(1, n):
        x[t] = rho * x[t - 1] + np.sqrt(1 - rho**2) * noise[t]
    return x


def _with(value: float, index: tuple) -> np.ndarray:
    draws = _draws(*([2, 30, 3] if len(index) == 3 else [30, 3]))
    draws[index] = value
    return draws


class _Variable:
    """As netCDF4 has it: an array only on demand, and masked then."""

    def __array__(self, dtype=None, copy=None):
        return MASKED


MASKED = np.ma.masked_array(_draws(30, 2), mask=np.arange(60).reshape(30, 2) == 7)

BAD = {
    "a scalar": (np.float64(1.0), r"shape \(\), 0 axes: expected \(n, d\)"),
    "a vector": (_draws(30), r"shape \(30,\), 1 axis: .*draws\[:, None\]"),
    "four axes": (_draws(2, 3, 4, 5), r"shape \(2, 3, 4, 5\), 4 axes"),
    "no draws": (np.empty((0, 3)), r"shape \(0, 3\): there is nothing to check"),
    "no coordinates": (np.empty((30, 0)), r"shape \(30, 0\): there is nothing to check"),
    "one draw": (_draws(1, 30), r"shape \(1, 30\): at least 2 draws.*draws\.T"),
    "one draw a chain": (_draws(1, 1, 3), r"at least 2 draws are needed in each chain"),
    "more chains than draws": (
        _draws(1000, 4, 3),
        r"1000 chains with 4 draws each.*\(chain, draw, d\).*np\.swapaxes\(draws, 0, 1\)",
    ),
    "coordinates before draws": (_draws(4, 3, 500), r"\(chain, d, draw\), .*\(draws, 1, 2\); if"),
    "nan": (
        _with(np.nan, (7, 1)),
        r"1 of 90 entries of the draws is NaN.*nan at index \(7, 1\) \(x\[1\]\)",
    ),
    "inf in a chain": (_with(-np.inf, (1, 4, 2)), r"1 of 180.*-inf at index \(1, 4, 2\)"),
    "a constant coordinate": (
        np.column_stack([_draws(30, 2), np.full(30, 0.25)]),
        r"1 of 3 coordinates never changes: x\[2\] = 0\.25.*Drop it",
    ),
    "integers": (np.arange(60).reshape(30, 2), r"dtype int64: expected floats.*astype\(float\)"),
    "booleans": (_draws(30, 2) > 0, "dtype bool: expected floats"),
    "objects": (_draws(30, 2).astype(object), "dtype object: expected float32 or float64"),
    "complex": (_draws(30, 2) + 0j, "dtype complex128.*Convert them yourself"),
    "long doubles": (_draws(30, 2).astype(np.longdouble), "could lose digits unnoticed"),
    "strings": (np.full((30, 2), "a"), "dtype <U1"),
    "ragged rows": ([[1.0, 2.0], [3.0]], "cannot be converted to a NumPy array"),
    "a dict": ({"mu": _draws(30), "tau": _draws(30)}, r"a dict with \['mu', 'tau'\].*Concatenate"),
    "a path": ("draws.npz", r"the path 'draws.npz'.*np\.load.*steinwise check draws\.npz"),
    "masked": (
        np.ma.masked_greater(_draws(30, 2), 1.0),
        r"masked.*compress_rows",
    ),
    "masked chains in a list": ([_draws(30, 2), MASKED], r"1 masked entries.*compress_rows"),
    "an object that becomes masked": (_Variable(), "1 masked entries"),
    "masked in chunks": (dask.array.from_array(MASKED), "1 masked entries"),
    "missing in a data frame": (
        pandas.DataFrame({"a": _draws(3), "b": pandas.array([1.0, None, 2.0], dtype="Float64")}),
        "column b of the draws has 1 missing values.*dropna",
    ),
    "an integer column of a data frame": (
        pandas.DataFrame({"a": _draws(3), "b\n": [1, 2, 3]}),
        r"column b\\n of the draws has dtype int64: expected floats.*support=",
    ),
    "data frames in a list": (
        [pandas.DataFrame(_draws(30, 2)), pandas.DataFrame(_draws(30, 2))],
        r"a list of data frames.*np\.stack",
    ),
    "a data frame without columns": (
        pandas.DataFrame(index=range(5)),
        r"shape \(5, 0\): there is nothing to check",
    ),
    "a column of words": (
        pandas.DataFrame({"a": _draws(3), "b": pandas.Categorical(["x", "y", "x"])}),
        "column b of the draws has dtype object",
    ),
}


@pytest.mark.parametrize(("draws", "expected"), BAD.values(), ids=BAD.keys())
def test_bad_draws_are_answered(draws, expected):
    """An error from the depths, or a number that means nothing."""
    with pytest.raises(sw.InputError, match=expected):
        Samples.of(draws)


def test_a_mask_that_hides_nothing_is_no_mask(tmp_path):
    """Catches a refusal by type, and a mask that a memory-mapped file loses."""
    whole = np.ma.masked_array(_draws(30, 2), mask=False)
    np.testing.assert_array_equal(Samples.of(whole).rows, whole.data)
    np.save(tmp_path / "a.npy", whole.data)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    with pytest.raises(sw.InputError, match="2 masked entries"):
        Samples.of(np.ma.masked_array(mapped, mask=np.arange(60).reshape(30, 2) < 2))


def test_nullable_columns_without_missing_values():
    frame = pandas.DataFrame(_draws(30, 2), columns=["a", "b"])
    found = Samples.of(frame.astype({"a": "Float64", "b": "Float32"}))
    assert found.names == ("a", "b")
    np.testing.assert_allclose(found.rows, frame, rtol=1e-6)


def test_columns_of_chains_and_draws() -> None:
    """Catches a chain that is taken for a coordinate, or refused because it has whole numbers."""
    values = _draws(2 * 30, 2).reshape(2, 30, 2)
    frame = pandas.DataFrame(values.reshape(60, 2), columns=["a", "b"])
    frame[".chain"], frame["draw"] = np.repeat([1, 2], 30), np.tile(np.arange(30), 2)
    found = Samples.of(frame.sample(frac=1.0, random_state=0))
    assert found.names == ("a", "b")
    assert not found.independent
    np.testing.assert_array_equal(found.values, values)
    assert Samples.of(frame, names=["c", "d"]).names == ("c", "d")
    frame["draw"] = 0
    with pytest.raises(sw.InputError, match=r"one row of the draws is \.chain 1, draw 0"):
        Samples.of(frame)


class _Closed:
    """A dataset whose file was closed, as h5py has it: every question is a ValueError."""

    @property
    def chunks(self) -> Any:
        raise ValueError("Invalid dataset identifier")


def test_a_closed_file_is_answered():
    with pytest.raises(sw.InputError, match=r"type _Closed cannot be read.*Was the file closed"):
        Samples.of(_Closed())


def test_a_tracer_is_sent_to_the_pure_functions():
    """A ConcretizationTypeError from the depths of NumPy."""
    with pytest.raises(sw.InputError, match=r"JAX tracer.*sw\.functional"):
        jax.jit(lambda x: Samples.of(x).rows)(_draws(30, 2))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a"], "1 name was given for 2 coordinates: 'a'. Expected one for each."),
        (["a", "b", "c"], "3 names were given for 2 coordinates"),
        (["a", "a"], "'a' was given to more than one coordinate"),
        ("ab", "names is 'ab': expected a sequence of strings"),
        ([1, 2], "expected a sequence of strings"),
        (7, "names is 7: expected a sequence of strings"),
        ({"a", "b"}, "names is a set, which has no order"),
        (frozenset("ab"), "names is a set, which has no order"),
    ],
    ids=[
        "too few",
        "too many",
        "twice",
        "a string",
        "numbers",
        "a number",
        "a set",
        "a frozen set",
    ],
)
def test_bad_names(names, expected):
    """zip would drop the missing ones in silence."""
    with pytest.raises(sw.InputError, match=expected):
        Samples.of(_draws(30, 2), names=names)


def test_too_few_draws_for_a_verdict():
    """A p-value from 19 signs."""
    with pytest.raises(sw.TooFewDraws, match="19 draws"):
        sw.check(_draws(19, 2), sw.Gaussian([0, 0], np.eye(2)), method="ksd")


def test_draws_whose_powers_overflow_are_refused() -> None:
    """Catches an overflow deep inside, where nobody knows which draw it was."""
    draws = np.random.default_rng(0).normal(size=(50, 2))
    draws[7, 1] = -1e120
    with pytest.raises(sw.InputError, match=r"the value -1e\+120 at index \(7, 1\) \(x\[1\]\)"):
        Samples.of(draws)


# -- (n, d) that is a chain ----------------------------------------------------------------------


def test_one_chain_passed_as_rows_is_refused_with_both_fixes():
    """One BlackJAX chain has this shape; taken as independent it is always rejected."""
    chain = _chain(1000, 3, rho=0.5)
    with pytest.raises(sw.InputError) as caught:
        Samples.of(chain, names=["a", "b", "c"])
    message = str(caught.value)
    for part in ("(1000, 3)", "autocorrelated", "lag 1", "draws[None]", "independent=True"):
        assert part in message
    assert not Samples.of(chain[None]).independent
    assert Samples.of(chain, independent=True).independent


def test_interleaved_chains_are_refused():
    """Four chains stacked draw by draw: lag 1 shows nothing, lag 4 does."""
    chains = np.stack([_chain(500, 3, rho=0.7, seed=s) for s in range(4)])
    rows = np.swapaxes(chains, 0, 1).reshape(-1, 3)
    with pytest.raises(sw.InputError, match="at lag 4"):
        Samples.of(rows)


def test_a_chain_that_swings_back_and_forth_in_size_is_refused():
    """Slow only in its distance from the middle, as a funnel's chain is."""
    scale = np.exp(_chain(2000, 1, rho=0.95))
    with pytest.raises(sw.InputError, match="distances"):
        Samples.of(scale * _draws(2000, 2, seed=1))
