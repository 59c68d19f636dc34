"""What must not change a verdict does not: order, units, origin, names, memory, constants, copies.

Hypothesis draws the cases: a few in `make test-border`, the same ones every time, and many new ones
in `make test-fuzz`.
"""

import warnings
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steinwise as sw

N, D = 60, 3  # one shape, so that compiled code is shared
CHAINS = (3, 60, 2)

METHODS: dict[str, Any] = {
    "transported": "transported",
    "kccsd": sw.methods.KCCSD(sw.conditionals.Linear()),
    "ksd": "ksd",
    "ksdagg": "ksdagg",
    "nystrom": "nystrom",
    "graphical": "graphical",
    "fssd": sw.methods.FSSD(optimise=False),
    "rfsd": "rfsd",
    "psd": "psd",
    "lambda_psd": "lambda_psd",
    "sksd": "sksd",
}
# their random locations are drawn coordinate by coordinate, in the order of the coordinates
RANDOM_LOCATIONS = {"fssd", "rfsd"}
every_method = pytest.mark.parametrize("method", METHODS)

seeds = st.integers(0, 10_000)
widths = st.sampled_from([1.0, 1.3, 2.0])  # of the draws, in units of the target's
units = st.integers(-6, 6).map(lambda power: 10.0**power)
shifts = st.floats(-1e3, 1e3)
budgets = st.sampled_from(["1MiB", "1.5MiB", 2**22, "30MB", "4GiB"])


def normal(seed: int, d: int = D) -> sw.Gaussian:
    """A Gaussian with any mean and dependence."""
    rng = np.random.default_rng([1, seed])
    factor = rng.normal(size=(d, d)) / 2 + np.eye(d)
    return sw.Gaussian(rng.normal(size=d), factor @ factor.T)


def draws(target: sw.Gaussian, seed: int, width: float = 1.0, n: int = N) -> np.ndarray:
    rng = np.random.default_rng([2, seed])
    z = rng.multivariate_normal(np.zeros(target.mean.size), target.covariance, n)
    return target.mean + width * z


def moved(target: sw.Gaussian, matrix: np.ndarray, shift: Any = 0.0) -> sw.Gaussian:
    """The distribution of matrix @ x + shift."""
    covariance = matrix @ target.covariance @ matrix.T
    return sw.Gaussian(matrix @ target.mean + shift, (covariance + covariance.T) / 2)


def check(x: Any, target: Any, method: str, **options: Any) -> sw.CheckResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.SteinwiseWarning)
        options = {"n_bootstrap": 99, "independent": True, "progress": False} | options
        return sw.check(x, target, method=METHODS[method], **options)


def agree(one: sw.CheckResult, other: sw.CheckResult, factor: float = 1.0) -> None:
    """The same p-value, but for a tie among the bootstraps, and the same size in its units."""
    assert other.pvalue == pytest.approx(one.pvalue, abs=0.021)
    sizes = [result.discrepancy or result.statistic for result in (one, other)]
    assert sizes[1] * factor == pytest.approx(sizes[0], rel=1e-5, abs=1e-9)


@every_method
@given(seed=seeds, width=widths, order=st.permutations(range(D)))
def test_the_order_of_the_coordinates(method: str, seed: int, width: float, order: list) -> None:
    """Catches a coordinate that is treated apart."""
    if method in RANDOM_LOCATIONS:
        return
    target, permutation = normal(seed), np.eye(D)[order]
    x = draws(target, seed, width)
    one, other = check(x, target, method), check(x[:, order], moved(target, permutation), method)
    agree(one, other)
    if one.coordinates and one.coordinates[0].adjusted_pvalue is not None:
        values = {c.name: c.value for c in one.findings.coordinates[:D]}
        moved_values = [c.value for c in other.findings.coordinates[:D]]
        again = {f"x[{j}]": value for j, value in zip(order, moved_values, strict=True)}
        assert again == pytest.approx(values, rel=1e-5, abs=1e-9)


@every_method
@given(seed=seeds, width=widths, unit=units)
def test_one_unit_for_all_coordinates(method: str, seed: int, width: float, unit: float) -> None:
    """Catches a bandwidth, a step or a tolerance that has a unit."""
    target = normal(seed)
    x = draws(target, seed, width)
    one, other = check(x, target, method), check(unit * x, moved(target, unit * np.eye(D)), method)
    in_units = {"ksd", "nystrom", "graphical", "fssd", "sksd"}  # of a squared score
    agree(one, other, unit**2 if method in in_units else 1.0)


@pytest.mark.parametrize("method", ["transported", "kccsd", "ksdagg"])
@given(seed=seeds, width=widths, own=st.tuples(units, units, units))
def test_a_unit_for_each_coordinate(method: str, seed: int, width: float, own: tuple) -> None:
    """Catches a coordinate in small units that counts for less."""
    target = normal(seed)
    x = draws(target, seed, width)
    agree(check(x, target, method), check(x * own, moved(target, np.diag(own)), method))


@every_method
@given(seed=seeds, width=widths, shift=st.tuples(shifts, shifts, shifts))
def test_the_origin(method: str, seed: int, width: float, shift: tuple) -> None:
    """Catches a distance from 0."""
    target = normal(seed)
    x = draws(target, seed, width)
    agree(check(x, target, method), check(x + shift, moved(target, np.eye(D), shift), method))


@pytest.mark.parametrize("method", ["ksd", "nystrom"])
@given(seed=seeds, width=widths, turn=seeds)
def test_the_axes_of_a_radial_kernel(method: str, seed: int, width: float, turn: int) -> None:
    """Catches a kernel of the distance that is not one."""
    target = normal(seed)
    x = draws(target, seed, width)
    rotation = np.linalg.qr(np.random.default_rng([3, turn]).normal(size=(D, D)))[0]
    agree(check(x, target, method), check(x @ rotation.T, moved(target, rotation), method))


@every_method
@given(seed=seeds, names=st.lists(st.text(max_size=20), min_size=D, max_size=D, unique=True))
def test_the_names(method: str, seed: int, names: list[str]) -> None:
    """Catches a name that is parsed, sorted or printed in a way that breaks."""
    target = normal(seed)
    x = draws(target, seed)
    one, other = check(x, target, method), check(x, target, method, names=names)
    assert (one.statistic, one.pvalue) == (other.statistic, other.pvalue)
    assert [c.value for c in one.coordinates] == [c.value for c in other.coordinates]
    for shown in (str(other), other.to_json(), repr(other)):
        assert shown


@every_method
@given(seed=seeds, memory=budgets)
def test_the_memory(method: str, seed: int, memory: Any) -> None:
    """Catches a chunk that counts twice, or not at all."""
    target = normal(seed)
    x = draws(target, seed)
    one, other = check(x, target, method), check(x, target, method, memory=memory)
    assert other.statistic == pytest.approx(one.statistic, rel=1e-9, abs=1e-12)
    assert other.pvalue == one.pvalue


def read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


def frame(x: np.ndarray) -> Any:
    import pandas as pd

    return pd.DataFrame(x, columns=[f"x[{j}]" for j in range(x.shape[1])])


COPIES: dict[str, Callable[[np.ndarray], Any]] = {
    "Fortran order": np.asfortranarray,
    "float32": lambda x: x.astype(np.float32),
    "big-endian": lambda x: x.astype(">f8"),
    "every other of twice as many": lambda x: np.repeat(x, 2, axis=0)[::2],
    "backwards twice": lambda x: x[::-1].copy()[::-1],
    "read-only": read_only,
    "list": lambda x: x.tolist(),
    "JAX": lambda x: jnp.asarray(x.astype(np.float32)),
    "pandas": frame,
    "Samples": lambda x: sw.Samples.of(x, independent=True),
    "a mask of nothing": lambda x: np.ma.array(x, mask=False),
}


@every_method
@given(seed=seeds, form=st.sampled_from(sorted(COPIES)))
def test_the_form_of_the_array(method: str, seed: int, form: str) -> None:
    """Catches bytes that are read in another order, and draws that are changed in place."""
    target = normal(seed)
    x = draws(target, seed).astype(np.float32).astype(np.float64)
    before = x.copy()
    one, other = check(x, target, method), check(COPIES[form](x), target, method)
    assert (one.statistic, one.pvalue) == (other.statistic, other.pvalue)
    np.testing.assert_array_equal(x, before)


@given(seed=seeds, width=widths, constant=st.floats(-1e6, 1e6))
def test_a_constant_in_the_log_density(seed: int, width: float, constant: float) -> None:
    """Catches a normalising constant that counts."""
    law = normal(seed)
    x = draws(law, seed, width)
    one, other = (
        check(
            x, sw.Target.from_score(law.score, lambda y, c=c: law.log_values(y) + c), "transported"
        )
        for c in (0.0, constant)
    )
    agree(one, other)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in RANDOM_LOCATIONS])
@given(seed=seeds, width=widths, order=st.permutations(range(CHAINS[0])))
def test_the_order_of_the_chains(method: str, seed: int, width: float, order: list) -> None:
    """Catches a first chain that is treated apart.

    The signs of the bootstrap belong to batches in their order: only what needs none is the same,
    the discrepancy and that of every coordinate, or its largest z.
    The length of the batches is given: with that estimated from 60 draws, some have too few.
    """
    target = normal(seed, CHAINS[2])
    x = draws(target, seed, width, CHAINS[0] * CHAINS[1]).reshape(CHAINS)
    if method in (
        "nystrom",
        "kccsd",
    ):  # what is learned, or which draws are landmarks, is by number
        return
    one, other = (
        check(y, target, method, independent=None, batch_length=5) for y in (x, x[list(order)])
    )
    sizes = [
        [result.discrepancy or 0.0, *(c.value for c in result.findings.coordinates)]
        for result in (one, other)
    ]
    assert sizes[1] == pytest.approx(sizes[0], rel=1e-6, abs=1e-9)


@given(seed=seeds, order=st.permutations(range(3)), unit=units)
def test_comparisons(seed: int, order: list, unit: float) -> None:
    """Catches a ranking that depends on the order of the sets, or on units."""
    target = normal(seed)
    sets = [(f"width {w}", draws(target, seed + k, w)) for k, w in enumerate((1.0, 1.5, 2.5))]
    one = sw.compare(dict(sets), target, independent=True, method="ksd")
    scaled = {sets[k][0]: unit * sets[k][1] for k in order}
    there = moved(target, unit * np.eye(D))
    other = sw.compare(scaled, there, independent=True, method="ksd")
    assert [r.name for r in other.ranking] == [r.name for r in one.ranking]
    values = [r.value * unit**2 for r in other.ranking]
    assert values == pytest.approx([r.value for r in one.ranking], rel=1e-5)
    checked = sw.compare(dict(sets), target, independent=True, method="scores")
    again = sw.compare(scaled, there, independent=True, method="scores")
    assert [r.name for r in again.ranking] == [r.name for r in checked.ranking]
    sizes, same = ([r.evidence.largest_error.size for r in c.ranking] for c in (checked, again))
    assert same == pytest.approx(sizes, rel=1e-5)


@given(seed=seeds, order=st.permutations(range(D)), own=st.tuples(units, units, units))
def test_thinning(seed: int, order: list, own: tuple) -> None:
    """Catches draws whose choice depends on units, or on the order of the coordinates."""
    target = normal(seed)
    x = draws(target, seed)
    change = np.diag(own)[order]
    one, other = sw.thin(x, target, 5), sw.thin(x @ change.T, moved(target, change), 5)
    np.testing.assert_array_equal(other.indices, one.indices)
