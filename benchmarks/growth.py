"""What every method costs, and how it grows with draws and coordinates over two decades.

Run with ``python -m benchmarks.growth [METHOD ...]``. Every figure is taken in a process of its own
with one BLAS thread: the best of some calls of `sw.check` after a first one, which compiles, on
draws of N(0, I) in float64; of long calls the first. Evaluations are those of a density that is
only known by its score, counted. Results go to ``benchmarks/results/growth.json`` method by method.
"""

import json
from typing import Any

import click

from benchmarks.measuring import costs, exponent, in_a_process, machine
from benchmarks.size import ONE_THREAD, RESULTS

PATH = RESULTS.parent / "growth.json"
DIM, DRAWS = 30, 1000  # where the other one grows
DIMENSIONS = (3, 30, 300)
LINEAR, QUADRATIC = (500, 5000, 50_000), (100, 1000, 10_000)
FEW = 5000 * 30  # entries; more take so long that compilation does not count
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
    """A method as it is by default; a graph says that the coordinates are a chain."""
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
    """Of a density with a score, for every draw, in 10 coordinates."""
    import warnings

    import numpy as np

    import steinwise as sw

    asked = 0

    def score(x: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += len(x)
        return -x

    x = np.random.default_rng(0).normal(size=(500, 10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.SteinwiseWarning)
        sw.check(
            x,
            sw.Target.from_score(score),
            method=prepared(method, 10),
            independent=True,
            progress=False,
        )
    return {"per_draw": round(asked / len(x), 1)}


def measure(method: str) -> dict[str, Any]:
    def cost(n: int, d: int) -> dict[str, Any]:
        found = in_a_process("benchmarks.growth", (method, n, d), ONE_THREAD)
        click.echo(f"{method}, n = {n}, d = {d}: {found}", err=True)
        return found

    draws = {n: cost(n, DIM) for n in METHODS[method]}
    measured = {(n, DIM): found for n, found in draws.items()}
    dimensions = {d: measured.get((DRAWS, d)) or cost(DRAWS, d) for d in DIMENSIONS}
    asked = in_a_process("benchmarks.growth", (method,), ONE_THREAD)
    return {
        "draws": draws,
        "coordinates": dimensions,
        "exponent in n": round(exponent({n: c["cpu_seconds"] for n, c in draws.items()}), 2),
        "exponent in d": round(exponent({d: c["cpu_seconds"] for d, c in dimensions.items()}), 2),
        "evaluations per draw, d = 10": asked["per_draw"],
    }


def table(found: dict[str, Any]) -> str:
    what = f"n = {LINEAR[1]} or {QUADRATIC[1]}, d = {DIM}"
    head = f"{what:<30}{'CPU s':>9}{'seconds':>9}{'MB':>7}"
    lines = [head + f"{'evaluations':>13}{'n^':>7}{'d^':>7}"]
    for method, one in found["methods"].items():
        middle = one["draws"][list(one["draws"])[1]]
        lines.append(
            f"{method:<30}{middle['cpu_seconds']:>9.3f}{middle['seconds']:>9.3f}"
            f"{middle['peak_mb']:>7}{one['evaluations per draw, d = 10']:>13}"
            f"{one['exponent in n']:>7.2f}{one['exponent in d']:>7.2f}"
        )
    return "\n".join(lines)


@click.command()
@click.argument("methods", nargs=-1, type=click.Choice(list(METHODS)))
@click.option("--one", type=str, hidden=True, help="Measure one in this process.")
def main(methods: tuple[str, ...], one: str | None) -> None:
    """Measure CPU seconds, memory and evaluations of METHODS, all by default."""
    if one is not None:
        method, *sizes = json.loads(one)
        click.echo(json.dumps(check(method, *sizes) if sizes else evaluations(method)))
        return
    found = json.loads(PATH.read_text())["methods"] if PATH.exists() else {}
    for method in methods or METHODS:
        found[method] = measure(method)
        done = {name: found[name] for name in METHODS if name in found}
        PATH.write_text(json.dumps({"methods": done, "machine": machine()}, indent=1) + "\n")
    click.echo(table(json.loads(PATH.read_text())))


if __name__ == "__main__":
    main()
