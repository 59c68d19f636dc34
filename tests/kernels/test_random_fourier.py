"""Random waves that approximate a kernel: derivatives, features, and KCC-SD with them."""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from benchmarks.targets import gaussian_conditionals
from steinwise import functional
from steinwise.kernels import IMQ, RBF, AbstractKernel, RandomFourier
from steinwise.kernels.base import over_pairs
from steinwise.kernels.random_fourier import frequencies

LAWS = {"rbf": RBF(1.3), "imq": IMQ(1.3)}


def rows(n: int, m: int, seed: int = 0):
    with jax.enable_x64(True):
        return jnp.asarray(np.random.default_rng([8, seed]).normal(size=(n, m)))


@pytest.mark.parametrize("bandwidth", [0.7, np.array([0.5, 1.0, 2.0])])
def test_derivatives_and_features_are_those_of_the_kernel(bandwidth) -> None:
    """Catches a sign or a bandwidth in the closed forms, which autodiff does not know."""
    kernel = RandomFourier(bandwidth, waves=7, law="imq")
    x, y, bx, by = (rows(4, 3, seed) for seed in range(4))
    by_autodiff = jax.jit(lambda x, y: AbstractKernel.parts(kernel, x, y))
    for found, expected in zip(kernel.parts(x[0], y[0]), by_autodiff(x[0], y[0]), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)

    def stein(x, y, bx, by):
        return AbstractKernel.stein(kernel, x, y, bx, by)

    expected = jax.jit(over_pairs(stein))(x, y, bx, by)
    np.testing.assert_allclose(kernel.stein_gram(x, y, bx, by), expected, rtol=1e-10)
    np.testing.assert_allclose(kernel.stein(x[1], y[2], bx[1], by[2]), expected[1, 2], rtol=1e-10)


def test_means_over_atoms_are_those_of_all_pairs() -> None:
    """Catches a linear-time sum that is not the quadratic one."""
    kernel, weights = RandomFourier(0.8, waves=6), jnp.asarray([0.5, 0.2, 0.2, 0.1])
    (x,), (b,), y, by = rows(1, 2), rows(1, 2, 1), rows(4, 2, 2), rows(4, 2, 3)

    @jax.jit
    def quadratic(x, b, y, by, weights):
        mean = AbstractKernel.stein_mean(kernel, x, b, y, by, weights)
        return mean, AbstractKernel.stein_norm(kernel, y, by, weights)

    linear = kernel.stein_mean(x, b, y, by, weights), kernel.stein_norm(y, by, weights)
    np.testing.assert_allclose(linear, quadratic(x, b, y, by, weights), rtol=1e-10)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("m", [1, 3])
def test_the_mean_over_seeds_is_the_kernel(law: Literal["rbf", "imq"], m: int) -> None:
    """Catches frequencies of another distribution or scale."""
    x = rows(6, m)
    grams = [np.asarray(RandomFourier(1.3, 50, law, seed)(x, x)) for seed in range(60)]
    error = np.std(grams, axis=0) / np.sqrt(60)
    away = np.abs(np.mean(grams, axis=0) - np.asarray(LAWS[law](x, x)))
    assert (away <= 4 * error + 1e-9).all()


def test_frequencies_are_stratified() -> None:
    """Catches strata that are lost: plain random frequencies have an error near 0.1 here."""
    found = np.sort(frequencies("rbf", 100, 1, 3)[:, 0])
    assert abs(found.mean()) < 0.02
    assert abs(found.std() - 1) < 0.05


def test_kccsd_with_many_waves_is_kccsd() -> None:
    """Catches waves that are lost on the way to coordinates, blocks or the unit ball."""
    x = np.random.default_rng(0).normal(0.4, 1.0, size=(30, 3))
    target = sw.Gaussian(np.zeros(3), 0.5 * np.eye(3) + 0.5)
    own = gaussian_conditionals(sw.Gaussian(np.full(3, 0.4), np.eye(3)))
    variants: tuple[Literal["norm", "unit-ball"], ...] = ("norm", "unit-ball")
    for variant in variants:
        for blocks in (None, [[0, 1], [2]]):
            exact, waves = (
                sw.kccsd(x, target, conditional=own, kernel=k, blocks=blocks, variant=variant)
                for k in (RBF(1.0), RandomFourier(1.0, waves=400))
            )
            assert exact.contributions is not None
            assert waves.contributions is not None
            away = np.abs(waves.contributions - exact.contributions).mean()
            assert away < 0.05 * np.abs(exact.contributions).mean()


def test_a_vector_of_bandwidths_is_one_per_coordinate() -> None:
    """Catches waves that are shared where the width is not."""
    widths = np.array([0.5, 2.0])
    x, y = rows(5, 2), rows(10, 3).reshape(5, 2, 3)
    weights, contributions = jnp.full(y.shape, 1 / 3), jax.jit(functional.kccsd_contributions)
    together = contributions(RandomFourier(widths), x, -x, y, -y, weights)
    for j, width in enumerate(widths):
        own = slice(j, j + 1)
        alone = contributions(
            RandomFourier(width), x[:, own], -x[:, own], y[:, own], -y[:, own], weights[:, own]
        )
        np.testing.assert_allclose(together[:, own], alone, rtol=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"waves": 0}, "waves is 0"), ({"law": "cauchy"}, "law is"), ({"seed": -1}, "seed is -1")],
)
def test_bad_options_are_answered(options: dict, message: str) -> None:
    with pytest.raises(sw.InputError, match=message):
        RandomFourier(**options)
