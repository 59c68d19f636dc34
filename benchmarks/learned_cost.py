"""What learning costs: CPU seconds of a fit, as a ratio to the linear algebra that it needs.

Run with ``python -m benchmarks.learned_cost``, preferably on an idle machine. Everything is
measured in one process with one thread, the best of five calls. Results go to
``benchmarks/results/learned_cost.json``.
"""

import json
import os

import click

from benchmarks import RESULTS
from benchmarks.measuring import against_bounds, best_of, bounds_table, peak_mb
from experiments.engine.executors import ONE_THREAD

N, D, EPOCHS, HIDDEN, BINS = 1000, 30, 500, 15, 20
WIDE = 100
LINEAR_N, LINEAR_D = 10_000, 200


def training_data(n: int, d: int):
    """The draws that `sw.check` would learn from, out of n."""
    import numpy as np

    import steinwise as sw
    from steinwise._internal.run_options import RunOptions
    from steinwise.conditionals import TrainingData
    from steinwise.draws.samples import part_sizes

    train, validation, _ = part_sizes((0.2, 0.1, 0.7), n)
    x = np.random.default_rng(0).laplace(size=(train + validation, d))
    return TrainingData(
        x[:train],
        x[train:],
        tuple(np.array([j]) for j in range(d)),
        tuple(f"x[{j}]" for j in range(d)),
        sw.Gaussian(np.zeros(d), np.eye(d)),
        RunOptions(progress=False),
    )


def products(train: int, validation: int, d: int) -> float:
    """Seconds of all multiply-adds of a training, as batched products of the networks' shapes.

    The forward pass, the gradient with respect to the weights and that with respect to the units
    cost one product each; validation needs the forward pass only.
    """
    import numpy as np

    rng, total = np.random.default_rng(0), 0.0
    for rows, times in ((train, 3), (validation, 1)):
        for shape, other in (((rows, d), (d, HIDDEN)), ((rows, HIDDEN), (HIDDEN, BINS))):
            left = rng.normal(size=(d, *shape)).astype(np.float32)
            right = rng.normal(size=(d, *other)).astype(np.float32)
            out = np.empty((d, rows, other[1]), np.float32)

            def many(left=left, right=right, out=out) -> None:
                for _ in range(100):
                    np.matmul(left, right, out=out)

            total += times * EPOCHS * best_of(5, many).cpu_seconds / 100
    return total


def solve(n: int, d: int) -> float:
    """Seconds to solve the normal equations of all regressions, by Cholesky."""
    import numpy as np

    x = np.random.default_rng(0).normal(size=(n, d))

    def once() -> None:
        gram = x.T @ x
        factor = np.linalg.cholesky(gram + n * np.eye(d))
        np.linalg.solve(factor.T, np.linalg.solve(factor, gram))

    return best_of(5, once).cpu_seconds


@click.command()
def main() -> None:
    """Measure CPU seconds and memory of fits."""
    os.environ.update(ONE_THREAD)  # before JAX starts
    from steinwise.conditionals import Histogram, Linear

    wide, before = training_data(N, WIDE), peak_mb()
    Histogram().fit(wide)
    memory = peak_mb() - before
    data, large = training_data(N, D), training_data(LINEAR_N, LINEAR_D)
    rows = len(data.train), len(data.validation)
    histogram = best_of(5, lambda: Histogram(BINS, HIDDEN, EPOCHS).fit(data)).cpu_seconds
    linear = best_of(5, lambda: Linear().fit(large)).cpu_seconds
    measured = {
        f"Histogram, n = {N}, d = {D}: ratio to its products": (
            histogram / products(*rows, D),
            3.0,
        ),
        f"Histogram, n = {N}, d = {WIDE}: peak memory in MB": (memory, 1000.0),
        f"Linear, n = {LINEAR_N}, d = {LINEAR_D}: ratio to one solve": (
            linear / solve(len(large.train), LINEAR_D),
            5.0,
        ),
    }
    figures = against_bounds(measured, digits=2)
    path = RESULTS / "learned_cost.json"
    path.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
    click.echo("\n".join(bounds_table(figures)))
    raise SystemExit(not all(row["passes"] for row in figures.values()))


if __name__ == "__main__":
    main()
