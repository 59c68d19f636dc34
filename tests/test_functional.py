"""The pure functions: under jit, vmap and grad, in the caller's precision, the same numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise import functional
from steinwise.kernels import IMQ, RBF, HyperbolicSecant, Matern52

# Figures of independent implementations for one data set, target N(0, I), n = 200, d = 5.
LAPLACE = np.random.default_rng(0).laplace(0, 1 / np.sqrt(2), (200, 5))
MEDIAN = 2.7438457483802026
REFERENCE = {
    "rbf": (RBF(MEDIAN), 0.013885062170140194, 8.468649732870457 / 200),
    "rbf, median": (RBF("median"), 0.013885062170140194, 8.468649732870457 / 200),
    "imq": (IMQ(1.0), 0.025690614649713672, 15.153828468677965 / 200),
}
STANDARD = sw.Gaussian(np.zeros(5), np.eye(5))


@pytest.mark.parametrize(("kernel", "u", "v"), REFERENCE.values(), ids=REFERENCE.keys())
def test_ksd_is_the_reference_figure(kernel, u, v):
    """An independent implementation on the same draws, U and V."""
    by_pairs = sw.ksd(LAPLACE, STANDARD, kernel=kernel, estimator="u")
    np.testing.assert_allclose(by_pairs.value, u, rtol=1e-9)
    with_diagonal = sw.ksd(LAPLACE, STANDARD, kernel=kernel, estimator="v")
    np.testing.assert_allclose(with_diagonal.value, v, rtol=1e-9)


def test_one_entry_of_the_stein_kernel_is_the_reference_figure():
    with jax.enable_x64(True):
        x, y = jnp.asarray(LAPLACE[0]), jnp.asarray(LAPLACE[1])
        entry = RBF(MEDIAN).stein(x, y, -x, -y)
    np.testing.assert_allclose(entry, -0.4212750998043241, rtol=1e-12)


def test_ksd_of_several_bandwidths_is_the_reference_figure():
    """The bandwidth of the IMQ divides the distance, before the square."""
    bandwidths = [0.2, 0.4386289994480180, 2.1097550357633956]
    expected = [0.011497658835374592, 0.019393189679627908, 0.018477774824143374]
    found = [sw.ksd(LAPLACE, STANDARD, kernel=IMQ(b)).value for b in bandwidths]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_memory_budget_changes_no_ksd():
    """Tiles that overlap, or leave a strip out."""
    draws = np.random.default_rng(0).normal(size=(1111, 3))
    target = sw.Gaussian(np.zeros(3), np.eye(3))
    small, large = (sw.ksd(draws, target, kernel=IMQ(), memory=m).value for m in ("1MiB", "1GiB"))
    np.testing.assert_allclose(small, large, rtol=1e-9)


def _rows(n: int = 20, d: int = 3, m: int = 4):
    rng = np.random.default_rng(0)
    x, atoms = rng.normal(size=(n, d)), rng.normal(size=(n, d, m))
    return x, -x, atoms, -atoms, np.full(atoms.shape, 1 / m)


@pytest.mark.parametrize("estimator", ["u", "v"])
def test_ksd_agrees_with_the_checked_function(estimator):
    with jax.enable_x64(True):
        x = jnp.asarray(LAPLACE)
        pure = jax.jit(functional.ksd, static_argnames="estimator")(IMQ(), x, -x, estimator)
    checked = sw.ksd(LAPLACE, STANDARD, kernel=IMQ(), estimator=estimator)
    np.testing.assert_allclose(pure, checked.value, rtol=1e-10)


@pytest.mark.parametrize("variant", ["norm", "unit-ball"])
def test_contributions_agree_with_the_checked_function(variant):
    x, score, atoms, atom_scores, weights = _rows(n=40)
    sampler = sw.conditionals.Sampler(lambda *_: atoms, n_atoms=4)
    target = sw.Gaussian(np.zeros(3), np.eye(3))
    checked = sw.kccsd(x, target, conditional=sampler, kernel=IMQ(1.5), variant=variant)
    with jax.enable_x64(True):
        function = jax.jit(functional.kccsd_contributions, static_argnames="variant")
        pure = function(IMQ(1.5), x, score, atoms, atom_scores, weights, variant=variant)
    assert checked.contributions is not None
    np.testing.assert_allclose(pure, checked.contributions, rtol=1e-10)


def test_vmap_gives_the_same_numbers():
    """A Python branch on a value, or a hidden host computation."""
    x, score, atoms, _, weights = _rows()
    shifted = atoms + 0.5
    one = jax.jit(functional.kccsd_contributions)
    over_atoms = jax.jit(jax.vmap(one, in_axes=(None, None, None, 0, 0, None)))
    with jax.enable_x64(True):
        both = over_atoms(
            RBF(1.0), x, score, np.stack([atoms, shifted]), np.stack([-atoms, -shifted]), weights
        )
        np.testing.assert_allclose(both[0], one(RBF(1.0), *_rows()), rtol=1e-10)
        alone = one(RBF(1.0), x, score, shifted, -shifted, weights)
    np.testing.assert_allclose(both[1], alone, rtol=1e-10)


@pytest.mark.parametrize(
    "kernel",
    [RBF(1.3), IMQ(1.3), Matern52(1.3), HyperbolicSecant(1.3)],
    ids=lambda k: type(k).__name__,
)
def test_gradients_in_the_draws_are_finite_differences(kernel):
    """NaN from the diagonal, where a root or a division has no automatic derivative."""

    def value(x):
        return functional.ksd(kernel, x, -(x**3), "v")

    with jax.enable_x64(True):
        x = jnp.asarray(LAPLACE[:8, :2])
        gradient, step = jax.jit(jax.grad(value))(x), 1e-5
        compiled = jax.jit(value)
        for index in ((0, 0), (3, 1)):
            moved = [compiled(x.at[index].add(s)) for s in (step, -step)]
            np.testing.assert_allclose(
                gradient[index], (moved[0] - moved[1]) / (2 * step), rtol=1e-6, atol=1e-9
            )


def test_gradients_in_the_parameters_of_a_kernel():
    """A special case for one exponent that cuts the derivative off."""

    def value(parameters):
        x = jnp.asarray(LAPLACE[:8, :2])
        return functional.ksd(IMQ(parameters[0], exponent=parameters[1]), x, -x, "v")

    with jax.enable_x64(True):
        at, step = jnp.array([1.3, 0.5]), 1e-6
        gradient, compiled = jax.jit(jax.grad(value))(at), jax.jit(value)
        for k in range(2):
            moved = [compiled(at.at[k].add(s)) for s in (step, -step)]
            np.testing.assert_allclose(gradient[k], (moved[0] - moved[1]) / (2 * step), rtol=1e-6)


@pytest.mark.parametrize("ambient", [False, True])
@pytest.mark.parametrize(
    "kernel",
    [RBF(1.0), RBF(np.ones(3)), IMQ(1.0), RBF(1.0) + 0.5 * Matern52(1.0)],
    ids=["rbf", "vector", "imq", "sum"],
)
def test_float32_stays_float32(kernel, ambient):
    """A float64 bandwidth that promotes the caller's arrays, at twice the memory."""
    with jax.enable_x64(ambient):
        arrays = [jnp.asarray(a, dtype=jnp.float32) for a in _rows()]
        x, score, atoms, atom_scores, weights = arrays
        block = (jnp.moveaxis(atoms, 1, 2), jnp.moveaxis(atom_scores, 1, 2), weights[:, 0])
        for function, given in (
            (functional.ksd, (x, score)),
            (functional.kccsd_contributions, arrays),
            (functional.block_contributions, (x, score, *block)),
            (functional.witness, (x[..., None], *arrays[2:])),
        ):
            assert jax.eval_shape(function, kernel, *given).dtype == jnp.float32


def test_a_stand_in_equal_to_the_target_gives_zero_not_nan():
    """0/0 in the unit ball where the stand-in's own discrepancy is 0."""
    x = jnp.zeros((2, 1))
    atoms = jnp.array([[[-1.0, 1.0]], [[-1.0, 1.0]]])
    weights = jnp.zeros_like(atoms)  # no atoms left: the squared norm is exactly 0
    function = jax.jit(functional.kccsd_contributions, static_argnames="variant")
    found = function(RBF(1.0), x, -x, atoms, -atoms, weights, variant="unit-ball")
    np.testing.assert_array_equal(found, 0.0)
