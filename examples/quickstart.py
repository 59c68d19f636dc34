"""The quickstarts of the README as whole programs, with their imports, model and data.

`python examples/quickstart.py numpyro` (or `svi`, `pymc`, `stan`) prints what the README shows. It
needs the extra of that library, `pip install ".[numpyro]"`; Stan also takes `pip install pystan`.
Chains are chaotic: another processor, or version of a library, gives other digits.
"""

import sys
from typing import Any

import numpy as np

import steinwise as sw

rng = np.random.default_rng(0)
x = rng.uniform(0, 4, 50)
y = 1 + 2 * x + rng.normal(size=50)

program = """
data { int n; vector[n] x; vector[n] y; }
parameters { real a; real b; real<lower=0> sigma; }
model { a ~ normal(0, 10); b ~ normal(0, 10); sigma ~ normal(0, 5); y ~ normal(a + b * x, sigma); }
"""
data = {"n": 50, "x": x, "y": y}


def numpyro_model(x: Any, y: Any) -> None:
    import numpyro
    import numpyro.distributions as dist

    a = numpyro.sample("a", dist.Normal(0, 10))
    b = numpyro.sample("b", dist.Normal(0, 10))
    sigma = numpyro.sample("sigma", dist.HalfNormal(5))
    numpyro.sample("y", dist.Normal(a + b * x, sigma), obs=y)


def pymc_model() -> Any:
    import pymc as pm

    with pm.Model() as model:
        a, b = pm.Normal("a", 0, 10), pm.Normal("b", 0, 10)
        sigma = pm.HalfNormal("sigma", 5)
        pm.Normal("y", a + b * x, sigma, observed=y)
    return model


def numpyro() -> None:
    import jax
    from numpyro.infer import MCMC, NUTS

    model = numpyro_model
    mcmc = MCMC(NUTS(model), num_warmup=500, num_samples=1000, num_chains=4)
    mcmc.run(jax.random.key(0), x, y)
    print(sw.check(mcmc))


def svi() -> None:
    import jax
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal
    from numpyro.optim import Adam

    model = numpyro_model
    svi = SVI(model, AutoNormal(model), Adam(0.01), Trace_ELBO())
    fitted = svi.run(jax.random.key(0), 10_000, x, y)
    print(sw.check(*sw.from_numpyro(svi, params=fitted.params, args=(x, y))))


def pymc() -> None:
    import pymc as pm

    model = pymc_model()
    with model:
        fitted = pm.fit(30_000, random_seed=1)  # mean-field variational inference
        idata = fitted.sample(1000, random_seed=1)
    print(sw.check(idata, model, independent=True))


def stan() -> None:
    import stan

    model = stan.build(program, data, random_seed=1)
    fit = model.sample(num_chains=4, num_samples=1000)
    print(sw.check(fit, model))


if __name__ == "__main__":
    {"numpyro": numpyro, "svi": svi, "pymc": pymc, "stan": stan}[sys.argv[1]]()
