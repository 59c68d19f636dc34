"""SGLD on 100,000 data, checked with minibatches of 500: no pass over the data for each draw.

The scores at the draws come from minibatches, a new one for each draw, chosen after the draw was
made. They are noisy but unbiased, and ``method="scores"`` keeps its level with them: it finds plain
SGLD far too wide, and nothing wrong with control variates at the same step. The gradients that
moved the chain are at hand as well, but the draws depend on them: by these, plain SGLD would be far
too narrow.

Run with ``python examples/minibatches.py [FOLDER]``; the figure goes to FOLDER.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import steinwise as sw

ROWS, BATCH, D = 100_000, 500, 4
STEP, THIN = 6e-6, 20  # a tenth of what the curvature allows; every 20th draw is kept


def regression() -> tuple[np.ndarray, np.ndarray]:
    """Features and outcomes of a logistic regression."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(ROWS, D))
    chances = 1 / (1 + np.exp(-features @ np.linspace(-1.0, 1.0, D)))
    return features, (rng.uniform(size=ROWS) < chances).astype(float)


def mode(features: np.ndarray, outcomes: np.ndarray) -> np.ndarray:
    """The mode of the posterior with a standard normal prior, by Newton's method on all data."""
    x = np.zeros(D)
    for _ in range(6):
        chances = 1 / (1 + np.exp(-features @ x))
        gradient = features.T @ (outcomes - chances) - x
        curvature = (features.T * (chances * (1 - chances))) @ features + np.eye(D)
        x = x + np.linalg.solve(curvature, gradient)
    return x


def langevin(score, start: np.ndarray, n_chains: int = 4, n_draws: int = 400):
    """Chains of SGLD (chain, draw, d), and the gradients at the draws that moved the chains."""

    def chain(key):
        def move(x, key):
            choose, noise = jax.random.split(key)
            rows = jax.random.randint(choose, (BATCH,), 0, ROWS)
            x = x + STEP / 2 * score(x, rows) + jnp.sqrt(STEP) * jax.random.normal(noise, (D,))
            return x, rows

        def keep(x, key):
            x, rows = jax.lax.scan(move, x, jax.random.split(key, THIN))
            return x, (x, score(x, rows[-1]))

        _, kept = jax.lax.scan(keep, jnp.asarray(start), jax.random.split(key, n_draws + 40))
        return jax.tree.map(lambda leaf: leaf[40:], kept)

    found = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(0), n_chains))
    return tuple(np.asarray(array, dtype=np.float64) for array in found)


def fresh_scores(score, draws: np.ndarray) -> np.ndarray:
    """The score at every draw from a new minibatch, which the draw does not depend on."""
    flat = draws.reshape(-1, D)
    rows = jax.random.randint(jax.random.key(1), (len(flat), BATCH), 0, ROWS)
    scores = jax.jit(lambda x, r: jax.lax.map(lambda pair: score(*pair), (x, r)))(flat, rows)
    return np.asarray(scores, dtype=np.float64).reshape(draws.shape)


def main(folder: str = "out") -> None:
    features, outcomes = regression()
    centre = mode(features, outcomes)
    z, y = jnp.asarray(features), jnp.asarray(outcomes)

    def plain(x, rows):
        """grad log p of the posterior from some rows of the data."""
        return -x + ROWS / BATCH * (y[rows] - jax.nn.sigmoid(z[rows] @ x)) @ z[rows]

    def controlled(x, rows):
        """The same less its value at the mode, where the gradient of all data is 0."""
        return plain(x, rows) - plain(jnp.asarray(centre), rows)

    draws, moved = langevin(plain, centre)
    better, _ = langevin(controlled, centre)
    results = {}
    for name, given, scores in (
        ("plain", draws, fresh_scores(controlled, draws)),
        ("control variates", better, fresh_scores(controlled, better)),
        ("plain, by the minibatches that moved it", draws, moved),
    ):
        target = sw.Target.at_draws(scores, noisy=True)
        results[name] = sw.check(given, target, method="scores")
        print(f"\n--- {name} ---\n\n{results[name]}")
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    results["plain"].plot().savefig(out / "minibatches.png", dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:2])
