"""Pure functions of `sw.functional`, under jit, give the statistics of the methods."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise import functional
from steinwise.methods import FSSD, KCCSD, KSD, GraphicalKSD, SlicedKSD
from steinwise.methods.random_feature import (
    LAWS,
    AbstractLaw,
    HyperbolicSecant,
    InverseMultiquadric,
)
from tests.contract.methods import METHODS, draws, method, normal, prepared, statistic


def ksd(one: KSD, x: np.ndarray, score: np.ndarray) -> jax.Array:
    kernel = one.kernel.resolve(x, 0, per_coordinate=False)
    return jax.jit(functional.ksd)(kernel, x, score)


def fssd(one: FSSD, x: np.ndarray, score: np.ndarray) -> jax.Array:
    kernel = one.kernel.resolve(x, 0, per_coordinate=False)
    value = jax.jit(lambda *given: functional.fssd(functional.fssd_features(*given)))
    return value(kernel, x, score, one.locations)


def sliced(one: SlicedKSD, x: np.ndarray, score: np.ndarray) -> jax.Array:
    directions = np.eye(x.shape[1]) if one.directions is None else one.directions
    kernel = one.kernel.resolve(x @ directions.T, 0, per_coordinate=True)
    return jax.jit(functional.sliced_ksds)(kernel, x, score, directions).sum()


def graphical(one: GraphicalKSD, x: np.ndarray, score: np.ndarray) -> jax.Array:
    total, n = jnp.zeros(()), len(x)
    for j, neighbours in enumerate(one.graph):
        rows = x[:, [j, *np.flatnonzero(neighbours)]]
        kernel = one.kernel.resolve(rows, 0, per_coordinate=False)
        gram = jax.jit(functional.coordinate_stein_gram)(
            kernel, rows, rows, score[:, j], score[:, j]
        )
        total += (gram.sum() - jnp.trace(gram)) / (n * (n - 1))
    return total


def kccsd(one: KCCSD, x: np.ndarray, score: np.ndarray) -> jax.Array:
    kernel = one.kernel.resolve(x, 0, per_coordinate=True)
    atoms = one.conditional.atoms(x, 0, 0)
    curvature = np.diag(normal(x.shape[1]).precision)[:, None]
    scores = score[..., None] - curvature * (atoms.points - x[..., None])
    contributions = jax.jit(functional.kccsd_contributions, static_argnames="variant")
    given = x, score, atoms.points, scores, atoms.weights
    return contributions(kernel, *given, variant=one.variant).mean(axis=0).sum()


TWINS: dict[type, Callable[..., jax.Array]] = {
    KSD: ksd,
    FSSD: fssd,
    SlicedKSD: sliced,
    GraphicalKSD: graphical,
    KCCSD: kccsd,
}
# a mean over some pairs of draws, and means over splits, have no twin
WITH_TWIN = [
    name
    for name in METHODS
    if type(method(name, 3)) in TWINS and name not in ("ksd, linear", "kccsd, linear, 3 splits")
]


@pytest.mark.parametrize("name", WITH_TWIN)
def test_the_twin_under_jit_gives_the_statistic(name: str) -> None:
    """Catches a twin that is no longer what the method computes, or cannot be traced."""
    [(fitted, tested)] = prepared(method(name, 3), draws(9))
    x = tested.rows
    with jax.enable_x64(True):
        twin = TWINS[type(fitted)](fitted, x, normal(3).score(x))
    assert float(twin) == pytest.approx(statistic(fitted, tested), rel=1e-8, abs=1e-12)


def log_base(law: AbstractLaw, point: jax.Array, location: jax.Array) -> jax.Array:
    away = point - location
    if isinstance(law, InverseMultiquadric):
        return law.exponent * jnp.log(law.scale**2 + jnp.sum(away**2))
    assert isinstance(law, HyperbolicSecant)
    return -jnp.sum(jnp.logaddexp(law.rate * away, -law.rate * away) - jnp.log(2.0))


@pytest.mark.parametrize("kind", LAWS)
def test_the_twin_of_random_features_gives_the_discrepancy(kind: Literal["imq", "sech"]) -> None:
    """Of its value: the method's statistic is reported relative to its null."""
    x, z = draws(9), draws(10, n=6)
    law = LAWS[kind].around(x, 1.0, 0.5, 0)
    log_weights = -(law.log_density(z) + np.log(len(z))) / law.order

    @jax.jit
    def value(*given: jax.Array) -> jax.Array:
        squares = functional.rfsd_log_squares(partial(log_base, law), *given, law.order)
        return jnp.exp(jax.nn.logsumexp(squares) / 2)

    with jax.enable_x64(True):
        twin = float(value(x, normal(3).score(x), z, log_weights))
    assert twin == pytest.approx(sw.rfsd(x, normal(3), kind=kind, locations=z).value, rel=1e-8)
