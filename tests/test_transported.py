"""Transported conditionals: the statistic, its invariances, verdicts in words, directions."""

import dataclasses
import itertools
from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

import steinwise as sw
from steinwise import frames, transport, walks
from steinwise.batches import _cut
from steinwise.calibration import (
    _per_coordinate,
    _together,
    bootstrap,
    calibrate,
    rademacher,
    share_at_or_above,
    step_down,
    tail_scores,
)
from steinwise.lines import MIDPOINTS
from steinwise.methods import transported as method_module
from steinwise.methods.transported import BASES, CONTEXTS, Transported, TransportedStatistic
from steinwise.samples import Samples
from steinwise.statistics import BatchSums
from steinwise.target import AbstractTarget
from steinwise.work import Work

STANDARD = sw.Gaussian(np.zeros(3), np.eye(3))


def statistic(
    draws: np.ndarray, target: AbstractTarget, method: Transported
) -> TransportedStatistic:
    return method.statistic(Samples.of(draws, independent=True), target, Work())


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
    batches = _cut(1, 24, per_batch, independent=True)
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


def test_a_context_that_the_draws_do_not_have_is_not_replaced() -> None:
    """Catches a test of another kind of misfit than the one that was asked for."""
    draws = normal(0, d=2) + 1.0
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    only = Transported(contexts=["interaction"])
    with pytest.raises(sw.InputError, match=r"need more coordinates than the 2 .* Add 'alone'"):
        sw.check(draws, target, method=only)
    covariance = long(3)
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


# -- verdicts in words -----------------------------------------------------------------------------


def normal(seed: int, n: int = 500, d: int = 4) -> np.ndarray:
    return np.random.default_rng([6, seed]).normal(size=(n, d))


def verdicts(draws: np.ndarray) -> list[str]:
    d = draws.shape[1]
    method = Transported(directions=False)
    result = sw.check(draws, sw.Gaussian(np.zeros(d), np.eye(d)), method=method)
    assert result.rejected
    return [c.verdict for c in result.coordinates]


def test_words_for_one_coordinate() -> None:
    """Catches a fault that is named as another kind, and right coordinates that are accused."""
    draws = normal(0)
    draws[:, 0] *= 0.6
    draws[:, 1] += 0.4
    draws[:, 2] = np.random.default_rng(7).laplace(0, 1 / np.sqrt(2), size=500)
    narrow, shifted, heavy, right = verdicts(draws)
    sd = float(narrow.removeprefix("draws are too narrow (sd ").split()[0])
    assert sd == pytest.approx(0.6, abs=0.05)
    amount = float(shifted.removeprefix("draws are shifted by ").split()[0])
    assert amount == pytest.approx(0.4, abs=0.1)
    assert heavy == "draws have heavier tails than the target"
    assert right == "no misfit found"


def test_words_for_dependence_name_the_partner() -> None:
    """Catches the wrong partner, and dependence told as a fault of one coordinate."""
    draws = normal(1)
    draws[:, 3] = 0.4 * draws[:, 1] + np.sqrt(1 - 0.4**2) * draws[:, 3]
    found = verdicts(draws)
    assert found[1] == "depends on x[3] in a way that the target does not"
    assert found[3] == "depends on x[1] in a way that the target does not"
    assert found[0] == found[2] == "no misfit found"


def test_words_for_dependence_on_size_name_the_partner() -> None:
    """A scale that goes with another's size: uncorrelated, and seen by squares only."""
    draws = normal(2, n=1000)
    draws[:, 2] *= np.where(np.abs(draws[:, 0]) > 0.6745, 1.3, np.sqrt(2 - 1.3**2))
    found = verdicts(draws)
    assert found[2] == "varies with the size of x[0] in a way that the target does not"
    assert found[1] == found[3] == "no misfit found"


def test_words_for_an_interaction_name_both() -> None:
    """The sign of one goes with the product of two others; all pairs are independent."""
    accused = 0
    for seed in (3, 30, 31, 32):
        draws = normal(seed)
        draws[:, 0] = np.abs(draws[:, 0]) * np.sign(draws[:, 2] * draws[:, 3])
        found = verdicts(draws)
        assert found[0] == "depends on x[2] and x[3] together in a way that the target does not"
        accused += found[1] != "no misfit found"
    assert accused <= 1  # each time at the level 0.05


def test_no_partner_is_named_that_does_not_stand_out() -> None:
    """Of many products only some are looked at: the largest of these need not be the cause."""
    d = 60
    draws = normal(33, n=2000, d=d)
    one, other = next(
        (i, j)
        for i, j in itertools.combinations(range(1, d), 2)
        if [i, j] not in transport.Features.draw(d, 0).pairs.tolist()
    )
    draws[:, 0] = np.abs(draws[:, 0]) * np.sign(draws[:, one] * draws[:, other])
    method = Transported(directions=False, contexts=["interaction"], coordinates=(0,))
    result = sw.check(draws, sw.Gaussian(np.zeros(d), np.eye(d)), method=method, alpha=0.5)
    (found,) = result.coordinates
    assert found.kind in ("", "interaction")
    assert found.partners in ((), (f"x[{one}]", f"x[{other}]"))


def test_kind_and_partners_are_fields_too() -> None:
    draws = normal(1)
    draws[:, 3] = 0.4 * draws[:, 1] + np.sqrt(1 - 0.4**2) * draws[:, 3]
    draws[:, 0] += 1.0
    result = sw.check(draws, sw.Gaussian(np.zeros(4), np.eye(4)))
    found = {c.name: (c.kind, c.partners) for c in result.coordinates}
    assert found["x[0]"] == ("shift", ())
    assert found["x[1]"] == ("dependence", ("x[3]",))
    assert found["x[2]"] == ("", ())
    assert result.to_dict()["coordinates"][1]["partners"] == ["x[3]"]


def test_sizes_beyond_what_is_counted_are_called_at_least() -> None:
    """Catches a shift by 30 that is reported as one by 5."""
    draws = normal(43)
    draws[:, 0] += 30.0
    draws[:, 1] *= 10.0
    shifted, wide, *_ = verdicts(draws)
    assert shifted == "draws are shifted by at least +5 of the target's conditional sd"
    assert wide.startswith("draws are too wide (sd at least 4.")


def test_settings_that_underflow_are_left_out_and_said() -> None:
    """Catches a statistic of 0 that looks like a fit."""
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    method = Transported(["shape"], ["alone"])
    with pytest.warns(sw.SteinwiseWarning, match=r"'alone' of x\[0\] and 1 more left .* underflow"):
        sw.check(normal(44, d=2) + 60.0, target, method=method)


def test_a_few_draws_far_out_are_counted_and_named() -> None:
    """Catches outliers that signs cannot tell from chance: two of them have p = 1/2 at best."""
    draws = normal(40)
    draws[:2, 1] = [9.0, -30.0]
    result = sw.check(draws, sw.Gaussian(np.zeros(4), np.eye(4)), method=Transported(["tails"]))
    assert result.pvalue < 1e-9
    verdict = [c.verdict for c in result.coordinates]
    assert verdict[1] == "2 draws lie where the target's conditional has next to no mass"
    assert verdict[0] == verdict[2] == verdict[3] == "no misfit found"
    assert f"{result.pvalue:.1g}," in str(result)


def test_settings_that_overflow_are_left_out_and_said() -> None:
    """Catches NaN in the statistic, and a setting that vanishes without a word."""
    draws = normal(41, n=200)
    draws[0, 2] = 1e30
    target = sw.Gaussian(np.zeros(4), np.eye(4))
    with pytest.warns(sw.SteinwiseWarning, match=r"'shape', 'alone' of x\[2\] and 3 more left"):
        result = sw.check(draws, target, method=Transported(directions=False), dtype="float32")
    assert any("overflow" in note for note in result.notes)
    assert np.isfinite(result.statistic)
    assert result.coordinates[2].verdict.startswith("1 draw lies where")


def test_float32_sums_change_the_numbers_little() -> None:
    """Catches a part that loses digits, such as places far from 0 told apart in float32."""
    draws = 1e6 + normal(42)
    draws[:, 1] += 0.15
    target = sw.Gaussian(np.full(4, 1e6), np.eye(4))
    full, half = (sw.check(draws, target, dtype=dtype) for dtype in ("float64", "float32"))
    values = [[c.value for c in result.coordinates] for result in (half, full)]
    np.testing.assert_allclose(*values, atol=1e-4)
    assert half.pvalue == pytest.approx(full.pvalue, abs=0.003)
    with pytest.raises(sw.InputError, match="dtype is 'float16': expected one of"):
        sw.check(draws, target, dtype="float16")


# -- directions ------------------------------------------------------------------------------------


def long(d: int) -> np.ndarray:
    """Covariance with all correlations 0.999."""
    return 0.999 + 0.001 * np.eye(d)


def test_held_out_draws_take_no_part_in_the_test_of_directions() -> None:
    """Catches directions tested on the draws that they come from: a level of 0.4 and more."""
    covariance = long(4)
    draws = np.random.default_rng(8).multivariate_normal(np.zeros(4), covariance, 100)
    found = statistic(draws, sw.Gaussian(np.zeros(4), covariance), Transported())
    _, rotated = found.frames
    assert rotated.group == "directions"
    np.testing.assert_array_equal(rotated.tested(np.arange(100)), np.arange(100) >= 20)
    batches = _cut(1, 100, 1, independent=True)
    before = families(found.batch_sums(batches))["directions alone"].values
    moved = draws.copy()
    moved[:20] += 5.0
    other = dataclasses.replace(found, samples=Samples.of(moved, independent=True), found=[])
    after = families(other.batch_sums(batches))["directions alone"].values
    np.testing.assert_allclose(after, before, atol=1e-12)
    tested = draws.copy()
    tested[50] += 5.0
    other = dataclasses.replace(found, samples=Samples.of(tested, independent=True), found=[])
    after = families(other.batch_sums(batches))["directions alone"].values
    assert np.abs(after - before).max() > 1e-3


def test_directions_come_from_the_held_out_draws_of_every_chain_only() -> None:
    """Catches directions, or their origin and scale, that know of the tested draws."""
    chains = np.random.default_rng(9).multivariate_normal(np.zeros(3), long(3), (2, 100))
    first = frames.directions(Samples.of(chains))
    moved = chains.copy()
    moved[:, 20:] *= [1.0, 3.0, -2.0]
    second = frames.directions(Samples.of(moved))
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first.directions, second.directions)
    held = first.tested(np.arange(200)).reshape(2, 100) == 0
    assert held[:, :20].all()
    assert not held[:, 20:].any()
    x = chains[:, :20].reshape(-1, 3)
    np.testing.assert_array_equal(first.places(x), second.places(x))


def test_a_shift_along_a_long_direction_is_found_and_the_direction_named() -> None:
    """Catches a check of coordinate lines only, which are short here and see next to nothing."""
    target = sw.Gaussian(np.zeros(5), long(5))
    with_directions, without, names = 0, 0, []
    for seed in range(5):
        rng = np.random.default_rng([10, seed])
        draws = rng.multivariate_normal(np.zeros(5), long(5), 300) + 0.5
        result = sw.check(draws, target, seed=seed, independent=True)
        with_directions += result.rejected
        names += [c.name for c in result.coordinates if c.adjusted_pvalue <= 0.05]
        method = Transported(directions=False)
        without += sw.check(draws, target, seed=seed, method=method, independent=True).rejected
    assert with_directions == 5
    assert without <= 2
    assert sum(name.startswith("direction 1 (x[") for name in names) == 5


def test_a_direction_raises_the_coordinate_that_names_it() -> None:
    """Catches a shift with the wrong sign."""
    target = sw.Gaussian(np.zeros(5), long(5))
    for sign in (1.0, -1.0):
        draws = np.random.default_rng(10).multivariate_normal(np.zeros(5), long(5), 300)
        direction = sw.check(draws + sign, target, independent=True).coordinates[5]
        assert " + x[" in direction.name
        assert direction.effect is not None
        assert direction.effect.shift * sign > 0.5


def test_no_direction_without_correlation() -> None:
    """Catches a direction from chance alone, which tests the coordinates once more."""
    draws = np.random.default_rng(11).normal(size=(400, 3))
    result = sw.check(draws, STANDARD, n_bootstrap=99)
    assert len(result.coordinates) == 3


# -- the parts of the calibration that only this method uses ---------------------------------------


def test_tail_scores_are_monotone_and_agree_with_the_pool() -> None:
    """Catches a score that turns around, or stays flat, beyond the null."""
    null = np.random.default_rng(12).normal(size=(500, 1))
    observed = np.linspace(-5, 12, 200)
    scores = np.array([tail_scores(1.0, one[None], null)[0][0] for one in observed])
    assert (np.diff(scores) >= 0).all()
    assert (np.diff(scores[observed > null.max()]) > 0).all()
    _, again = tail_scores(1.0, np.array([0.0]), null)
    share = 1 - (stats.rankdata(np.append(null, 0.0))[:-1] - 0.5) / 501
    low = null[:, 0] < np.quantile(null, 0.94)
    np.testing.assert_allclose(np.exp(-again[low, 0]), share[low], atol=1e-9)
    doubled, _ = tail_scores(2.0, np.array([0.0]), null)
    np.testing.assert_allclose(doubled - tail_scores(1.0, np.array([0.0]), null)[0], np.log(2))


def test_evidence_that_does_not_exist_is_not_the_largest() -> None:
    """Catches ties that count as the far tail: a constant null then outdoes all other evidence."""
    zeros = np.zeros(200)
    observed, null = tail_scores(1.0, np.asarray(0.0), zeros)
    assert observed == null[0] < 0.1
    real = np.arange(200.0)
    observed, null = _together([(1.0, np.asarray(195.0), real), (1.0, np.asarray(0.0), zeros)])
    assert share_at_or_above(observed, null) == pytest.approx(6 / 201)


def _scales(rng: np.random.Generator, rows: int) -> list[np.ndarray]:
    """Dependent statistics of three very different laws, one column each."""
    z = rng.normal(size=(rows, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]])
    return [z[:, 0], 100 * np.exp(z[:, 1]), -1 / (0.1 + np.abs(z[:, 2]))]


def test_the_largest_of_several_kinds_of_evidence_is_calibrated_exactly() -> None:
    """Catches the least of three p-values, and scores that tell the observed from the null.

    With each of 200 rows as the observed one in turn, at most 10 may have a p-value of 0.05.
    """
    columns = _scales(np.random.default_rng(13), 200)
    for weights in [(1.0, 1.0, 1.0), (8.0, 1.0, 3.0)]:
        pvalues = []
        for row in range(200):
            evidence = [
                (w, np.asarray(c[row]), np.delete(c, row))
                for w, c in zip(weights, columns, strict=True)
            ]
            pvalues.append(float(share_at_or_above(*_together(evidence))))
        excess = np.sort(pvalues) - np.arange(1, 201) / 200  # above 0 where scores are tied
        assert excess.min() > -1e-12
        assert excess.max() < 0.03


def test_no_kind_of_evidence_always_wins_unless_it_weighs_more() -> None:
    """Catches a scale that one kind of evidence always wins, and weights that do nothing."""
    rng = np.random.default_rng(13)
    wins, heavier = np.zeros(3), np.zeros(3)
    for _ in range(300):
        columns = _scales(rng, 200)
        scores = [float(tail_scores(1.0, np.asarray(c[0]), c[1:])[0]) for c in columns]
        wins[int(np.argmax(scores))] += 1
        heavier[int(np.argmax([scores[0] + np.log(8), *scores[1:]]))] += 1
    assert wins.min() > 60
    assert heavier[0] > 1.5 * wins[0]
    lone = (1.0, np.asarray(1.0), np.arange(3.0))
    assert _together([lone]) == lone[1:]


def test_coordinates_are_judged_by_their_best_family() -> None:
    """Catches scales that differ between coordinates, so that a small one never decides."""
    rng = np.random.default_rng(14)
    hits = 0
    for _ in range(300):
        both = rng.normal(size=(200, 4)), np.exp(rng.normal(size=(200, 4)))
        evidence = {n: (1.0, one[0], one[1:]) for n, one in zip("ab", both, strict=True)}
        scores, null_scores, deciding = _per_coordinate(evidence)
        assert set(deciding) <= {"a", "b"}
        hits += step_down(scores, null_scores).min() <= 0.05
    low, high = stats.binom.interval(0.999, 300, 0.05)
    assert low <= hits <= high
    far = both[0][0].copy()
    far[2] = 50.0
    scores, null_scores, deciding = _per_coordinate(evidence | {"a": (1.0, far, both[0][1:])})
    assert deciding[2] == "a"
    assert scores.argmax() == 2


def test_exact_pvalues_take_a_hundredth_of_the_level() -> None:
    """Catches a level that is spent twice, and a family-wise bound without its factor."""
    sums = BatchSums(
        np.random.default_rng(16).normal(size=(1, 3, 40)), _cut(1, 40, 1, independent=True)
    )
    found = calibrate([sums], 199, 0)
    assert found.joined_with(None) is found
    joined = found.joined_with(np.array([1e-6, 0.5, 1.0]))
    assert joined.pvalue == pytest.approx(3e-4)
    assert joined.adjusted_pvalues[0] == pytest.approx(3e-4)
    assert joined.coordinate_pvalues[0] == pytest.approx(1e-4)
    expected = np.minimum(found.adjusted_pvalues[1:] / 0.99, 1.0)
    np.testing.assert_allclose(joined.adjusted_pvalues[1:], expected)


def test_groups_of_coordinates_are_judged_together() -> None:
    """Catches the families of one group that are asked about the coordinates of another."""
    rng = np.random.default_rng(15)
    batches = _cut(1, 60, 1, independent=True)

    def sums(family: str, group: str, k: int, shift: float, **options: float) -> BatchSums:
        values = rng.normal(shift, 1.0, size=(2, k, 60))
        return BatchSums(values, batches, family, group, sparse=1.0, **options)

    blocks = [
        sums("axes settings", "axes", 3, 0.0),
        sums("dependence", "axes", 3, 0.0, dense=0.0, two_sided=True),
        sums("directions settings", "directions", 2, 2.0),
    ]
    found = calibrate(blocks, 199, 0)
    assert found.pvalue == 1 / 200
    assert len(found.values) == len(found.deciding) == len(found.adjusted_pvalues) == 5
    assert {family for family, _ in found.deciding[3:]} == {"directions settings"}
    assert (found.adjusted_pvalues[3:] <= 0.05).all()
    assert (found.adjusted_pvalues[:3] > 0.05).all()
    assert set(found.families) == {"axes settings", "dependence", "directions settings"}
