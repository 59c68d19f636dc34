"""What learning costs: CPU seconds of a fit, beside the products or the solve that it must make.

Run with ``python -m benchmarks.learned_cost``, best on a machine with nothing else on it. All
figures are from one process with one thread, the best of five. Results go to
``benchmarks/results/learned_cost.json``.
"""

import json
import os

import click

from benchmarks.cost import peak
from benchmarks.measuring import best
from benchmarks.size import RESULTS
from experiments.engine.executors import ONE_THREAD

N, D, EPOCHS, HIDDEN, BINS = 1000, 30, 500, 15, 20
WIDE = 100
LINEAR_N, LINEAR_D = 10_000, 200


def training(n: int, d: int):
    """As `sw.check` splits n draws."""
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

    Forward, the gradient of the weights and that of the units cost a product each; validation is
    forward only.
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

            total += times * EPOCHS * best(many) / 100
    return total


def solve(n: int, d: int) -> float:
    """Seconds of the normal equations of all regressions, by Cholesky."""
    import numpy as np

    x = np.random.default_rng(0).normal(size=(n, d))

    def once() -> None:
        gram = x.T @ x
        factor = np.linalg.cholesky(gram + n * np.eye(d))
        np.linalg.solve(factor.T, np.linalg.solve(factor, gram))

    return best(once)


@click.command()
def main() -> None:
    """Measure CPU seconds and memory of fits."""
    os.environ.update(ONE_THREAD)  # before JAX starts
    from steinwise.conditionals import Histogram, Linear

    wide, before = training(N, WIDE), peak()
    Histogram().fit(wide)
    memory = peak() - before
    data, large = training(N, D), training(LINEAR_N, LINEAR_D)
    rows = len(data.train), len(data.validation)
    measured = {
        f"Histogram, n = {N}, d = {D}: ratio to its products": (
            best(lambda: Histogram(BINS, HIDDEN, EPOCHS).fit(data)) / products(*rows, D),
            3.0,
        ),
        f"Histogram, n = {N}, d = {WIDE}: peak memory in MB": (memory, 1000.0),
        f"Linear, n = {LINEAR_N}, d = {LINEAR_D}: ratio to one solve": (
            best(lambda: Linear().fit(large)) / solve(len(large.train), LINEAR_D),
            5.0,
        ),
    }
    found = {
        what: {"value": round(value, 2), "at most": most, "passes": value <= most}
        for what, (value, most) in measured.items()
    }
    path = RESULTS.parent / "learned_cost.json"
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    for what, one in found.items():
        mark = "ok" if one["passes"] else "NO"
        click.echo(f"{what:<55} {one['value']:>8.2f}  at most {one['at most']:<6g} {mark}")
    raise SystemExit(not all(one["passes"] for one in found.values()))


if __name__ == "__main__":
    main()
