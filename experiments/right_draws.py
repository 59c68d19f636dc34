"""Panel 4 (figure 2, left): p-values of correct draws, against uniform quantiles."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import simulate, targets
from experiments.engine.figures import REFERENCE_LINE, legend, new_axes, style
from experiments.engine.tasks import Cell, Outcome, Outcomes, Panel, Task, Times, make_cell
from experiments.goodness_of_fit import (
    METHODS,
    QUICK,
    REPETITIONS,
    counted,
    pvalue,
    rejections,
)
from steinwise.methods import KCCSD

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXACT = "exact KCC-SD (RBF)"
SHOWN = (EXACT, "approximate KCC-SD (RBF)", "default check")


@dataclass(frozen=True)
class RightDraws(Panel):
    """p = q = N(0, S) with S_ii = 1 and S_ij = 0.5."""

    def cells(self, quick: bool) -> Mapping[Cell, int]:
        setting, repetitions = (QUICK, 3) if quick else ({"n": 3000, "d": 30}, REPETITIONS)
        return {make_cell(method, **setting): repetitions for method in SHOWN}

    def run(self, task: Task) -> Outcome:
        target = targets.correlated(task["d"])
        draws = simulate.independent(task.draws_generator(), target.covariance, task["n"])
        exact = KCCSD(targets.gaussian_conditionals(target), standardise=False)
        method = exact if task.cell.method == EXACT else METHODS[task.cell.method]
        return {"pvalue": pvalue(draws, target, method, task)}

    def summarise(self, outcomes: Outcomes) -> dict[str, Any]:
        from scipy.stats import kstest

        rows = []
        for cell, repetitions in outcomes.items():
            values = sorted(outcome["pvalue"] for outcome in repetitions)
            uniform = round(float(kstest(values, "uniform").pvalue), 4)
            row = {"method": cell.method, **dict(cell.setting)} | rejections(values)
            rows.append(row | {"Kolmogorov-Smirnov p-value": uniform, "p-values": values})
        return {"rows": rows}

    def figure(self, summary: dict[str, Any], seconds: Times) -> "Figure":  # noqa: ARG002
        from scipy.stats import beta

        first = summary["rows"][0]
        figure, ax = new_axes(
            f"p-values of correct draws, $d$ = {first['d']}, $n$ = {first['n']}",
            "uniform quantile",
            "p-value",
        )
        count = max(row["repetitions"] for row in summary["rows"])
        order = np.arange(1, count + 1)
        band = beta.ppf([[0.025], [0.975]], order, count + 1 - order)
        ax.fill_between(order / (count + 1), *band, color="#DDDDDD", label="95 % of each quantile")
        ax.plot([0, 1], [0, 1], **REFERENCE_LINE)
        for row in summary["rows"]:
            color, marker, label = style(row["method"])
            uniform = row["Kolmogorov-Smirnov p-value"]
            quantiles = np.arange(1, row["repetitions"] + 1) / (row["repetitions"] + 1)
            ax.plot(
                quantiles,
                row["p-values"],
                color=color,
                marker=marker,
                markevery=max(1, len(quantiles) // 15),
                markersize=5,
                linewidth=1.4,
                label=f"{label},\nKolmogorov-Smirnov p = {uniform:.2f}",
            )
        ax.set_aspect("equal")
        legend(figure, f"{counted(summary['rows'])} repetitions")
        return figure

    def measured(self, summary: dict[str, Any], seconds: Times) -> str:  # noqa: ARG002
        lines = ["| | rejected at 0.05 | 95 % interval | Kolmogorov-Smirnov p | repetitions |"]
        lines.append("|---" * 5 + "|")
        for row in summary["rows"]:
            low, high = row["interval"]
            uniform = row["Kolmogorov-Smirnov p-value"]
            lines.append(
                f"| {style(row['method']).label} | {row['rate']:.3f} | {low:.3f} to {high:.3f} | "
                f"{uniform:.2f} | {row['repetitions']} |"
            )
        return "\n".join(lines) + "\n"


PANEL = RightDraws(__name__, "right_draws")
