"""What `benchmarks.power --suite fits` measures: do intervals of fitted parameters cover?"""

import warnings
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

import steinwise as sw
from benchmarks.cases import Case, Outcome, Rule
from steinwise.conditionals import Linear
from steinwise.kernels import RBF
from steinwise.methods import KCCSD

METHODS = {"KSD": "ksd", "KCC-SD": KCCSD(Linear(), RBF("median"), standardise=False)}
HALF_WIDTH = 1.96  # of a 95 % interval, in standard errors
N = 1000

GRID = np.linspace(-3.5, 3.5, 7001)
CUMULATIVE = np.cumsum(np.exp(-0.5 * GRID**4 + GRID**2))
MACHINE = {"bias": np.zeros(2), "hidden": np.array(-2.5), "weights": np.array([2.0, -1.0])}


@jax.jit  # many fits, compiled once
def quartic(theta, x):
    """An energy whose normalising constant is not known."""
    return -theta["fourth"] * x[0] ** 4 - theta["second"] * x[0] ** 2


def quartic_draws(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.interp(rng.random((n, 1)), CUMULATIVE / CUMULATIVE[-1], GRID)


@jax.jit  # many fits, compiled once
def gaussian_bernoulli(theta, x):
    """A Boltzmann machine with one hidden unit: -|x - b|^2 / 2 + log(1 + exp(w . x + c))."""
    energy = -0.5 * jnp.sum((x - theta["bias"]) ** 2)
    return energy + jnp.logaddexp(0.0, theta["weights"] @ x + theta["hidden"])


def machine_draws(rng: np.random.Generator, n: int) -> np.ndarray:
    """The hidden unit is on with odds exp(c + (|b + w|^2 - |b|^2) / 2), and then shifts by w."""
    w, b, c = MACHINE["weights"], MACHINE["bias"], MACHINE["hidden"]
    odds = np.exp(c + (np.sum((b + w) ** 2) - np.sum(b**2)) / 2)
    on = rng.random((n, 1)) < odds / (1 + odds)
    return b + on * w + rng.normal(size=(n, 2))


@jax.jit  # many fits, compiled once
def normal(theta, x):
    """An exponential family, for which maximum likelihood is available too."""
    z = (x[0] - theta["mean"]) * jnp.exp(-theta["log sd"])
    return -0.5 * z**2 - theta["log sd"]


def normal_draws(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=(n, 1))


def maximum_likelihood(draws: np.ndarray) -> dict[str, tuple[float, float]]:
    """The parameters of a normal distribution, with their standard errors."""
    n, sd = len(draws), float(draws.std())
    return {
        "log sd": (np.log(sd), np.sqrt(0.5 / n)),
        "mean": (float(draws.mean()), sd / np.sqrt(n)),
    }


def coverage(
    log_density: Callable, draw: Callable[..., np.ndarray], truth: dict, n: int = N
) -> Case:
    """Whether the 95 % interval of each parameter covers it; also n times the squared error."""

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        draws, out = draw(rng, n), {}
        for name, method in METHODS.items():
            with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
                fit = sw.fit_parameters(
                    log_density, draws, truth, method=method, seed=seed, independent=True
                )
            expected = np.concatenate([np.ravel(truth[key]) for key in sorted(truth)])
            assert fit.covariance is not None
            errors, standard_errors = fit.vector - expected, np.sqrt(np.diagonal(fit.covariance))
            pairs = dict(zip(fit.names, zip(errors, standard_errors, strict=True), strict=True))
            out |= {f"{label}, {name}": _outcome(*pair, n) for label, pair in pairs.items()}
        if log_density is normal:  # whose true parameters are 0
            pairs = maximum_likelihood(draws)
            out |= {f"{label}, likelihood": _outcome(*pair, n) for label, pair in pairs.items()}
        return out

    return Case(run, Rule("shown"))


def _outcome(error: float, standard_error: float, n: int) -> Outcome:
    covered = abs(error) < HALF_WIDTH * standard_error
    return {"hit": float(covered), "n error^2": float(n * error**2)}


FITS: dict[str, Case] = {
    "normal": coverage(normal, normal_draws, {"log sd": 0.0, "mean": 0.0}),
    "quartic": coverage(quartic, quartic_draws, {"fourth": 0.5, "second": -1.0}),
    "machine": coverage(gaussian_bernoulli, machine_draws, MACHINE),
}
