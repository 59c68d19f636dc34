"""Size and power of the default check; the full tables are those of `benchmarks`.

Each rate under the null must lie inside an exact binomial interval that a right test leaves once
in a thousand times; the seeds are fixed.
"""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from benchmarks import simulate
from benchmarks.rates import interval, uniformity
from steinwise.methods import Transported

Draw = Callable[[np.random.Generator], np.ndarray]


def results(
    draw: Draw,
    target: object,
    repetitions: int,
    *,
    independent: bool | None = True,
    method: str | Transported = "transported",
) -> list[sw.CheckResult]:
    return [
        sw.check(
            draw(np.random.default_rng([29, seed])),
            target,
            method=method,
            seed=seed,
            n_bootstrap=199,
            independent=independent,
        )
        for seed in range(repetitions)
    ]


def rate(draw: Draw, target: object, repetitions: int, *, independent: bool | None = True) -> float:
    found = results(draw, target, repetitions, independent=independent)
    return float(np.mean([one.rejected for one in found]))


def standard(d: int) -> sw.Gaussian:
    return sw.Gaussian(np.zeros(d), np.eye(d))


def equicorrelated(d: int, correlation: float) -> np.ndarray:
    return correlation + (1 - correlation) * np.eye(d)


def assert_right_size(found: float, repetitions: int) -> None:
    low, high = interval(0.05, repetitions)
    assert low <= found <= high


def test_size_with_few_draws() -> None:
    """Catches settings that are not calibrated jointly, and asymptotics that n = 50 has not."""
    found = rate(lambda rng: rng.normal(size=(50, 5)), standard(5), 200)
    assert_right_size(found, 200)


def _equicorrelated_size(n: int, d: int, repetitions: int) -> None:
    covariance = equicorrelated(d, 0.5)
    factor = np.linalg.cholesky(covariance)
    target = sw.Gaussian(np.zeros(d), covariance)
    found = rate(lambda rng: rng.normal(size=(n, d)) @ factor.T, target, repetitions)
    assert_right_size(found, repetitions)


def test_size_with_dependent_coordinates_and_directions() -> None:
    """Catches directions from the tested draws (0.4 and more), and a kappa that sees u."""
    _equicorrelated_size(200, 10, 60)


@pytest.mark.full
@pytest.mark.parametrize(("n", "d"), [(50, 5), (200, 10), (1000, 10)])
def test_size_with_dependent_coordinates_at_length(n: int, d: int) -> None:
    """Catches what only many repetitions, or many draws, show."""
    _equicorrelated_size(n, d, 400)


def banana(x):
    return -0.5 * x[0] ** 2 - 0.5 * ((x[1] - x[0] ** 2) / 0.5) ** 2 - 0.5 * jnp.sum(x[2:] ** 2)


def banana_draws(rng: np.random.Generator) -> np.ndarray:
    x = rng.normal(size=(100, 3))
    x[:, 1] = x[:, 0] ** 2 + 0.5 * x[:, 1]
    return x


def test_size_along_lines_that_are_followed() -> None:
    """Catches transforms that are off by so much that they are not uniform."""
    assert_right_size(rate(banana_draws, sw.Target(banana), 40), 40)


@pytest.mark.full
def test_size_along_lines_that_are_followed_at_length() -> None:
    """Catches the same, with more than a rough answer."""
    assert_right_size(rate(banana_draws, sw.Target(banana), 400), 400)


def chains(rng: np.random.Generator) -> np.ndarray:
    return simulate.autoregressive(rng, np.full(3, 0.5), 4, 500)


def test_size_on_chains() -> None:
    """Catches a sign per draw (rejects nearly always), and neighbouring batches kept in."""
    assert_right_size(rate(chains, standard(3), 60, independent=None), 60)


@pytest.mark.full
def test_size_on_chains_at_length() -> None:
    """Catches the same, with more than a rough answer."""
    assert_right_size(rate(chains, standard(3), 400, independent=None), 400)


def assert_uniform(found: list[sw.CheckResult]) -> None:
    assert uniformity([one.pvalue for one in found]) >= 0.001


def test_pvalues_are_uniform() -> None:
    """Catches kinds of evidence that are corrected one by one, which no rate at 0.05 shows."""
    assert_uniform(results(lambda rng: rng.normal(size=(100, 5)), standard(5), 200))


def test_pvalues_of_skewed_terms_are_uniform() -> None:
    """Catches a known spread of skewed terms that steadies the statistic, not its bootstraps."""
    tails = Transported(bases=("tails",), contexts=("alone",), directions=False)
    found = results(lambda rng: rng.normal(size=(200, 30)), standard(30), 100, method=tails)
    assert_uniform(found)


FAULTS: dict[str, tuple[float, float]] = {"shifted": (0.5, 1.0), "narrow": (0.0, 0.7)}


def _accused(fault: str, repetitions: int) -> tuple[int, int]:
    """How often the one wrong coordinate of six is named, and how often a right one is."""
    shift, spread = FAULTS[fault]

    def draw(rng: np.random.Generator) -> np.ndarray:
        x = rng.normal(size=(200, 6))
        x[:, 3] = spread * x[:, 3] + shift
        return x

    found = results(draw, standard(6), repetitions)
    judged = [one.findings.coordinates[:6] for one in found]
    flagged = [[c.adjusted_pvalue <= 0.05 for c in one] for one in judged]
    verdicts = [[c.verdict != "no misfit found" for c in one] for one in judged]
    assert verdicts == flagged
    wrong = sum(any(one[:3] + one[4:]) for one in flagged)
    return sum(one[3] for one in flagged), wrong


@pytest.mark.parametrize("fault", FAULTS)
def test_right_coordinates_are_not_accused(fault: str) -> None:
    """Catches adjusted p-values without control of the family-wise error."""
    named, wrong = _accused(fault, 60)
    assert named >= 57
    assert wrong <= 10  # a right procedure leaves this once in a thousand times


@pytest.mark.full
@pytest.mark.parametrize("fault", FAULTS)
def test_right_coordinates_are_not_accused_at_length(fault: str) -> None:
    """Catches a family-wise error above 0.07."""
    named, wrong = _accused(fault, 500)
    assert named >= 475
    assert wrong <= 0.084 * 500


def test_assert_fits_rarely_fails_right_samplers() -> None:
    """At most 2 failures in 20 at level 0.01: three have probability 1e-3."""
    failures = 0
    for seed in range(20):
        draws = np.random.default_rng(seed).normal(size=(300, 3))
        try:
            sw.assert_fits(draws, standard(3), alpha=0.01, independent=True)
        except AssertionError:
            failures += 1
    assert failures <= 2


# -- power -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["shift", "spread"])
def test_what_is_detectable_is_detected_about_that_often(kind: str) -> None:
    """Catches a promise that is off by a factor: power 0.8 is 0.6 and more here."""
    promised = sw.check(
        np.random.default_rng(3).normal(size=(600, 3)), standard(3)
    ).findings.detectable
    assert promised is not None

    def detected(share: float) -> int:
        """Of 20, with a share of the promised effect."""
        shift = share * promised.conditional_shift if kind == "shift" else 0.0
        spread = 1 + share * (promised.conditional_spread - 1) if kind == "spread" else 1.0
        count = 0
        for seed in range(20):
            draws = np.random.default_rng([4, seed]).normal(size=(600, 3))
            draws[:, 1] = spread * draws[:, 1] + shift
            result = sw.check(draws, standard(3), seed=seed, independent=True)
            count += result["x[1]"].adjusted_pvalue <= 0.05
        return count

    assert detected(1.0) >= 12
    assert detected(0.5) <= 10


def test_power_laplace() -> None:
    """Catches a statistic that looks at one coordinate at a time, or that does not see tails."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        return rng.laplace(0, 1 / np.sqrt(2), size=(50, 30))

    assert rate(draw, standard(30), 20) >= 0.95


def interaction(rng: np.random.Generator) -> np.ndarray:
    """The sign of one coordinate goes with the product of two others; pairs are independent."""
    x = rng.normal(size=(500, 30))
    x[:, 7] = np.abs(x[:, 7]) * np.sign(x[:, 19] * x[:, 23])
    return x


def test_power_interaction_of_three_among_thirty() -> None:
    """Catches products that are summed over all pairs only, in which one of 435 drowns."""
    found = results(interaction, standard(30), 5)
    assert all(one.rejected for one in found)
    words = "its dependence on x[19] and x[23] together is wrong"
    assert all(one["x[7]"].verdict == words for one in found)


def _scale(rng: np.random.Generator) -> np.ndarray:
    x = rng.normal(size=(500, 30))
    x[:, 4] *= np.where(np.abs(x[:, 11]) > 0.6745, 1.35, np.sqrt(2 - 1.35**2))
    return x


def _neighbours(rng: np.random.Generator) -> np.ndarray:
    covariance = 0.2 ** np.abs(np.subtract.outer(np.arange(30), np.arange(30)))
    return rng.multivariate_normal(np.zeros(30), covariance, 300)


def _one_shifted(rng: np.random.Generator) -> np.ndarray:
    x = rng.normal(size=(300, 20))
    x[:, 3] += 0.3
    return x


@pytest.mark.full
@pytest.mark.parametrize(
    ("draw", "d", "least"),
    [(_scale, 30, 0.95), (_neighbours, 30, 0.95), (_one_shifted, 20, 0.75)],
)
def test_power_where_little_is_wrong(draw: Draw, d: int, least: float) -> None:
    """Catches evidence that is summed over all coordinates only, or looked at one by one only."""
    assert rate(draw, standard(d), 60) >= least


@pytest.mark.full
def test_power_along_a_long_direction() -> None:
    """Catches a check of coordinate lines only (0 to 0.1)."""
    covariance = equicorrelated(10, 0.999)
    factor = np.linalg.cholesky(covariance)
    target = sw.Gaussian(np.zeros(10), covariance)
    assert rate(lambda rng: 0.3 + rng.normal(size=(200, 10)) @ factor.T, target, 60) >= 0.6
