"""Panel 5 (figure 2, middle): KCC-SD of draws with right marginals, for growing n."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import steinwise as sw
from benchmarks import simulate, targets
from experiments.engine.figures import (
    REFERENCE_LINE,
    legend,
    line_style,
    log_ticks,
    new_axes,
    style,
)
from experiments.engine.tasks import Cell, Outcome, Outcomes, Panel, Task, Times, make_cell, rounded
from experiments.goodness_of_fit import QUICK, counted, repetitions_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXACT, APPROXIMATE = "exact KCC-SD (RBF)", "approximate KCC-SD (RBF)"
DRAWS = (100, 200, 500, 1000, 2000, 5000)
DIM = 30


def true_value(d: int) -> float:
    r"""KCC-SD of N(0, S), S_ii = 1 and S_ij = 0.5, from N(0, I), with RBF(1).

    .. math:: d \Big( \frac{2 - v/2}{(1 + 2v)^{1/2}} - \frac{9v/2}{(1 + 2v)^{3/2}} \Big)

    where v is the variance of x_j given x_-j. In k_cc = (x y + 1 - 2 (x - y)^2) k(x, y), x - y and
    x + y are independent and normal given x_-j.

    >>> round(true_value(30), 3)
    12.586
    """
    v = (d + 1) / (2 * d)
    return float(d * ((2 - v / 2) / (1 + 2 * v) ** 0.5 - 4.5 * v / (1 + 2 * v) ** 1.5))


@dataclass(frozen=True)
class RightMarginals(Panel):
    """p = N(0, I), q = N(0, S) with S_ii = 1 and S_ij = 0.5."""

    def cells(self, quick: bool) -> Mapping[Cell, int]:
        values, d = ((QUICK["n"],), QUICK["d"]) if quick else (DRAWS, DIM)
        return {
            make_cell(method, n=n, d=d): 3 if quick else repetitions_of(method, n, d)
            for n in values
            for method in (EXACT, APPROXIMATE)
        }

    def run(self, task: Task) -> Outcome:
        source = targets.correlated(task["d"])
        draws = simulate.independent(task.draws_generator(), source.covariance, task["n"])
        exact = targets.gaussian_conditionals(source)
        discrepancy = sw.kccsd(
            draws,
            targets.standard(task["d"]),
            conditional=exact if task.cell.method == EXACT else None,
            seed=task.seed(),
            independent=True,
            progress=False,
        )
        return {"value": rounded(discrepancy.value)}

    def summarise(self, outcomes: Outcomes) -> dict[str, Any]:
        rows = []
        for cell, repetitions in outcomes.items():
            values = [outcome["value"] for outcome in repetitions]
            low, high = np.quantile(values, [0.05, 0.95])
            rows.append(
                {"method": cell.method, **dict(cell.setting)}
                | {"repetitions": len(values), "mean": round(float(np.mean(values)), 4)}
                | {"quantiles": [round(float(low), 4), round(float(high), 4)]}
                | {"least": min(values)}
            )
        return {"rows": rows, "true value": round(true_value(rows[0]["d"]), 4)}

    def figure(self, summary: dict[str, Any], seconds: Times) -> "Figure":  # noqa: ARG002
        rows = summary["rows"]
        title = f"Right marginals, wrong dependence, $d$ = {rows[0]['d']}"
        figure, ax = new_axes(title, "number of draws $n$", "KCC-SD")
        for method in dict.fromkeys(row["method"] for row in rows):
            of_method = [row for row in rows if row["method"] == method]
            n, bands = [row["n"] for row in of_method], [row["quantiles"] for row in of_method]
            ax.fill_between(n, *np.transpose(bands), color=style(method).color, alpha=0.2)
            ax.plot(
                n,
                [row["mean"] for row in of_method],
                label=style(method).label,
                **line_style(method),
            )
        ax.axhline(summary["true value"], label="KCC-SD in closed form", **REFERENCE_LINE)
        ax.axhline(0, color="black", linewidth=0.8)
        log_ticks(ax, sorted({row["n"] for row in rows}))
        legend(figure, f"mean of {counted(rows)} repetitions;\nbands: 5 % to 95 % of them")
        return figure

    def measured(self, summary: dict[str, Any], seconds: Times) -> str:  # noqa: ARG002
        head = [
            f"In closed form {summary['true value']:.3f}.\n",
            "| | n | mean | 5 % to 95 % | least | repetitions |",
            "|---" * 6 + "|",
        ]
        body = [
            f"| {style(row['method']).label} | {row['n']} | {row['mean']:.3f} | "
            f"{row['quantiles'][0]:.3f} to {row['quantiles'][1]:.3f} | {row['least']:.3f} | "
            f"{row['repetitions']} |"
            for row in summary["rows"]
        ]
        return "\n".join(head + body) + "\n"


PANEL = RightMarginals(__name__, "right_marginals")
