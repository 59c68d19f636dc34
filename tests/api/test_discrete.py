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
        sw.check(np.zeros((30, 1), int), lambda x: -0.5 * x[0] ** 2)


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


def test_a_shift_of_many_values_is_named():
    """Catches a value of next to no probability that one draw has, named instead."""
    rate = 30.0
    target = sw.Target(lambda x: x[0] * jnp.log(rate) - gammaln(x[0] + 1), support=COUNTS)
    for seed in range(3):
        draws = np.random.default_rng(seed).poisson(rate + 0.4 * rate**0.5, size=(500, 1)) * 1.0
        assert sw.check(draws, target).coordinates[0].kind == "shift"


@pytest.mark.parametrize("dtype", [int, bool, np.uint8])
def test_integers_are_converted_where_the_target_is_discrete(dtype):
    """Catches a refusal that asks for what the target says."""
    rng = np.random.default_rng(9)
    whole = rng.integers(0, 2, size=(200, 1))
    found = sw.check(whole.astype(dtype), bernoulli(0.5))
    assert found.pvalue == sw.check(whole.astype(float), bernoulli(0.5)).pvalue
    with pytest.raises(sw.InputError, match="expected floats"):
        sw.check(np.column_stack([whole, whole]), sw.Target(poisson_gamma, support={1: COUNTS}))


def test_integers_of_a_discrete_column_are_converted():
    """Catches a refusal of a table whose target says which columns are discrete."""
    pandas = pytest.importorskip("pandas")
    draws = mixed_draws(1)
    frame = pandas.DataFrame({"rate": draws[:, 0], "count": draws[:, 1].astype(int)})
    assert sw.check(frame, MIXED).pvalue == sw.check(draws, MIXED, names=LABELS).pvalue


def test_methods_that_need_scores_are_not_named_where_there_are_none():
    """Catches advice that is answered by a refusal."""
    with pytest.raises(sw.InputError, match="takes it with method='transported'\\."):
        sw.check(np.zeros((50, 1)), bernoulli(0.5), method="ksd")


def test_no_entry_in_a_dict_of_supports_is_needed():
    """Catches a dict that is refused because all coordinates are real."""
    draws = np.random.default_rng(10).normal(size=(200, 1))
    target = sw.Target(lambda x: -0.5 * x[0] ** 2, support={})
    assert sw.check(draws, target).pvalue == sw.check(draws, target.log_density).pvalue


def two_spins(x):
    return 0.7 * x[0] * x[1]


def field(x, j):
    return jnp.stack([-0.7 * x[1 - j], 0.7 * x[1 - j]])


SPINS = sw.support.values([-1, 1])


@pytest.mark.parametrize(
    ("conditionals", "said"),
    [
        (lambda x, j: -field(x, j), r"disagree at the first draw: of x\[0\] = "),
        (lambda x: x, r"conditionals\(x, j\) failed on one draw of shape \(2,\).*TypeError"),
        (lambda x, j: field(x, j)[:, None], r"array of shape \(2, 1\).*expected shape \(k,\)"),
        (lambda x, j: x[jnp.zeros(3)] * j, r"conditionals\(x, j\) failed"),
    ],
)
def test_wrong_conditionals_are_refused(conditionals, said):
    """Catches errors of JAX as they come, and another density than the target's."""
    draws = np.random.default_rng(11).choice([-1.0, 1.0], size=(100, 2))
    target = sw.Target(two_spins, support=SPINS, conditionals=conditionals)
    with pytest.raises(sw.TargetError, match=said):
        sw.check(draws, target)


def test_conditionals_of_nothing_are_refused():
    """Catches conditionals that nothing reads, without a word."""
    draws = np.random.default_rng(11).normal(size=(100, 2))
    target = sw.Target(lambda x: -0.5 * jnp.sum(x**2), conditionals=field)
    with pytest.raises(sw.InputError, match="none of its coordinates is discrete"):
        sw.check(draws, target)


def test_right_conditionals_agree():
    """Catches a comparison that refuses values without probability, or rounding."""
    draws = np.random.default_rng(11).choice([-1.0, 1.0], size=(100, 2))
    plain = sw.check(draws, sw.Target(two_spins, support=SPINS))
    for constant in (0.0, 1e6):
        target = sw.Target(
            lambda x, c=constant: two_spins(x) + c, support=SPINS, conditionals=field
        )
        assert sw.check(draws, target).pvalue == pytest.approx(plain.pvalue)
