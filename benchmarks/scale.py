"""How the default check grows with draws and coordinates, and how near it is to its limit.

Run with ``python -m benchmarks.scale``. Every figure is taken in a process of its own with one BLAS
thread and a budget of 2 GiB, in CPU seconds: the best of some calls. Memory is anonymous memory
beyond what was held before; the draws are in a file. ``--large`` measures 1000 draws of 10,000
coordinates, and five million of 50, which are 2 GB, in place of the others. Results go to
``benchmarks/results/scale.json``.
"""

import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from benchmarks import measuring
from benchmarks.measuring import best, costs, in_a_process, machine
from benchmarks.size import ONE_THREAD, RESULTS

PATH = RESULTS.parent / "scale.json"
DIM, DRAWS = 30, 5000
DRAWS_GROW, DIMENSIONS_GROW = (5000, 50_000, 1_000_000), (10, 30, 100, 300)
LARGE = ((1000, 10_000), (5_000_000, 50))
BUDGET = 2**31
CALLS, TIMES = 10, 30  # of the hot loop that are timed together, and how often
MOST = {"draws": 1.05, "coordinates": 1.2, "hot loop": 3.0, "memory": 1.0}


def draws_in(path: Path, n: int, d: int) -> Any:
    """Draws of N(0, I) in a file, written by parts and mapped."""
    import numpy as np

    rng = np.random.default_rng(0)
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, d))
    for start in range(0, n, 100_000):
        stop = min(start + 100_000, n)
        file[start:stop] = rng.normal(size=(stop - start, d))
    file.flush()
    return np.load(path, mmap_mode="r")


def check(n: int, d: int, repetitions: int) -> dict[str, Any]:
    """The default check in float32 of a closed-form target."""
    import numpy as np

    import steinwise as sw

    target = sw.Gaussian(np.zeros(d), np.eye(d))
    options = {"dtype": "float32", "independent": True, "progress": False, "memory": BUDGET}
    with tempfile.TemporaryDirectory() as folder:
        draws = draws_in(Path(folder) / "draws.npy", n, d)

        def run() -> None:
            sw.check(draws, target, **options)

        few = sw.Gaussian(np.zeros(2), np.eye(2))
        sw.check(np.array(draws[:500, :2]), few, **options)  # what is loaded once
        return costs(run, repetitions) | {"evaluations": 0}


def floors() -> dict[str, tuple[int, Callable[[], object]]]:
    """What the machine itself is asked for: multiply-adds of a matrix product, and exps."""
    import numpy as np

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 1024, 1024)).astype(np.float32)
    x = rng.normal(size=2**18).astype(np.float32)
    out = np.empty_like(x)
    return {
        "multiply-adds": (1024**3, lambda: a @ b),
        "exps": (32 * len(x), lambda: [np.exp(x, out=out) for _ in range(32)]),
    }


def hot_loop() -> dict[str, Any]:
    """Terms times features of many lines, beside the exps and multiply-adds that they need.

    As many lines as a check takes at once, after a check, which leaves memory that is used again.
    """
    import numpy as np

    import steinwise as sw
    from steinwise.methods.transported import terms as transport
    from steinwise.methods.transported.slab_pass import LINES_AT_ONCE
    from steinwise.methods.transported.terms import Features
    from steinwise.orbits.lines import QUANTILES
    from steinwise.orbits.quadrature import follow, make_guide

    target = sw.Gaussian(np.zeros(DIM), np.eye(DIM))
    many = np.random.default_rng(0).normal(size=(DRAWS, DIM))
    sw.check(many, target, dtype="float32", independent=True, progress=False)
    x = many[: LINES_AT_ONCE // DIM]
    own = np.arange(DIM)
    lines = follow(target, x, own, x, make_guide(x), BUDGET)
    features = Features.draw(DIM, 0)
    sums, weight = features.sums(1, DIM, "float32"), np.ones((1, len(x)))

    def run() -> None:
        for _ in range(CALLS):
            transport.batch_products(sums, lines, x, x, weight, own, features)

    # in turn: the processor is faster at some times than at others
    jobs = {"hot loop": (CALLS * x.size, run), **floors()}
    seconds = dict.fromkeys(jobs, math.inf)
    for _ in range(TIMES):
        for name, (_, job) in jobs.items():
            seconds[name] = min(seconds[name], best(job, 1))
    exps = QUANTILES + 1  # of the kernel; a cosine, taken as one
    # exponents, kernels, features, sketches without the line's own coordinate, pairs
    products = 3 * QUANTILES * (1 + transport.STEIN_TERMS) + transport.TERMS * features.count
    products += transport.TERMS * 2 * transport.SKETCHES + len(features.pairs)
    each = {name: seconds[name] / count for name, (count, _) in jobs.items()}
    need = exps * each["exps"] + products * each["multiply-adds"]
    return {
        "nanoseconds a line": round(1e9 * each["hot loop"], 1),
        "exps": exps,
        "multiply-adds": products,
        "nanoseconds they need": round(1e9 * need, 1),
        "ratio": round(each["hot loop"] / need, 2),
        "of the machine, a second": {
            name: float(f"{1 / each[name]:.3g}") for name in ("exps", "multiply-adds")
        },
    }


def growth(measured: dict[str, Any], sizes: dict[int, str]) -> float:
    return measuring.exponent({size: measured[one]["cpu_seconds"] for size, one in sizes.items()})


def figures(measured: dict[str, Any]) -> dict[str, Any]:
    found = {}
    few, many = DRAWS_GROW[0], DRAWS_GROW[-1]
    narrow, wide = DIMENSIONS_GROW[0], DIMENSIONS_GROW[-1]
    if name(many, DIM) in measured:
        in_n = growth(measured, {n: name(n, DIM) for n in DRAWS_GROW})
        found[f"growth in n, {few} to {many}"] = (in_n, MOST["draws"])
    in_d = growth(measured, {d: name(DRAWS, d) for d in DIMENSIONS_GROW})
    found[f"growth in d, {narrow} to {wide}"] = (in_d, MOST["coordinates"])
    found["hot loop, to its exps and products"] = (measured["hot loop"]["ratio"], MOST["hot loop"])
    for n, d in ((many, DIM), *LARGE):
        if name(n, d) in measured:
            used = measured[name(n, d)]["peak_mb"] * 2**20 / BUDGET
            found[f"memory of the budget, {name(n, d)}"] = (used, MOST["memory"])
    return {
        what: {"value": round(value, 3), "at most": most, "passes": value <= most}
        for what, (value, most) in found.items()
    }


def name(n: int, d: int) -> str:
    return f"n = {n}, d = {d}"


def table(found: dict[str, Any]) -> str:
    columns = ("cpu_seconds", "seconds", "peak_mb", "load")
    lines = [f"{'default check, float32':<28}" + "".join(f"{c:>13}" for c in columns)]
    for one, values in found["measured"].items():
        if one != "hot loop":
            lines.append(f"{one:<28}" + "".join(f"{values[c]:>13}" for c in columns))
    lines.append("")
    for what, values in found["figures"].items():
        mark = "ok" if values["passes"] else "NO"
        lines.append(f"{what:<44}{values['value']:>9.3g}  at most {values['at most']:<6g} {mark}")
    return "\n".join(lines)


@click.command()
@click.option("--one", type=str, hidden=True, help="Measure one in this process.")
@click.option(
    "--large",
    is_flag=True,
    help="Ten thousand coordinates, and five million draws (2 GB on disk), only.",
)
@click.option("--quick", is_flag=True, help="Leave out a million draws.")
def main(one: str | None, large: bool, quick: bool) -> None:
    """Measure CPU seconds and memory."""
    if one is not None:
        kind, *numbers = json.loads(one)
        job = {"check": check, "hot loop": hot_loop}[kind]
        click.echo(json.dumps(job(*numbers)))
        return
    measured = json.loads(PATH.read_text())["measured"] if PATH.exists() else {}
    jobs = [(DRAWS, d) for d in DIMENSIONS_GROW] + [(n, DIM) for n in DRAWS_GROW]
    for n, d in LARGE if large else dict.fromkeys(jobs):
        if quick and n * d > DRAWS_GROW[1] * DIM:
            continue
        repetitions = 5 if n * d <= DRAWS * DIM else 2 if n * d <= DRAWS_GROW[1] * DIM else 1
        job = ("check", n, d, repetitions)
        measured[name(n, d)] = in_a_process("benchmarks.scale", job, ONE_THREAD)
        click.echo(f"{name(n, d)}: {measured[name(n, d)]}", err=True)
    measured["hot loop"] = in_a_process("benchmarks.scale", ("hot loop",), ONE_THREAD)
    found = {"measured": measured, "figures": figures(measured), "machine": machine()}
    PATH.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    click.echo(table(found))


if __name__ == "__main__":
    main()
