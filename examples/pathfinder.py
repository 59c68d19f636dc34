"""Pathfinder's draws are a good start but not the posterior, as a skewed posterior shows.

Pathfinder approximates the posterior by a Gaussian along the path of an optimiser. With few counts
of unknown rate, the posterior of the log rate is skewed to the left; with few residuals, that of a
log standard deviation is skewed too.

Run with ``python examples/pathfinder.py [FOLDER]``; the figures go to FOLDER.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from blackjax.vi import pathfinder

import steinwise as sw

COUNTS = jnp.array([0.0, 1.0, 0.0, 2.0, 0.0, 0.0])


def log_density(position):
    """Counts with one rate and a flat gamma prior; a standard deviation from four residuals."""
    log_rate, log_sd = position["log_rate"], position["log_sd"]
    rate = jnp.exp(log_rate)
    counts = jnp.sum(COUNTS * log_rate - rate) + 0.5 * log_rate - 0.1 * rate
    residuals = -4 * log_sd - 0.5 * 4.0 * jnp.exp(-2 * log_sd) - 0.5 * log_sd**2
    return counts + residuals


def check(n_draws: int = 1000) -> sw.CheckResult:
    find, sample = jax.random.split(jax.random.key(0))
    start = {"log_rate": jnp.zeros(()), "log_sd": jnp.zeros(())}
    state, _ = pathfinder.approximate(find, log_density, start)
    draws, _ = pathfinder.sample(sample, state, n_draws)
    return sw.check(*sw.from_blackjax(draws, log_density, independent=True))


def main(folder: str = "out") -> None:
    result = check()
    print(result)
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    result.plot().savefig(out / "pathfinder.png", dpi=120)
    result.plot_pit("log_rate").savefig(out / "pathfinder_log_rate.png", dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:2])
