"""Moves of emcee with their defaults, each with 20 walkers, all looked at as chains."""

# the users' libraries are in .venv-adapters
# pyright: reportMissingImports=false

from collections.abc import Callable
from typing import Any

import emcee
import jax
import numpy as np

from benchmarks.long_chains import WALKERS, WARMUP
from benchmarks.survey_recipe import DRAWS, Recipe, on_host
from steinwise.testing import ExactTarget


def _recipe(move: Callable[[], Any]) -> Recipe:
    def prepare(target: ExactTarget) -> tuple[Callable[[int], np.ndarray], str]:
        density = on_host(jax.vmap(target.log_density))

        def run(thin: int) -> np.ndarray:
            ensemble = emcee.EnsembleSampler(
                WALKERS, target.dim, density, moves=move(), vectorize=True
            )
            ensemble.random_state = np.random.RandomState(1).get_state()
            steps = WARMUP + DRAWS // WALKERS
            ensemble.run_mcmc(target.draw(1, WALKERS), steps, thin_by=thin)
            return ensemble.get_chain(discard=WARMUP).swapaxes(0, 1)

        return run, f"{WALKERS} walkers"

    return Recipe(prepare)


RECIPES: dict[str, Recipe] = {
    "stretch": _recipe(emcee.moves.StretchMove),
    "differential evolution": _recipe(emcee.moves.DEMove),
    "snooker": _recipe(emcee.moves.DESnookerMove),
    "walk": _recipe(emcee.moves.WalkMove),
    "KDE": _recipe(emcee.moves.KDEMove),
}
