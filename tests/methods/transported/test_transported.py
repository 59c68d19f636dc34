"""Transported conditionals: the statistic, and what must not change it."""

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import cut_by_length
from steinwise.calibration.signs import bootstrap, rademacher
from steinwise.draws.samples import Samples
from steinwise.methods.transported import Transported
from steinwise.methods.transported import line_sets as frames
from steinwise.methods.transported import method as method_module
from steinwise.methods.transported import slab_pass as walks
from steinwise.methods.transported import terms as transport
from steinwise.methods.transported.method import BASES
from steinwise.methods.transported.statistic import TransportedStatistic
from steinwise.methods.transported.features import CONTEXTS
from steinwise.orbits.lines import MIDPOINTS
from steinwise.target import AbstractTarget

STANDARD = sw.Gaussian(np.zeros(3), np.eye(3))


def statistic(
    draws: np.ndarray, target: AbstractTarget, method: Transported
) -> TransportedStatistic:
    return method.statistic(Samples.of(draws, independent=True), target, RunOptions())


def families(found: Iterator[BatchSums]) -> dict[str, BatchSums]:
    return {one.family: one for one in found}


# -- the statistic, straight from its formula ------------------------------------------------------


def stein_side(x: float) -> np.ndarray:
    """Integrals of cosines against k_cc(x, F^-1(v)), RBF of width 1, for N(0, 1)."""
    y = ndtri(MIDPOINTS)
    step = x - y
    k = np.exp(-(step**2) / 2)
    dk_dx, dk_dy, d2k = -step * k, step * k, (1 - step**2) * k
    k_cc = (-x) * (-y) * k + (-x) * dk_dy + (-y) * dk_dx + d2k
    waves = [np.sqrt(2) * np.cos(b * np.pi * MIDPOINTS) for b in range(1, 9)]
    return np.array([np.mean(wave * k_cc) for wave in waves])


def place_product(base: str, x: float, y: float) -> float:
    """<m(x), o(F(y))>."""
    u, v = stats.norm.cdf([x, y])
    if base == "shape":
        return stein_side(x) @ [np.sqrt(2) * np.cos(b * np.pi * v) for b in range(1, 9)]
    if base == "shift":
        waves = [2 * np.cos(b * np.pi * u) * np.cos(b * np.pi * v) / b**2 for b in range(1, 7)]
        return float(np.sum(waves))
    hermite = np.polynomial.hermite_e
    factorials = [1, 2, 6, 24]
    return sum(
        hermite.hermeval(x, np.eye(5)[b]) * hermite.hermeval(y, np.eye(5)[b]) / factorials[b - 1]
        for b in range(1, 5)
    )


def kappa(context: str, z: np.ndarray, w: np.ndarray) -> float:
    if context == "alone":
        return 1.0
    if context == "dependence":
        return z @ w
    if context == "dependence on size":
        return (z**2 - 1) @ (w**2 - 1)
    return ((z @ w) ** 2 - (z**2) @ (w**2)) / 2


@pytest.mark.parametrize("per_batch", [1, 2])
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("base", BASES)
def test_the_statistic_is_the_sum_over_pairs(base: str, context: str, per_batch: int) -> None:
    """Catches a wrong kernel, weight or context, and pairs of one batch that are kept in."""
    x = np.random.default_rng(0).normal(0.2, 1.1, size=(24, 3))
    found = statistic(x, STANDARD, Transported([base], [context], directions=False))
    batches = cut_by_length(1, 24, per_batch, independent=True)
    sums = next(iter(found.batch_sums(batches)))
    z = frames.NormalScores.among(x)(x)
    expected, pairs = np.zeros(3), 0
    for i in range(24):
        for other in range(24):
            if i // per_batch == other // per_batch:
                continue
            pairs += 1
            for j in range(3):
                rest = np.arange(3) != j
                weight = kappa(context, z[i, rest], z[other, rest])
                expected[j] += weight * place_product(base, x[i, j], x[other, j])
    one = bootstrap(sums, rademacher(0, 19, batches.count))
    np.testing.assert_allclose(one.statistic[0], expected / pairs, rtol=1e-9, atol=1e-12)


def products(others: np.ndarray, seed: int = 0) -> transport.Sums:
    """Terms times features in batches of one draw, for lines whose terms are all the same."""
    n, d = others.shape
    features = transport.Features.draw(d, seed)
    u = np.full((n, d), 0.3)
    flat = np.zeros((n, d, transport.QUANTILES))
    lines = transport.Lines(u, u, flat, flat, np.ones((n, d)), u)
    out = features.sums(n, d, "float64")
    transport.batch_products(out, lines, u, others, np.ones((n, 1)), np.arange(d), features)
    return out


@pytest.mark.parametrize("d", [4, 12, 80])
def test_features_never_see_the_coordinate_of_their_line(d: int) -> None:
    """Catches a kappa made from the tested coordinate, which destroys the level.

    With 12 coordinates the products are sketched, with 80 the coordinates and squares too.
    """
    rng = np.random.default_rng(1)
    others = rng.normal(size=(7, d))
    features = transport.Features.draw(d, 0)
    assert (features.pair_signs is None) == (d == 4)
    assert (features.signs is None) == (d < 80)
    before = products(others)
    for j in {0, 1, d // 2, d - 1}:
        moved = others.copy()
        moved[:, j] += rng.normal(size=7)
        after = products(moved)
        for name, one, other in zip(before._fields, after, before, strict=True):
            if one.size:
                change = np.abs(one - other).max(axis=(0, *range(2, one.ndim)))
                assert change[j] < 1e-11
                everywhere = name in ("dependence", "dependence_on_size", "interaction")
                assert not everywhere or (np.delete(change, j) > 1e-3).all()
        assert np.array_equal(after.alone, before.alone)


@pytest.mark.parametrize(("context", "first"), [("dependence", 0), ("dependence on size", 1)])
def test_sketches_of_coordinates_are_unbiased(context: str, first: int) -> None:
    """Catches an own share that is subtracted with the wrong sign, and signs that are shared."""
    d = 80
    both = np.random.default_rng(13).normal(size=(2, d))
    term, values = np.sqrt(2) * np.cos(np.pi * 0.3), []
    for seed in range(200):
        sums, features = products(both, seed), transport.Features.draw(d, seed)
        one, other = sums.of(context)[:, 0, transport.PLACE]
        values.append(one @ other / term**2 / transport.LINEAR_SKETCHES)
        single = features.singles(sums, context)[:, 3, 0] / term
        expected = both if first == 0 else both**2 - 1
        expected = np.where(np.arange(d) == 3, 0.0, expected)
        np.testing.assert_allclose(single, expected, atol=1e-12)
    exact = kappa(context, both[0, 1:], both[1, 1:])
    assert np.mean(values) == pytest.approx(exact, abs=4 * np.std(values) / np.sqrt(200))


@pytest.mark.parametrize("d", [1, 2, 5, 31, 40])
def test_pairs_are_different_and_all_of_them_where_they_are_few(d: int) -> None:
    """Catches a pair of a coordinate with itself, or one that is never drawn."""
    pairs, every = transport.Features.draw(d, 0).pairs, np.stack(np.triu_indices(d, 1), axis=1)
    if len(every) <= transport.MOST_PAIRS:
        np.testing.assert_array_equal(pairs, every)
        return
    assert len(np.unique(pairs, axis=0)) == len(pairs) == transport.MOST_PAIRS
    drawn = np.concatenate([transport.Features.draw(d, seed).pairs for seed in range(20)])
    np.testing.assert_array_equal(np.unique(drawn, axis=0), every)


def test_many_coordinates_are_looked_at_in_part() -> None:
    """Catches features that grow with the square of the dimension."""
    few, many = (transport.Features.draw(d, 0) for d in (1000, 10_000))
    assert few.count == many.count
    assert len(many.alone) == len(few.alone) == transport.MOST_ALONE
    assert many.bytes_per_line(64, "float64") == few.bytes_per_line(64, "float64")
    assert many.partners("dependence", 7)[0] == many.alone[7]


def test_the_sketch_is_unbiased_for_all_products() -> None:
    """Catches squares that are left in, or a wrong scale of the sketch against itself."""
    both = np.random.default_rng(2).normal(size=(2, 12))
    term, values = np.sqrt(2) * np.cos(np.pi * 0.3), []
    for seed in range(300):
        one, other = products(both, seed).interaction[:, 0, transport.PLACE]
        values.append(one @ other / term**2 / transport.SKETCHES / 2)
    exact = kappa("interaction", both[0, 1:], both[1, 1:])
    assert np.mean(values) == pytest.approx(exact, abs=4 * np.std(values) / np.sqrt(300))


# -- what must not change the numbers --------------------------------------------------------------


def same(one: sw.CheckResult, other: sw.CheckResult, rtol: float = 1e-9) -> None:
    assert one.pvalue == other.pvalue
    assert [c.verdict for c in one.coordinates] == [c.verdict for c in other.coordinates]
    for key in ("value", "pvalue", "adjusted_pvalue"):
        values = [[getattr(c, key) for c in result.coordinates] for result in (one, other)]
        np.testing.assert_allclose(*values, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(one.statistic, other.statistic, rtol=rtol)


def test_memory_and_blocks_do_not_change_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches sums that depend on the blocks of lines or the runs of batches they come in."""
    rng = np.random.default_rng(3)
    covariance = 0.6 + 0.4 * np.eye(6)
    draws = rng.multivariate_normal(np.zeros(6), covariance, 150)
    draws[:, 1] += 0.1
    target = sw.Gaussian(np.zeros(6), covariance)
    whole = sw.check(draws, target, n_bootstrap=99)
    same(sw.check(draws, target, n_bootstrap=99, memory="1MiB"), whole)
    monkeypatch.setattr(walks, "LINES_AT_ONCE", 70)
    same(sw.check(draws, target, n_bootstrap=99), whole)
    monkeypatch.setattr(walks, "LINES_TOGETHER", 2)
    monkeypatch.setattr(method_module, "LINES_PER_BLOCK", 4)
    same(sw.check(draws, target, n_bootstrap=99), whole)


def test_every_way_to_give_a_target_gives_the_same_verdict() -> None:
    """Catches a route that follows another density, or that loses accuracy."""
    covariance = np.array([[1.0, 0.6, 0.0], [0.6, 2.0, 0.3], [0.0, 0.3, 0.5]])
    closed = sw.Gaussian([0.5, 0.0, -1.0], covariance)
    precision, mean = closed.precision, closed.mean
    draws = np.random.default_rng(4).multivariate_normal(mean, covariance, 80)
    draws[:, 2] = -1.0 + 1.7 * (draws[:, 2] + 1.0)

    def density(x):
        return -0.5 * (x - mean) @ jnp.asarray(precision) @ (x - mean)

    def line(x, j, y):
        return (jnp.asarray(precision) @ (mean - x.at[j].set(y)))[j]

    targets = [
        closed,
        sw.Target(density),
        sw.Target.from_score(lambda x: (mean - x) @ precision),
        sw.Target(density, lines=line),
    ]
    results = [sw.check(draws, target, n_bootstrap=99) for target in targets]
    assert results[0].rejected
    for other in results[1:]:
        values = [[c.value for c in result.coordinates] for result in (other, results[0])]
        np.testing.assert_allclose(*values, rtol=0.02, atol=0.02)
        assert other.rejected
        verdicts = [[c.verdict for c in result.coordinates] for result in (other, results[0])]
        assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("d", [1, 2])
def test_one_or_two_coordinates_are_enough(d: int) -> None:
    """Catches contexts that do not exist: an error, or a p-value of 1 whatever the draws are.

    One coordinate has no others, and two have no product of two others.
    """
    target = sw.Gaussian(np.zeros(d), np.eye(d))
    draws = np.random.default_rng(5).normal(size=(200, d))
    pvalues = [sw.check(one, target, n_bootstrap=199).pvalue for one in np.split(draws, 5)]
    assert min(pvalues) < 0.9
    assert max(pvalues) > 0.05
    shifted = draws + 0.35 * np.eye(d)[0]
    result = sw.check(shifted, target)
    assert result.rejected
    assert len(result.coordinates) == d
    assert result.coordinates[0].verdict.startswith("draws are shifted by +0.")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"bases": ["shape", "tail"]}, "bases is .*expected some of .*'tails'"),
        ({"bases": "shape"}, "bases is 'shape'"),
        ({"bases": []}, r"bases is \[\]"),
        ({"contexts": ["linear"]}, "contexts is .*expected some of .*'dependence on size'"),
        ({"contexts": ()}, r"contexts is \(\)"),
        ({"directions": "curvature"}, "directions is 'curvature'"),
    ],
)
def test_unknown_settings_are_answered(options: dict, expected: str) -> None:
    with pytest.raises(sw.InputError, match=expected):
        sw.methods.Transported(**options)


def test_what_is_not_looked_at_is_not_promised() -> None:
    """Catches a detectable shift of a coordinate alone where only dependence is tested."""
    draws = np.random.default_rng(0).normal(size=(300, 3))
    result = sw.check(draws, STANDARD, method=Transported(contexts=["dependence"]))
    assert result.findings.detectable is None
    assert "would have found" not in str(result)


def test_a_second_look_finds_the_same() -> None:
    """Catches what the first look left behind."""
    draws = np.random.default_rng(0).normal(size=(300, 3))
    found = statistic(draws, STANDARD, Transported(directions=False))
    batches = cut_by_length(1, 300, 15, independent=True)
    first, second = (list(found.batch_sums(batches)) for _ in range(2))
    assert len(found.found) == 1
    assert all(np.array_equal(a.values, b.values) for a, b in zip(first, second, strict=True))


def test_one_coordinate_has_no_directions_to_pay_for() -> None:
    one = Samples.of(np.random.default_rng(0).normal(size=(300, 1)))
    target = sw.Target(lambda x: -0.5 * jnp.sum(x**2))
    with_and_without = (Transported(directions=choice) for choice in (True, False))
    costs = {method.evaluations(one, target) for method in with_and_without}
    assert len(costs) == 1


def test_a_context_that_the_draws_do_not_have_is_not_replaced() -> None:
    """Catches a test of another kind of misfit than the one that was asked for."""
    draws = np.random.default_rng(0).normal(1.0, size=(500, 2))
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    only = Transported(contexts=["interaction"])
    with pytest.raises(sw.InputError, match=r"need more coordinates than the 2 .* Add 'alone'"):
        sw.check(draws, target, method=only)
    covariance = 0.999 + 0.001 * np.eye(3)
    draws = np.random.default_rng(1).multivariate_normal(np.zeros(3), covariance, 200)
    found = statistic(draws, sw.Gaussian(np.zeros(3), covariance), only)
    assert [frame.group for frame in found.frames] == ["coordinates"]
    with pytest.raises(sw.InputError, match="7"):
        sw.check(draws[:, :2], target, method=Transported(coordinates=(7,)))


@pytest.mark.parametrize("first", [0.0, -1.0])
@pytest.mark.parametrize("kind", ["density", "score"])
def test_draws_without_density_get_an_error_and_no_verdict(kind: str, first: float) -> None:
    """Catches NaN taken as a number of the statistic, which nothing then exceeds."""
    draws = np.random.default_rng(2).gamma(3.0, size=(200, 2)) + 3.0
    draws[17, 1] = first
    target = sw.Target(lambda x: jnp.sum(jnp.log(x) - x))
    if kind == "score":
        target = sw.Target.from_score(lambda x: np.where(x > 0, 1.0, np.nan))
    with pytest.raises(
        sw.TargetError, match=rf"is -?(nan|inf) at draw 17, where x = \[.*{first}\]"
    ):
        sw.check(draws, target, independent=True)
