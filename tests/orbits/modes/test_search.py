"""Which modes a search finds, and what it says of the rest."""

import numpy as np
import pytest

import steinwise as sw
from steinwise.orbits.modes.search import MOST_COORDINATES, FoundModes, find_modes
from steinwise.orbits.modes.symmetry import symmetric_groups
from tests.mixtures import NormalMixture, two_apart

MEMORY = 2**28


def search(mixture: NormalMixture, draws: np.ndarray, seed: int = 0) -> FoundModes:
    found = find_modes(mixture.target, draws, None, seed, MEMORY)
    assert found is not None
    return found


@pytest.mark.parametrize("d", [2, 20, 50])
def test_a_mode_that_no_draw_is_in_is_found(d: int) -> None:
    mixture = two_apart(d)
    found = search(mixture, np.random.default_rng(d).normal(size=(40, d)))
    assert len(found.peaks) == 2
    nearest = np.abs(found.peaks[:, None] - mixture.means).max(axis=2).min(axis=0)
    np.testing.assert_allclose(nearest, 0.0, atol=0.02)


@pytest.mark.parametrize("d", [4, 20])
def test_every_mode_that_held_out_draws_are_in_is_found(d: int) -> None:
    """Three modes of unequal widths: of draws that were all spread out, few are in the narrow one.

    With starts of that kind alone, a third of the searches missed a mode with a fifth of the draws.
    """
    means = 12 * np.random.default_rng(4).normal(size=(3, d))
    mixture = NormalMixture([0.2, 0.3, 0.5], means, [1.0, 0.5, 3.0])
    for seed in range(12):
        found = search(mixture, mixture.draws(np.random.default_rng(seed), 60))
        assert len(found.peaks) == 3


def test_the_same_seed_finds_the_same() -> None:
    draws = np.random.default_rng(0).normal(size=(40, 3))
    one, other = (search(two_apart(3), draws, seed=5) for _ in range(2))
    assert one.maps is not None
    assert other.maps is not None
    np.testing.assert_array_equal(one.maps.factors, other.maps.factors)
    np.testing.assert_array_equal(one.peaks, other.peaks)


def test_a_shoulder_is_no_mode() -> None:
    """Two densities 2.5 sds apart have two maxima with a valley of a tenth of a nat."""
    mixture = NormalMixture([0.5, 0.5], [[0.0, 0.0], [2.5, 0.0]], [1.0, 1.0])
    found = search(mixture, mixture.draws(np.random.default_rng(0), 60))
    assert len(found.peaks) == 1
    assert found.maps is None
    assert found.counts.shoulders > 0


def test_a_ring_is_a_ridge_and_no_collection_of_modes() -> None:
    def log_density(x: np.ndarray) -> np.ndarray:
        return -2 * (np.linalg.norm(x, axis=1) - 5) ** 2

    def score(x: np.ndarray) -> np.ndarray:
        size = np.linalg.norm(x, axis=1, keepdims=True)
        return -4 * (size - 5) * x / size

    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, size=60)
    draws = 5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    target = sw.Target.from_score(score, log_density)
    found = find_modes(target, draws, None, 0, MEMORY)
    assert found is not None
    assert found.maps is None
    assert found.counts.flat > 1


def test_exchangeable_coordinates_make_copies() -> None:
    means = [[0.0, 8.0], [8.0, 0.0]]
    draws = np.random.default_rng(0).normal(size=(40, 2)) + means[0]
    copies = search(NormalMixture([0.5, 0.5], means, [1.0, 1.0]), draws)
    assert copies.groups.tolist() == [0, 0]
    apart = search(NormalMixture([0.6, 0.4], means, [1.0, 1.0]), draws)
    assert apart.groups.tolist() == [0, 1]


def test_exchangeable_blocks_make_copies_though_some_of_their_coordinates_are_equal() -> None:
    """Means and log widths of two components that are equally wide, their labels exchanged.

    By their values at the peaks, either log width could be the partner of the other.
    """
    half = np.random.default_rng(0).normal(size=30)
    data = np.concatenate([half - 4, 4 - half])

    def parts(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        residual = (data[:, None] - x[:, None, :2]) / np.exp(x[:, None, 2:])
        return residual, -(residual**2) / 2 - x[:, None, 2:]

    def log_density(x: np.ndarray) -> np.ndarray:
        logs = parts(x)[1]
        return np.logaddexp(logs[..., 0], logs[..., 1]).sum(axis=1) - (x**2).sum(axis=1) / 50

    def score(x: np.ndarray) -> np.ndarray:
        residual, logs = parts(x)
        share = (1 + np.tanh((logs - logs[..., ::-1]) / 2)) / 2
        of_means = (share * residual).sum(axis=1) / np.exp(x[:, 2:])
        return np.concatenate([of_means, (share * (residual**2 - 1)).sum(axis=1)], axis=1) - x / 25

    peaks = np.array([[4.118, -4.118, -0.212, -0.211], [-4.118, 4.118, -0.212, -0.211]])
    probes = peaks[0] + 0.2 * np.random.default_rng(1).normal(size=(8, 4))
    scale = np.array([4.0, 4.0, 0.2, 0.2])
    groups = symmetric_groups(peaks, probes, lambda x: (log_density(x), score(x)), scale)
    assert groups.tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(10))
def test_a_reflection_makes_no_copies_though_other_coordinates_can_be_exchanged(seed: int) -> None:
    """The peaks are known up to the ends of climbs; an exchange of the others changes nothing."""
    means = np.zeros((2, 5))
    means[:, 0] = 6.0, -6.0
    mixture, rng = NormalMixture([0.5, 0.5], means, [1.0, 1.0]), np.random.default_rng(seed)
    peaks, probes = means + 0.01 * rng.normal(size=(2, 5)), rng.normal(size=(8, 5))

    def function(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return mixture.log_density(x), mixture.score(x)

    assert symmetric_groups(peaks, probes, function, np.ones(5)).tolist() == [0, 1]


def test_many_modes_are_bounded_and_counted() -> None:
    means = 10.0 * np.stack(np.meshgrid(np.arange(7), np.arange(7)), axis=-1).reshape(-1, 2)
    mixture = NormalMixture(np.full(49, 1 / 49), means, np.ones(49))
    found = search(mixture, mixture.draws(np.random.default_rng(0), 200))
    assert len(found.peaks) == 16
    assert 0 < found.counts.left_out <= 49 - 16  # each once, from however many starts


def test_no_log_density_no_search() -> None:
    target = sw.Target.from_score(lambda x: -x)
    assert find_modes(target, np.zeros((10, 2)), None, 0, MEMORY) is None
    many = np.zeros((10, MOST_COORDINATES + 1))
    assert find_modes(two_apart(len(many[0])).target, many, None, 0, MEMORY) is None
