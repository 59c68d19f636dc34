"""Panel 11 (figure 3, left): which step size of SGLD do KCC-SD and the inverse ESS choose?

The posterior is that of `models.network` on the yacht data. The paper gives no prior, no noise
precision, no bins and no number of atoms. Here the weights are standard normal and the precision is
10 or 100, or they have an sd of 2 and the precision is 10; chains start at draws from the prior.
Chains of Hamiltonian Monte Carlo show which step size predicts best, and which values of KCC-SD and
of the effective sample size good draws have.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from arviz_stats.base.array import array_stats

from experiments.data import yacht
from experiments.engine.figures import GREY, label_axes, new_grid, style
from experiments.engine.tasks import Cell, Outcome, Outcomes, Panel, Task, Times, make_cell, rounded
from experiments.models.hmc import hmc
from experiments.models.network import Network, standardised
from experiments.models.network_kccsd import VARIANTS, approximate_kccsd, choose_weights
from experiments.models.network_predictions import (
    describe_reference,
    pool_repetitions,
    prediction_errors,
    reference_errors,
    summarise_predictions,
    thin,
)
from steinwise.samplers import SGLD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEPS = {  # by (precision, prior sd): half decades around the edge of stability
    (10, 1): (1e-8, 1e-7, 1e-6, 1e-5, 3.2e-5, 1e-4, 3.2e-4, 1e-3, 1e-2),
    (100, 1): (1e-8, 1e-7, 1e-6, 3.2e-6, 1e-5, 3.2e-5, 1e-4, 1e-3),
    (10, 2): (1e-7, 1e-6, 1e-5, 3.2e-5, 1e-4, 3.2e-4, 1e-3),
}
BATCH = 256  # of the 308 data
CHAINS = 4
DIVERGED = 1e6  # a weight this large: the prior's sd is 1 or 2
KCCSD_LOOK = {"color": style("approximate KCC-SD").color}
CURVES = {  # the variants in the figure
    "sigma = 1": {**KCCSD_LOOK, "marker": "o"},
    "conditional spread": {**KCCSD_LOOK, "marker": "^", "linestyle": "--"},
    "conditional spread, other chains": {**KCCSD_LOOK, "marker": "x", "linestyle": ":"},
}
ESS_LOOK = {"color": style("inverse ESS").color, "marker": style("inverse ESS").marker}
ERRORS = {
    "mean_error": ("predictive mean, in sds", {"color": style("HMC").color, "marker": "s"}),
    "spread_error": (
        "log of the predictive sd",
        {"color": style("HMC").color, "marker": "v", "linestyle": "--"},
    ),
}


def posterior(setting: Mapping[str, Any]) -> tuple[float, float]:
    """The noise precision and the sd of the prior, which is 1 if a setting has none."""
    return setting["precision"], setting.get("prior_sd", 1)


@cache  # what is compiled for a network is used for all step sizes
def network(data: str, precision: float, prior_sd: float) -> Network:
    """The network for the yacht data, or for a small simulated data set that runs in seconds."""
    if data == "yacht":
        inputs, responses = yacht()
        return Network(standardised(inputs), standardised(responses), precision, prior_sd)
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(308, 2))
    responses = np.sin(inputs[:, 0]) + 0.1 * rng.normal(size=308)
    return Network(inputs, standardised(responses), precision, prior_sd, hidden=(4, 3))


@dataclass(frozen=True)
class SgldNetwork(Panel):
    def cells(self, quick: bool) -> Mapping[Cell, int]:
        if quick:
            common = {"data": "simulated", "precision": 10}
            return {
                make_cell("HMC", burn_in=100, draws=100, **common): 1,
                make_cell("SGLD", step=1e-3, burn_in=500, draws=500, **common): 1,
            }
        chosen = []
        for (precision, prior_sd), steps in STEPS.items():
            common = {"data": "yacht", "precision": precision}
            common |= {} if prior_sd == 1 else {"prior_sd": prior_sd}
            chosen += [make_cell("HMC", burn_in=500, draws=1000, **common)]
            chosen += [
                make_cell("SGLD", step=step, burn_in=50_000, draws=10_000, **common)
                for step in steps
            ]
        return dict.fromkeys(chosen, 1)

    def run(self, task: Task) -> Outcome:
        """All chains of a step size together: each is part of the stand-in of the others."""
        model = network(task["data"], *posterior(dict(task.cell.setting)))
        start = model.prior_sd * task.draws_generator().normal(size=(CHAINS, model.dim))
        if task.cell.method == "HMC":
            draws, acceptance = hmc(
                model.log_density, start, task["burn_in"], task["draws"], task.seed()
            )
            outcome = describe_reference(model, thin(draws))
            outcome["acceptance"] = [rounded(rate) for rate in acceptance]
        else:
            draws = SGLD(model.minibatch(BATCH), task["step"]).sample(
                start, task["draws"], warmup=task["burn_in"], seed=task.seed(), progress=False
            )
            if not (np.isfinite(draws).all() and np.abs(draws).max() < DIVERGED):
                return {"diverged": 1}
            outcome = {"diverged": 0}
        chosen = choose_weights(model)
        inverse_ess = []
        for chain in draws:
            of_chosen = chain[None, :, chosen.indices]
            ess = array_stats.ess(of_chosen, chain_axis=0, draw_axis=1, method="identity")
            inverse_ess.append(rounded(1 / np.average(ess, weights=chosen.represents)))
        return {
            **outcome,
            **summarise_predictions(model, thin(draws)),
            "inverse_ess": inverse_ess,
            "kccsd": approximate_kccsd(model, draws, chosen, task.seed()),
        }

    def summarise(self, outcomes: Outcomes) -> dict[str, Any]:
        pooled = {cell: pool_repetitions(repetitions) for cell, repetitions in outcomes.items()}
        references = {
            posterior(dict(cell.setting)): outcome
            for cell, outcome in pooled.items()
            if cell.method == "HMC"
        }
        rows = []
        for cell, outcome in pooled.items():
            row = {"method": cell.method, **dict(cell.setting), "repetitions": len(outcomes[cell])}
            row |= {name: v for name, v in outcome.items() if name not in ("mean", "sd")}
            if cell.method == "HMC":
                row |= reference_errors(outcome)
            elif not outcome["diverged"]:
                row |= prediction_errors(outcome, references[posterior(row)])
            rows.append(row)
        return {"rows": rows}

    def figure(self, summary: dict[str, Any], seconds: Times) -> "Figure":  # noqa: ARG002
        posteriors = list(dict.fromkeys(posterior(row) for row in summary["rows"]))
        width = 1.2 + 3.7 * len(posteriors)
        figure, grid = new_grid(3, len(posteriors), width, 9.0, sharex="col", sharey="row")
        y_labels = "approximate KCC-SD", "1 / effective sample size", "error against HMC"
        for column, (precision, prior_sd) in zip(grid.T, posteriors, strict=True):
            of_posterior = [r for r in summary["rows"] if posterior(r) == (precision, prior_sd)]
            (reference,) = (row for row in of_posterior if row["method"] == "HMC")
            diverged = [row["step"] for row in of_posterior if row.get("diverged")]
            rows = [row for row in of_posterior if row["method"] == "SGLD" and not row["diverged"]]
            is_first = column[0] is grid[0, 0]
            titles = f"noise precision {precision}, prior sd {prior_sd}", "", ""
            for ax, title, y in zip(column, titles, y_labels, strict=True):
                label_axes(ax, title, "step size" if ax is column[2] else "", y if is_first else "")
            for name, look in CURVES.items():
                chains = [row["kccsd"][name] for row in rows]
                _plot_chains(column[0], rows, chains, f"KCC-SD, {name}", look)
                _plot_reference(column[0], reference["kccsd"][name], look)
            inverse_ess = [row["inverse_ess"] for row in rows]
            _plot_chains(column[1], rows, inverse_ess, "inverse ESS", ESS_LOOK)
            _plot_reference(column[1], reference["inverse_ess"], ESS_LOOK)
            for name, (label, look) in ERRORS.items():
                _plot_chains(column[2], rows, [row[name] for row in rows], label, look)
                _plot_reference(column[2], reference[name], look)
            column[0].set_yscale("symlog", linthresh=10)
            for ax in column[1:]:
                ax.set_yscale("log")
            for ax in column:
                ax.set_xscale("log")
                for step in diverged:
                    ax.axvline(step, color=GREY, linewidth=4, alpha=0.25)
        handles: dict[str, Any] = {}
        for ax in grid[:, 0]:
            of_axes, labels = ax.get_legend_handles_labels()
            handles |= dict(zip(labels, of_axes, strict=True))
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=3,
            fontsize=9,
            frameon=False,
            title="small: single chains; lines: their median; grey lines: medians of HMC's chains, "
            "whose errors are against each other; grey bars: diverged",
            title_fontsize=8,
        )
        return figure

    def measured(self, summary: dict[str, Any], seconds: Times) -> str:  # noqa: ARG002
        names = [*VARIANTS]
        head = ["precision", "prior sd", "step", *(f"KCC-SD, {name}" for name in names)]
        head += ["1 / ESS", "error of the mean", "error of log sd", "log posterior"]
        lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
        for row in summary["rows"]:
            step = f"{row['step']:g}" if row["method"] == "SGLD" else row["method"]
            start = "| {} | {} | {} | ".format(*posterior(row), step)
            if row.get("diverged"):
                lines.append(f"{start}diverged |{' |' * (len(names) + 3)}")
                continue
            columns = [row["kccsd"][name] for name in names]
            columns += [row["inverse_ess"], *(row[name] for name in ERRORS), row["log_posterior"]]
            lines.append(start + " | ".join(f"{np.median(v):.3g}" for v in columns) + " |")
        references = [row for row in summary["rows"] if row["method"] == "HMC"]
        about_hmc = [
            "| precision | prior sd | acceptance | R-hat | sd of a conditional |",
            "|---" * 5 + "|",
        ]
        for row in references:
            spread = ", ".join(f"{name} {sd:.2g}" for name, sd in row["conditional_sd"].items())
            about_hmc.append(
                "| {} | {} | {:.2f} | {:.3f} | {} |".format(
                    *posterior(row), min(row["acceptance"]), row["rhat"], spread
                )
            )
        return (
            "Medians over the chains; the errors of an HMC chain are relative to the other HMC "
            "chains:\n\n"
            + "\n".join(lines)
            + "\n\nThe HMC runs: the lowest acceptance rate of a chain, the largest R-hat of the "
            "predictions and, for each array, the typical sd of a weight's conditional at a "
            "mode:\n\n" + "\n".join(about_hmc) + "\n"
        )


def _plot_chains(
    ax: "Axes", rows: list[dict], chains: list[list[float]], label: str, look: dict
) -> None:
    """The chains of every step size as dots, and their median as a line."""
    for row, values in zip(rows, chains, strict=True):
        ax.plot(
            [row["step"]] * len(values),
            values,
            linestyle="none",
            marker=look["marker"],
            markersize=3,
            color=look["color"],
            alpha=0.5,
        )
    steps, medians = [row["step"] for row in rows], [np.median(values) for values in chains]
    ax.plot(steps, medians, label=label, markersize=6, linewidth=1.4, **look)


def _plot_reference(ax: "Axes", values: list[float], look: dict) -> None:
    """The median of HMC's chains, as a line in the style of the curve that it belongs to."""
    linestyle = look.get("linestyle", "-")
    ax.axhline(np.median(values), color=GREY, linewidth=1.0, linestyle=linestyle, zorder=0)


PANEL = SgldNetwork(__name__, "sgld_network")
