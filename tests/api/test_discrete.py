"""Checks of discrete and mixed targets."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import gammaln

import steinwise as sw

BINARY, COUNTS = sw.support.integers(0, 1), sw.support.integers(0, None)
N = 300


def bernoulli(p):
    return sw.Target(lambda x: x[0] * jnp.log(p / (1 - p)), support=BINARY)


def poisson_gamma(x):
    """A rate from Gamma(3, 2), and a count given it."""
    return 2 * jnp.log(x[0]) - 3 * x[0] + x[1] * jnp.log(x[0]) - gammaln(x[1] + 1)


MIXED = sw.Target(poisson_gamma, support={"rate": sw.support.positive, "count": COUNTS})
LABELS = ["rate", "count"]


def mixed_draws(seed, *, dependent=True, n=N):
    rng = np.random.default_rng(seed)
    rate = rng.gamma(3, 0.5, size=n)
    count = rng.poisson(rate if dependent else rng.permutation(rate))
    return np.column_stack([rate, count.astype(float)])


def test_a_value_taken_too_often_is_named():
    """Catches words of continuous coordinates, and shares of another value."""
    draws = np.random.default_rng(0).choice([1.0, 2.0, 3.0], (500, 1), p=[0.3, 0.3, 0.4])
    target = sw.Target(lambda x: 0.0 * x[0], support=sw.support.values([1, 2, 3]))
    found = sw.check(draws, target)
    assert found.rejected
    (coordinate,) = found.coordinates
    assert coordinate.kind == "outcome"
    assert coordinate.verdict == "draws take 3 too often: 0.43, 0.33 expected"
    assert coordinate.to_dict()["outcome"]["value"] == 3.0


def test_a_rare_value_that_never_came_up_is_no_misfit():
    """Catches plain signs, whose level is lost, and a constant coordinate that is refused."""
    found = sw.check(np.zeros((50, 1)), bernoulli(0.02))
    assert found.pvalue > 0.05
    with pytest.raises(sw.InputError, match="never change"):
        sw.check(np.zeros((50, 1)), lambda x: -0.5 * x[0] ** 2)


@pytest.mark.parametrize("effort", ["standard", "full"])
def test_right_mixed_draws_pass(effort):
    """Catches the two kinds of coordinates being taken for each other."""
    found = sw.check(mixed_draws(1), MIXED, names=LABELS, effort=effort)
    assert found.pvalue > 0.05
    assert {c.name for c in found.coordinates} == set(LABELS)
    assert found.findings.pit.shape == (N, 2)  # type: ignore[union-attr]


def test_a_dependence_between_discrete_and_continuous_is_found():
    """Catches features that leave out the coordinates of the other kind."""
    found = sw.check(mixed_draws(2, dependent=False), MIXED, names=LABELS)
    assert found.rejected
    by_name = {c.name: c for c in found.flagged}
    assert set(by_name) == set(LABELS)
    assert by_name["rate"].kind == "dependence"
    assert by_name["rate"].partners == ("count",)


def test_many_draws_and_chains():
    """Catches draws of one source for those of another, and scores of a discrete coordinate."""
    many = mixed_draws(3, n=2400)
    assert sw.check(many, MIXED, names=LABELS).pvalue > 0.05
    chains = mixed_draws(4, n=600).reshape(2, 300, 2)
    assert sw.check(chains, MIXED, names=LABELS).pvalue > 0.05


def test_scores_look_at_the_coordinates_that_have_them():
    """Catches a derivative along a discrete coordinate."""
    found = sw.check(mixed_draws(5), MIXED, names=LABELS, method="scores")
    assert [c.name for c in found.coordinates] == ["rate"]
    with pytest.raises(sw.InputError, match="a discrete coordinate has none"):
        sw.check(np.zeros((50, 1)), bernoulli(0.5), method="scores")


def test_other_methods_refuse_discrete_coordinates_by_name():
    """Catches Stein's identity used on a sum."""
    with pytest.raises(sw.InputError, match=r"count is not real.*integers\(0, None\)"):
        sw.check(
            mixed_draws(6),
            sw.Target(poisson_gamma, support={"count": COUNTS}),
            names=LABELS,
            method="ksd",
        )


def test_draws_that_are_no_values_are_refused():
    """Catches labels that begin at 1 for a support that begins at 0."""
    with pytest.raises(sw.InputError, match=r"the first is 2, x\[0\] of draw 1"):
        sw.check(np.array([[0.0], [2.0]] * 30), bernoulli(0.5), independent=True)
    with pytest.raises(sw.InputError, match=r"astype\(float\).*support="):
        sw.check(np.zeros((30, 1), int), bernoulli(0.5))


def test_a_spin_that_follows_its_neighbours_too_closely():
    """Catches a fault in all dependences together that no single one shows."""
    rng = np.random.default_rng(7)
    field = rng.normal(size=(1000, 8))
    coupling = 0.3 * field.sum(axis=1)
    spin = np.where(rng.random(1000) < 1 / (1 + np.exp(-2 * 1.4 * coupling)), 1.0, -1.0)
    target = sw.Target(
        lambda x: -0.5 * jnp.sum(x[1:] ** 2) + 0.3 * x[0] * jnp.sum(x[1:]),
        support={0: sw.support.values([-1, 1])},
    )
    found = sw.check(np.column_stack([spin, field]), target, coordinates=[0])
    assert found.rejected
    assert found.coordinates[0].kind == "dependence"


def test_pictures_show_probabilities():
    """Catches a histogram of places, which are steps here."""
    matplotlib = pytest.importorskip("matplotlib.figure")
    found = sw.check(mixed_draws(8), MIXED, names=LABELS)
    figure = found.plot_pit("count")
    assert isinstance(figure, matplotlib.Figure)
    assert figure.axes[0].get_ylabel() == "share of the draws"
    assert found.plot_pair("count", "rate").axes
    assert "count" in found.to_html()
