"""The samplers of the survey that need other libraries: each recipe gives draws of its target."""

from importlib import import_module, util

import numpy as np
import pytest

from benchmarks.long_chains import CHAINS, WALKERS
from benchmarks.survey_recipe import Recipe
from steinwise.testing import targets

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
