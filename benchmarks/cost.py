"""What the default check costs, beside a plain NumPy KSD with as many bootstraps.

Run with ``python -m benchmarks.cost``. Every figure is taken in a process of its own, in CPU
seconds of all its threads: the first call, which compiles, and the best of five after it. Peak
memory is what the process held beyond its imports. Results go to
``benchmarks/results/cost.json``.
"""

import json
import math
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from benchmarks.measuring import in_a_process

RESULTS = Path(__file__).parent / "results" / "cost.json"
DIM = 30
SMALL, TWICE, MIDDLE, GRAM, LARGE = 1000, 2000, 5000, 50_000, 300_000
THREADS = "2"  # as a user with two cores has it
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
    """N(0, I), of which the check is not told that it is normal."""
    return -0.5 * (x @ x)


def job(kind: str, n: int) -> Callable[[], object]:
    """What is timed, on draws of N(0, I)."""
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


def peak() -> float:
    """The most memory that this process ever held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(kind: str, n: int, repetitions: int) -> dict[str, Any]:
    """One configuration, in this process."""
    run = job(kind, n)
    before, seconds, elapsed = peak(), [], []
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
        "peak_mb": round(peak() - before),
    }


def name(kind: str, n: int) -> str:
    return f"{kind}, n = {n}"


def figures(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The figures to reach: what was measured, and the most that it may be."""

    def cpu(kind: str, n: int) -> float:
        return found[name(kind, n)]["cpu_seconds"]

    def ratio(kind: str, n: int) -> float:
        return cpu(kind, n) / cpu(f"plain KSD, {kind.split()[-1]}", n)

    half, full, autodiff = (
        "check, Gaussian, float32",
        "check, Gaussian, float64",
        "check, autodiff, float64",
    )
    ksd, aggregated, fssd = (f"{which}, Gaussian, float64" for which in ("ksd", "ksdagg", "fssd"))
    growth = math.log(cpu(half, LARGE) / cpu(half, MIDDLE)) / math.log(LARGE / MIDDLE)
    measured = {
        f"{half}: ratio to KSD, n = {SMALL}": (ratio(half, SMALL), 3.0),
        f"{half}: ratio to KSD, n = {MIDDLE}": (ratio(half, MIDDLE), 0.3),
        f"{full}: ratio to KSD, n = {SMALL}": (ratio(full, SMALL), None),
        f"{full}: ratio to KSD, n = {MIDDLE}": (ratio(full, MIDDLE), None),
        f"{autodiff}: ratio to KSD, n = {SMALL}": (ratio(autodiff, SMALL), None),
        f"{autodiff}: ratio to KSD, n = {MIDDLE}": (ratio(autodiff, MIDDLE), None),
        f"growth exponent, n = {MIDDLE} to {LARGE}": (growth, 1.05),
        f"peak memory in MB, n = {LARGE}": (found[name(half, LARGE)]["peak_mb"], 2000),
        f"first call in seconds, Gaussian, n = {SMALL}": (
            found[name(full, SMALL)]["first_seconds"],
            10,
        ),
        f"first call in seconds, autodiff, n = {SMALL}": (
            found[name(autodiff, SMALL)]["first_seconds"],
            10,
        ),
        f"{ksd}: ratio to plain KSD, n = {TWICE}": (ratio(ksd, TWICE), 0.5),
        f"{ksd}: ratio to plain KSD, n = {MIDDLE}": (ratio(ksd, MIDDLE), 0.5),
        f"{fssd}: ratio to plain KSD, n = {MIDDLE}": (ratio(fssd, MIDDLE), 0.1),
        f"{aggregated}: ratio to our KSD, n = {TWICE}": (
            cpu(aggregated, TWICE) / cpu(ksd, TWICE),
            4.0,
        ),
        f"{ksd}: peak memory in MB, n = {GRAM}": (found[name(ksd, GRAM)]["peak_mb"], 2000),
    }
    return {
        what: {"value": round(value, 3), "at most": most, "passes": most is None or value <= most}
        for what, (value, most) in measured.items()
    }


def table(found: dict[str, Any]) -> str:
    columns = ("cpu_seconds", "seconds", "first_cpu_seconds", "first_seconds", "peak_mb", "load")
    lines = [f"{f'd = {DIM}':<36}" + "".join(f"{column:>19}" for column in columns)]
    for one, values in found["measured"].items():
        lines.append(f"{one:<36}" + "".join(f"{values[column]:>19}" for column in columns))
    lines.append("")
    for what, values in found["figures"].items():
        most = "" if values["at most"] is None else f"at most {values['at most']:<6g}"
        mark = "" if values["at most"] is None else ("ok" if values["passes"] else "NO")
        lines.append(f"{what:<54} {values['value']:>9.3g}  {most:<15} {mark}".rstrip())
    return "\n".join(lines)


@click.command()
@click.option("--one", type=str, hidden=True, help="Measure one in this process.")
@click.option("--quick", is_flag=True, help=f"Leave out n = {LARGE}.")
def main(one: str | None, quick: bool) -> None:
    """Measure CPU seconds and memory."""
    if one is not None:
        kind, n = json.loads(one)
        click.echo(json.dumps(measure(kind, n, repetitions=5 if n < GRAM else 1)))
        return
    measured, environment = {}, {"OPENBLAS_NUM_THREADS": THREADS}
    for kind, n in CONFIGURATIONS:
        if not (quick and n == LARGE):
            measured[name(kind, n)] = in_a_process("benchmarks.cost", (kind, n), environment)
            click.echo(f"{name(kind, n)}: {measured[name(kind, n)]}", err=True)
    if quick:
        return
    found = {"measured": measured, "figures": figures(measured), "threads": int(THREADS)}
    RESULTS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    click.echo(table(found))


if __name__ == "__main__":
    main()
