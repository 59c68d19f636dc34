"""NUTS of nutpie with its defaults, whose adaptation is timed too."""

# the users' libraries are in .venv-adapters, and nutpie is installed there as well
# pyright: reportMissingImports=false

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import nutpie

from benchmarks.long_chains import CHAINS
from benchmarks.survey_recipe import DRAWS, Recipe, on_host
from steinwise.testing import ExactTarget


def _recipe(**options: Any) -> Recipe:
    def prepare(target: ExactTarget) -> tuple[Callable[[int], np.ndarray], str]:
        density = on_host(jax.value_and_grad(target.log_density))
        model = nutpie.compiled_pyfunc.from_pyfunc(
            target.dim,
            lambda: density,
            lambda *_: lambda x: {"x": x},
            [np.dtype("float64")],
            [(target.dim,)],
            ["x"],
            make_initial_point_fn=lambda seed: target.draw(int(seed) % 2**32, 1)[0],
        )

        def run(thin: int) -> np.ndarray:
            draws = nutpie.sample(
                model,
                draws=DRAWS // CHAINS * thin,
                chains=CHAINS,
                cores=1,
                seed=1,
                save_warmup=False,
                progress_bar=False,
                **options,
            )
            return draws.posterior["x"].to_numpy()[:, thin - 1 :: thin]

        return run, "defaults"

    return Recipe(prepare, most_thinning=10)


RECIPES: dict[str, Recipe] = {
    "NUTS": _recipe(),
    "NUTS, low-rank mass matrix": _recipe(low_rank_modified_mass_matrix=True),
}
