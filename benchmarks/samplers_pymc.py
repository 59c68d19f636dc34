"""Step methods of PyMC with their defaults, after 1000 steps of tuning, which are timed too."""

# the users' libraries are in .venv-adapters
# pyright: reportMissingImports=false

import logging
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pymc
import pytensor.tensor as pt
from pytensor.graph import Apply, Op

from benchmarks.long_chains import CHAINS
from benchmarks.survey_recipe import ADAPTATION, DRAWS, Recipe, on_host
from steinwise.testing import ExactTarget

logging.getLogger("pymc").setLevel(logging.ERROR)


class _Density(Op):
    """A JAX log density as an operation of PyTensor, with its gradient."""

    def __init__(self, log_density: Callable[[Any], Any]) -> None:
        self._value = on_host(log_density)
        self._slope = _Slope(log_density)

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [pt.dscalar()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:  # noqa: ARG002
        output_storage[0][0] = np.asarray(self._value(inputs[0]))

    def grad(self, inputs: Any, output_grads: Any) -> list[Any]:
        return [output_grads[0] * self._slope(inputs[0])]


class _Slope(Op):
    def __init__(self, log_density: Callable[[Any], Any]) -> None:
        self._slope = on_host(jax.grad(log_density))

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [pt.dvector()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:  # noqa: ARG002
        output_storage[0][0] = np.asarray(self._slope(inputs[0]))


def _recipe(step: Callable[..., Any], chains: int = CHAINS, **options: Any) -> Recipe:
    def prepare(target: ExactTarget) -> tuple[Callable[[int], np.ndarray], str]:
        density = _Density(target.log_density)

        def run(thin: int) -> np.ndarray:
            start = target.draw(1, chains)
            with pymc.Model():
                x = pymc.Flat("x", shape=target.dim)
                pymc.Potential("density", density(x))
                trace: Any = pymc.sample(
                    draws=DRAWS // chains * thin,
                    tune=ADAPTATION,
                    step=step(**options),
                    chains=chains,
                    cores=1,
                    random_seed=1,
                    initvals=[{"x": x} for x in start],
                    progressbar=False,
                    compute_convergence_checks=False,
                    return_inferencedata=False,
                )
            draws = np.stack(trace.get_values("x", combine=False))
            return draws[:, thin - 1 :: thin]

        return run, f"{chains} chains of one population" if chains > CHAINS else "defaults"

    return Recipe(prepare, most_thinning=10)


RECIPES: dict[str, Recipe] = {
    "NUTS": _recipe(pymc.NUTS),
    "HamiltonianMC": _recipe(pymc.HamiltonianMC),
    "Metropolis": _recipe(pymc.Metropolis),
    "DEMetropolisZ": _recipe(pymc.DEMetropolisZ),
    "DEMetropolis": _recipe(pymc.DEMetropolis, chains=20),
    "Slice": _recipe(pymc.Slice),
}
