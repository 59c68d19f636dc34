"""How the default check grows with draws and coordinates, and how close it is to its limit.

Run with ``python -m benchmarks.scale``. Each size is measured in a separate process with one BLAS
thread and a memory budget of 2 GiB, in CPU seconds: the best of several calls. Memory is anonymous
memory beyond what was held before the call; the draws are in a file. ``--large`` measures 1000
draws of 10,000 coordinates and five million draws of 50 coordinates (2 GB) instead. Results go to
``benchmarks/results/scale.json``.
"""

import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from benchmarks import RESULTS
from benchmarks.measuring import (
    against_bounds,
    best_of,
    bounds_table,
    costs,
    exponent,
    in_new_process,
    machine,
    measures_jobs,
)
from experiments.engine.executors import ONE_THREAD

PATH = RESULTS / "scale.json"
DIM, DRAWS = 30, 5000
DRAWS_GROW, DIMENSIONS_GROW = (5000, 50_000, 1_000_000), (10, 30, 100, 300)
LARGE = ((1000, 10_000), (5_000_000, 50))
BUDGET = 2**31
CALLS, ROUNDS = 10, 30  # calls of the hot loop timed together, and how often that is repeated
MOST = {"draws": 1.05, "coordinates": 1.2, "hot loop": 3.0, "memory": 1.0}


def draws_in(path: Path, n: int, d: int) -> Any:
    """Draws from N(0, I), written to a file in chunks and memory-mapped."""
    import numpy as np

    rng = np.random.default_rng(0)
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, d))
    for start in range(0, n, 100_000):
        stop = min(start + 100_000, n)
        file[start:stop] = rng.normal(size=(stop - start, d))
    file.flush()
    return np.load(path, mmap_mode="r")


def check(n: int, d: int, repetitions: int) -> dict[str, Any]:
    """The default check in float32 against a closed-form target."""
    import numpy as np

    import steinwise as sw

    target = sw.Gaussian(np.zeros(d), np.eye(d))
    options = {"dtype": "float32", "independent": True, "progress": False, "memory": BUDGET}
    with tempfile.TemporaryDirectory() as folder:
        draws = draws_in(Path(folder) / "draws.npy", n, d)

        def run() -> None:
            sw.check(draws, target, **options)

        # a small check first: what is loaded only once does not count
        sw.check(np.array(draws[:500, :2]), sw.Gaussian(np.zeros(2), np.eye(2)), **options)
        return costs(run, repetitions) | {"evaluations": 0}


def floors() -> dict[str, tuple[int, Callable[[], object]]]:
    """The speed of the machine itself: multiply-adds of a matrix product, and exps."""
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
    """Terms times features of many lines, compared with the exps and multiply-adds they need.

    With as many lines as a check takes at once, and after a check, so that memory that the check
    has allocated is reused.
    """
    import numpy as np

    import steinwise as sw
    from steinwise.methods.complete_conditionals.batch_products import (
        SlabFeatures,
        Sums,
        add_products,
    )
    from steinwise.methods.complete_conditionals.features import SKETCHES, Features
    from steinwise.methods.complete_conditionals.slab_pass import LINES_AT_ONCE
    from steinwise.methods.complete_conditionals.terms import (
        PLACE_TERMS,
        STEIN_TERMS,
        TERMS,
        terms_of,
    )
    from steinwise.orbits.places import Places
    from steinwise.orbits.quantiles import QUANTILES

    target = sw.Gaussian(np.zeros(DIM), np.eye(DIM))
    many = np.random.default_rng(0).normal(size=(DRAWS, DIM))
    sw.check(many, target, dtype="float32", independent=True, progress=False)
    x = many[: LINES_AT_ONCE // DIM]
    own = np.arange(DIM)
    places = Places.of_normal_scores(x)
    features = Features.draw(DIM, 0)
    sums, weight = Sums.zeros(features, TERMS, 1, DIM, "float32"), np.ones((1, len(x)))

    def run() -> None:
        for _ in range(CALLS):
            terms = terms_of(places, np.dtype("float32"))
            seen = SlabFeatures.of(x.T, weight, features, terms.dtype)
            add_products(sums, terms, PLACE_TERMS, seen, own)

    # in turn, because the speed of the processor varies over time
    jobs = {"hot loop": (CALLS * x.size, run), **floors()}
    seconds = dict.fromkeys(jobs, math.inf)
    for _ in range(ROUNDS):
        for name, (_, job) in jobs.items():
            seconds[name] = min(seconds[name], best_of(1, job).cpu_seconds)
    exps = QUANTILES + 1  # those of the kernel, and a cosine, which counts as one
    # exponents, kernels, features, sketches without the line's own coordinate, pairs
    products = 3 * QUANTILES * (1 + STEIN_TERMS) + TERMS * features.count
    products += TERMS * 2 * SKETCHES + len(features.pairs)
    unit = {name: seconds[name] / count for name, (count, _) in jobs.items()}
    need = exps * unit["exps"] + products * unit["multiply-adds"]
    return {
        "nanoseconds a line": round(1e9 * unit["hot loop"], 1),
        "exps": exps,
        "multiply-adds": products,
        "nanoseconds they need": round(1e9 * need, 1),
        "ratio": round(unit["hot loop"] / need, 2),
        "of the machine, a second": {
            name: float(f"{1 / unit[name]:.3g}") for name in ("exps", "multiply-adds")
        },
    }


def growth(measured: dict[str, Any], sizes: dict[int, str]) -> float:
    return exponent({size: measured[label]["cpu_seconds"] for size, label in sizes.items()})


def figures(measured: dict[str, Any]) -> dict[str, Any]:
    values = {}
    few, many = DRAWS_GROW[0], DRAWS_GROW[-1]
    narrow, wide = DIMENSIONS_GROW[0], DIMENSIONS_GROW[-1]
    if name(many, DIM) in measured:
        in_n = growth(measured, {n: name(n, DIM) for n in DRAWS_GROW})
        values[f"growth in n, {few} to {many}"] = (in_n, MOST["draws"])
    in_d = growth(measured, {d: name(DRAWS, d) for d in DIMENSIONS_GROW})
    values[f"growth in d, {narrow} to {wide}"] = (in_d, MOST["coordinates"])
    values["hot loop, to its exps and products"] = (measured["hot loop"]["ratio"], MOST["hot loop"])
    for n, d in ((many, DIM), *LARGE):
        if name(n, d) in measured:
            used = measured[name(n, d)]["peak_mb"] * 2**20 / BUDGET
            values[f"memory of the budget, {name(n, d)}"] = (used, MOST["memory"])
    return against_bounds(values)


def name(n: int, d: int) -> str:
    return f"n = {n}, d = {d}"


def table(results: dict[str, Any]) -> str:
    columns = ("cpu_seconds", "seconds", "peak_mb", "load")
    lines = [f"{'default check, float32':<28}" + "".join(f"{c:>13}" for c in columns)]
    for size, row in results["measured"].items():
        if size != "hot loop":
            lines.append(f"{size:<28}" + "".join(f"{row[c]:>13}" for c in columns))
    return "\n".join([*lines, "", *bounds_table(results["figures"])])


@click.command()
@click.option(
    "--large",
    is_flag=True,
    help="Only ten thousand coordinates and five million draws (2 GB on disk).",
)
@click.option("--quick", is_flag=True, help="Leave out a million draws.")
@measures_jobs(lambda job: {"check": check, "hot loop": hot_loop}[job[0]](*job[1:]))
def main(large: bool, quick: bool) -> None:
    """Measure CPU seconds and memory."""
    measured = json.loads(PATH.read_text())["measured"] if PATH.exists() else {}
    sizes = [(DRAWS, d) for d in DIMENSIONS_GROW] + [(n, DIM) for n in DRAWS_GROW]
    for n, d in LARGE if large else dict.fromkeys(sizes):
        if quick and n * d > DRAWS_GROW[1] * DIM:
            continue
        repetitions = 5 if n * d <= DRAWS * DIM else 2 if n * d <= DRAWS_GROW[1] * DIM else 1
        arguments = ("check", n, d, repetitions)
        measured[name(n, d)] = in_new_process("benchmarks.scale", arguments, ONE_THREAD)
        click.echo(f"{name(n, d)}: {measured[name(n, d)]}", err=True)
    measured["hot loop"] = in_new_process("benchmarks.scale", ("hot loop",), ONE_THREAD)
    results = {"measured": measured, "figures": figures(measured), "machine": machine()}
    PATH.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    click.echo(table(results))


if __name__ == "__main__":
    main()
