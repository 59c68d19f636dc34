"""What panels 1 to 10 share: the problems, the methods, and figures of power and of time.

RPhiSD and the IMQ kernels need a word. RPhiSD is calibrated by signs, since its published null
misses the level. With IMQ it is L1-IMQ in place of the L2 secant. Bandwidths with IMQ are 1 as in
Gorham and Mackey, with which KSD does better than with the median (Laplace draws in ten dimensions,
`python -m benchmarks.power --suite rivals laplace-10`); FSSD-opt learns its own.
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
    beside,
    legend,
    lines,
    log_ticks,
    new_axes,
    style,
)
from experiments.engine.tasks import Cell, Found, Outcome, Panel, Seconds, Task, cell, rounded
from steinwise.kernels import IMQ
from steinwise.methods import FSSD, KCCSD, KSD, RFSD, AbstractMethod, KSDAgg, SlicedKSD, Transported

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kernel = Literal["RBF", "IMQ"]
Problem = Callable[[np.random.Generator, int, int], tuple[np.ndarray, sw.Gaussian]]

REPETITIONS, OF_SLOW_TESTS = 300, 100
MANY_DRAWS, MANY_COORDINATES = 2000, 70
DIMENSIONS = (2, 5, 10, 20, 30, 50, 70, 100)
DRAWS = (30, 50, 100, 200, 500, 1000, 2000, 5000)
QUICK = {"d": 2, "n": 100}  # of all panels, so that little is compiled
METHODS: dict[str, AbstractMethod] = {
    "approximate KCC-SD (RBF)": KCCSD(),
    "default check": Transported(),
    "KSD (RBF)": KSD(),
    "RPhiSD (RBF)": RFSD("sech"),
    "FSSD-opt (RBF)": FSSD(),
    "sliced KSD, axes (RBF)": SlicedKSD(),
    "KSDAgg": KSDAgg(),
    "approximate KCC-SD (IMQ)": KCCSD(kernel=IMQ()),
    "KSD (IMQ)": KSD(IMQ()),
    "RPhiSD (IMQ)": RFSD("imq"),
    "FSSD-opt (IMQ)": FSSD(IMQ("median")),
    "sliced KSD, axes (IMQ)": SlicedKSD(kernel=IMQ()),
}
"""With the kernel in brackets where there is a choice; KSDAgg has ten IMQ kernels always."""


def laplace(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, sw.Gaussian]:
    """Laplace(0, 1/sqrt 2)^d against N(0, I): means and variances are right."""
    return alternatives.laplace(rng, n, d), targets.standard(d)


def laplace_noise(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, sw.Gaussian]:
    """N(0, S_1) + Laplace(0, 1/sqrt 2)^d against N(0, S): means and covariances are right."""
    law = sw.Gaussian(np.zeros(d), alternatives.equicorrelated(d, 2.0, 0.5))
    return alternatives.correlated_with_noise(d)(rng, n), law


def methods_with(kernel: Kernel) -> list[str]:
    """Those with this kernel, and those that have no choice, in the same order for both."""
    other = "(IMQ)" if kernel == "RBF" else "(RBF)"
    order = [base_name(name) for name in METHODS]
    found = [name for name in METHODS if other not in name]
    return sorted(found, key=lambda name: order.index(base_name(name)))


def repetitions_of(method: str, n: int, d: int) -> int:
    """Fewer of tests that take a second or more.

    Those whose networks are trained anew each time, and those with many Gram matrices of many draws
    or one for each of many coordinates.
    """
    slow = (
        method.startswith("approximate")
        or (n >= MANY_DRAWS and method.startswith(("sliced", "KSDAgg")))
        or (d >= MANY_COORDINATES and method.startswith(("sliced", "default")))
    )
    return OF_SLOW_TESTS if slow else REPETITIONS


def pvalue(draws: np.ndarray, target: sw.Gaussian, method: AbstractMethod, task: Task) -> float:
    """Of the check with 1000 bootstraps, to four digits."""
    return rounded(judge(draws, target, method, task.seed()).pvalue, digits=4)


def rejections(pvalues: list[float]) -> dict[str, Any]:
    """How often the test rejects, with the exact 95 % binomial interval."""
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
    """Of rows of `rejections`, as `Axes.errorbar` takes them."""
    rates = np.array([row["rate"] for row in rows])
    return rates, np.abs(np.array([row["interval"] for row in rows]).T - rates)


def counted(rows: list[dict[str, Any]]) -> str:
    """How many repetitions the rows rest on, in words.

    >>> counted([{"repetitions": 100}, {"repetitions": 300}, {"repetitions": 300}])
    '100 to 300'
    """
    counts = sorted({row["repetitions"] for row in rows})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


@dataclass(frozen=True, kw_only=True)
class MethodsPanel(Panel):
    """Draws of one problem, judged by every method, while n or d grows."""

    problem: Problem
    kernel: Kernel
    title: str
    varied: Literal["n", "d"]
    values: tuple[int, ...]
    fixed: int  # the other one
    repetitions: int = REPETITIONS

    def cells(self, quick: bool) -> Mapping[Cell, int]:
        values, fixed, most = self.values, self.fixed, self.repetitions
        other = "d" if self.varied == "n" else "n"
        if quick:
            values, fixed, most = (QUICK[self.varied],), QUICK[other], 2
        chosen = [
            cell(method, **{self.varied: value, other: fixed})
            for value in values
            for method in methods_with(self.kernel)
        ]
        return {one: min(most, repetitions_of(one.method, one["n"], one["d"])) for one in chosen}

    def run(self, task: Task) -> Outcome:
        draws, target = self.problem(task.draws_generator(), task["n"], task["d"])
        return {"pvalue": pvalue(draws, target, METHODS[task.cell.method], task)}

    def summarise(self, found: Found) -> dict[str, Any]:
        rows = [
            {"method": one.method, **dict(one.setting)}
            | rejections([outcome["pvalue"] for outcome in outcomes])
            for one, outcomes in found.items()
        ]
        return {"level": LEVEL, "rows": rows}

    def axes(self, rows: list[dict[str, Any]], y: str) -> "tuple[Figure, Axes]":
        words = {"n": "number of draws $n$", "d": "dimension $d$"}
        other = "d" if self.varied == "n" else "n"
        title = f"{self.title}, ${other}$ = {rows[0][other]}, {self.kernel} kernel"
        figure, ax = new_axes(title, words[self.varied], y)
        log_ticks(ax, sorted({row[self.varied] for row in rows}))
        return figure, ax


@dataclass(frozen=True, kw_only=True)
class PowerPanel(MethodsPanel):
    """The share of rejections."""

    def figure(self, summary: dict[str, Any], seconds: Seconds) -> "Figure":  # noqa: ARG002
        figure, ax = self.axes(summary["rows"], "power")
        by_method = _by_method(summary["rows"])
        usual = Counter(row["repetitions"] for row in summary["rows"]).most_common(1)[0][0]
        for place, (method, rows) in enumerate(by_method.items()):
            ax.errorbar(
                [beside(row[self.varied], place, len(by_method)) for row in rows],
                *rates_and_bars(rows),
                label=_label(method, rows, usual),
                elinewidth=1.0,
                zorder=3 - place / len(by_method),  # the paper's method, the first, on top
                **lines(method),
            )
        ax.axhline(LEVEL, **REFERENCE_LINE)
        ax.set_ylim(-0.03, 1.03)
        legend(
            figure, f"{usual} repetitions, level {LEVEL:g} (dashed);\nbars: exact 95 % intervals"
        )
        return figure

    def measured(self, summary: dict[str, Any], seconds: Seconds) -> str:  # noqa: ARG002
        by_method = _by_method(summary["rows"])
        cells = {
            method: {row[self.varied]: f"{row['rate']:.2f}" for row in rows}
            for method, rows in by_method.items()
        }
        return f"Power, {counted(summary['rows'])} repetitions:\n\n" + _table(self.varied, cells)


@dataclass(frozen=True, kw_only=True)
class TimePanel(MethodsPanel):
    """CPU seconds of a test, with what it learns."""

    timed: bool = True
    repetitions: int = 5

    def figure(self, summary: dict[str, Any], seconds: Seconds) -> "Figure":
        figure, ax = self.axes(summary["rows"], "CPU seconds of a test")
        by_method = self._seconds(seconds)
        for place, (method, times) in enumerate(by_method.items()):
            typical = np.array([median(found) for found in times.values()])
            low, high = np.array([[min(found), max(found)] for found in times.values()]).T
            ax.errorbar(
                [beside(value, place, len(by_method)) for value in times],
                typical,
                [typical - low, high - typical],
                label=style(method).label,
                elinewidth=1.0,
                **lines(method),
            )
        ax.set_yscale("log")
        count = counted(summary["rows"])
        legend(figure, f"median of {count}, bars: range;\none thread, compiled")
        return figure

    def measured(self, summary: dict[str, Any], seconds: Seconds) -> str:
        cells = {
            method: {value: f"{median(found):.2g}" for value, found in times.items()}
            for method, times in self._seconds(seconds).items()
        }
        head = f"CPU seconds, median of {counted(summary['rows'])}:\n\n"
        return head + _table(self.varied, cells)

    def _seconds(self, seconds: Seconds) -> dict[str, dict[int, list[float]]]:
        by_method: dict[str, dict[int, list[float]]] = {}
        for one, found in seconds.items():
            by_method.setdefault(one.method, {})[one[self.varied]] = list(found)
        return by_method


def _by_method(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {row["method"]: [r for r in rows if r["method"] == row["method"]] for row in rows}


def _label(method: str, rows: list[dict[str, Any]], usual: int) -> str:
    count = counted(rows)
    return style(method).label + ("" if count == str(usual) else f"\n({count} repetitions)")


def _table(varied: str, cells: Mapping[str, Mapping[int, str]]) -> str:
    values = sorted({value for found in cells.values() for value in found})
    head = [
        f"| {varied} | " + " | ".join(map(str, values)) + " |",
        "|---" * (len(values) + 1) + "|",
    ]
    body = [
        f"| {base_name(method)} | " + " | ".join(found.get(v, "") for v in values) + " |"
        for method, found in cells.items()
    ]
    return "\n".join(head + body) + "\n"
