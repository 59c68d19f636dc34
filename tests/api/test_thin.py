"""sw.thin: indices against the published package, and what it does with modes, ties and chains."""

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from tests.optimise.cases import (
    COVARIANCE,
    MEAN,
    draws_of_two_modes,
    gaussian,
    two_modes,
    wide_draws,
)

PRECONDITIONERS = ("id", "med", "sclmed", "smpcov")
# of `wide_draws()` with `sw.Gaussian(MEAN, COVARIANCE)`, by the Python package stein-thinning 0.2.0
PUBLISHED = {
    ("id", True): [228, 35, 97, 167, 115, 123, 266, 194, 40, 10, 175, 76],
    ("id", False): [228, 20, 213, 254, 260, 201, 184, 107, 243, 247, 80, 32],
    ("med", True): [228, 292, 97, 167, 152, 155, 234, 191, 15, 201, 162, 13],
    ("med", False): [228, 254, 260, 232, 213, 270, 198, 34, 17, 115, 281, 113],
    ("sclmed", True): [228, 35, 97, 167, 244, 96, 111, 194, 40, 265, 201, 222],
    ("sclmed", False): [228, 292, 268, 198, 76, 113, 107, 184, 17, 264, 80, 44],
    ("smpcov", True): [228, 35, 97, 61, 139, 49, 99, 10, 247, 195, 265, 187],
    ("smpcov", False): [228, 229, 172, 115, 17, 175, 161, 195, 155, 201, 53, 215],
}


@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_the_published_package_chooses_the_same_draws(preconditioner, standardise) -> None:
    """Catches another kernel, scale, median or order of ties than those of Riabiz et al."""
    options = {"preconditioner": preconditioner, "standardise": standardise}
    thinned = sw.thin(wide_draws(), gaussian(), 12, regularised=False, **options)
    assert thinned.indices.tolist() == PUBLISHED[preconditioner, standardise]


def test_the_ksd_is_that_of_sw_ksd() -> None:
    """Catches a value on another scale than sw.ksd's."""
    x, density = wide_draws(), sw.Gaussian([0, 0, 0], np.eye(3))
    thinned = sw.thin(x, density, 30, preconditioner="med", standardise=False)
    kernel = sw.kernels.IMQ(thinned.preconditioner[0, 0] ** -0.5)
    value = sw.functional.ksd(
        kernel, jnp.asarray(thinned.points), -jnp.asarray(thinned.points), "v"
    )
    assert thinned.ksd[-1] == pytest.approx(float(value), rel=1e-4)  # float32 there


def test_modes_get_their_weights_only_with_regularisation() -> None:
    """Catches a regularisation that does nothing: without it a mode of 0.8 gets half the points."""
    x, density = draws_of_two_modes(0.8, 3.0, 2000), two_modes(0.8, 3.0)
    plain, regularised = (sw.thin(x, density, 60, regularised=r) for r in (False, True))
    assert (plain.points[:, 0] > 0).mean() < 0.65
    assert abs((regularised.points[:, 0] > 0).mean() - 0.8) < 0.1


def test_a_saddle_between_modes_is_passed_over_only_with_regularisation() -> None:
    """Catches a Laplacian correction with the wrong sign: at 0 the score is 0, and p convex."""
    x, density = draws_of_two_modes(0.5, 3.0, 500), two_modes(0.5, 3.0)
    x[100] = 0.0
    plain = sw.thin(x, density, 10, regularised=False)
    corrected = sw.thin(x, density, 10, regularised=True, entropy=0)
    assert 100 in plain.indices
    assert 100 not in corrected.indices


def test_the_first_of_equal_draws_is_chosen_and_far_away_is_no_trouble() -> None:
    """Catches ties that rounding breaks, and squares that lose their digits far from 0."""
    x = np.repeat(np.random.default_rng(1).normal(size=(101, 4)), 3, axis=0)
    thinned = sw.thin(x, sw.Gaussian(np.zeros(4), np.eye(4)), 40)
    assert (thinned.indices % 3 == 0).all()
    moved = sw.thin(x + 1e6, sw.Gaussian(np.full(4, 1e6), np.eye(4)), 40)
    assert (moved.indices == thinned.indices).all()


def test_chains_dependent_rows_and_samples_are_taken_as_they_are() -> None:
    """Catches a refusal of autocorrelated rows, and places that do not lead to the points."""
    chains = np.cumsum(np.random.default_rng(0).normal(size=(4, 50, 2)), axis=1)
    density = sw.Gaussian([0, 0], np.eye(2))
    thinned = sw.thin(chains, density, 30, names=["mu", "tau"])
    assert (chains[thinned.chains, thinned.draws] == thinned.points).all()
    assert (chains.reshape(-1, 2)[thinned.indices] == thinned.points).all()
    for same in (chains.reshape(-1, 2), sw.Samples.of(chains)):
        assert (sw.thin(same, density, 30).indices == thinned.indices).all()
    assert thinned.names == ("mu", "tau")
    assert "4 chains x 50 draws" in str(thinned)
    assert thinned.to_dict()["chains"] == thinned.chains.tolist()


def test_targets_of_all_kinds_choose_the_same() -> None:
    """Catches a log density or a second derivative that differs between kinds of targets."""
    x, density = wide_draws(), gaussian()
    precision = jnp.asarray(np.linalg.inv(COVARIANCE))
    kinds = [
        density,
        sw.Target(lambda row: -0.5 * (row - MEAN) @ precision @ (row - MEAN)),
        sw.Target.from_score(density.score, density.log_values),
    ]
    thinned = [sw.thin(x, kind, 20) for kind in kinds]
    assert all((each.indices == thinned[0].indices).all() for each in thinned)
    placed = [sw.points(x, kind, 3) for kind in kinds]
    assert all(np.allclose(each.points, placed[0].points, atol=1e-3) for each in placed)


BAD = {
    "m": ({"m": 0}, "m is 0"),
    "preconditioner": ({"preconditioner": "cov"}, "preconditioner is 'cov'"),
    "shape": ({"preconditioner": np.eye(2)}, r"expected .* \(3, 3\)"),
    "indefinite": ({"preconditioner": -np.eye(3)}, "not positive definite"),
    "standardise": ({"standardise": "yes"}, "standardise is 'yes'"),
    "regularised": ({"regularised": 1}, "regularised is 1"),
    "entropy": ({"entropy": -1.0}, "entropy is -1.0"),
    "lone entropy": ({"entropy": 1.0, "regularised": False}, "pass regularised=True"),
    "memory": ({"memory": "much"}, "memory is 'much'"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("function", [sw.thin, sw.points])
def test_bad_options_are_answered_at_the_border(function, name) -> None:
    options, message = BAD[name]
    with pytest.raises(sw.InputError, match=message):
        function(wide_draws(), gaussian(), **({"m": 5} | options))


def test_a_preconditioner_may_be_asymmetric_by_rounding() -> None:
    """Catches an inverse that is refused for a last digit."""
    x, rounded = np.random.default_rng(0).normal(size=(50, 2)), np.eye(2)
    rounded[0, 1] = 1e-17
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    one, other = (sw.thin(x, target, 5, preconditioner=L) for L in (rounded, np.eye(2)))
    np.testing.assert_array_equal(one.indices, other.indices)


def test_draws_that_give_no_preconditioner_are_refused() -> None:
    """Catches a division by 0 and an inverse of nothing."""
    x = wide_draws()
    doubled = np.concatenate([x, x[:, :1] + x[:, 1:2]], axis=1)
    with pytest.raises(sw.InputError, match="singular"):
        sw.thin(doubled, sw.Gaussian(np.zeros(4), np.eye(4)), 5, preconditioner="smpcov")
    stuck = np.zeros((50, 3))
    stuck[0] = 1.0
    with pytest.raises(sw.InputError, match="median distance is 0"):
        sw.thin(stuck, gaussian(), 5)


def test_a_target_without_a_usable_log_density_is_refused_with_the_fix() -> None:
    """Catches a regularisation that is silently left out."""
    scores_only = sw.Target.from_score(gaussian().score)
    with pytest.raises(sw.TargetError, match="regularised=False"):
        sw.thin(wide_draws(), scores_only, 5)
    assert len(sw.thin(wide_draws(), scores_only, 5, regularised=False).points) == 5
    broken = sw.Target.from_score(gaussian().score, lambda x: np.where(x[:, 0] > 0, -np.inf, 0.0))
    with pytest.raises(sw.TargetError, match="values of the log density are not finite"):
        sw.thin(wide_draws(), broken, 5)


def test_scores_at_the_draws_are_enough_without_the_regularisation() -> None:
    """Catches a refusal that lists methods of sw.check in place of the option that helps."""
    x = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(sw.InputError, match="Pass regularised=False, for which these are enough"):
        sw.thin(x, sw.Target.at_draws(-x), 5)
    assert len(sw.thin(x, sw.Target.at_draws(-x), 5, regularised=False).indices) == 5


def test_draws_that_bring_their_density_and_more_points_than_draws():
    """Catches "51 of 50 draws"."""
    pair = (
        sw.Samples.of(np.random.default_rng(0).normal(size=(50, 2))),
        sw.Gaussian([0, 0], np.eye(2)),
    )
    assert len(sw.thin(pair, m=5).indices) == 5
    assert "51 points chosen from 50 draws, some of them more than once" in str(
        sw.thin(*pair, m=51)
    )
