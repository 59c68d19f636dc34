"""What the default check costs, as a ratio to a plain NumPy KSD with as many bootstraps.

Run with ``python -m benchmarks.cost``. Each configuration is measured in a separate process, in
CPU seconds of all its threads: the first call, which compiles, and the best of the five calls after
it. Peak memory is what the process held beyond its imports. Results go to
``benchmarks/results/cost.json``.
"""

import json
import math
import time
from collections.abc import Callable
from typing import Any

import click

from benchmarks import RESULTS
from benchmarks.measuring import (
    against_bounds,
    bounds_table,
    in_new_process,
    measures_jobs,
    peak_mb,
)

PATH = RESULTS / "cost.json"
DIM = 30
SMALL, TWICE, MIDDLE, GRAM, LARGE = 1000, 2000, 5000, 50_000, 300_000
THREADS = "2"  # what a user with two cores has
CONFIGURATIONS = [
    *(
        (kind, n)
        for n in (SMALL, MIDDLE)
        for kind in (
            "plain KSD, float32",
            "plain KSD, float64",
            "check, Gaussian, float32",
            "check, Gaussian, float64",
            "check, autodiff, float64",
        )
    ),
    ("plain KSD, float64", TWICE),
    ("ksd, Gaussian, float64", TWICE),
    ("ksdagg, Gaussian, float64", TWICE),
    ("ksd, Gaussian, float64", MIDDLE),
    ("fssd, Gaussian, float64", MIDDLE),
    ("ksd, Gaussian, float64", GRAM),
    ("check, Gaussian, float32", LARGE),
]


def log_density(x):
    """N(0, I) as a plain function, so that the check cannot use closed forms."""
    return -0.5 * (x @ x)


def timed_call(kind: str, n: int) -> Callable[[], object]:
    """The function that is timed, on draws from N(0, I)."""
    import numpy as np

    import steinwise as sw
    from benchmarks.plain_ksd import plain_ksd

    x = np.random.default_rng(0).normal(size=(n, DIM))
    dtype = kind.split()[-1]
    if kind.startswith("plain KSD"):
        x = x.astype(dtype)
        return lambda: plain_ksd(x, -x)
    closed_form = sw.Gaussian(np.zeros(DIM), np.eye(DIM))
    target = closed_form if "Gaussian" in kind else sw.Target(log_density)
    method = kind.split(",")[0].replace("check", "transported")
    options = {"method": method, "dtype": dtype, "independent": True, "progress": False}
    return lambda: sw.check(x, target, **options)


def measure(kind: str, n: int, repetitions: int) -> dict[str, Any]:
    """One configuration, in this process."""
    run = timed_call(kind, n)
    before, seconds, elapsed = peak_mb(), [], []
    for _ in range(1 + repetitions):
        cpu, clock = time.process_time(), time.perf_counter()
        run()
        seconds.append(time.process_time() - cpu)
        elapsed.append(time.perf_counter() - clock)
    return {
        "cpu_seconds": round(min(seconds[1:] or seconds), 3),
        "first_cpu_seconds": round(seconds[0], 2),
        "first_seconds": round(elapsed[0], 2),
        "seconds": round(min(elapsed[1:] or elapsed), 3),
        "peak_mb": round(peak_mb() - before),
    }


def name(kind: str, n: int) -> str:
    return f"{kind}, n = {n}"


def figures(measured: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The ratios and sizes that matter, each with its upper bound."""

    def cpu(kind: str, n: int) -> float:
        return measured[name(kind, n)]["cpu_seconds"]

    def ratio(kind: str, n: int) -> float:
        return cpu(kind, n) / cpu(f"plain KSD, {kind.split()[-1]}", n)

    single, double, autodiff = (
        "check, Gaussian, float32",
        "check, Gaussian, float64",
        "check, autodiff, float64",
    )
    ksd, aggregated, fssd = (f"{which}, Gaussian, float64" for which in ("ksd", "ksdagg", "fssd"))
    growth = math.log(cpu(single, LARGE) / cpu(single, MIDDLE)) / math.log(LARGE / MIDDLE)
    values = {
        f"{single}: ratio to KSD, n = {SMALL}": (ratio(single, SMALL), 3.0),
        f"{single}: ratio to KSD, n = {MIDDLE}": (ratio(single, MIDDLE), 0.3),
        f"{double}: ratio to KSD, n = {SMALL}": (ratio(double, SMALL), None),
        f"{double}: ratio to KSD, n = {MIDDLE}": (ratio(double, MIDDLE), None),
        f"{autodiff}: ratio to KSD, n = {SMALL}": (ratio(autodiff, SMALL), None),
        f"{autodiff}: ratio to KSD, n = {MIDDLE}": (ratio(autodiff, MIDDLE), None),
        f"growth exponent, n = {MIDDLE} to {LARGE}": (growth, 1.05),
        f"peak memory in MB, n = {LARGE}": (measured[name(single, LARGE)]["peak_mb"], 2000),
        f"first call in seconds, Gaussian, n = {SMALL}": (
            measured[name(double, SMALL)]["first_seconds"],
            10,
        ),
        f"first call in seconds, autodiff, n = {SMALL}": (
            measured[name(autodiff, SMALL)]["first_seconds"],
            10,
        ),
        f"{ksd}: ratio to plain KSD, n = {TWICE}": (ratio(ksd, TWICE), 0.5),
        f"{ksd}: ratio to plain KSD, n = {MIDDLE}": (ratio(ksd, MIDDLE), 0.5),
        f"{fssd}: ratio to plain KSD, n = {MIDDLE}": (ratio(fssd, MIDDLE), 0.1),
        f"{aggregated}: ratio to our KSD, n = {TWICE}": (
            cpu(aggregated, TWICE) / cpu(ksd, TWICE),
            4.0,
        ),
        f"{ksd}: peak memory in MB, n = {GRAM}": (measured[name(ksd, GRAM)]["peak_mb"], 2000),
    }
    return against_bounds(values)


def table(results: dict[str, Any]) -> str:
    columns = ("cpu_seconds", "seconds", "first_cpu_seconds", "first_seconds", "peak_mb", "load")
    lines = [f"{f'd = {DIM}':<36}" + "".join(f"{column:>19}" for column in columns)]
    for configuration, row in results["measured"].items():
        lines.append(f"{configuration:<36}" + "".join(f"{row[column]:>19}" for column in columns))
    return "\n".join([*lines, "", *bounds_table(results["figures"])])


@click.command()
@click.option("--quick", is_flag=True, help=f"Leave out n = {LARGE}.")
@measures_jobs(lambda job: measure(*job, repetitions=5 if job[1] < GRAM else 1))
def main(quick: bool) -> None:
    """Measure CPU seconds and memory."""
    measured, environment = {}, {"OPENBLAS_NUM_THREADS": THREADS}
    for kind, n in CONFIGURATIONS:
        if not (quick and n == LARGE):
            measured[name(kind, n)] = in_new_process("benchmarks.cost", (kind, n), environment)
            click.echo(f"{name(kind, n)}: {measured[name(kind, n)]}", err=True)
    if quick:
        return
    results = {"measured": measured, "figures": figures(measured), "threads": int(THREADS)}
    PATH.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    click.echo(table(results))


if __name__ == "__main__":
    main()
