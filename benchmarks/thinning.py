"""What Stein thinning costs here and in the package stein-thinning, and how good its points are.

Run with ``python -m benchmarks.thinning``. The other package is measured with ``--peer PYTHON``,
the interpreter of an environment that has it, or with ``--install``, which creates such an
environment (``.venv-peers/stein-thinning``). Costs are measured in separate processes with one
thread, in CPU seconds, the best of several calls after a first one. Both thin the same draws, and
must choose the same indices. Results go to ``benchmarks/results/thinning.json``.
"""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

from benchmarks import RESULTS
from benchmarks.measuring import best_of, json_lines, measures_jobs, peak_mb
from benchmarks.peers import environment
from experiments.engine.executors import ONE_THREAD

DIM, CHOSEN = 30, 100
SIZES = {5000: 5, 100_000: 2}  # number of draws: number of calls
PRECONDITIONERS: tuple[str, ...] = ("id", "med", "sclmed", "smpcov")
MOST_MEMORY = 2000  # MB

PEER = """
import json, sys, time
import numpy as np
from stein_thinning.thinning import thin
n, d, m, repetitions = map(int, sys.argv[1:5])
x = np.random.default_rng(0).normal(size=(n, d))
for preconditioner in sys.argv[5:]:
    seconds = []
    for _ in range(repetitions):
        start = time.process_time()
        chosen = thin(x, -x, m, preconditioner=preconditioner)
        seconds.append(time.process_time() - start)
    print(json.dumps({"seconds": min(seconds), "indices": chosen.tolist()}))
"""


def ours(n: int, repetitions: int) -> dict[str, dict[str, Any]]:
    """Thinning as published with every preconditioner, and regularised with autodiff."""
    import jax.numpy as jnp
    import numpy as np

    import steinwise as sw

    x = np.random.default_rng(0).normal(size=(n, DIM))
    normal = sw.Gaussian(np.zeros(DIM), np.eye(DIM))
    autodiff = sw.Target(lambda row: -0.5 * jnp.sum(row**2))
    jobs: dict[str, Callable[[], sw.Thinned]] = {
        kind: lambda kind=kind: sw.thin(x, normal, CHOSEN, preconditioner=kind, regularised=False)
        for kind in PRECONDITIONERS
    }
    jobs["regularised, autodiff"] = lambda: sw.thin(x, autodiff, CHOSEN)
    measured = {}
    for kind, run in jobs.items():
        thinned, seconds = best_of(repetitions, run)
        measured[kind] = {"seconds": seconds, "indices": thinned.indices.tolist()}
        measured[kind]["peak_mb"] = round(peak_mb())
    return measured


def energy_distance(x: Any, y: Any) -> float:
    """2 E|X - Y| - E|X - X'| - E|Y - Y'|."""
    from scipy.spatial.distance import cdist

    return float(2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean())


def energy_distances(repetitions: int = 10, m: int = 50) -> dict[str, dict[str, float]]:
    """Energy distance of m points to the target: thinned from correct draws, placed or random."""
    import jax.numpy as jnp
    import numpy as np
    from jax.scipy.special import logsumexp

    import steinwise as sw
    from benchmarks import simulate, targets

    def two_modes(row):
        centred = jnp.stack([row.at[0].add(3.0), row.at[0].add(-3.0)])
        return logsumexp(jnp.log(jnp.array([0.2, 0.8])) - 0.5 * jnp.sum(centred**2, axis=1))

    def draw_modes(rng: np.random.Generator, n: int) -> np.ndarray:
        x = rng.normal(size=(n, 2))
        x[:, 0] += np.where(rng.uniform(size=n) < 0.8, 3.0, -3.0)
        return x

    def normal(d: int) -> tuple[sw.Gaussian, Callable]:
        target = targets.correlated(d)
        return target, lambda rng, n: simulate.independent(rng, target.covariance, n)

    cases: dict[str, tuple[Any, Callable]] = {
        **{f"normal, correlations 0.5, d = {d}": normal(d) for d in (2, 10, 30)},
        "modes 6 sd apart, weights 0.2 and 0.8, d = 2": (sw.Target(two_modes), draw_modes),
    }
    out = {}
    for name, (target, draw) in cases.items():
        distances: dict[str, list[float]] = {}
        for seed in range(repetitions):
            rng = np.random.default_rng([7, seed])
            x, reference = draw(rng, 3000), draw(rng, 2000)
            sets = {"random draws": x[:m]}
            for kind in PRECONDITIONERS:
                sets[f"{kind}, plain"] = sw.thin(
                    x, target, m, preconditioner=kind, regularised=False
                ).points
                sets[kind] = sw.thin(x, target, m, preconditioner=kind).points
            if seed < 2:
                sets["Stein points"] = sw.points(x[:200], target, m).points
            for kind, points in sets.items():
                distances.setdefault(kind, []).append(energy_distance(points, reference))
        out[name] = {kind: round(float(np.mean(values)), 4) for kind, values in distances.items()}
    return out


def figures(
    n: int, own: dict[str, Any], peer: Mapping[str, Any] | None
) -> dict[str, dict[str, Any]]:
    """What is written to the file: our costs, next to those of the other package."""
    rows = {}
    for kind, measured in own.items():
        row = {"seconds": round(measured["seconds"], 3), "peak_mb": measured["peak_mb"]}
        passes = measured["peak_mb"] <= MOST_MEMORY
        if peer is not None and kind in peer:
            row["peer_seconds"] = round(peer[kind]["seconds"], 3)
            row["ratio"] = round(measured["seconds"] / peer[kind]["seconds"], 3)
            row["same_indices"] = measured["indices"] == peer[kind]["indices"]
            passes = passes and row["same_indices"] and row["ratio"] <= 1
        rows[f"n = {n}, {kind}"] = row | {"passes": passes}
    return rows


@click.command()
@click.option("--peer", help="A Python interpreter that has stein-thinning.")
@click.option("--install", is_flag=True, help="Create an environment with stein-thinning.")
@measures_jobs(lambda n: ours(n, SIZES[n]))
def main(peer: str | None, install: bool) -> None:
    """Measure CPU seconds and memory of Stein thinning, and how far its points are off."""
    python = environment("stein-thinning") if install else peer
    rows: dict[str, dict[str, Any]] = {}
    for n, repetitions in SIZES.items():
        command = [sys.executable, "-m", "benchmarks.thinning", "--job", str(n)]
        (own,) = json_lines(command, ONE_THREAD)
        theirs: Mapping[str, Any] | None = None
        if python is not None:
            sizes = [str(size) for size in (n, DIM, CHOSEN, repetitions)]
            lines = json_lines([python, "-c", PEER, *sizes, *PRECONDITIONERS], ONE_THREAD)
            theirs = dict(zip(PRECONDITIONERS, lines, strict=True))
        rows |= figures(n, own, theirs)
    distances = energy_distances()
    path = RESULTS / "thinning.json"
    path.write_text(json.dumps({"cost": rows, "energy distance": distances}, indent=1) + "\n")
    for size, row in rows.items():
        click.echo(f"{size:<36} " + ", ".join(f"{key} {value}" for key, value in row.items()))
    for target, row in distances.items():
        click.echo(f"{target:<46} " + ", ".join(f"{key} {value:.3g}" for key, value in row.items()))
    raise SystemExit(not all(row["passes"] for row in rows.values()))


if __name__ == "__main__":
    main()
