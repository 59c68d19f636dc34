"""Directions: where they come from, who is held out, and what they are called."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import steinwise as sw
from steinwise._internal import threads
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import cut_by_length
from steinwise.draws.samples import Samples
from steinwise.methods.complete_conditionals.line_sets import direction_lines, most_directions
from steinwise.methods.complete_conditionals.statistic import LineStatistic
from steinwise.methods.transported import Transported

STANDARD = sw.Gaussian(np.zeros(3), np.eye(3))


def along_directions(statistic: LineStatistic) -> np.ndarray:
    """The sums of all draws, each a batch, alone."""
    batches = cut_by_length(1, statistic.samples.n, 1, independent=True)
    found = {sums.family: sums for sums in statistic.batch_sums(batches)}
    return found["lines: directions alone"].values


def long(d: int) -> np.ndarray:
    """Covariance with all correlations 0.999."""
    return 0.999 + 0.001 * np.eye(d)


def test_held_out_draws_take_no_part_in_the_test_of_directions() -> None:
    """Catches directions tested on the draws that they come from: a level of 0.4 and more."""
    covariance = long(4)
    draws = np.random.default_rng(8).multivariate_normal(np.zeros(4), covariance, 100)
    target = sw.Gaussian(np.zeros(4), covariance)
    samples, run = Samples.of(draws, independent=True), RunOptions()
    found = next(Transported().prepare(samples, target, run)).statistic(target, run)
    _, rotated = found.line_sets
    assert rotated.group == "directions"
    np.testing.assert_array_equal(rotated.held_out.tested(np.arange(100)), np.arange(100) >= 20)
    before = along_directions(found)
    moved = draws.copy()
    moved[:20] += 5.0
    other = dataclasses.replace(found, samples=Samples.of(moved, independent=True))
    after = along_directions(other)
    np.testing.assert_allclose(after, before, atol=1e-12)
    tested = draws.copy()
    tested[50] += 5.0
    other = dataclasses.replace(found, samples=Samples.of(tested, independent=True))
    after = along_directions(other)
    assert np.abs(after - before).max() > 1e-3


def test_directions_come_from_the_held_out_draws_of_every_chain_only() -> None:
    """Catches directions, or their origin and scale, that know of the tested draws."""
    chains = np.random.default_rng(9).multivariate_normal(np.zeros(3), long(3), (2, 100))
    first = direction_lines(Samples.of(chains))
    moved = chains.copy()
    moved[:, 20:] *= [1.0, 3.0, -2.0]
    second = direction_lines(Samples.of(moved))
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first.directions, second.directions)
    held = ~first.held_out.tested(np.arange(200)).reshape(2, 100)
    assert held[:, :20].all()
    assert not held[:, 20:].any()
    x = chains[:, :20].reshape(-1, 3)
    np.testing.assert_array_equal(first.positions(x), second.positions(x))


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
        direction = sw.check(draws + sign, target, independent=True)["direction 1"]
        assert " + x[" in direction.name
        assert direction.effect is not None
        assert direction.effect.conditional_shift * sign > 0.5


def test_no_direction_without_correlation() -> None:
    """Catches a direction from chance alone, which tests the coordinates once more."""
    draws = np.random.default_rng(11).normal(size=(400, 3))
    result = sw.check(draws, STANDARD, n_bootstrap=99)
    assert len(result.coordinates) == 3


def test_the_decomposition_runs_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches BLAS threads that spin for a small matrix: half of the time of a small check."""
    limits, at_decomposition, eigh = [], [], np.linalg.eigh

    class Controller:
        @contextmanager
        def limit(self, **options: object) -> Iterator[None]:
            limits.append(options)
            yield
            limits.pop()

    def decompose(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at_decomposition.append(list(limits))
        return eigh(matrix)

    monkeypatch.setattr(threads, "_controller", Controller)
    monkeypatch.setattr(np.linalg, "eigh", decompose)
    draws = np.random.default_rng(12).multivariate_normal(np.zeros(3), long(3), 200)
    assert direction_lines(Samples.of(draws, independent=True)) is not None
    assert at_decomposition == [[{"limits": 1, "user_api": "blas"}]]


def test_counting_directions_does_not_touch_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches the limit on a function that computes nothing, as it once was."""
    monkeypatch.setattr(threads, "_controller", lambda: pytest.fail("the threads were limited"))
    assert [most_directions(d) for d in (1, 2, 50)] == [0, 2, 10]


def test_more_coordinates_than_held_out_draws_have_directions_too() -> None:
    """Catches a decomposition of a matrix that is as wide as there are coordinates."""
    rng = np.random.default_rng(15)
    draws = rng.normal(size=(150, 80)) + 3 * rng.normal(size=(150, 1))  # 30 are held out
    lines = direction_lines(Samples.of(draws, independent=True))
    assert lines is not None
    held_out = draws[:30] - draws[:30].mean(axis=0)
    leading = np.linalg.eigh(np.cov((held_out / held_out.std(axis=0)).T))[1][:, -1]
    assert abs(lines.directions[0] / held_out.std(axis=0) @ leading) == pytest.approx(1.0)


def test_no_direction_where_a_held_out_coordinate_never_moves() -> None:
    """Catches a division by a spread of 0: a discrete coordinate, or a chain that starts stuck."""
    draws = np.random.default_rng(16).multivariate_normal(np.zeros(3), long(3), 200)
    assert direction_lines(Samples.of(draws, independent=True)) is not None
    draws[:40, 1] = 0.5
    assert direction_lines(Samples.of(draws, independent=True)) is None


def test_the_error_along_a_direction_is_that_of_the_sum_of_its_coordinates() -> None:
    """Catches weights of another direction, or in other units."""
    covariance = np.array([[1.0, 0.9], [0.9, 1.0]]) * np.outer([1.0, 5.0], [1.0, 5.0])
    draws = np.random.default_rng(3).multivariate_normal([0, 0], 4 * covariance, 1000)
    result = sw.check(draws, sw.Gaussian([0.0, 0.0], covariance))
    direction = result["direction 1"]
    assert direction.marginal is not None
    assert direction.marginal.sd_ratio == pytest.approx(2.0, abs=0.15)
    assert direction.verdict.startswith("draws are too wide")


@pytest.mark.parametrize("independent", [True, False])
def test_held_out_draws_stay_held_out_when_only_some_are_followed(independent: bool) -> None:
    """Catches draws of all chains as one that are held out of every chain again."""
    chains = np.random.default_rng(10).multivariate_normal(np.zeros(3), long(3), (4, 103))
    samples = Samples.of(chains, independent=independent)
    lines = direction_lines(samples)
    assert lines is not None
    fewer = samples.thinned(5)
    some = lines.thinned(5, fewer.n_chains, fewer.n_draws)
    followed = np.arange(samples.n).reshape(4, -1)[:, ::5].ravel()
    expected = lines.held_out.tested(followed)
    np.testing.assert_array_equal(some.held_out.tested(np.arange(fewer.n)), expected)
    assert some.of_draws is not None
    again = some.scores(some.positions(fewer.take(np.arange(fewer.n))))
    np.testing.assert_allclose(some.of_draws.T, again, atol=1e-6)
