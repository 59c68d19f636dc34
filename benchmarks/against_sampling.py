"""What a check costs against the NUTS run that made its draws.

Run with ``python -m benchmarks.against_sampling``, or name some of the posteriors. Each is measured
in a process of its own, in CPU seconds: NUTS, 4 chains of 500 + 1000 draws, of BlackJAX or of the
library whose model it is, and the check of its 4000 draws at every effort, its first call and the
best of two after it. BLAS has one thread, for sampler and check alike: on matrices as small as
these a second one only spins, and a gradient of the Gaussian process took 16 times as many CPU
seconds. Results go to ``benchmarks/results/against_sampling.json`` as they come.
"""

import json
import time
from typing import Any

import click

from benchmarks import RESULTS
from benchmarks.adapted_posteriors import ADAPTED
from benchmarks.line_cost import line_costs
from benchmarks.measuring import (
    against_bounds,
    bounds_table,
    in_new_process,
    machine,
    measures_jobs,
)
from benchmarks.posteriors import POSTERIORS

PATH = RESULTS / "against_sampling.json"
CHAINS, WARM_UP, DRAWS = 4, 500, 1000
EFFORTS = ("quick", "standard", "full")
# of the sampler's CPU seconds, or these seconds where that is more
MOST = {"quick": (0.1, 0.5), "standard": (1.0, 2.0), "full": (10.0, 0.0)}
MOST_OF_REGRESSIONS = 3.0  # for the full check of a regression
REPETITIONS = 2
ONE_BLAS_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# The CPU seconds of the check of all lines before they were followed by series, and how many times
# faster it is to be. Of the hierarchical regression, as checks of 48 and of 24 draws differed: by
# 25.4 seconds, in the commit before the one that brought series.
BEFORE = {
    "logistic, 1000 x 30": 320.0,
    "logistic, 5000 x 30": 3650.0,
    "hierarchical, 50 groups": 25.4 / 24 * 4000,
}
LEAST_GAIN = {"logistic": 150.0, "hierarchical": 200.0}
MOST_FIRST = {"quick": 3.0, "standard": 6.0}  # of the smallest logistic regression
MOST_TO_FINISH = 2.0  # microseconds a line
DATA = {"logistic, 1000 x 30": 1000, "logistic, 5000 x 30": 5000, "logistic, 10,000 x 50": 10_000}


def sample(log_density: Any, d: int) -> tuple[Any, float]:
    """Chains of NUTS, and their CPU seconds."""
    import blackjax
    import jax
    import jax.numpy as jnp
    import numpy as np

    def chain(key):
        warm_key, key = jax.random.split(key)
        adaptation: Any = blackjax.window_adaptation(blackjax.nuts, log_density)
        (state, parameters), _ = adaptation.run(warm_key, jnp.zeros(d), WARM_UP)
        step: Any = blackjax.nuts(log_density, **parameters).step

        def one(state, key):
            state, _ = step(key, state)
            return state, state.position

        return jax.lax.scan(one, state, jax.random.split(key, DRAWS))[1]

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0), CHAINS)
        compiled = jax.jit(lambda keys: jax.lax.map(chain, keys)).lower(keys).compile()
        start = time.process_time()
        draws = jax.block_until_ready(compiled(keys))
        seconds = time.process_time() - start
    return np.asarray(draws), seconds


def measure(name: str) -> dict[str, Any]:
    """One posterior, in this process."""
    import warnings

    import steinwise as sw

    if name in POSTERIORS:
        log_density, d = POSTERIORS[name]()
        draws, sampling = sample(log_density, d)
    else:
        draws, adapted, sampling = ADAPTED[name]()
        log_density, d = adapted.log_density, draws.dim
    measured: dict[str, Any] = {"d": d, "sampler": round(sampling, 2)}
    for effort in EFFORTS:  # with a new target each: a target is compiled once
        target, seconds, results = sw.Target(log_density), [], []
        for _ in range(1 + REPETITIONS):
            start = time.process_time()
            with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
                results.append(sw.check(draws, target, effort=effort, progress=False))
            seconds.append(time.process_time() - start)
        measured[effort] = {
            "first": round(seconds[0], 2),
            "cpu_seconds": round(min(seconds[1:]), 2),
            "ratio": round(min(seconds[1:]) / sampling, 3),
            "evaluations": results[0].findings.evaluations,
            "pvalue": results[0].pvalue,
        }
    if name in DATA:
        measured["lines"] = line_costs(log_density, draws.reshape(-1, d), DATA[name])
    return measured


def most(name: str, effort: str, sampling: float) -> float:
    """The CPU seconds that a check may take."""
    ratio, least = MOST[effort]
    if effort == "full" and name.startswith(("logistic", "hierarchical")):
        ratio = MOST_OF_REGRESSIONS
    return max(ratio * sampling, least)


def table(results: dict[str, Any]) -> str:
    """CPU seconds of the sampler and of each effort, with their ratios and bounds."""
    lines = [f"{'posterior':<28}{'NUTS':>8}" + "".join(f"{e:>28}" for e in EFFORTS)]
    for name, row in results["posteriors"].items():
        cells = []
        for effort in EFFORTS:
            seconds = row[effort]["cpu_seconds"]
            bound = most(name, effort, row["sampler"])
            mark = "ok" if seconds <= bound else "NO"
            cells.append(f"{seconds:.2f} s, {row[effort]['ratio']:.2f} x {mark}")
        lines.append(f"{name:<28}{row['sampler']:>8.2f}" + "".join(f"{c:>28}" for c in cells))
    return "\n".join(lines)


def figures(results: dict[str, Any]) -> dict[str, Any]:
    """First calls, gains and the parts of a line, with their bounds."""
    values: dict[str, tuple[float, float | None]] = {}
    for name, row in results["posteriors"].items():
        if name == "logistic, 1000 x 30":
            for effort, bound in MOST_FIRST.items():
                values[f"{name}: first call, {effort}, s"] = row[effort]["first"], bound
        if name in BEFORE:
            share = row["full"]["cpu_seconds"] / BEFORE[name]
            most_of_it = 1 / LEAST_GAIN[name.split(",")[0]]
            values[f"{name}: all lines, share of the time before"] = share, most_of_it
        for part, spent in row.get("lines", {}).items():
            bound = MOST_TO_FINISH if part == "finishing a line, microseconds" else None
            values[f"{name}: {part}"] = spent, bound
    return against_bounds(values, 4)


@click.command()
@click.argument("names", nargs=-1)
@measures_jobs(measure)
def main(names: tuple[str, ...]) -> None:
    """Measure all posteriors, or those named."""
    results = json.loads(PATH.read_text()) if PATH.exists() else {"posteriors": {}}
    results["machine"] = machine()
    for name in names or (*POSTERIORS, *ADAPTED):
        measured = in_new_process("benchmarks.against_sampling", name, ONE_BLAS_THREAD)
        results["posteriors"][name] = measured
        PATH.write_text(json.dumps(results, indent=1) + "\n")
        click.echo(f"{name}: {measured}")
    results["figures"] = figures(results)
    PATH.write_text(json.dumps(results, indent=1) + "\n")
    click.echo("\n".join([table(results), "", *bounds_table(results["figures"])]))


if __name__ == "__main__":
    main()
