"""What panels 1 to 10 share: the problems, the methods, and figures of power and of time.

Two choices need an explanation. RPhiSD is calibrated by random signs, because its published null
misses the level; its kernel is the L2 secant in the RBF panels and L1-IMQ in the IMQ panels. IMQ
kernels have bandwidth 1 as in Gorham and Mackey, with which KSD does better than with the median
(Laplace draws in ten dimensions, `python -m benchmarks.power --suite rivals laplace-10`); FSSD-opt
learns its bandwidth.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import steinwise as sw
from benchmarks import alternatives, targets
from benchmarks.cases import LEVEL
from benchmarks.power_cases import judge
from experiments.engine.figures import (
    REFERENCE_LINE,
    base_name,
    dodge,
    legend,
    line_style,
    log_ticks,
    new_axes,
    style,
)
from experiments.engine.tasks import Cell, Outcome, Outcomes, Panel, Task, Times, make_cell, rounded
from steinwise.kernels import IMQ
from steinwise.methods import FSSD, KCCSD, KSD, RFSD, AbstractMethod, KSDAgg, SlicedKSD, Transported

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kernel = Literal["RBF", "IMQ"]
MakeProblem = Callable[[np.random.Generator, int, int], tuple[np.ndarray, sw.Gaussian]]

REPETITIONS, REPETITIONS_IF_SLOW = 300, 100
MANY_DRAWS, MANY_COORDINATES = 2000, 70  # from which on some tests take a second or more
DIMENSIONS = (2, 5, 10, 20, 30, 50, 70, 100)
DRAWS = (30, 50, 100, 200, 500, 1000, 2000, 5000)
QUICK = {"d": 2, "n": 100}  # the same for all panels, so that little is compiled
METHODS: dict[str, AbstractMethod] = {
    "approximate KCC-SD (RBF)": KCCSD(standardise=False),
    "default check": Transported(every_line=True),
    "KSD (RBF)": KSD(),
    "RPhiSD (RBF)": RFSD("sech"),
    "FSSD-opt (RBF)": FSSD(),
    "sliced KSD, axes (RBF)": SlicedKSD(),
    "KSDAgg": KSDAgg(standardise=False),
    "approximate KCC-SD (IMQ)": KCCSD(kernel=IMQ(), standardise=False),
    "KSD (IMQ)": KSD(IMQ()),
    "RPhiSD (IMQ)": RFSD("imq"),
    "FSSD-opt (IMQ)": FSSD(IMQ("median")),
    "sliced KSD, axes (IMQ)": SlicedKSD(kernel=IMQ()),
}
"""The kernel is in brackets where there is a choice; KSDAgg always has ten IMQ kernels."""


def laplace(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, sw.Gaussian]:
    """Laplace(0, 1/sqrt 2)^d against N(0, I): means and variances are right."""
    return alternatives.laplace(rng, n, d), targets.standard(d)


def laplace_noise(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, sw.Gaussian]:
    """N(0, S_1) + Laplace(0, 1/sqrt 2)^d against N(0, S): means and covariances are right."""
    target = sw.Gaussian(np.zeros(d), alternatives.equicorrelated(d, 2.0, 0.5))
    return alternatives.correlated_with_noise(d)(rng, n), target


def methods_with(kernel: Kernel) -> list[str]:
    """The methods with this kernel and those without a choice, in one order for both kernels."""
    other_kernel = "(IMQ)" if kernel == "RBF" else "(RBF)"
    order = [base_name(name) for name in METHODS]
    chosen = [name for name in METHODS if other_kernel not in name]
    return sorted(chosen, key=lambda name: order.index(base_name(name)))


def repetitions_of(method: str, n: int, d: int) -> int:
    """The number of repetitions: fewer for tests that take a second or more.

    These train networks, or need many Gram matrices of many draws, or one for each of many
    coordinates.
    """
    slow = (
        method.startswith("approximate")
        or (n >= MANY_DRAWS and method.startswith(("sliced", "KSDAgg")))
        or (d >= MANY_COORDINATES and method.startswith(("sliced", "default")))
    )
    return REPETITIONS_IF_SLOW if slow else REPETITIONS


def pvalue(draws: np.ndarray, target: sw.Gaussian, method: AbstractMethod, task: Task) -> float:
    """The p-value of a check with 1000 bootstraps, to four digits."""
    return rounded(judge(draws, target, method, task.seed()).pvalue, digits=4)


def rejections(pvalues: list[float]) -> dict[str, Any]:
    """How often a test rejects, with the exact 95 % binomial interval of the rate."""
    from scipy.stats import binomtest

    count = sum(p <= LEVEL for p in pvalues)
    low, high = binomtest(count, len(pvalues)).proportion_ci(0.95)
    return {
        "repetitions": len(pvalues),
        "rejections": count,
        "rate": round(count / len(pvalues), 4),
        "interval": [round(float(low), 4), round(float(high), 4)],
    }


def rates_and_bars(rows: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """The rates and error bars of rows of `rejections`, as `Axes.errorbar` takes them."""
    rates = np.array([row["rate"] for row in rows])
    return rates, np.abs(np.array([row["interval"] for row in rows]).T - rates)


def counted(rows: list[dict[str, Any]]) -> str:
    """The number of repetitions of the rows, as text.

    >>> counted([{"repetitions": 100}, {"repetitions": 300}, {"repetitions": 300}])
    '100 to 300'
    """
    counts = sorted({row["repetitions"] for row in rows})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


@dataclass(frozen=True, kw_only=True)
class MethodsPanel(Panel):
    """Draws of one problem, judged by every method, for growing n or d."""

    problem: MakeProblem
    kernel: Kernel
    title: str
    varied: Literal["n", "d"]
    values: tuple[int, ...]
    fixed: int  # the value of the other: d if n varies, n if d does
    repetitions: int = REPETITIONS

    def cells(self, quick: bool) -> Mapping[Cell, int]:
        values, fixed, most = self.values, self.fixed, self.repetitions
        other = "d" if self.varied == "n" else "n"
        if quick:
            values, fixed, most = (QUICK[self.varied],), QUICK[other], 2
        chosen = [
            make_cell(method, **{self.varied: value, other: fixed})
            for value in values
            for method in methods_with(self.kernel)
        ]
        return {
            cell: min(most, repetitions_of(cell.method, cell["n"], cell["d"])) for cell in chosen
        }

    def run(self, task: Task) -> Outcome:
        draws, target = self.problem(task.draws_generator(), task["n"], task["d"])
        return {"pvalue": pvalue(draws, target, METHODS[task.cell.method], task)}

    def summarise(self, outcomes: Outcomes) -> dict[str, Any]:
        rows = [
            {"method": cell.method, **dict(cell.setting)}
            | rejections([outcome["pvalue"] for outcome in repetitions])
            for cell, repetitions in outcomes.items()
        ]
        return {"level": LEVEL, "rows": rows}

    def axes(self, rows: list[dict[str, Any]], y: str) -> "tuple[Figure, Axes]":
        x_labels = {"n": "number of draws $n$", "d": "dimension $d$"}
        other = "d" if self.varied == "n" else "n"
        title = f"{self.title}, ${other}$ = {rows[0][other]}, {self.kernel} kernel"
        figure, ax = new_axes(title, x_labels[self.varied], y)
        log_ticks(ax, sorted({row[self.varied] for row in rows}))
        return figure, ax


@dataclass(frozen=True, kw_only=True)
class PowerPanel(MethodsPanel):
    """Power: the share of rejections."""

    def figure(self, summary: dict[str, Any], seconds: Times) -> "Figure":  # noqa: ARG002
        figure, ax = self.axes(summary["rows"], "power")
        by_method = rows_by_method(summary["rows"])
        usual = Counter(row["repetitions"] for row in summary["rows"]).most_common(1)[0][0]
        for curve, (method, rows) in enumerate(by_method.items()):
            ax.errorbar(
                [dodge(row[self.varied], curve, len(by_method)) for row in rows],
                *rates_and_bars(rows),
                label=_label(method, rows, usual),
                elinewidth=1.0,
                zorder=3 - curve / len(by_method),  # the first, the paper's method, is on top
                **line_style(method),
            )
        ax.axhline(LEVEL, **REFERENCE_LINE)
        ax.set_ylim(-0.03, 1.03)
        legend(
            figure, f"{usual} repetitions, level {LEVEL:g} (dashed);\nbars: exact 95 % intervals"
        )
        return figure

    def measured(self, summary: dict[str, Any], seconds: Times) -> str:  # noqa: ARG002
        by_method = rows_by_method(summary["rows"])
        cells = {
            method: {row[self.varied]: f"{row['rate']:.2f}" for row in rows}
            for method, rows in by_method.items()
        }
        return f"Power, {counted(summary['rows'])} repetitions:\n\n" + _table(self.varied, cells)


@dataclass(frozen=True, kw_only=True)
class TimePanel(MethodsPanel):
    """CPU seconds of a test, including what it learns."""

    timed: bool = True
    repetitions: int = 5

    def figure(self, summary: dict[str, Any], seconds: Times) -> "Figure":
        figure, ax = self.axes(summary["rows"], "CPU seconds of a test")
        by_method = self._by_method(seconds)
        for curve, (method, times) in enumerate(by_method.items()):
            medians = np.array([median(runs) for runs in times.values()])
            low, high = np.array([[min(runs), max(runs)] for runs in times.values()]).T
            ax.errorbar(
                [dodge(value, curve, len(by_method)) for value in times],
                medians,
                [medians - low, high - medians],
                label=style(method).label,
                elinewidth=1.0,
                **line_style(method),
            )
        ax.set_yscale("log")
        count = counted(summary["rows"])
        legend(figure, f"median of {count}, bars: range;\none thread, compiled")
        return figure

    def measured(self, summary: dict[str, Any], seconds: Times) -> str:
        cells = {
            method: {value: f"{median(runs):.2g}" for value, runs in times.items()}
            for method, times in self._by_method(seconds).items()
        }
        head = f"CPU seconds, median of {counted(summary['rows'])}:\n\n"
        return head + _table(self.varied, cells)

    def _by_method(self, seconds: Times) -> dict[str, dict[int, list[float]]]:
        by_method: dict[str, dict[int, list[float]]] = {}
        for cell, runs in seconds.items():
            by_method.setdefault(cell.method, {})[cell[self.varied]] = list(runs)
        return by_method


def rows_by_method(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {row["method"]: [r for r in rows if r["method"] == row["method"]] for row in rows}


def _label(method: str, rows: list[dict[str, Any]], usual: int) -> str:
    count = counted(rows)
    return style(method).label + ("" if count == str(usual) else f"\n({count} repetitions)")


def _table(varied: str, cells: Mapping[str, Mapping[int, str]]) -> str:
    values = sorted({value for row in cells.values() for value in row})
    head = [
        f"| {varied} | " + " | ".join(map(str, values)) + " |",
        "|---" * (len(values) + 1) + "|",
    ]
    body = [
        f"| {base_name(method)} | " + " | ".join(row.get(v, "") for v in values) + " |"
        for method, row in cells.items()
    ]
    return "\n".join(head + body) + "\n"
