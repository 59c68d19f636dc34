"""Panel 12 (figure 3, right): block KCC-SD of a Gibbs sampler for matrix factorisation.

The paper takes y from the sampler's own conditionals, which are those of the target: the mean over
y is 0 at every state, converged or not. The control keeps the state frozen at the start and draws
only y. A Stein identity that does detect non-convergence is shown as well
(`models.factorisation.imbalance`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from experiments.data import movielens
from experiments.engine.figures import GREY, REFERENCE_LINE, label_axes, new_grid, style
from experiments.engine.tasks import Cell, Outcome, Outcomes, Panel, Task, Times, make_cell, rounded
from experiments.models.factorisation import Factorisation, State, imbalance
from steinwise.samplers import AbstractSampler

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE, RANK = (943, 1682), 10
STARTS = {"small": 0.1, "prior": 1.0}  # scales of the N(0, I) that all blocks start from
START_WORDS = {"small": "start 0.1 N(0, I)", "prior": "start N(0, I)"}
THIN = 5  # every fifth state is used, as in the paper
HELD_OUT = 2000  # ratings of 100,000
CHECKPOINTS = 48  # points of a curve, at most


class Frozen(AbstractSampler):
    """The control: a chain that never moves."""

    def step(self, key: Array, x: State) -> State:  # noqa: ARG002
        return x


class Monitor(eqx.Module):
    """What is recorded of a state: a few numbers in place of all 26,270."""

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
    """Ratings from a small model of the same kind, for a run in seconds without the data."""
    users, movies = rng.normal(size=(30, 2)), rng.normal(size=(40, 2))
    user, movie = np.nonzero(rng.random((30, 40)) < 0.3)
    return user, movie, (users[user] * movies[movie]).sum(axis=1) + rng.normal(size=user.size)


@dataclass(frozen=True)
class GibbsFactorisation(Panel):
    def cells(self, quick: bool) -> Mapping[Cell, int]:
        if quick:
            setting = {"data": "simulated", "iterations": 100}
            return {
                make_cell(method, start="small", **setting): 2 for method in ("Gibbs", "frozen")
            }
        common = {"data": "MovieLens 100K"}
        return {
            **{make_cell("Gibbs", start=start, iterations=26_000, **common): 1 for start in STARTS},
            **{make_cell("Gibbs", start=start, iterations=5_000, **common): 2 for start in STARTS},
            make_cell("frozen", start="small", iterations=26_000, **common): 1,
        }

    def run(self, task: Task) -> Outcome:
        simulate = task["data"] == "simulated"
        shared = np.random.default_rng(0)  # all chains have the same data and held-out ratings
        user, movie, rating = simulated(shared) if simulate else movielens()
        size, rank = ((30, 40), 2) if simulate else (SIZE, RANK)
        held_out = shared.permutation(rating.size)[: 30 if simulate else HELD_OUT]
        kept = np.delete(np.arange(rating.size), held_out)
        model = Factorisation.of(user[kept], movie[kept], rating[kept], size, rank)
        rng = task.draws_generator()
        scale = STARTS[task["start"]]
        start = {block: scale * rng.normal(size=(1, *s)) for block, s in model.sizes.items()}
        sampler = model.gibbs() if task.cell.method == "Gibbs" else Frozen()
        recorded = sampler.sample(
            start,
            task["iterations"] // THIN,
            thin=THIN,
            keep=Monitor(model, user[held_out], movie[held_out]),
            seed=task.seed(),
            progress=False,
        )
        return curves({name: values[0] for name, values in recorded.items()}, rating[held_out])

    def summarise(self, outcomes: Outcomes) -> dict[str, Any]:
        rows = [
            {
                "method": cell.method,
                **dict(cell.setting),
                "repetitions": len(chains),
                "chains": list(chains),
            }
            for cell, chains in outcomes.items()
        ]
        return {"rows": rows}

    def figure(self, summary: dict[str, Any], seconds: Times) -> "Figure":  # noqa: ARG002
        figure, ((kccsd, identity), (log_posterior, rmse)) = new_grid(2, 2, 9.6, 6.8)
        label_axes(kccsd, "what the paper plots", "iteration", "|block KCC-SD|, mean so far")
        ratio = "$|D|^2 / ((K + 1)\\,\\mathrm{tr}(S_U + S_V))$"
        label_axes(identity, "a Stein identity along the symmetry", "iteration", ratio)
        label_axes(
            log_posterior,
            "log posterior, Gibbs alone",
            "iteration",
            "log posterior, up to a constant",
        )
        label_axes(
            rmse, "held-out ratings, Gibbs alone", "iteration", "RMSE: mean so far; state (thin)"
        )
        labelled, settled = set(), {log_posterior: [], rmse: []}
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
                if label not in labelled:  # only the first, longest chain: more would overlap
                    kccsd.plot(x, np.abs(chain["kccsd"]), **look)
                    kccsd.plot(x, chain["kccsd_error"], color=color, linestyle=":", linewidth=1.0)
                labelled.add(label)
                identity.plot(x, chain["imbalance"], **look | {"label": None})
                if row["method"] == "Gibbs":
                    log_posterior.plot(x, chain["log_posterior"], **look | {"label": None})
                    settled[log_posterior] += chain["log_posterior"][len(x) // 4 :]
                    settled[rmse] += chain["rmse"][len(x) // 4 :] + chain["rmse_now"][len(x) // 4 :]
                    rmse.plot(x, chain["rmse"], **look | {"label": None})
                    rmse.plot(
                        x, chain["rmse_now"], **look | {"label": None, "linewidth": 0.6}, alpha=0.7
                    )
        kccsd.plot([], [], label="its standard error", color=GREY, linestyle=":")
        identity.axhline(1, **REFERENCE_LINE)
        for ax in (kccsd, identity):
            ax.set_yscale("log")
        for ax, values in settled.items():  # the first iterations are far off
            margin = 0.2 * (max(values) - min(values))
            ax.set_ylim(min(values) - margin, max(values) + margin)
        for ax in (kccsd, identity, log_posterior, rmse):
            ax.set_xscale("log")
        figure.legend(loc="outside lower center", ncols=2, fontsize=9, frameon=False)
        return figure

    def measured(self, summary: dict[str, Any], seconds: Times) -> str:  # noqa: ARG002
        head = "| chain | block KCC-SD at the end | the same, in standard errors | "
        shown = [30, 500, 1500, 5000, 26_000]
        head += " | ".join(f"ratio near {iteration}" for iteration in shown)
        lines = [head + " | held-out RMSE |", "|---" * (4 + len(shown)) + "|"]
        for row in summary["rows"]:
            for chain in row["chains"]:
                value, error = chain["kccsd"][-1], chain["kccsd_error"][-1]
                ratios = " | ".join(_ratio_near(chain, iteration) for iteration in shown)
                label = f"{row['method']}, {START_WORDS[row['start']]}"
                lines.append(
                    f"| {label}, {chain['iteration'][-1]} iterations | {value:.0f} | "
                    f"{value / error:.1f} | {ratios} | {chain['rmse'][-1]:.3f} |"
                )
        return "\n".join(lines) + "\n"


def _ratio_near(chain: Outcome, iteration: int) -> str:
    """The ratio of the identity's two sides at the next checkpoint, if the chain got there."""
    if chain["iteration"][-1] < iteration:
        return ""
    checkpoint = int(np.searchsorted(chain["iteration"], iteration))
    return f"{chain['imbalance'][checkpoint]:.2f}"


def checkpoints(count: int) -> np.ndarray:
    """Numbers of states at which a curve has a point, equally spaced on a logarithmic scale."""
    return np.unique(np.geomspace(1, count, CHECKPOINTS).round().astype(int))


def curves(states: dict[str, np.ndarray], ratings: np.ndarray) -> Outcome:
    """The run at its checkpoints.

    KCC-SD and predictions are means over all states so far, the imbalance and the log posterior
    over the states since the last checkpoint.
    """
    counts = checkpoints(len(states["contribution"]))
    totals = np.cumsum(states["contribution"])[counts - 1]
    squares = np.cumsum(states["contribution"] ** 2)[counts - 1]
    predictions = np.cumsum(states["predicted"], axis=0)[counts - 1] / counts[:, None]
    since_last = [slice(first, last) for first, last in zip([0, *counts[:-1]], counts, strict=True)]

    values = {
        "kccsd": totals / counts,
        "kccsd_error": np.sqrt(squares) / counts,
        "imbalance": [states["imbalance"][rows].mean() for rows in since_last],
        "log_posterior": [states["log_posterior"][rows].mean() for rows in since_last],
        "rmse": np.sqrt(((predictions - ratings) ** 2).mean(axis=1)),
        "rmse_now": np.sqrt(((states["predicted"][counts - 1] - ratings) ** 2).mean(axis=1)),
    }
    rounded_values = {name: [rounded(value) for value in curve] for name, curve in values.items()}
    return {"iteration": (THIN * counts).tolist(), **rounded_values}


PANEL = GibbsFactorisation(__name__, "gibbs_factorisation")
