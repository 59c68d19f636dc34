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

from experiments.data import movielens
from experiments.engine.figures import REFERENCE_LINE, label_axes, new_grid, style
from experiments.engine.tasks import Cell, Found, Outcome, Panel, Seconds, Task, cell, rounded
from experiments.models.factorisation import Factorisation, State, imbalance
from steinwise.results.plots import REFERENCE
from steinwise.samplers import AbstractSampler

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE, RANK = (943, 1682), 10
STARTS = {"small": 0.1, "prior": 1.0}  # the scale of N(0, I), for all blocks
START_WORDS = {"small": "start 0.1 N(0, I)", "prior": "start N(0, I)"}
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
        common = {"data": "MovieLens 100K"}
        return {
            **{cell("Gibbs", start=start, iterations=26_000, **common): 1 for start in STARTS},
            **{cell("Gibbs", start=start, iterations=5_000, **common): 2 for start in STARTS},
            cell("frozen", start="small", iterations=26_000, **common): 1,
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
        return curves({name: values[0] for name, values in found.items()}, rating[out])

    def summarise(self, found: Found) -> dict[str, Any]:
        rows = [
            {
                "method": one.method,
                **dict(one.setting),
                "repetitions": len(outcomes),
                "chains": list(outcomes),
            }
            for one, outcomes in found.items()
        ]
        return {"rows": rows}

    def figure(self, summary: dict[str, Any], seconds: Seconds) -> "Figure":  # noqa: ARG002
        figure, ((falls, sees), (height, rmse)) = new_grid(2, 2, 9.6, 6.8)
        label_axes(falls, "what the paper plots", "iteration", "|block KCC-SD|, mean so far")
        ratio = "$|D|^2 / ((K + 1)\\,\\mathrm{tr}(S_U + S_V))$"
        label_axes(sees, "a Stein identity along the symmetry", "iteration", ratio)
        label_axes(
            height, "log posterior, Gibbs alone", "iteration", "log posterior, up to a constant"
        )
        label_axes(
            rmse, "held-out ratings, Gibbs alone", "iteration", "RMSE: mean so far; state (thin)"
        )
        labelled, settled = set(), {height: [], rmse: []}
        for row in summary["rows"]:
            color, marker, label = style(row["method"])
            dashed = row["method"] == "Gibbs" and row["start"] == "prior"
            label += f", {START_WORDS[row['start']]}" if row["method"] == "Gibbs" else ""
            for chain in row["chains"]:
                look = {
                    "color": color,
                    "linewidth": 1.3,
                    "linestyle": "--" if dashed else "-",
                    "label": None if label in labelled else label,
                    "marker": marker if row["method"] == "frozen" else None,
                    "markevery": 6,
                    "markersize": 4,
                }
                x = chain["iteration"]
                if label not in labelled:  # the first and longest: more would hide each other
                    falls.plot(x, np.abs(chain["kccsd"]), **look)
                    falls.plot(x, chain["kccsd_error"], color=color, linestyle=":", linewidth=1.0)
                labelled.add(label)
                sees.plot(x, chain["imbalance"], **look | {"label": None})
                if row["method"] == "Gibbs":
                    height.plot(x, chain["log_posterior"], **look | {"label": None})
                    settled[height] += chain["log_posterior"][len(x) // 4 :]
                    settled[rmse] += chain["rmse"][len(x) // 4 :] + chain["rmse_now"][len(x) // 4 :]
                    rmse.plot(x, chain["rmse"], **look | {"label": None})
                    rmse.plot(
                        x, chain["rmse_now"], **look | {"label": None, "linewidth": 0.6}, alpha=0.7
                    )
        falls.plot([], [], label="its standard error", color=REFERENCE, linestyle=":")
        sees.axhline(1, **REFERENCE_LINE)
        for ax in (falls, sees):
            ax.set_yscale("log")
        for ax, values in settled.items():  # the first iterations are far away
            room = 0.2 * (max(values) - min(values))
            ax.set_ylim(min(values) - room, max(values) + room)
        for ax in (falls, sees, height, rmse):
            ax.set_xscale("log")
        figure.legend(loc="outside lower center", ncols=2, fontsize=9, frameon=False)
        return figure

    def measured(self, summary: dict[str, Any], seconds: Seconds) -> str:  # noqa: ARG002
        head = "| chain | block KCC-SD at the end | the same, in standard errors | "
        shown = [30, 500, 1500, 5000, 26_000]
        head += " | ".join(f"ratio near {iteration}" for iteration in shown)
        lines = [head + " | held-out RMSE |", "|---" * (4 + len(shown)) + "|"]
        for row in summary["rows"]:
            for chain in row["chains"]:
                last = chain["kccsd"][-1], chain["kccsd_error"][-1]
                along = [_at(chain, iteration) for iteration in shown]
                words = f"{row['method']}, {START_WORDS[row['start']]}"
                lines.append(
                    f"| {words}, {chain['iteration'][-1]} iterations | {last[0]:.0f} | "
                    f"{last[0] / last[1]:.1f} | {' | '.join(along)} | {chain['rmse'][-1]:.3f} |"
                )
        return "\n".join(lines) + "\n"


def _at(chain: Outcome, iteration: int) -> str:
    """The ratio of the symmetry's identity at the next checkpoint, if the chain got there."""
    if chain["iteration"][-1] < iteration:
        return ""
    place = int(np.searchsorted(chain["iteration"], iteration))
    return f"{chain['imbalance'][place]:.2f}"


def checkpoints(count: int) -> np.ndarray:
    """How many kept states there are at each: evenly spaced on a logarithmic scale."""
    return np.unique(np.geomspace(1, count, CHECKPOINTS).round().astype(int))


def curves(kept: dict[str, np.ndarray], ratings: np.ndarray) -> Outcome:
    """The run at its checkpoints; means are over all kept states so far, or since the last one."""
    counts = checkpoints(len(kept["contribution"]))
    totals = np.cumsum(kept["contribution"])[counts - 1]
    squares = np.cumsum(kept["contribution"] ** 2)[counts - 1]
    predictions = np.cumsum(kept["predicted"], axis=0)[counts - 1] / counts[:, None]
    since = [slice(first, last) for first, last in zip([0, *counts[:-1]], counts, strict=True)]

    found = {
        "kccsd": totals / counts,
        "kccsd_error": np.sqrt(squares) / counts,
        "imbalance": [kept["imbalance"][part].mean() for part in since],
        "log_posterior": [kept["log_posterior"][part].mean() for part in since],
        "rmse": np.sqrt(((predictions - ratings) ** 2).mean(axis=1)),
        "rmse_now": np.sqrt(((kept["predicted"][counts - 1] - ratings) ** 2).mean(axis=1)),
    }
    curves = {name: [rounded(value) for value in values] for name, values in found.items()}
    return {"iteration": (THIN * counts).tolist(), **curves}


PANEL = GibbsFactorisation(__name__, "gibbs_factorisation")
