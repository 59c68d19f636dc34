"""Corrected means and standard deviations: exact for normal targets, quadrature for others."""

import numpy as np
import pytest
from scipy.special import ndtr

import steinwise as sw
from steinwise.calibration.batches import Batches, even_batches
from steinwise.estimates.moments import (
    MomentErrors,
    function_errors,
    is_determined,
    moment_errors,
)
from steinwise.estimates.regression import Basis


def batches_of(n: int, count: int = 50) -> Batches:
    return even_batches(1, n, count, independent=True)


@pytest.mark.parametrize(
    ("n", "d", "correlation"), [(400, 2, 0.9), (200, 30, 0.9), (400, 5, 0.999)]
)
def test_moments_are_exact_for_a_normal_target_whatever_the_draws(
    n: int, d: int, correlation: float
) -> None:
    """Catches a Stein function without mean 0, or one that is missing."""
    covariance = np.full((d, d), correlation) + (1 - correlation) * np.eye(d)
    mean, precision = np.arange(d) - 1.0, np.linalg.inv(covariance)
    rng = np.random.default_rng(0)
    x = mean + 0.1 + rng.laplace(size=(n, d)) / np.sqrt(2 * np.diag(precision))
    found = moment_errors(x, (mean - x) @ precision, batches_of(n))
    np.testing.assert_allclose(found.corrected_mean, mean, atol=1e-4)
    np.testing.assert_allclose(found.corrected_sd, 1.0, atol=1e-4)
    np.testing.assert_allclose(found.mean_error, x.mean(axis=0) - mean, atol=1e-4)
    np.testing.assert_allclose(found.sd_ratio, x.std(axis=0), atol=1e-4)
    assert max(found.mean_unexplained.max(), found.sd_unexplained.max()) < 1e-8


def test_mean_field_draws_are_too_narrow_by_as_much_as_they_are() -> None:
    """The README's own example: sd 0.44 where the target's is 1."""
    precision = np.linalg.inv([[1.0, 0.9], [0.9, 1.0]])
    x = np.random.default_rng(1).normal(size=(4000, 2)) / np.sqrt(np.diag(precision))
    found = moment_errors(x, -x @ precision, batches_of(4000))
    np.testing.assert_allclose(found.corrected_sd, 1.0, atol=1e-12)
    assert (np.abs(found.sd_ratio - np.sqrt(0.19)) < 4 * found.sd_ratio_se).all()
    # the estimate has no error here, so that of the ratio is the sd's own: sd / sqrt(2 n)
    np.testing.assert_allclose(found.sd_ratio_se, np.sqrt(0.19 / 8000), rtol=0.3)


def quartic(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A skewed log density with light tails, and its score."""
    return x - x**2 / 2 - x**4 / 10, 1 - x - 4 * x**3 / 10


def test_in_one_dimension_by_quadrature() -> None:
    """The same regression in the population, by quadrature; and closer to the truth than drawn."""
    t = np.linspace(-8, 8, 20001)
    p, q = np.exp(quartic(t)[0]), np.exp(-((t / 0.8) ** 2) / 2)
    p, q = p / p.sum(), q / q.sum()
    s = quartic(t)[1]
    columns = np.stack(
        [np.ones_like(t), s, 1 + t * s, 2 * t + t**2 * s, 3 * t**2 + t**3 * s], axis=1
    )
    root = np.sqrt(q)[:, None]
    moments = np.linalg.lstsq(root * columns, root * np.stack([t, t**2], axis=1))[0][0]
    x = np.interp((np.arange(4000) + 0.5) / 4000, q.cumsum(), t)[:, None]
    found = moment_errors(x, quartic(x)[1], batches_of(4000))
    assert found.corrected_mean[0] == pytest.approx(moments[0], abs=5e-3)
    assert found.corrected_sd[0] == pytest.approx(np.sqrt(moments[1] - moments[0] ** 2), abs=5e-3)
    mean = p @ t
    sd = np.sqrt(p @ t**2 - mean**2)
    assert abs(found.corrected_mean[0] - mean) < 0.1 * abs(x.mean() - mean)
    assert abs(found.corrected_sd[0] - sd) < 0.1 * abs(x.std() - sd)


def chain_errors(seed: int, length: int) -> MomentErrors:
    """Correct draws of the quartic density, autocorrelated: AR(1) through its quantiles."""
    rng = np.random.default_rng(seed)
    n, rho = 1000, 0.8
    noise = rng.normal(size=n) * np.sqrt(1 - rho**2)
    noise[0] = rng.normal()
    for i in range(1, n):
        noise[i] += rho * noise[i - 1]
    t = np.linspace(-6, 6, 4001)
    p = np.exp(quartic(t)[0])
    x = np.interp(ndtr(noise), p.cumsum() / p.sum(), t)[:, None]
    return moment_errors(x, quartic(x)[1], even_batches(1, n, n // length, independent=False))


def test_errors_of_chains_are_those_of_repetitions() -> None:
    """Standard errors from long batches agree with the spread over 200 chains.

    Catches errors that take a chain as independent: batches of one draw are too small by half.
    """
    t = np.linspace(-6, 6, 4001)
    p = np.exp(quartic(t)[0]) / np.exp(quartic(t)[0]).sum()
    mean = p @ t
    found = [chain_errors(seed, 50) for seed in range(200)]
    errors = np.array([one.mean_error[0] for one in found])
    se = np.array([one.mean_error_se[0] for one in found])
    assert 0.88 < (np.abs(errors) < 2.1 * se).mean() < 0.99  # binomial, 200 at 0.95, t with 19
    corrected = np.array([one.corrected_mean[0] for one in found])
    assert (
        np.abs(corrected - mean).mean() < 0.4 * np.abs([one.mean[0] - mean for one in found]).mean()
    )
    alone = chain_errors(0, 1)
    assert alone.mean_error_se[0] < 0.6 * se.mean()


def test_functions_of_a_normal_target() -> None:
    """A square and a product are exact; the sd of a coordinate is that of `moment_errors`.

    A function that no term explains keeps its mean over draws of the target.
    """
    covariance = np.array([[1.0, 0.6], [0.6, 1.0]])
    precision = np.linalg.inv(covariance)
    x = 0.3 + 0.8 * np.random.default_rng(3).normal(size=(600, 2))
    functions = np.stack([x[:, 0] ** 2, x[:, 0] * x[:, 1], x[:, 1]], axis=1)
    found = function_errors(functions, x, -x @ precision, batches_of(600), rich=True)
    np.testing.assert_allclose(found.corrected_mean, [1.0, 0.6, 0.0], atol=1e-9)
    assert found.corrected_sd[2] == pytest.approx(1.0, abs=1e-9)
    assert found.corrected_sd[0] == pytest.approx(np.sqrt(2), abs=0.1)


def test_kernel_terms_explain_what_polynomials_do_not() -> None:
    """A banana: the mean of the bent coordinate is not in the span of polynomials."""
    rng = np.random.default_rng(4)
    a = rng.normal(size=1000)
    x = np.stack([a, 0.5 * (a**2 - 1) + 0.5 * rng.normal(size=1000)], axis=1)
    bend = 4 * (x[:, 1] - 0.5 * (x[:, 0] ** 2 - 1))
    scores = np.stack([-x[:, 0] + bend * x[:, 0], -bend], axis=1)
    plain = moment_errors(x, scores, batches_of(1000))
    rich = moment_errors(x, scores, batches_of(1000), rich=True)
    assert plain.mean_unexplained[1] > 0.3
    assert rich.mean_unexplained[1] < 0.05
    assert abs(rich.corrected_mean[1]) < 0.01
    assert rich.corrected_sd[1] == pytest.approx(np.sqrt(0.75), abs=0.05)


def test_nearly_dependent_columns_change_nothing() -> None:
    """A column twice, or one that is 0, is no other regression."""
    rng = np.random.default_rng(2)
    columns, h = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    one = Basis.of(columns).fit(h, batches_of(200))
    padded = np.column_stack([columns, 2 * columns[:, :1], np.zeros(200)])
    for basis in (Basis.of(padded), Basis.of(columns[:, :2]).extended(padded[:, 2:])):
        other = basis.fit(h, batches_of(200))
        np.testing.assert_allclose(other.values, one.values, atol=1e-10)
        np.testing.assert_allclose(other.contributions, one.contributions, atol=1e-10)
    exact = np.linalg.lstsq(np.column_stack([np.ones(200), columns]), h)[0][0]
    np.testing.assert_allclose(one.values, exact, atol=1e-10)


def test_too_few_draws_are_refused() -> None:
    x = np.random.default_rng(0).normal(size=(104, 30))
    assert not is_determined(104, 30)
    assert is_determined(105, 30)
    with pytest.raises(sw.TooFewDraws, match="needs at least 105 draws"):
        moment_errors(x, -x, batches_of(104))


def test_directions_are_combinations_of_coordinates() -> None:
    """Catches a direction whose moments are not those of the sum that it is."""
    covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
    precision = np.linalg.inv(covariance)
    x = 3 + np.random.default_rng(1).normal(size=(500, 2)) / np.sqrt(np.diag(precision))
    weights = np.array([[1.0, 2.0], [1.0, -0.5]])  # columns
    found = moment_errors(x, (3 - x) @ precision, batches_of(500), directions=weights)
    np.testing.assert_allclose(found.corrected_mean, [3, 3, 6, 4.5], atol=1e-10)
    expected = np.sqrt(np.diag(weights.T @ covariance @ weights))
    np.testing.assert_allclose(found.corrected_sd, [1, 1, *expected], atol=1e-10)
    np.testing.assert_allclose(found.sd[2:], (x @ weights).std(axis=0))
    coordinates = found.first(2)
    alone = moment_errors(x, (3 - x) @ precision, batches_of(500))
    np.testing.assert_allclose(coordinates.mean_error, alone.mean_error, atol=1e-12)
    np.testing.assert_allclose(coordinates.sd_ratio_se, alone.sd_ratio_se, rtol=1e-6)


def test_regressions_of_several_sets_are_those_of_each() -> None:
    """Catches columns of one set that help another, and constants that are left behind."""
    rng = np.random.default_rng(6)
    shared, own = rng.normal(size=(300, 4)), rng.normal(size=(3, 2, 300)) + 0.3
    own[1, 1] = 0.0  # adds nothing
    functions = rng.normal(size=(3, 2, 300)) + own[:, :1] + shared[:, 0]
    basis, batches = Basis.of(shared + 0.2), batches_of(300)
    together = basis.fit_extended(own, functions, batches)
    for k in range(3):
        alone = basis.extended(own[k].T).fit(functions[k].T, batches)
        np.testing.assert_allclose(together.values[k], alone.values, atol=1e-12)
        np.testing.assert_allclose(together.contributions[:, k], alone.contributions, atol=1e-12)
        np.testing.assert_allclose(together.unexplained[k], alone.unexplained, atol=1e-12)
