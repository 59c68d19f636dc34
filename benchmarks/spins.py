"""What a check of many discrete coordinates costs: an Ising model of 400 spins, 2000 draws.

Run with ``python -m benchmarks.spins``: CPU seconds of the first check and of the next one, with
the model's own conditionals and with two evaluations of its log density for each spin.
"""

import os
import time

from experiments.engine.executors import ONE_THREAD

SIDE, COUPLING, DRAWS, SWEEPS = 20, 0.2, 2000, 60
MOST = 20.0  # CPU seconds, with the conditionals given


def main() -> None:
    os.environ.update(ONE_THREAD)  # before JAX starts
    import jax.numpy as jnp
    import numpy as np

    import steinwise as sw

    index = np.arange(SIDE**2).reshape(SIDE, SIDE)
    neighbours = np.zeros((SIDE**2, SIDE**2))
    for one, other in ((index[1:], index[:-1]), (index[:, 1:], index[:, :-1])):
        neighbours[one, other] = neighbours[other, one] = 1.0

    def log_density(x):
        return 0.5 * COUPLING * x @ neighbours @ x

    def conditionals(x, j):
        field = COUPLING * jnp.asarray(neighbours)[j] @ x
        return jnp.stack([-field, field])

    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 1.0], size=(DRAWS, SIDE**2))
    black = (index // SIDE + index) % 2 == 0  # no two of them are neighbours
    for _ in range(SWEEPS):
        for colour in (black.ravel(), ~black.ravel()):
            up = 1 / (1 + np.exp(-2 * COUPLING * x @ neighbours[:, colour]))
            x[:, colour] = np.where(rng.random(up.shape) < up, 1.0, -1.0)
    spins = sw.support.values([-1, 1])
    for name, given in (("conditionals given", conditionals), ("log density alone", None)):
        target = sw.Target(log_density, support=spins, conditionals=given)
        seconds = []
        for _ in range(2):
            start = time.process_time()
            sw.check(x, target, independent=True, progress=False)
            seconds.append(time.process_time() - start)
        most = f" (at most {MOST:g})" if given else ""
        print(f"{name}: {seconds[0]:.1f} and {seconds[1]:.1f} CPU seconds{most}")


if __name__ == "__main__":
    main()
