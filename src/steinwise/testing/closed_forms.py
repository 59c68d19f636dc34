"""Targets whose draws and moments have closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy import stats

from steinwise.target.support import integers, interval
from steinwise.target.support import positive as above_0
from steinwise.testing.exact_target import ExactTarget


def normal() -> ExactTarget:
    """Two independent standard normals."""
    return _normal("normal", np.zeros(2), np.eye(2))


def correlated_normal() -> ExactTarget:
    """Three normals in different units, two of them strongly correlated."""
    correlation = np.array([[1.0, 0.9, 0.5], [0.9, 1.0, 0.5], [0.5, 0.5, 1.0]])
    sd = np.array([1.0, 2.0, 0.5])
    return _normal("correlated normal", np.array([1.0, -2.0, 0.0]), correlation * np.outer(sd, sd))


def ill_conditioned_normal() -> ExactTarget:
    """Four normals, whose principal directions have variances from 0.01 to 100."""
    directions = stats.ortho_group.rvs(4, random_state=0)
    covariance = (directions * np.geomspace(1e-2, 1e2, 4)) @ directions.T
    return _normal("ill-conditioned normal", np.zeros(4), covariance)


def _normal(
    name: str, mean: Float[np.ndarray, " d"], covariance: Float[np.ndarray, "d d"]
) -> ExactTarget:
    root = np.linalg.cholesky(covariance)
    whitening = np.linalg.inv(root)
    return ExactTarget(
        name,
        _numbered("x", len(mean)),
        lambda x: -0.5 * jnp.sum((whitening @ (x - mean)) ** 2),
        lambda rng, n: mean + rng.normal(size=(n, len(mean))) @ root.T,
        mean,
        np.sqrt(np.diagonal(covariance)),
    )


def student_t(degrees: float = 5.0) -> ExactTarget:
    """Two coordinates of a multivariate t: uncorrelated, and large together."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        scale = np.sqrt(degrees / rng.chisquare(degrees, size=(n, 1)))
        return scale * rng.normal(size=(n, 2))

    return ExactTarget(
        "Student t",
        _numbered("x", 2),
        lambda x: -0.5 * (degrees + 2) * jnp.log1p(jnp.sum(x**2) / degrees),
        draw,
        np.zeros(2),
        np.full(2, np.sqrt(degrees / (degrees - 2))),
    )


def funnel() -> ExactTarget:
    """Neal's funnel: v ~ N(0, 9), and x_i ~ N(0, exp(v)) given v."""

    def log_density(x: jax.Array) -> jax.Array:
        v, others = x[0], x[1:]
        return -(v**2) / 18 - 0.5 * jnp.sum(others**2) * jnp.exp(-v) - len(others) * v / 2

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        v = 3 * rng.normal(size=(n, 1))
        return np.hstack([v, np.exp(v / 2) * rng.normal(size=(n, 2))])

    sd = np.array([3.0, np.exp(9 / 4), np.exp(9 / 4)])  # E exp(v) = exp(9 / 2)
    return ExactTarget("funnel", ("v", *_numbered("x", 2)), log_density, draw, np.zeros(3), sd)


def banana() -> ExactTarget:
    """x ~ N(0, 1) and y ~ N(x^2, 1/4) given x."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        x = rng.normal(size=n)
        return np.stack([x, x**2 + 0.5 * rng.normal(size=n)], axis=1)

    return ExactTarget(
        "banana",
        ("x", "y"),
        lambda x: -0.5 * x[0] ** 2 - 2 * (x[1] - x[0] ** 2) ** 2,
        draw,
        np.array([0.0, 1.0]),
        np.array([1.0, np.sqrt(2.25)]),  # the variance of x^2 is 2
    )


def mixture() -> ExactTarget:
    """Two normals with sd 1 in each coordinate, 8 apart in the first, with weights 0.7 and 0.3."""

    def log_density(x: jax.Array) -> jax.Array:
        near, far = -0.5 * (x[0] + 4) ** 2, -0.5 * (x[0] - 4) ** 2
        return jnp.logaddexp(jnp.log(0.7) + near, jnp.log(0.3) + far) - 0.5 * x[1] ** 2

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        draws = rng.normal(size=(n, 2))
        draws[:, 0] += np.where(rng.uniform(size=n) < 0.7, -4, 4)
        return draws

    return ExactTarget(
        "mixture",
        _numbered("x", 2),
        log_density,
        draw,
        np.array([-1.6, 0.0]),
        np.array([np.sqrt(1 + 64 * 0.21), 1.0]),
    )


def positive() -> ExactTarget:
    """x ~ Gamma(5), and x y ~ Gamma(3) given x."""

    def log_density(x: jax.Array) -> jax.Array:
        inside = (x > 0).all()
        a, b = jnp.where(inside, x, 1.0)
        inner = 4 * jnp.log(a) - a + 3 * jnp.log(a) + 2 * jnp.log(b) - a * b
        return jnp.where(inside, inner, -jnp.inf)

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        x = rng.gamma(5, size=n)
        return np.stack([x, rng.gamma(3, size=n) / x], axis=1)

    # E 1/x = 1/4 and E 1/x^2 = 1/12, so that E y = 3/4 and E y^2 = 12/12
    return ExactTarget(
        "positive",
        ("x", "y"),
        log_density,
        draw,
        np.array([5.0, 0.75]),
        np.sqrt([5.0, 1 - 0.75**2]),
        support=above_0,
    )


def bounded() -> ExactTarget:
    """Beta(2, 3) and Beta(0.8, 0.8), independent."""
    a, b = np.array([2.0, 0.8]), np.array([3.0, 0.8])

    def log_density(x: jax.Array) -> jax.Array:
        inside = ((x > 0) & (x < 1)).all()
        x = jnp.where(inside, x, 0.5)
        return jnp.where(inside, jnp.sum((a - 1) * jnp.log(x) + (b - 1) * jnp.log1p(-x)), -jnp.inf)

    return ExactTarget(
        "bounded",
        ("x", "y"),
        log_density,
        lambda rng, n: rng.beta(a, b, size=(n, 2)),
        a / (a + b),
        np.sqrt(a * b / (a + b + 1)) / (a + b),
        support=interval(0, 1),
    )


def discrete() -> ExactTarget:
    """n ~ Poisson(3), and k ~ Binomial(n, 0.4) given n."""

    def log_density(x: jax.Array) -> jax.Array:
        inside = (x[1] >= 0) & (x[1] <= x[0])
        n, k = jnp.where(inside, x, 0.0)
        kept = k * jnp.log(0.4) + (n - k) * jnp.log(0.6)
        ways = jax.scipy.special.gammaln(k + 1) + jax.scipy.special.gammaln(n - k + 1)
        return jnp.where(inside, n * jnp.log(3.0) + kept - ways, -jnp.inf)

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        count = rng.poisson(3, size=n)
        return np.stack([count, rng.binomial(count, 0.4)], axis=1)

    return ExactTarget(
        "discrete",
        ("n", "k"),
        log_density,
        draw,
        np.array([3.0, 1.2]),
        np.sqrt([3.0, 1.2]),
        support=integers(0, None),
    )


def _numbered(letter: str, count: int) -> tuple[str, ...]:
    return tuple(f"{letter}[{i}]" for i in range(count))
