"""Transported conditionals: the statistic, its invariances, verdicts in words, directions."""

import dataclasses
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

import steinwise as sw
from steinwise import frames, transport
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
from steinwise.methods.abstract import Work
from steinwise.methods.transported import BASES, CONTEXTS, Transported, TransportedStatistic
from steinwise.samples import Samples
from steinwise.statistics import BatchSums
from steinwise.target import AbstractTarget

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
    z = frames.normal_scores(x)
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


def features(
    others: np.ndarray, index: np.ndarray, pairs: np.ndarray, sketch: np.ndarray | None
) -> np.ndarray:
    with jax.enable_x64(True):
        signs = None if sketch is None else jnp.asarray(sketch)
        arrays = (jnp.asarray(others), jnp.asarray(index), jnp.asarray(pairs))
        return np.asarray(transport._features(*arrays, signs))


@pytest.mark.parametrize("d", [4, 12])
def test_features_never_see_the_coordinate_of_their_line(d: int) -> None:
    """Catches a kappa made from the tested coordinate, which destroys the level.

    With 12 coordinates the products are sketched.
    """
    rng = np.random.default_rng(1)
    others = rng.normal(size=(7, d))
    pairs, sketch = method_module._pairs(d, 0), method_module._sketch(d, 0)
    assert (sketch is None) == (d == 4)
    index = np.arange(d)
    before = features(others, index, pairs, sketch)
    for j in range(d):
        moved = others.copy()
        moved[:, j] += rng.normal(size=7)
        after = features(moved, index, pairs, sketch)
        np.testing.assert_allclose(after[:, j], before[:, j], atol=1e-12)
        others_changed = np.abs(after - before).max(axis=(0, 2)) > 1e-3
        assert others_changed[index != j].all()


def test_the_sketch_is_unbiased_for_all_products() -> None:
    """Catches squares that are left in, or a wrong scale of the sketch against itself."""
    rng = np.random.default_rng(2)
    z, w = rng.normal(size=(2, 12))
    d, values = 12, []
    for seed in range(300):
        sketch = method_module._sketch(d, seed)
        both = features(np.stack([z, w]), np.array([0]), np.zeros((0, 2), dtype=int), sketch)
        one, other = both[:, 0, 1 + 2 * d :]
        values.append(one @ other / transport.SKETCHES / 2)
    exact = kappa("interaction", z[1:], w[1:])
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
    monkeypatch.setattr(method_module, "LINES_AT_ONCE", 70)
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
    ],
)
def test_unknown_settings_are_answered(options: dict, expected: str) -> None:
    with pytest.raises(sw.InputError, match=expected):
        sw.methods.Transported(**options)


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
    draws = normal(3)
    draws[:, 0] = np.abs(draws[:, 0]) * np.sign(draws[:, 2] * draws[:, 3])
    found = verdicts(draws)
    expected = "depends on x[2] and x[3] together in a way that the target does not"
    assert found[0] == expected
    assert found[1] == "no misfit found"


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
    np.testing.assert_array_equal(rotated.tested, np.arange(100) >= 20)
    batches = _cut(1, 100, 1, independent=True)
    before = families(found.batch_sums(batches))["directions settings"].values
    moved = draws.copy()
    moved[:20] += 5.0
    other = dataclasses.replace(found, x=moved)
    after = families(other.batch_sums(batches))["directions settings"].values
    np.testing.assert_allclose(after, before, atol=1e-12)
    tested = draws.copy()
    tested[50] += 5.0
    other = dataclasses.replace(found, x=tested)
    after = families(other.batch_sums(batches))["directions settings"].values
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
    held = first.tested.reshape(2, 100) == 0
    assert held[:, :20].all()
    assert not held[:, 20:].any()
    np.testing.assert_array_equal(first.at[first.tested == 0], second.at[first.tested == 0])


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


def test_no_direction_without_correlation() -> None:
    """Catches a direction from chance alone, which tests the coordinates once more."""
    draws = np.random.default_rng(11).normal(size=(400, 3))
    result = sw.check(draws, STANDARD, n_bootstrap=99)
    assert len(result.coordinates) == 3


# -- the parts of the calibration that only this method uses ---------------------------------------


def test_tail_scores_are_monotone_and_agree_with_the_pool() -> None:
    """Catches a score that turns around, or stays flat, beyond the pool."""
    pool = np.random.default_rng(12).normal(size=500)
    values = np.linspace(-5, 12, 200)
    scores, again = tail_scores(values, pool, pool)
    assert (np.diff(scores) >= 0).all()
    assert (np.diff(scores[values > pool.max()]) > 0).all()
    np.testing.assert_allclose(
        np.exp(-np.sort(again))[::-1], (np.arange(500) + 0.5) / 500, atol=1e-9
    )


def test_evidence_that_does_not_exist_is_not_the_largest() -> None:
    """Catches ties that count as the far tail: a constant null then outdoes all other evidence."""
    zeros = np.zeros(200)
    observed, null = tail_scores(np.array([0.0, 1.0]), zeros, zeros)
    assert observed[0] == null[0] < 0.1
    assert observed[1] > observed[0]
    real = np.arange(200.0)
    observed, null = _together([(np.asarray(195.0), real), (np.asarray(0.0), zeros)])
    assert share_at_or_above(observed, null) == pytest.approx(6 / 201)


def _scales(rng: np.random.Generator, rows: int) -> list[np.ndarray]:
    """Dependent statistics of three very different laws, one column each."""
    z = rng.normal(size=(rows, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]])
    return [z[:, 0], 100 * np.exp(z[:, 1]), -1 / (0.1 + np.abs(z[:, 2]))]


def test_the_largest_of_several_kinds_of_evidence_is_calibrated() -> None:
    """Catches the least of three p-values, and a scale that one kind of evidence always wins."""
    rng = np.random.default_rng(13)
    pvalues, wins = [], np.zeros(3)
    for _ in range(1000):
        columns = _scales(rng, 200)
        candidates = [(np.asarray(c[0]), c[1:]) for c in columns]
        observed, null = _together(candidates)
        pvalues.append(float(share_at_or_above(observed, null)))
        scores = [tail_scores(one, other, other)[0] for one, other in candidates]
        wins[int(np.argmax(scores))] += 1
    assert stats.kstest(pvalues, "uniform").pvalue > 1e-3
    low, high = stats.binom.interval(0.999, 1000, 0.05)
    assert low <= np.sum(np.array(pvalues) <= 0.05) <= high
    assert wins.min() > 200
    lone = (np.asarray(1.0), np.arange(3.0))
    assert _together([lone]) is lone


def test_coordinates_are_judged_by_their_best_family() -> None:
    """Catches scales that differ between coordinates, so that a small one never decides."""
    rng = np.random.default_rng(14)
    hits = 0
    for _ in range(300):
        both = rng.normal(size=(200, 4)), np.exp(rng.normal(size=(200, 4)))
        z = {"a": both[0][0], "b": both[1][0]}
        null = {"a": both[0][1:], "b": both[1][1:]}
        scores, null_scores, deciding = _per_coordinate(z, null)
        assert set(deciding) <= {"a", "b"}
        hits += step_down(scores, null_scores).min() <= 0.05
    low, high = stats.binom.interval(0.999, 300, 0.05)
    assert low <= hits <= high
    z["a"] = z["a"].copy()
    z["a"][2] = 50.0
    scores, null_scores, deciding = _per_coordinate(z, null)
    assert deciding[2] == "a"
    assert scores.argmax() == 2


def test_groups_of_coordinates_are_judged_together() -> None:
    """Catches the families of one group that are asked about the coordinates of another."""
    rng = np.random.default_rng(15)
    batches = _cut(1, 60, 1, independent=True)

    def sums(family: str, group: str, k: int, shift: float, **options: bool) -> BatchSums:
        values = rng.normal(shift, 1.0, size=(2, k, 60))
        return BatchSums(values, batches, family, group, sparse=True, **options)

    blocks = [
        sums("axes settings", "axes", 3, 0.0),
        sums("dependence", "axes", 3, 0.0, dense=False, two_sided=True),
        sums("directions settings", "directions", 2, 2.0),
    ]
    found = calibrate(blocks, batches, 199, 0)
    assert found.pvalue == 1 / 200
    assert len(found.values) == len(found.deciding) == len(found.adjusted_pvalues) == 5
    assert {family for family, _ in found.deciding[3:]} == {"directions settings"}
    assert (found.adjusted_pvalues[3:] <= 0.05).all()
    assert (found.adjusted_pvalues[:3] > 0.05).all()
    assert set(found.largest_null) == {"axes settings", "dependence", "directions settings"}
