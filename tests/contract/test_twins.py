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
from steinwise._internal.run_options import RunOptions
from steinwise.methods import NAMES, by_name
from steinwise.methods.fssd import FSSD, FittedFSSD
from steinwise.methods.graphical import FittedGraphicalKSD, GraphicalKSD
from steinwise.methods.kccsd import KCCSD, FittedKCCSD
from steinwise.methods.ksd import KSD, FittedKSD
from steinwise.methods.ksdagg import KSDAgg
from steinwise.methods.lambda_psd import LambdaPSD
from steinwise.methods.nystrom import NystromKSD
from steinwise.methods.psd import PSD, FittedPSD, monomials, standardised
from steinwise.methods.rfsd import RFSD
from steinwise.methods.rfsd_bases import BASES, AbstractBase, MultiquadricBase, SecantBase
from steinwise.methods.scores import Scores
from steinwise.methods.sksd import FittedSlicedKSD, SlicedKSD
from steinwise.methods.transported import Transported
from tests.contract.methods import (
    METHODS,
    batches_of_one_draw,
    draws,
    method,
    normal,
    prepared,
    value,
)


def ksd(fitted: FittedKSD, x: np.ndarray, score: np.ndarray) -> jax.Array:
    kernel = fitted.method.kernel.resolve(x, 0, per_coordinate=False)
    if fitted.method.linear:
        halves = [half for rows in (x, score) for half in np.split(rows, 2)]
        return jax.jit(functional.stein_of_pairs)(kernel, *halves).mean()
    return jax.jit(functional.ksd)(kernel, x, score)


def fssd(fitted: FittedFSSD, x: np.ndarray, score: np.ndarray) -> jax.Array:
    kernel = fitted.kernel
    if not fitted.method.optimise:
        kernel = fitted.method.kernel.resolve(x, 0, per_coordinate=False)
    twin = jax.jit(lambda *given: functional.fssd(functional.fssd_features(*given)))
    return twin(kernel, x, score, fitted.locations)


def sliced(fitted: FittedSlicedKSD, x: np.ndarray, score: np.ndarray) -> jax.Array:
    axes = fitted.method.slices == "axes"
    directions = np.eye(x.shape[1]) if axes else fitted.directions
    kernel = fitted.method.kernel.resolve(x @ directions.T, 0, per_coordinate=True)
    return jax.jit(functional.sliced_ksds)(kernel, x, score, directions).sum()


def graphical(fitted: FittedGraphicalKSD, x: np.ndarray, score: np.ndarray) -> jax.Array:
    total, n = jnp.zeros(()), len(x)
    for j, neighbours in enumerate(fitted.graph):
        rows = x[:, [j, *np.flatnonzero(neighbours)]]
        kernel = fitted.method.kernel.resolve(rows, 0, per_coordinate=False)
        gram = jax.jit(functional.coordinate_stein_gram)(
            kernel, rows, rows, score[:, j], score[:, j]
        )
        total += (gram.sum() - jnp.trace(gram)) / (n * (n - 1))
    return total


def kccsd(fitted: FittedKCCSD, x: np.ndarray, score: np.ndarray) -> jax.Array:
    kernel = fitted.method.kernel
    assert isinstance(kernel, sw.kernels.AbstractKernel)
    scale, across = fitted.scale, fitted.scale[:, None]
    kernel = kernel.resolve(x / scale, 0, per_coordinate=True)
    atoms = fitted.conditional.atoms(x, 0, 0)
    curvature = np.diag(normal(x.shape[1]).precision)[:, None]
    scores = score[..., None] - curvature * (atoms.points - x[..., None])
    contributions = jax.jit(functional.kccsd_contributions, static_argnames="variant")
    given = x / scale, score * scale, atoms.points / across, scores * across, atoms.weights
    return contributions(kernel, *given, variant=fitted.method.variant).mean(axis=0).sum()


def psd(fitted: FittedPSD, x: np.ndarray, score: np.ndarray) -> jax.Array:
    factors = monomials(x.shape[1], fitted.method.degree)
    twin = jax.jit(lambda *given: functional.fssd(functional.polynomial_stein_features(*given)))
    return twin(*standardised(x, score), factors)


TWINS: dict[type, Callable[..., jax.Array]] = {
    KSD: ksd,
    FSSD: fssd,
    SlicedKSD: sliced,
    GraphicalKSD: graphical,
    KCCSD: kccsd,
    PSD: psd,
}
WITH_TWIN = [
    name
    for name in METHODS
    if type(method(name, 3)) in TWINS and name != "kccsd, linear, 3 splits"  # a mean of splits
]
# reported relative to their null, and compared by their values below
BY_VALUE = {KSDAgg, RFSD}
# NumPy on the host: complete conditionals for their speed, the others for their pseudo-inverses
ON_HOST = {Transported, Scores, NystromKSD, LambdaPSD}


def test_every_method_has_a_twin_or_a_reason() -> None:
    """Catches a method that was added without a pure function."""
    assert set(TWINS) | BY_VALUE | ON_HOST == {by_name(name) for name in NAMES}


def test_the_twin_of_aggregated_ksds_under_jit() -> None:
    x, bandwidths = draws(9), np.array([0.3, 1.0, 4.0])
    score, run = normal(3).score(x), RunOptions()
    [fitted] = prepared(KSDAgg(tuple(bandwidths), standardise=False), x)
    statistic = fitted.statistic(normal(3), run)
    blocks = statistic.batch_sums(batches_of_one_draw(fitted, statistic))
    sums = [block.values[0, 0] for block in blocks]
    with jax.enable_x64(True):
        twin = jax.jit(functional.imq_ksds)(bandwidths, x, score)
    pairs = len(x) * (len(x) - 1)
    np.testing.assert_allclose(twin, [(u.sum() - np.trace(u)) / pairs for u in sums], rtol=1e-9)


@pytest.mark.parametrize("name", WITH_TWIN)
def test_the_twin_under_jit_gives_the_statistic(name: str) -> None:
    """Catches a twin that is no longer what the method computes, or cannot be traced."""
    [fitted] = prepared(method(name, 3), draws(9))
    x = fitted.samples.rows
    with jax.enable_x64(True):
        twin = TWINS[type(fitted.method)](fitted, x, normal(3).score(x))
    assert float(twin) == pytest.approx(value(fitted), rel=1e-8, abs=1e-12)


def log_base(base: AbstractBase) -> Callable[[jax.Array, jax.Array], jax.Array]:
    if isinstance(base, MultiquadricBase):
        return partial(functional.imq_log_base, scale=base.scale, exponent=base.exponent)
    assert isinstance(base, SecantBase)
    return partial(functional.sech_log_base, rate=base.rate)


@pytest.mark.parametrize("kind", BASES)
def test_the_twin_of_random_features_gives_the_discrepancy(kind: Literal["imq", "sech"]) -> None:
    """Of its value: the method's statistic is reported relative to its null."""
    x, z = draws(9), draws(10, n=6)
    base = BASES[kind].around(x, 1.0, 0.5, 0)
    log_weights = -(base.log_density(z) + np.log(len(z))) / base.order

    @jax.jit
    def discrepancy(*given: jax.Array) -> jax.Array:
        squares = functional.rfsd_log_squares(log_base(base), *given, order=base.order)
        return jnp.exp(jax.nn.logsumexp(squares) / 2)

    with jax.enable_x64(True):
        twin = float(discrepancy(x, normal(3).score(x), z, log_weights))
    assert twin == pytest.approx(sw.rfsd(x, normal(3), kind=kind, locations=z).value, rel=1e-8)
