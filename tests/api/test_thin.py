"""Stein thinning and Stein points: indices against published and naive choices, and pathologies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import logsumexp

import steinwise as sw
from steinwise.api.points import _Search
from steinwise.optimise.preconditioned import Frame

PRECONDITIONERS = ("id", "med", "sclmed", "smpcov")
MEAN, COVARIANCE = np.array([0.2, 3.0, -1.0]), np.diag([1.0, 3.0, 30.0])
# of `seen()` with `sw.Gaussian(MEAN, COVARIANCE)`, by the Python package stein-thinning 0.2.0
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


def seen() -> np.ndarray:
    x = np.random.default_rng(12).normal(size=(300, 3)) * [1, 2, 5] + [0, 3, -1]
    x[7] = x[3]
    return x


def target() -> sw.Gaussian:
    return sw.Gaussian(MEAN, COVARIANCE)


def two_modes(weight: float, apart: float) -> sw.Target:
    """Two normal modes in the plane, at -apart and, with this weight, at +apart of an axis."""

    def log_density(x):
        both = jnp.stack([x.at[0].add(apart), x.at[0].add(-apart)])
        weights = jnp.array([1 - weight, weight])
        return logsumexp(jnp.log(weights) - 0.5 * jnp.sum(both**2, axis=1))

    return sw.Target(log_density)


def draws_of_two_modes(weight: float, apart: float, n: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(n, 2))
    x[:, 0] += np.where(rng.uniform(size=n) < weight, apart, -apart)
    return x


def stein_kernel(x, y, bx, by, matrix) -> float:
    """k_0 of one pair, from derivatives of the kernel as autodiff has them."""

    def kernel(x, y):
        return (1 + (x - y) @ matrix @ (x - y)) ** -0.5

    mixed = jax.jacfwd(jax.grad(kernel, 1), 0)(x, y)
    first = bx @ jax.grad(kernel, 1)(x, y) + by @ jax.grad(kernel, 0)(x, y)
    return bx @ by * kernel(x, y) + first + jnp.trace(mixed)


def gram(x: np.ndarray, b: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    over = jax.vmap(jax.vmap(stein_kernel, (None, 0, None, 0, None)), (0, None, 0, None, None))
    with jax.enable_x64(True):
        return np.asarray(jax.jit(over)(x, x, b, b, matrix))


def naive(pairs: np.ndarray, m: int, correction=0.0, tilt=0.0) -> list[int]:
    """The greedy choice with the whole matrix at hand."""
    chosen: list[int] = []
    for t in range(m):
        objective = np.diag(pairs) + 2 * pairs[:, chosen].sum(axis=1) + correction - (t + 1) * tilt
        chosen.append(int(np.argmin(objective)))
    return chosen


@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_the_published_package_chooses_the_same_draws(preconditioner, standardise) -> None:
    """Catches another kernel, scale, median or order of ties than those of Riabiz et al."""
    options = {"preconditioner": preconditioner, "standardise": standardise}
    found = sw.thin(seen(), target(), 12, regularised=False, **options)
    assert found.indices.tolist() == PUBLISHED[preconditioner, standardise]


@pytest.mark.parametrize("regularised", [False, True])
def test_the_greedy_choice_is_the_naive_one(regularised: bool) -> None:
    """Catches running sums that drift from the objective, and a term with a wrong weight or sign.

    A full matrix as preconditioner, a target with convex parts, and so many points that some are
    chosen twice.
    """
    x, density = draws_of_two_modes(0.7, 2.0, 60), two_modes(0.7, 2.0)
    matrix = np.array([[1.0, 0.4], [0.4, 0.5]])
    found = sw.thin(x, density, 80, preconditioner=matrix, regularised=regularised)
    scale = np.abs(x - x.mean(axis=0)).mean(axis=0)
    pairs = gram(x / scale, density.score(x) * scale, matrix)
    terms = {}
    if regularised:
        with jax.enable_x64(True):
            second = jax.vmap(lambda row: jnp.diag(jax.hessian(density.log_density)(row)))(x)
            values = np.asarray(jax.vmap(density.log_density)(x))
        terms["correction"] = np.maximum(np.asarray(second) * scale**2, 0).sum(axis=1)
        terms["tilt"] = values / 80
        assert terms["correction"].max() > 0.1
    assert found.indices.tolist() == naive(pairs, 80, **terms)
    chosen = pairs[np.ix_(found.indices, found.indices)]
    assert found.ksd[-1] == pytest.approx(chosen.mean())
    assert found.ksd[9] == pytest.approx(chosen[:10, :10].mean())


def test_the_ksd_is_that_of_the_house() -> None:
    """Catches a value on another scale than sw.ksd's."""
    x, density = seen(), sw.Gaussian([0, 0, 0], np.eye(3))
    found = sw.thin(x, density, 30, preconditioner="med", standardise=False)
    kernel = sw.kernels.IMQ(found.preconditioner[0, 0] ** -0.5)
    value = sw.functional.ksd(kernel, jnp.asarray(found.points), -jnp.asarray(found.points), "v")
    assert found.ksd[-1] == pytest.approx(float(value), rel=1e-4)  # float32 there


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
    found = sw.thin(x, sw.Gaussian(np.zeros(4), np.eye(4)), 40)
    assert (found.indices % 3 == 0).all()
    moved = sw.thin(x + 1e6, sw.Gaussian(np.full(4, 1e6), np.eye(4)), 40)
    assert (moved.indices == found.indices).all()


def test_chains_dependent_rows_and_samples_are_taken_as_they_are() -> None:
    """Catches a refusal of autocorrelated rows, and places that do not lead to the points."""
    walk = np.cumsum(np.random.default_rng(0).normal(size=(4, 50, 2)), axis=1)
    density = sw.Gaussian([0, 0], np.eye(2))
    found = sw.thin(walk, density, 30, names=["mu", "tau"])
    assert (walk[found.chains, found.draws] == found.points).all()
    assert (walk.reshape(-1, 2)[found.indices] == found.points).all()
    for same in (walk.reshape(-1, 2), sw.Samples.of(walk)):
        assert (sw.thin(same, density, 30).indices == found.indices).all()
    assert found.names == ("mu", "tau")
    assert "4 chains x 50 draws" in str(found)
    assert found.to_dict()["chains"] == found.chains.tolist()


def test_targets_of_all_kinds_choose_the_same() -> None:
    """Catches a log density or a second derivative that differs between kinds of targets."""
    x, density = seen(), target()
    precision = jnp.asarray(np.linalg.inv(COVARIANCE))
    kinds = [
        density,
        sw.Target(lambda row: -0.5 * (row - MEAN) @ precision @ (row - MEAN)),
        sw.Target.from_score(density.score, density.log_values),
    ]
    found = [sw.thin(x, kind, 20) for kind in kinds]
    assert all((one.indices == found[0].indices).all() for one in found)
    placed = [sw.points(x, kind, 3) for kind in kinds]
    assert all(np.allclose(one.points, placed[0].points, atol=1e-3) for one in placed)


def test_positive_curvature_is_a_sum_over_coordinates_that_bend_upwards() -> None:
    """Catches the positive part of the sum in place of the sum of positive parts."""
    x = np.random.default_rng(0).normal(size=(20, 3))
    density = sw.Target(lambda row: -(row[0] ** 4) + jnp.sin(row[1]) + row[0] * row[2])
    frame = Frame(np.array([1.0, 2.0, 3.0]), np.eye(3), "")
    found = frame.positive_curvature(density, x, 2**30)
    assert found == pytest.approx(4 * np.maximum(-np.sin(x[:, 1]), 0), abs=1e-6)


BAD = {
    "m": ({"m": 0}, "m is 0"),
    "preconditioner": ({"preconditioner": "cov"}, "preconditioner is 'cov'"),
    "shape": ({"preconditioner": np.eye(2)}, r"expected .* \(3, 3\)"),
    "indefinite": ({"preconditioner": -np.eye(3)}, "not symmetric and positive definite"),
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
        function(seen(), target(), **({"m": 5} | options))


def test_draws_that_give_no_preconditioner_are_refused() -> None:
    """Catches a division by 0 and an inverse of nothing."""
    x = seen()
    doubled = np.concatenate([x, x[:, :1] + x[:, 1:2]], axis=1)
    with pytest.raises(sw.InputError, match="singular"):
        sw.thin(doubled, sw.Gaussian(np.zeros(4), np.eye(4)), 5, preconditioner="smpcov")
    stuck = np.zeros((50, 3))
    stuck[0] = 1.0
    with pytest.raises(sw.InputError, match="median distance is 0"):
        sw.thin(stuck, target(), 5)


def test_a_target_without_a_usable_log_density_is_refused_with_the_fix() -> None:
    """Catches a regularisation that is silently left out."""
    scores_only = sw.Target.from_score(target().score)
    with pytest.raises(sw.TargetError, match="regularised=False"):
        sw.thin(seen(), scores_only, 5)
    assert len(sw.thin(seen(), scores_only, 5, regularised=False).points) == 5
    broken = sw.Target.from_score(target().score, lambda x: np.where(x[:, 0] > 0, -np.inf, 0.0))
    with pytest.raises(sw.TargetError, match="values of the log density are not finite"):
        sw.thin(seen(), broken, 5)


# -- Stein points --------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_the_slope_of_the_search_is_that_of_its_objective(weight: float) -> None:
    """Catches a wrong derivative, with which L-BFGS would stop at its start."""
    frame = Frame(np.array([1.0, 2.0]), np.array([[1.0, 0.4], [0.4, 0.5]]), "")
    search = _Search(frame, two_modes(0.7, 2.0), 2**30, True, weight)
    search.place(np.random.default_rng(0).normal(size=(10, 2)))
    search.place(np.random.default_rng(1).normal(size=(10, 2)))
    x, h = np.random.default_rng(2).normal(size=(4, 2)), 1e-5
    values, slopes = search._value_and_slope(x)
    assert values == pytest.approx(search._objective(x)[0])
    for j, step in enumerate(h * np.eye(2)):
        ahead, behind = (search._objective(x + s)[0] for s in (step, -step))
        assert slopes[:, j] == pytest.approx((ahead - behind) / (2 * h), abs=1e-5)


def test_points_of_a_normal_start_at_its_mode_and_spread_out() -> None:
    """Catches a search that stays at the candidates: the first minimiser of |b|^2 is the mean."""
    rough = np.random.default_rng(0).normal(2.0, 3.0, size=(100, 2))
    placed = sw.points(rough, sw.Gaussian([1.0, -1.0], np.diag([1.0, 4.0])), 40)
    assert placed.points[0] == pytest.approx([1.0, -1.0], abs=1e-3)
    assert placed.points.mean(axis=0) == pytest.approx([1.0, -1.0], abs=0.3)
    assert placed.points.std(axis=0) == pytest.approx([1.0, 2.0], rel=0.3)


def test_points_are_better_than_the_draws_and_the_same_for_the_same_seed() -> None:
    """Catches a search that makes things worse, and a random number from anywhere but the seed."""
    rough, density = np.random.default_rng(0).normal(size=(150, 3)), target()
    for regularised in (True, False):
        options = {"regularised": regularised, "standardise": False, "preconditioner": "id"}
        thinned = sw.thin(rough, density, 15, **options)
        placed = sw.points(rough, density, 15, **options)
        again = sw.points(rough, density, 15, **options)
        assert placed.ksd[-1] < 0.7 * thinned.ksd[-1]
        assert (placed.points == again.points).all()
        pairs = gram(placed.points, density.score(placed.points), np.eye(3))
        assert placed.ksd[-1] == pytest.approx(pairs.mean())
    assert "15, in 3 coordinates" in str(placed)


def test_points_refuse_a_bad_seed_and_too_few_candidates() -> None:
    with pytest.raises(sw.InputError, match="seed is -1"):
        sw.points(seen(), target(), 5, seed=-1)
    with pytest.raises(sw.InputError, match="candidates is 2"):
        sw.points(seen(), target(), 5, candidates=2)
