"""What cheap approximations cost compared with the originals, and how their cost grows.

Run with ``python -m benchmarks.linear_cost``. CPU seconds of one thread, the best of two calls
after a first one, all in one process. Results go to ``benchmarks/results/linear_cost.json``.
"""

import json
import math
import os
from functools import partial

import click

from benchmarks import RESULTS
from benchmarks.measuring import best_of
from experiments.engine.executors import ONE_THREAD

DIM = 30
SMALL, LARGE = 2500, 40_000  # draws of the Nystrom KSD
EXACT = 10_000  # the most draws for KSD itself, whose cost is quadratic
FEW, ATOMS, WAVES = 100, 200, 10  # draws, atoms and waves of KCC-SD


def ksd_seconds() -> dict[str, float]:
    import numpy as np

    import steinwise as sw

    target, seconds = sw.Gaussian(np.zeros(DIM), np.eye(DIM)), {}
    for n in (SMALL, EXACT, LARGE):
        x = np.random.default_rng(0).normal(size=(n, DIM))
        for method in ("nystrom", "ksd"):
            if n > EXACT and method == "ksd":
                continue
            options = {"method": method, "independent": True, "progress": False}
            job = partial(sw.check, x, target, **options)
            seconds[f"{method}, n = {n}"] = best_of(2, job).cpu_seconds
    return seconds


def kccsd_seconds() -> dict[str, float]:
    """The contributions alone: learning costs the same with any kernel."""
    import numpy as np

    import steinwise as sw
    from steinwise._internal.run_options import RunOptions

    target, run = sw.Gaussian(np.zeros(DIM), np.eye(DIM)), RunOptions(progress=False)
    samples = sw.Samples.of(np.random.default_rng(0).normal(size=(FEW, DIM)), independent=True)

    def target_conditionals(key: np.ndarray, x: np.ndarray, n_atoms: int) -> np.ndarray:
        return np.random.default_rng(key).normal(size=(*x.shape, n_atoms))

    kernels = {"RBF": sw.kernels.RBF(1.0), "waves": sw.kernels.RandomFourier(waves=WAVES)}
    seconds = {}
    for name, kernel in kernels.items():
        for variant in ("norm", "unit-ball"):
            conditional = sw.conditionals.Sampler(target_conditionals, n_atoms=ATOMS)
            method = sw.methods.KCCSD(conditional, kernel, variant=variant, standardise=False)
            fitted = next(method.prepare(samples, target, run))
            job = partial(fitted.contributions, target, run)
            seconds[f"{variant}, {name}"] = best_of(2, job).cpu_seconds
    return seconds


@click.command()
def main() -> None:
    """Measure CPU seconds."""
    os.environ.update(ONE_THREAD)  # before JAX starts
    ksd, kccsd = ksd_seconds(), kccsd_seconds()
    ratio = ksd[f"nystrom, n = {LARGE}"] / ksd[f"nystrom, n = {SMALL}"]
    figures = {
        f"Nystrom KSD, n = {SMALL}: ratio to KSD": (
            ksd[f"nystrom, n = {SMALL}"] / ksd[f"ksd, n = {SMALL}"]
        ),
        f"Nystrom KSD, n = {EXACT}: ratio to KSD": (
            ksd[f"nystrom, n = {EXACT}"] / ksd[f"ksd, n = {EXACT}"]
        ),
        f"Nystrom KSD: growth exponent, n = {SMALL} to {LARGE}": (
            math.log(ratio) / math.log(LARGE / SMALL)
        ),
        f"KCC-SD, {ATOMS} atoms, {WAVES} waves: ratio to RBF": (
            kccsd["norm, waves"] / kccsd["norm, RBF"]
        ),
        f"KCC-SD, unit ball, {ATOMS} atoms, {WAVES} waves: ratio to RBF": (
            kccsd["unit-ball, waves"] / kccsd["unit-ball, RBF"]
        ),
    }
    results = {
        "cpu_seconds": {job: round(value, 3) for job, value in (ksd | kccsd).items()},
        "figures": {figure: round(value, 3) for figure, value in figures.items()},
    }
    path = RESULTS / "linear_cost.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    for rows in results.values():
        for label, value in rows.items():
            click.echo(f"{label:<60} {value:>8.3f}")


if __name__ == "__main__":
    main()
