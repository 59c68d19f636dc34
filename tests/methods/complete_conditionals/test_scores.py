"""Terms from the scores at the draws: of mean zero, bounded, and read as lines are."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import steinwise as sw
from steinwise.methods.complete_conditionals.detectable import TERMS_OF_NORMAL
from steinwise.methods.complete_conditionals.normal_map import NormalMap
from steinwise.methods.complete_conditionals.score_moments import ScoreMoments
from steinwise.methods.complete_conditionals.score_terms import ORDERS, score_terms
from steinwise.methods.complete_conditionals.sources import DrawScores
from steinwise.methods.complete_conditionals.terms import terms_of
from steinwise.orbits.places import Places

STANDARD = sw.Gaussian(np.zeros(3), np.eye(3))
GRID = np.linspace(-6, 6, 41)[:, None]


def log_gamma(shape: float) -> tuple:
    """The density of the logarithm of a Gamma variable, its score, and draws."""
    density: Any = stats.loggamma(shape)
    return density.pdf, lambda x: shape - np.exp(x), density


@pytest.mark.parametrize("order", ORDERS)
def test_a_term_is_score_times_function_plus_derivative(order: int) -> None:
    """Catches a wrong derivative, sign or parity: against automatic differentiation."""
    k = int(np.flatnonzero(order == ORDERS)[0])
    score = np.cos(3 * GRID)
    with jax.enable_x64(True):

        def g(z: jax.Array) -> jax.Array:
            wave = jnp.sin(jnp.pi * order * jax.scipy.stats.norm.cdf(z))
            return jnp.sqrt(2.0) * wave / (jnp.pi * order * jax.scipy.stats.norm.pdf(z))

        z = jnp.asarray(GRID[:, 0])
        expected = score[:, 0] * jax.vmap(g)(z) + jax.vmap(jax.grad(g))(z)
    near = np.abs(GRID[:, 0]) < 4.5  # beyond, 1 - Phi loses its digits in the plain formula
    np.testing.assert_allclose(score_terms(GRID, score)[k, 0, near], expected[near], atol=1e-7)


def test_terms_of_a_normal_are_the_cosines_of_lines() -> None:
    z = np.random.default_rng(0).normal(size=(50, 1))
    cosines = terms_of(Places.of_normal_scores(z), np.dtype(float))[8:12]
    for b, term in zip(ORDERS, score_terms(z, -z), strict=True):
        np.testing.assert_allclose(term, cosines[b - 1], atol=1e-12)


def test_terms_stay_bounded_far_out() -> None:
    """Catches a Mills ratio by division: 0 / 0 from 38 standard deviations on."""
    far = np.array([[-1e8], [-40.0], [40.0], [1e8]])
    np.testing.assert_allclose(np.abs(score_terms(far, -far)), np.sqrt(2), rtol=1e-6)


@pytest.mark.parametrize("shape", [0.1, 0.5, 3.0])
def test_terms_have_mean_zero_whatever_the_map(shape: float) -> None:
    """By quadrature: catches a score that is not mapped along with the coordinate."""
    pdf, score, density = log_gamma(shape)
    normal_map = NormalMap.of(density.rvs((40, 1), random_state=1))  # a rough map will do

    def term(x: float, k: int) -> float:
        z, mapped = normal_map.place(np.array([[x]]), np.array([[score(x)]]))
        return float(score_terms(z, mapped)[k, 0, 0] * pdf(x))

    low, high = density.ppf([1e-14, 1 - 1e-14])
    edges = density.ppf([0.01, 0.3, 0.7, 0.99])
    for k in range(len(ORDERS)):
        mean, _ = integrate.quad(term, low, high, args=(k,), points=edges, limit=400)
        assert mean == pytest.approx(0.0, abs=1e-6)


def test_the_map_takes_the_skewness_out_of_scores() -> None:
    """Catches a straight map, under which the terms of logs of Gamma(0.5) have skewness 2."""
    _, score, density = log_gamma(0.5)
    x = density.rvs((20_000, 1), random_state=0)
    z, mapped = NormalMap.of(x).place(x, score(x))
    assert abs(stats.skew(z[:, 0])) < 0.1
    assert (np.abs(stats.skew(score_terms(z, mapped)[:, 0], axis=1)) < 0.5).all()
    centred = (x - np.median(x)) / x.std()
    straight = score_terms(centred, score(x) * x.std())
    assert np.abs(stats.skew(straight[:, 0], axis=1)).max() > 1.0


@pytest.mark.parametrize(
    "positions",
    [np.zeros((30, 1)), np.repeat([[0.0], [1.0]], 15, axis=0), np.r_[np.zeros(29), 1e9][:, None]],
    ids=["constant", "two values", "one far out"],
)
def test_maps_of_degenerate_draws_are_finite(positions: np.ndarray) -> None:
    z, mapped = NormalMap.of(positions).place(positions, -positions)
    assert np.isfinite(z).all()
    assert np.isfinite(mapped).all()


def test_effects_are_those_of_a_normal_conditional() -> None:
    """Catches effects in units of the marginal: here the conditional's sd is 0.44 of it."""
    rng = np.random.default_rng(0)
    other = rng.normal(size=20_000)
    x = 0.9 * other + np.sqrt(0.19) * (0.3 + 1.2 * rng.normal(size=20_000))
    score = -(x - 0.9 * other) / 0.19
    terms = np.zeros((len(ORDERS), 1, len(x)))
    moments = ScoreMoments.of(x[:, None], score[:, None], terms, np.ones(len(x)))
    (effect,) = moments.effects
    assert effect.conditional_shift == pytest.approx(0.3, abs=0.02)
    assert effect.conditional_spread == pytest.approx(1.2, abs=0.02)


@pytest.mark.parametrize(
    ("change", "kind"),
    [(lambda x: x + np.array([0.5, 0, 0]), "shift"), (lambda x: x * [1.4, 1, 1], "spread")],
)
def test_verdicts_by_scores(change, kind: str) -> None:
    draws = change(np.random.default_rng(5).normal(size=(400, 3)))
    result = sw.check(draws, STANDARD, method="scores")
    assert result["x[0]"].kind == kind
    assert [c.name for c in result.flagged] == ["x[0]"]
    assert result.findings.evaluations is None


def test_dependence_is_named_by_scores() -> None:
    draws = np.random.default_rng(6).normal(size=(600, 3))
    draws[:, 1] = 0.5 * draws[:, 0] + np.sqrt(0.75) * draws[:, 1]
    result = sw.check(draws, STANDARD, method="scores")
    assert result["x[1]"].verdict.startswith("its dependence on x[0] ")


def test_quick_is_the_method_scores() -> None:
    draws = np.random.default_rng(7).normal(size=(300, 3))
    one = sw.check(draws, STANDARD, effort="quick")
    other = sw.check(draws, STANDARD, method="scores")
    assert one.to_dict() == other.to_dict()


def test_of_few_draws_all_lines_are_followed() -> None:
    draws = np.random.default_rng(7).normal(size=(300, 3))
    one, other = (
        sw.check(draws, STANDARD, effort=effort).to_dict() for effort in ("standard", "full")
    )
    assert one.pop("effort")["followed"] == other.pop("effort")["followed"] == 300
    assert one == other


def test_of_many_draws_some_lines_are_followed_and_all_scores_looked_at() -> None:
    """Catches lines or scores that do not enter the verdict, each on a fault that it sees."""
    n = 8000
    rng = np.random.default_rng(8)
    shifted = rng.normal(size=(n, 3)) + np.array([0, 0.06, 0])  # too little for 1000 lines
    result = sw.check(shifted, STANDARD)
    assert result.findings.pit is not None
    assert len(result.findings.pit) == 1000
    assert [c.name for c in result.flagged] == ["x[1]"]
    assert result.findings.draw_index is not None
    assert result.findings.draw_index.of(3) == (0, 24)
    far = rng.normal(size=(n, 3))
    far[::80, 2] = 12.0  # single draws far out
    assert sw.check(far, STANDARD)["x[2]"].kind == "outliers"


def test_other_methods_have_no_effort() -> None:
    draws = np.random.default_rng(7).normal(size=(300, 3))
    with pytest.raises(sw.InputError, match=r"effort='quick' came with the method 'ksd'"):
        sw.check(draws, STANDARD, method="ksd", effort="quick")
    with pytest.raises(
        sw.InputError, match=r"effort is 'fast': expected 'quick', 'standard' or 'full'"
    ):
        sw.check(draws, STANDARD, effort="fast")


def test_what_would_have_been_found_is_found() -> None:
    """Catches a promise of the scores that is too good: power 0.8 is promised."""
    rng = np.random.default_rng(9)
    result = sw.check(rng.normal(size=(400, 2)), sw.Gaussian([0, 0], np.eye(2)), method="scores")
    promised = result.findings.detectable
    assert promised is not None
    hits = 0
    for seed in range(40):
        draws = np.random.default_rng([9, seed]).normal(size=(400, 2))
        draws[:, 0] += promised.conditional_shift
        found = sw.check(
            draws, sw.Gaussian([0, 0], np.eye(2)), method="scores", n_bootstrap=199, seed=seed
        )
        hits += found["x[0]"].adjusted_pvalue <= 0.05
    assert hits >= stats.binom.ppf(1e-3, 40, 0.8)


def test_interrupted_lines_leave_the_verdict_of_the_scores(monkeypatch) -> None:
    """No verdict is lost: the scores were complete."""
    draws = np.random.default_rng(8).normal(size=(4000, 3)) * [1.0, 1.0, 1.5]
    from steinwise.methods.complete_conditionals import sources

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sources, "find_places", interrupt)
    with pytest.warns(sw.SteinwiseWarning, match="rests on the scores"):
        result = sw.check(draws, STANDARD)
    assert [c.name for c in result.flagged] == ["x[2]"]
    alone = sw.check(draws, STANDARD, effort="quick")
    assert [c.pvalue for c in alone.coordinates] == [c.pvalue for c in result.coordinates]


def test_terms_at_the_draws_of_a_normal_have_variance_1_and_their_weights() -> None:
    z = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    terms = TERMS_OF_NORMAL[DrawScores.name](z)
    np.testing.assert_allclose((terms**2).mean(axis=1), 1)
    for base, squares in {"shift": [1, 1 / 9], "spread": [1 / 4, 1], "shape": [1] * 4}.items():
        left, right = DrawScores.layout.sides(base, terms)
        np.testing.assert_allclose((left * right).mean(axis=1), squares)
