"""Did variational inference work? Mean-field VI on a correlated posterior.

The two predictors of a regression are nearly the same, so that their slopes are strongly correlated
in the posterior, which mean-field VI cannot represent. The check reports that each slope does not
depend on the other as it does in the posterior. Along other lines, those of the sum and the
difference of the slopes, it says what that means: the difference, about which the data say little,
is far too narrow.

Run with ``python examples/mean_field.py [FOLDER]``; the figures go to FOLDER.
"""

import sys
from pathlib import Path

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import optax

import steinwise as sw


def regression(n: int = 60):
    """The log posterior of slope_1, slope_2, intercept and log_sigma."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=n)
    x = np.stack([first, first + 0.5 * rng.normal(size=n)], axis=1)
    y = x @ np.array([1.0, -0.5]) + 0.3 + 0.8 * rng.normal(size=n)

    def log_density(position):
        mean = position["intercept"] + x @ position["slope"]
        residual = (y - mean) * jnp.exp(-position["log_sigma"])
        prior = -0.5 * jnp.sum(position["slope"] ** 2) / 4 - 0.5 * position["intercept"] ** 2 / 4
        prior -= 0.5 * position["log_sigma"] ** 2
        return prior - 0.5 * jnp.sum(residual**2) - n * position["log_sigma"]

    return log_density


def variational(log_density, key, n_draws: int, steps: int = 3000):
    """Draws from the mean-field Gaussian that BlackJAX finds."""
    start = {"slope": jnp.zeros(2), "intercept": jnp.zeros(()), "log_sigma": jnp.zeros(())}
    method = blackjax.meanfield_vi(log_density, optax.adam(0.01), num_samples=20)
    learn, sample = jax.random.split(key)

    def step(state, key):
        state, _ = method.step(key, state)
        return state, None

    state, _ = jax.lax.scan(step, method.init(start), jax.random.split(learn, steps))
    return method.sample(sample, state, n_draws)


def turned(position):
    """The position with the sum and the difference of the slopes in place of the slopes."""
    first, second = position["slope"][..., 0], position["slope"][..., 1]
    rest = {name: value for name, value in position.items() if name != "slope"}
    return rest | {"sum": first + second, "difference": first - second}


def turned_back(position):
    rest = {n: v for n, v in position.items() if n not in ("sum", "difference")}
    total, difference = position["sum"], position["difference"]
    return rest | {"slope": jnp.stack([total + difference, total - difference]) / 2}


def results(n_draws: int = 1000) -> dict[str, sw.CheckResult]:
    """Checks along the slopes, and along their sum and their difference."""
    log_density = regression()
    draws = variational(log_density, jax.random.key(0), n_draws)
    runs = {
        "mean_field": (draws, log_density),
        "mean_field_turned": (turned(draws), lambda position: log_density(turned_back(position))),
    }
    return {
        name: sw.check(*sw.from_blackjax(position, density, independent=True))
        for name, (position, density) in runs.items()
    }


def main(folder: str = "out") -> None:
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    checks = results()
    for name, result in checks.items():
        print(f"\n--- {name} ---\n\n{result}")
        result.plot().savefig(out / f"{name}.png", dpi=120)
    pair = checks["mean_field"].plot_pair("slope[0]", "slope[1]")
    pair.savefig(out / "mean_field_pair.png", dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:2])
