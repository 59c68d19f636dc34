"""What every method costs, and how its cost grows with draws and coordinates, over two decades.

Run with ``python -m benchmarks.growth [METHOD ...]``. Each cost is measured in a separate process
with one BLAS thread: the best of several calls of `sw.check` on draws from N(0, I) in float64,
after a first call that compiles; long calls are made only once. Evaluations are counted with a
target that gives only its score. Each method is written to ``benchmarks/results/growth.json`` when
it is done.
"""

import json
from typing import Any

import click

from benchmarks import RESULTS
from benchmarks.measuring import costs, exponent, in_new_process, machine, measures_jobs
from experiments.engine.executors import ONE_THREAD

PATH = RESULTS / "growth.json"
DIM, DRAWS = 30, 1000  # fixed while the other grows
DIMENSIONS = (3, 30, 300)
LINEAR, QUADRATIC = (500, 5000, 50_000), (100, 1000, 10_000)
FEW = 5000 * 30  # entries; with more, compiling is a small share of a first call
METHODS = {
    "transported": LINEAR,
    "kccsd": LINEAR,
    "fssd": LINEAR,
    "rfsd": LINEAR,
    "nystrom": LINEAR,
    "ksd": QUADRATIC,
    "graphical": QUADRATIC,
    "ksdagg": QUADRATIC,
    "sksd": QUADRATIC,
}


def prepared(method: str, d: int) -> Any:
    """A method with its defaults; the graphical one is told that the coordinates are a chain."""
    import steinwise as sw

    if method != "graphical":
        return method
    return sw.methods.GraphicalKSD(graph=[(j, j + 1) for j in range(d - 1)])


def check(method: str, n: int, d: int) -> dict[str, Any]:
    import numpy as np

    import steinwise as sw

    x = np.random.default_rng(0).normal(size=(n, d))
    target = sw.Gaussian(np.zeros(d), np.eye(d))
    options = {"method": prepared(method, d), "independent": True, "progress": False}

    def run() -> None:
        sw.check(x, target, **options)

    if n * d <= FEW:
        run()
    return costs(run, 3 if n * d <= DRAWS * DIM else 1)


def evaluations(method: str) -> dict[str, Any]:
    """How many scores are evaluated for each draw, in 10 coordinates."""
    import warnings

    import numpy as np

    import steinwise as sw

    evaluated = 0

    def score(x: np.ndarray) -> np.ndarray:
        nonlocal evaluated
        evaluated += len(x)
        return -x

    x = np.random.default_rng(0).normal(size=(500, 10))
    with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
        sw.check(
            x,
            sw.Target.from_score(score),
            method=prepared(method, 10),
            independent=True,
            progress=False,
        )
    return {"per_draw": round(evaluated / len(x), 1)}


def measure(method: str) -> dict[str, Any]:
    def cost(n: int, d: int) -> dict[str, Any]:
        measured = in_new_process("benchmarks.growth", (method, n, d), ONE_THREAD)
        click.echo(f"{method}, n = {n}, d = {d}: {measured}", err=True)
        return measured

    draws = {n: cost(n, DIM) for n in METHODS[method]}
    known = {(n, DIM): measured for n, measured in draws.items()}
    dimensions = {d: known.get((DRAWS, d)) or cost(DRAWS, d) for d in DIMENSIONS}
    counted = in_new_process("benchmarks.growth", (method,), ONE_THREAD)
    return {
        "draws": draws,
        "coordinates": dimensions,
        "exponent in n": round(exponent({n: c["cpu_seconds"] for n, c in draws.items()}), 2),
        "exponent in d": round(exponent({d: c["cpu_seconds"] for d, c in dimensions.items()}), 2),
        "evaluations per draw, d = 10": counted["per_draw"],
    }


def table(results: dict[str, Any]) -> str:
    sizes = f"n = {LINEAR[1]} or {QUADRATIC[1]}, d = {DIM}"
    head = f"{sizes:<30}{'CPU s':>9}{'seconds':>9}{'MB':>7}"
    lines = [head + f"{'evaluations':>13}{'n^':>7}{'d^':>7}"]
    for method, row in results["methods"].items():
        middle = row["draws"][list(row["draws"])[1]]
        lines.append(
            f"{method:<30}{middle['cpu_seconds']:>9.3f}{middle['seconds']:>9.3f}"
            f"{middle['peak_mb']:>7}{row['evaluations per draw, d = 10']:>13}"
            f"{row['exponent in n']:>7.2f}{row['exponent in d']:>7.2f}"
        )
    return "\n".join(lines)


@click.command()
@click.argument("methods", nargs=-1, type=click.Choice(list(METHODS)))
@measures_jobs(lambda job: check(*job) if len(job) > 1 else evaluations(*job))
def main(methods: tuple[str, ...]) -> None:
    """Measure CPU seconds, memory and evaluations of METHODS, by default of all."""
    measured = json.loads(PATH.read_text())["methods"] if PATH.exists() else {}
    for method in methods or METHODS:
        measured[method] = measure(method)
        done = {name: measured[name] for name in METHODS if name in measured}
        PATH.write_text(json.dumps({"methods": done, "machine": machine()}, indent=1) + "\n")
    click.echo(table(json.loads(PATH.read_text())))


if __name__ == "__main__":
    main()
