"""The samplers of the survey that need other libraries: each recipe gives draws of its target."""

from importlib import import_module, util

import numpy as np
import pytest

from benchmarks.long_chains import CHAINS, WALKERS
from benchmarks.survey_recipe import Recipe
from steinwise.testing import check_invariance, targets

DRAWS = 400


def one_of(library: str, sampler: str, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    if library == "nutpie" and not util.find_spec("nutpie"):
        pytest.skip("nutpie is not among the pinned packages")
    module = import_module(f"benchmarks.samplers_{library}")
    monkeypatch.setattr(module, "DRAWS", DRAWS)
    return module.RECIPES[sampler]


@pytest.mark.filterwarnings("ignore")  # what the libraries warn of is not ours
@pytest.mark.parametrize(
    ("library", "sampler", "chains"),
    [
        ("numpyro", "HMC", CHAINS),
        ("numpyro", "AIES, stretch", WALKERS),
        ("emcee", "stretch", WALKERS),
        ("pymc", "DEMetropolisZ", CHAINS),
        ("pymc", "HamiltonianMC", CHAINS),
        ("nutpie", "NUTS", CHAINS),
    ],
)
def test_a_recipe_gives_thinned_draws_of_its_target(library, sampler, chains, monkeypatch):
    """Catches a density with a wrong sign or gradient, mixed-up axes, and draws that are lost."""
    (target,) = targets("correlated normal")
    run, settings = one_of(library, sampler, monkeypatch).make(target)
    draws = run(5)
    assert draws.shape == (chains, DRAWS // chains, target.dim)
    assert settings
    pooled = draws.reshape(-1, target.dim)
    # 400 draws that may be worth as few as 40: five standard errors of the mean
    assert (abs(pooled.mean(axis=0) - target.mean) < 0.8 * target.sd).all()
    np.testing.assert_allclose(pooled.std(axis=0) / target.sd, 1.0, atol=0.5)


def test_the_factor_that_sa_is_compared_with_is_the_right_one():
    """By hand: 4 + 5 = 9 in one dimension, and a factor of L L' + x x' in two."""
    anew = import_module("benchmarks.numpyro_sa").computed_anew
    assert float(anew(np.array([[2.0]]), np.array([1.0]), 5.0)[0, 0]) == pytest.approx(3.0)
    factor, x = np.array([[1.0, 0.0], [0.5, 2.0]]), np.array([1.0, -1.0])
    updated = np.asarray(anew(factor, x))
    np.testing.assert_allclose(updated @ updated.T, factor @ factor.T + np.outer(x, x), rtol=1e-5)
    assert updated[0, 1] == 0


def test_the_published_snooker_moves_along_the_line_through_another_walker():
    """Catches a wrong power: on a line through z, volumes grow with distance^(d - 1)."""
    move = import_module("benchmarks.emcee_snooker").Published()
    walker, z = np.array([[3.0, 0.0, 4.0]]), np.zeros((1, 3))
    proposed, log_factors = move.get_proposal(walker, [z, z, z], np.random.RandomState(0))
    np.testing.assert_allclose(proposed, walker)  # z1 = z2: it stays
    others = [np.zeros((1, 3)), np.zeros((1, 3)), np.array([[0.3, 0.1, 0.4]])]
    for seed in range(10):
        random = np.random.RandomState(seed)
        proposed, log_factors = move.get_proposal(walker, others, random)
        candidates = [np.zeros(3), others[2][0]]
        ratios = [
            np.linalg.norm(proposed[0] - z) / np.linalg.norm(walker[0] - z) for z in candidates
        ]
        assert min(abs(log_factors[0] - 2 * np.log(ratio)) for ratio in ratios) < 1e-12


@pytest.mark.parametrize("placed", [True, False])
def test_multinomial_hmc_needs_trajectories_at_a_random_place(placed):
    """Catches a wrong leapfrog, and a version that is as wrong as the one it is compared with."""
    written_out = import_module("benchmarks.blackjax_multinomial").written_out
    (target,) = targets("Student t")
    sampler = written_out(target, 2.0, np.ones(2), placed=placed)
    assert check_invariance(sampler.step, target, chains=2000).passed is placed
