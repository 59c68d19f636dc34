"""Posteriors of `posteriors` as NumPyro and PyMC models, sampled by these and taken over from them.

They need `.venv-adapters`, or NumPyro and PyMC.
"""

# the users' libraries are in .venv-adapters
# pyright: reportMissingImports=false

import time
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.posteriors import hierarchical_data, logistic_data

CHAINS, WARM_UP, DRAWS = 4, 500, 1000


def numpyro_hierarchical() -> tuple[Any, Any, float]:
    """A regression whose intercepts and slopes vary by group; NUTS compiled beforehand."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    import steinwise as sw
    from benchmarks.numpyro_runs import nuts

    numpyro.enable_x64()
    group, x, y = hierarchical_data()
    groups = int(group.max()) + 1

    def model() -> None:
        means = numpyro.sample("means", dist.Normal(0, 2).expand([2]).to_event(1))
        scales = numpyro.sample("scales", dist.LogNormal(0, 1).expand([3]).to_event(1))
        with numpyro.plate("groups", groups):
            intercept = numpyro.sample("intercept", dist.Normal(means[0], scales[0]))
            slope = numpyro.sample("slope", dist.Normal(means[1], scales[1]))
        expected = intercept[group] + slope[group] * x
        numpyro.sample("y", dist.Normal(expected, scales[2]), obs=jnp.asarray(y))

    mcmc = nuts(model, chains=CHAINS, warm_up=WARM_UP, draws=DRAWS)
    mcmc.run(jax.random.key(1))
    seconds = _cpu_seconds(lambda: mcmc.run(jax.random.key(0)))
    return *sw.from_numpyro(mcmc), seconds


def pymc_logistic() -> tuple[Any, Any, float]:
    """A logistic regression with 1000 data and 30 coefficients; PyMC compiles it in every run."""
    import pymc as pm

    import steinwise as sw

    design, y = logistic_data(1000, 30)
    with pm.Model() as model:
        w = pm.Normal("w", 0.0, 2.0, shape=design.shape[1])
        pm.Bernoulli("y", logit_p=design @ w, observed=y)
    options = {
        "chains": CHAINS,
        "cores": 1,
        "progressbar": False,
        "compute_convergence_checks": False,
    }
    found: list[Any] = []
    with model:
        pm.sample(10, tune=10, random_seed=1, **options)
        seconds = _cpu_seconds(
            lambda: found.append(pm.sample(DRAWS, tune=WARM_UP, random_seed=0, **options))
        )
    return *sw.from_pymc(found[0], model), seconds


def _cpu_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    with warnings.catch_warnings(action="ignore"):
        run()
    return time.process_time() - start


ADAPTED: dict[str, Callable[[], tuple[Any, Any, float]]] = {
    "hierarchical, NumPyro": numpyro_hierarchical,
    "logistic, 1000 x 30, PyMC": pymc_logistic,
}
