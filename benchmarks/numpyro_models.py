"""Ten NumPyro models that between them use most of what its log densities are made of."""

# the users' libraries are in .venv-adapters
# pyright: reportMissingImports=false

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.contrib.control_flow import scan

RNG = np.random.default_rng(0)
N, GROUPS = 60, 5
GROUP = RNG.integers(0, GROUPS, N)
X = RNG.normal(size=(N, 3))
BINARY = RNG.integers(0, 2, N)
ORDERED = RNG.integers(0, 4, N)
REAL = RNG.normal(size=N)
COUNTS = RNG.poisson(2, N)
PLACES = np.sort(RNG.uniform(size=8)) * 4


def _normal(name, n=3):
    return numpyro.sample(name, dist.Normal(0, 1).expand([n]).to_event(1))


def hierarchical_logit():
    mean = numpyro.sample("mean", dist.Normal(0, 2))
    scale = numpyro.sample("scale", dist.HalfCauchy(1.0))
    slopes = _normal("slopes")
    with numpyro.plate("groups", GROUPS):
        effect = numpyro.sample("effect", dist.Normal(0, 1))
    logits = (mean + scale * effect)[GROUP] + X @ slopes
    numpyro.sample("y", dist.Bernoulli(logits=logits), obs=BINARY)


def correlation():
    scales = numpyro.sample("scales", dist.HalfNormal(1.0).expand([3]).to_event(1))
    factor = numpyro.sample("factor", dist.LKJCholesky(3, 2.0))
    with numpyro.plate("data", N):
        tril = scales[:, None] * factor
        numpyro.sample("x", dist.MultivariateNormal(jnp.zeros(3), scale_tril=tril), obs=X)


def dirichlet_mixture():
    shares = numpyro.sample("shares", dist.Dirichlet(jnp.ones(3)))
    means = _normal("means")
    scale = numpyro.sample("scale", dist.Gamma(2.0, 2.0))
    with numpyro.plate("data", N):
        mixture = dist.MixtureSameFamily(dist.Categorical(probs=shares), dist.Normal(means, scale))
        numpyro.sample("y", mixture, obs=REAL)


def gaussian_process():
    variance = numpyro.sample("variance", dist.LogNormal(0, 1))
    length = numpyro.sample("length", dist.InverseGamma(3.0, 2.0))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    kernel = variance * jnp.exp(-0.5 * ((PLACES[:, None] - PLACES) / length) ** 2)
    covariance = kernel + (noise**2 + 1e-6) * jnp.eye(8)
    numpyro.sample("y", dist.MultivariateNormal(jnp.zeros(8), covariance), obs=REAL[:8])


def volatility():
    scale = numpyro.sample("scale", dist.Exponential(5.0))
    freedom = numpyro.sample("freedom", dist.Exponential(0.1))
    states = numpyro.sample("states", dist.GaussianRandomWalk(scale, 10))
    numpyro.sample("y", dist.StudentT(freedom, 0.0, jnp.exp(states)), obs=REAL[:10])


def volatility_by_scan():
    scale = numpyro.sample("scale", dist.HalfNormal(0.5))
    persistence = numpyro.sample("persistence", dist.Uniform(-1, 1))

    def one(state, y):
        state = numpyro.sample("state", dist.Normal(persistence * state, scale))
        numpyro.sample("y", dist.Normal(0, jnp.exp(state / 2)), obs=y)
        return state, None

    scan(one, 0.0, REAL[:10])


def ordered_logistic():
    ordered = dist.transforms.OrderedTransform()
    cuts = dist.TransformedDistribution(dist.Normal(0, 1).expand([3]), ordered)
    cutpoints = numpyro.sample("cuts", cuts)
    numpyro.sample("y", dist.OrderedLogistic(X @ _normal("slopes"), cutpoints), obs=ORDERED)


def negative_binomial():
    size = numpyro.sample("size", dist.Exponential(1.0))
    mean = jnp.exp(X @ _normal("slopes"))
    numpyro.sample("y", dist.NegativeBinomial2(mean, size), obs=COUNTS)


def beta():
    size = numpyro.sample("size", dist.Gamma(2.0, 0.1))
    mean = jax.nn.sigmoid(X @ _normal("slopes"))
    numpyro.sample("y", dist.Beta(mean * size, (1 - mean) * size), obs=jax.nn.sigmoid(REAL))


def probit():
    share = jax.scipy.special.ndtr(0.3 * X @ _normal("slopes"))
    numpyro.sample("y", dist.Bernoulli(probs=share), obs=BINARY)


MODELS = [
    hierarchical_logit,
    correlation,
    dirichlet_mixture,
    gaussian_process,
    volatility,
    volatility_by_scan,
    ordered_logistic,
    negative_binomial,
    beta,
    probit,
]
