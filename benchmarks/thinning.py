"""What Stein thinning costs, beside the package stein-thinning, and what its points are worth.

Run with ``python -m benchmarks.thinning``. The peer is measured with ``--peer PYTHON``, the
interpreter of an environment that has it, or with ``--install``, which makes such an environment
(``.venv-peers/stein-thinning``). Every figure is taken in a process of its own with one thread, in
CPU seconds, the best of some calls after a first one; the draws are the same, and so must be the
indices. Results go to ``benchmarks/results/thinning.json``.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import click

from benchmarks.cost import peak
from benchmarks.peers import environment
from benchmarks.size import ONE_THREAD, RESULTS

DIM, CHOSEN = 30, 100
SIZES = {5000: 5, 100_000: 2}  # how many draws, and how often
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
        found = thin(x, -x, m, preconditioner=preconditioner)
        seconds.append(time.process_time() - start)
    print(json.dumps({"seconds": min(seconds), "indices": found.tolist()}))
"""


def ours(n: int, repetitions: int) -> dict[str, dict[str, Any]]:
    """Thinning as published with every preconditioner, and regularised by autodiff."""
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
    out = {}
    for kind, run in jobs.items():
        found, before, seconds = run(), peak(), []
        for _ in range(repetitions):
            start = time.process_time()
            found = run()
            seconds.append(time.process_time() - start)
        out[kind] = {"seconds": min(seconds), "indices": found.indices.tolist()}
        out[kind]["peak_mb"] = round(max(peak(), before))
    return out


def in_a_process(command: list[str]) -> list[dict[str, Any]]:
    environment = os.environ | ONE_THREAD
    out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in out.stdout.splitlines()]


def energy_distance(x: Any, y: Any) -> float:
    """2 E|X - Y| - E|X - X'| - E|Y - Y'|."""
    from scipy.spatial.distance import cdist

    return float(2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean())


def worth(repetitions: int = 10, m: int = 50) -> dict[str, dict[str, float]]:
    """Energy distance of m points to the target: thinned from 3000 right draws, placed, random."""
    import jax.numpy as jnp
    import numpy as np
    from jax.scipy.special import logsumexp

    import steinwise as sw
    from benchmarks import simulate

    def two_modes(row):
        both = jnp.stack([row.at[0].add(3.0), row.at[0].add(-3.0)])
        return logsumexp(jnp.log(jnp.array([0.2, 0.8])) - 0.5 * jnp.sum(both**2, axis=1))

    def draw_modes(rng: np.random.Generator, n: int) -> np.ndarray:
        x = rng.normal(size=(n, 2))
        x[:, 0] += np.where(rng.uniform(size=n) < 0.8, 3.0, -3.0)
        return x

    def normal(d: int) -> tuple[sw.Gaussian, Callable]:
        law = sw.Gaussian(np.zeros(d), 0.5 * np.eye(d) + 0.5)
        return law, lambda rng, n: simulate.independent(rng, law.covariance, n)

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
            for what, points in sets.items():
                distances.setdefault(what, []).append(energy_distance(points, reference))
        out[name] = {what: round(float(np.mean(found)), 4) for what, found in distances.items()}
    return out


def figures(
    n: int, own: dict[str, Any], peer: Mapping[str, Any] | None
) -> dict[str, dict[str, Any]]:
    found = {}
    for kind, one in own.items():
        row = {"seconds": round(one["seconds"], 3), "peak_mb": one["peak_mb"]}
        passes = one["peak_mb"] <= MOST_MEMORY
        if peer is not None and kind in peer:
            row["peer_seconds"] = round(peer[kind]["seconds"], 3)
            row["ratio"] = round(one["seconds"] / peer[kind]["seconds"], 3)
            row["same_indices"] = one["indices"] == peer[kind]["indices"]
            passes = passes and row["same_indices"] and row["ratio"] <= 1
        found[f"n = {n}, {kind}"] = row | {"passes": passes}
    return found


@click.command()
@click.option("--peer", help="A Python interpreter that has stein-thinning.")
@click.option("--install", is_flag=True, help="Make an environment with it.")
@click.option("--one", type=int, hidden=True, help="Measure one size in this process.")
def main(peer: str | None, install: bool, one: int | None) -> None:
    """Measure CPU seconds and memory of Stein thinning, and the distance of its points."""
    if one is not None:
        click.echo(json.dumps(ours(one, SIZES[one])))
        return
    python = environment("stein-thinning") if install else peer
    rows: dict[str, dict[str, Any]] = {}
    for n, repetitions in SIZES.items():
        (own,) = in_a_process([sys.executable, "-m", "benchmarks.thinning", "--one", str(n)])
        found: Mapping[str, Any] | None = None
        if python is not None:
            sizes = [str(size) for size in (n, DIM, CHOSEN, repetitions)]
            lines = in_a_process([python, "-c", PEER, *sizes, *PRECONDITIONERS])
            found = dict(zip(PRECONDITIONERS, lines, strict=True))
        rows |= figures(n, own, found)
    distances = worth()
    path = RESULTS.parent / "thinning.json"
    path.write_text(json.dumps({"cost": rows, "energy distance": distances}, indent=1) + "\n")
    for what, row in rows.items():
        click.echo(f"{what:<36} " + ", ".join(f"{key} {value}" for key, value in row.items()))
    for what, row in distances.items():
        click.echo(f"{what:<46} " + ", ".join(f"{key} {value:.3g}" for key, value in row.items()))
    raise SystemExit(not all(row["passes"] for row in rows.values()))


if __name__ == "__main__":
    main()
