"""Figure 3, right: block KCC-SD of a Gibbs sampler for matrix factorisation, along its run.

The paper takes y from the sampler's own conditionals, which are the target's: the mean over y is 0
for every state, converged or not. The control freezes the state at the start and draws only y.
Beside it stands a Stein identity that does see non-convergence (`models.factorisation.imbalance`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from steinwise.samplers import AbstractSampler

from experiments.data import movielens
from experiments.engine.tasks import Cell, Found, Outcome, Panel, Seconds, Task, cell
from experiments.models.factorisation import Factorisation, State, imbalance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE, RANK = (943, 1682), 10
STARTS = {"small": 0.1, "prior": 1.0}  # the scale of N(0, I), for all blocks
THIN = 5
HELD_OUT = 2000  # ratings
CHECKPOINTS = 48


class Frozen(AbstractSampler):
    """The control: a chain that never moves."""

    def step(self, key: Array, x: State) -> State:  # noqa: ARG002
        return x


class Watch(eqx.Module):
    """What is kept of a state: some numbers in place of 26,270."""

    model: Factorisation
    user: np.ndarray
    movie: np.ndarray

    def __call__(self, key: Array, x: State) -> dict[str, Array]:
        d, scale = imbalance(x)
        return {
            "contribution": self.model.contribution(key, x),
            "imbalance": jnp.sum(d**2) / scale,
            "log_posterior": self.model.log_density(x),
            "predicted": jnp.sum(x["U"][self.user] * x["V"][self.movie], axis=1),
        }


def simulated(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Ratings of a model of the same kind, small, for a run in seconds without the data."""
    users, movies = rng.normal(size=(30, 2)), rng.normal(size=(40, 2))
    user, movie = np.nonzero(rng.random((30, 40)) < 0.3)
    return user, movie, (users[user] * movies[movie]).sum(axis=1) + rng.normal(size=user.size)


@dataclass(frozen=True)
class GibbsFactorisation(Panel):
    def cells(self, quick: bool) -> Mapping[Cell, int]:
        if quick:
            setting = {"data": "simulated", "iterations": 100}
            return {cell(method, start="small", **setting): 2 for method in ("Gibbs", "frozen")}
        setting = {"data": "MovieLens 100K", "iterations": 26_000}
        return {cell("Gibbs", start=start, **setting): 2 for start in STARTS} | {
            cell("frozen", start="small", **setting): 1
        }

    def run(self, task: Task) -> Outcome:
        simulate = task["data"] == "simulated"
        shared = np.random.default_rng(0)  # all chains have the same data, and lack the same
        user, movie, rating = simulated(shared) if simulate else movielens()
        size, rank = ((30, 40), 2) if simulate else (SIZE, RANK)
        out = shared.permutation(rating.size)[: 30 if simulate else HELD_OUT]
        kept = np.delete(np.arange(rating.size), out)
        model = Factorisation.of(user[kept], movie[kept], rating[kept], size, rank)
        rng = task.draws_generator()
        scale = STARTS[task["start"]]
        start = {block: scale * rng.normal(size=(1, *s)) for block, s in model.sizes.items()}
        sampler = model.gibbs() if task.cell.method == "Gibbs" else Frozen()
        found = sampler.sample(
            start,
            task["iterations"] // THIN,
            thin=THIN,
            keep=Watch(model, user[out], movie[out]),
            seed=task.seed(),
            progress=False,
        )
        return _along({name: values[0] for name, values in found.items()}, rating[out])

    def summarise(self, found: Found) -> dict[str, Any]:
        curves = [
            {"method": one.method, **dict(one.setting), "chain": number, **outcome}
            for one, outcomes in found.items()
            for number, outcome in enumerate(outcomes)
        ]
        return {"curves": curves}

    def figure(self, summary: dict[str, Any], seconds: Seconds) -> "Figure":
        raise NotImplementedError

    def measured(self, summary: dict[str, Any], seconds: Seconds) -> str:
        raise NotImplementedError


def checkpoints(count: int) -> np.ndarray:
    """How many kept states there are at each: evenly spaced on a logarithmic scale."""
    return np.unique(np.geomspace(1, count, CHECKPOINTS).round().astype(int))


def _along(kept: dict[str, np.ndarray], ratings: np.ndarray) -> Outcome:
    """The run at its checkpoints; means are over all kept states so far, or since the last one."""
    counts = checkpoints(len(kept["contribution"]))
    totals = np.cumsum(kept["contribution"])[counts - 1]
    squares = np.cumsum(kept["contribution"] ** 2)[counts - 1]
    predictions = np.cumsum(kept["predicted"], axis=0)[counts - 1] / counts[:, None]
    since = [slice(first, last) for first, last in zip([0, *counts[:-1]], counts, strict=True)]

    def rounded(values: Any) -> list[float]:
        return [float(f"{value:.5g}") for value in values]

    return {
        "iteration": (THIN * counts).tolist(),
        "kccsd": rounded(totals / counts),
        "kccsd_error": rounded(np.sqrt(squares) / counts),
        "kccsd_now": rounded(kept["contribution"][part].mean() for part in since),
        "imbalance": rounded(kept["imbalance"][part].mean() for part in since),
        "log_posterior": rounded(kept["log_posterior"][part].mean() for part in since),
        "rmse": rounded(np.sqrt(((predictions - ratings) ** 2).mean(axis=1))),
        "rmse_now": rounded(
            np.sqrt(((kept["predicted"][count - 1] - ratings) ** 2).mean()) for count in counts
        ),
    }


PANEL = GibbsFactorisation(__name__, "gibbs_factorisation")
