"""Samplers of NumPyro with their defaults, after 1000 steps of adaptation, which are timed too.

Its ensembles have 20 walkers, all of which are looked at, each as a chain.
"""

# the users' libraries are in .venv-adapters
# pyright: reportMissingImports=false

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from numpyro.infer import AIES, ESS, HMC, NUTS, SA, BarkerMH

from benchmarks.long_chains import WALKERS, Sampler, chain_runner, ensemble_runner
from benchmarks.survey_recipe import ADAPTATION, DRAWS, Recipe
from steinwise.testing import ExactTarget


def _recipe(kernel: Callable[..., Any], settings: str = "defaults", **options: Any) -> Recipe:
    def prepare(target: ExactTarget) -> tuple[Callable[[int], np.ndarray], str]:
        made = kernel(potential_fn=lambda x: -target.log_density(x), **options)
        together = made.is_ensemble_kernel

        def step(_: Any, state: Any) -> Any:  # its state has a key of its own
            return made.sample(state, (), {})

        def adapted(key: Any, x: Any) -> Any:
            keys = jax.random.split(key, WALKERS) if together else key
            state = made.init(keys, ADAPTATION, x, (), {})
            return jax.lax.fori_loop(0, ADAPTATION, lambda _, state: step(None, state), state)

        runner = ensemble_runner if together else chain_runner
        run = runner(target, Sampler(step, adapted, lambda state: state.z), DRAWS)
        return run, f"{WALKERS} walkers" if together else settings

    return Recipe(prepare)


RECIPES: dict[str, Recipe] = {
    "NUTS": _recipe(NUTS),
    "HMC": _recipe(HMC),
    "HMC, shorter": _recipe(HMC, "trajectory pi / 2, not 2 pi", trajectory_length=np.pi / 2),
    "BarkerMH": _recipe(BarkerMH),
    "SA": _recipe(SA),
    "AIES, differential evolution": _recipe(AIES),
    "AIES, stretch": _recipe(AIES, moves={AIES.StretchMove(): 1.0}),
    "ESS, differential": _recipe(ESS),
    "ESS, Gaussian": _recipe(ESS, moves={ESS.GaussianMove(): 1.0}),
    "ESS, KDE": _recipe(ESS, moves={ESS.KDEMove(): 1.0}),
    "ESS, random": _recipe(ESS, moves={ESS.RandomMove(): 1.0}),
}
