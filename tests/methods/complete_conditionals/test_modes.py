"""Modes in the default check: found, counted, said, and without effect where there is one."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.errors import InputError, SteinwiseWarning
from tests.mixtures import NormalMixture, two_apart

WITHOUT = sw.methods.Transported(modes=False)


def test_draws_in_one_of_two_modes_are_rejected_in_words() -> None:
    draws = np.random.default_rng(0).normal(size=(200, 4))
    result = sw.check(draws, two_apart(4).target, names=["a", "b", "c", "e"], n_bootstrap=199)
    assert result.rejected
    assert result.modes is not None
    assert not sw.check(draws, two_apart(4).target, method=WITHOUT, n_bootstrap=199).rejected
    missing = next(mode for mode in result.modes.modes if mode.kind == "unvisited")
    assert missing.draws == 0
    assert missing.mass_low <= 0.5 <= missing.mass_high
    text = " ".join(str(result).split())
    assert "A mode near (a = 6.0, b = 6.0, c = 6.0, ...) that holds about 0.50" in text
    assert "has none of the 160 draws that were not used to look for modes." in text
    assert "shares of the mass are shares of what these modes hold together." in text
    page = result.to_html()
    assert "<h2>Modes</h2>" in page
    assert "on the line between two modes" in page
    assert "2 modes with a wrong share of the draws" in page
    assert result.to_dict()["modes"]["modes"][0]["kind"] in ("unvisited", "too many draws")


def test_wrong_weights_are_rejected_and_right_ones_are_not() -> None:
    mixture, rng = two_apart(5), np.random.default_rng(1)
    wrong = sw.check(mixture.draws(rng, 300, (0.8, 0.2)), mixture.target, n_bootstrap=199)
    assert wrong.modes is not None
    lacking = wrong.modes.flagged(0.05)
    assert {mode.kind for mode in lacking} == {"too few draws", "too many draws"}
    share = min(mode.share for mode in wrong.modes.modes)
    assert f"of the mass and {share:.2f} of the draws." in " ".join(str(wrong).split())
    right = sw.check(mixture.draws(rng, 300), mixture.target, n_bootstrap=199)
    assert right.modes is not None
    assert not right.modes.flagged(0.05)
    assert "split between them in the right proportions" in " ".join(str(right).split())


def test_with_more_modes_than_are_looked_at_numbers_of_draws_are_said_and_no_shares() -> None:
    """Shares of the mass would be those of sixteen modes, next to draws of all of them."""
    means = 10.0 * np.stack(np.meshgrid(np.arange(6), np.arange(6)), axis=-1).reshape(-1, 2)
    mixture = NormalMixture(np.full(36, 1 / 36), means, np.ones(36))
    weights = np.linspace(0, 1, 36) ** 4
    draws = mixture.draws(np.random.default_rng(10), 600, weights / weights.sum())
    result = sw.check(draws, mixture.target, n_bootstrap=199)
    assert result.modes is not None
    assert result.modes.left_out > 0
    worst = result.modes.flagged(0.05)[0]
    text = " ".join(str(result).split())
    assert "is the nearest, of those that were looked at, to" in text
    assert f"these should be about {worst.expected:.0f}." in text
    assert "of the mass and" not in text
    assert "were not examined" in text


def test_one_mode_changes_no_number() -> None:
    """The search draws no sign, and a family that does not exist has no weight."""
    draws = np.random.default_rng(2).normal(size=(100, 3)) ** 3
    target = sw.Target.from_score(lambda x: -np.tanh(x), lambda x: -np.logaddexp(x, -x).sum(axis=1))
    searched = sw.check(draws, target, n_bootstrap=199)
    plain = sw.check(draws, target, method=WITHOUT, n_bootstrap=199)
    np.testing.assert_array_equal(searched.null, plain.null)
    assert searched.pvalue == plain.pvalue
    assert plain.modes is None
    assert searched.modes is not None
    assert searched.modes.modes == ()


def test_a_mode_in_which_next_to_nothing_is_expected_cannot_be_judged() -> None:
    mixture = two_apart(3, (0.995, 0.005))
    rng = np.random.default_rng(3)
    result = sw.check(rng.normal(size=(200, 3)), mixture.target, n_bootstrap=199)
    assert result.modes is not None
    assert not result.rejected
    assert [mode.kind for mode in result.modes.modes] == ["cannot judge"] * 2
    text = " ".join(str(result).split())
    assert "How many draws 1 mode should have cannot be judged" in text  # not the one that has all


def test_copies_by_exchangeable_coordinates_are_no_misfit() -> None:
    means = [[0.0, 9.0, 0.0], [9.0, 0.0, 0.0]]
    mixture = NormalMixture([0.5, 0.5], means, [1.0, 1.0])
    draws = np.random.default_rng(4).normal(size=(200, 3)) + means[0]
    result = sw.check(draws, mixture.target, n_bootstrap=199)
    assert not result.rejected
    assert result.modes is not None
    assert result.modes.copies == 2
    assert "copies of each other" in " ".join(str(result).split())


def test_an_uneven_split_between_copies_is_said_where_lines_see_it() -> None:
    means = [[0.0, 9.0], [9.0, 0.0]]
    mixture = NormalMixture([0.5, 0.5], means, [1.0, 1.0])
    draws = mixture.draws(np.random.default_rng(4), 400, (0.75, 0.25))
    result = sw.check(draws, mixture.target, n_bootstrap=199)
    assert [row.label.split(" (")[0] for row in result.flagged] == ["direction 1"]
    assert result.modes is not None
    assert result.modes.copy_shares == pytest.approx((0.75, 0.25), abs=0.05)
    text = " ".join(str(result).split())
    assert "The draws are split between 2 of these copies, with shares of 0.7" in text
    assert "a line from one copy to another shows it as a misfit" in text


def _two_components_with_a_weight() -> sw.Target:
    """The means of two normal components and the log odds of their weights, given 120 data."""
    rng = np.random.default_rng(0)
    data = np.concatenate([rng.normal(-3, 1, 40), rng.normal(3, 1, 80)])

    def log_density(x: jnp.ndarray) -> jnp.ndarray:
        parts = [
            -jnp.logaddexp(0.0, -x[2]) - 0.5 * (data - x[0]) ** 2,
            -jnp.logaddexp(0.0, x[2]) - 0.5 * (data - x[1]) ** 2,
        ]
        return jnp.logaddexp(*parts).sum() - 0.5 * (x**2).sum() / 25

    return sw.Target(log_density)


def test_labels_of_components_with_a_weight_are_exchangeable() -> None:
    """The log odds of the weights change their sign when the labels are exchanged."""
    rng = np.random.default_rng(1)
    one = np.array([-3.0, 3.0, -0.7]) + rng.normal(size=(300, 3)) * [0.16, 0.11, 0.19]
    draws = np.concatenate([one, one[:, [1, 0, 2]] * [1, 1, -1]])[rng.permutation(600)]
    result = sw.check(draws, _two_components_with_a_weight(), n_bootstrap=199)
    assert result.modes is not None
    assert result.modes.copies == 2
    assert result.modes.modes == ()


def test_a_reflection_is_no_exchange_of_labels() -> None:
    """Of two modes on both sides of 0, draws may not keep to one, whatever else is symmetric."""
    mixture = NormalMixture([0.5, 0.5], [[6.0, 0.0, 0.0], [-6.0, 0.0, 0.0]], [1.0, 1.0])
    draws = np.random.default_rng(2).normal(size=(300, 3)) + mixture.means[0]
    result = sw.check(draws, mixture.target, n_bootstrap=199)
    assert result.rejected
    assert result.modes is not None
    assert result.modes.copies == 0


def test_the_users_starts_reach_what_the_search_does_not() -> None:
    """A mode a hundredth as wide as the other, far out, in six coordinates."""
    mixture = NormalMixture([0.5, 0.5], [np.zeros(6), np.full(6, 30.0)], [1.0, 0.01])
    draws = np.random.default_rng(5).normal(size=(200, 6))
    assert not sw.check(draws, mixture.target, n_bootstrap=199).rejected
    starts = 30 + 0.1 * np.random.default_rng(6).normal(size=(5, 6))
    helped = sw.check(
        draws, mixture.target, method=sw.methods.Transported(starts=starts), n_bootstrap=199
    )
    assert helped.rejected
    assert helped.modes is not None
    assert len(helped.modes.modes) == 2


def test_the_search_knows_nothing_of_the_tested_draws() -> None:
    """The first fifth is held out; all others are replaced, and nothing that is found changes."""
    mixture, rng = two_apart(3), np.random.default_rng(11)
    draws = mixture.draws(rng, 200)
    others = np.concatenate([draws[:40], 3 + 2 * rng.normal(size=(160, 3))])
    given = {"n_bootstrap": 199, "independent": True}
    one, other = (sw.check(x, mixture.target, **given).modes for x in (draws, others))
    assert one is not None
    assert other is not None
    assert [m.where for m in one.modes] == [m.where for m in other.modes]
    assert [m.mass for m in one.modes] == [m.mass for m in other.modes]
    assert [m.draws for m in one.modes] != [m.draws for m in other.modes]


def test_chains_that_jump_between_modes() -> None:
    mixture, rng = two_apart(2), np.random.default_rng(7)
    draws = mixture.draws(rng, 1200).reshape(4, 300, 2)
    assert not sw.check(draws, mixture.target, n_bootstrap=199).rejected
    one_mode = rng.normal(size=(4, 300, 2))
    assert sw.check(one_mode, mixture.target, n_bootstrap=199).rejected


def test_bounded_coordinates_have_their_modes_on_their_own_scale() -> None:
    means, sds = np.log(np.array([1.0, 1000.0])), np.array([0.3, 0.3])

    def log_density(x: jnp.ndarray) -> jnp.ndarray:
        parts = -0.5 * ((jnp.log(x) - means) / sds) ** 2
        return jnp.logaddexp(parts[0], parts[1]) - jnp.log(x[0])

    draws = np.exp(0.3 * np.random.default_rng(8).normal(size=(200, 1)))
    target = sw.Target(log_density, support=sw.support.positive)
    result = sw.check(draws, target, names=["rate"], n_bootstrap=199)
    assert result.modes is not None
    places = sorted(mode.where["rate"] for mode in result.modes.modes)
    np.testing.assert_allclose(places, [1.0, 1000.0], rtol=0.02)


def test_a_density_that_fails_far_out_is_no_error() -> None:
    def score(x: np.ndarray) -> np.ndarray:
        if np.abs(x).min(axis=1).max() > 6:  # where no line of a draw goes
            raise FloatingPointError("too far")
        return -x

    draws = np.random.default_rng(9).normal(size=(100, 2))
    target = sw.Target.from_score(score, lambda x: -0.5 * (x**2).sum(axis=1))
    with pytest.warns(SteinwiseWarning, match="modes were not looked for"):
        result = sw.check(draws, target, n_bootstrap=199)
    assert result.modes is None
    assert not result.rejected


def test_a_density_without_a_maximum_is_said() -> None:
    """Once it rises without end far out, once it has a pole in the middle."""

    def rising(x: np.ndarray) -> np.ndarray:
        far = (np.abs(x) - 12) ** 2 / 2 - 36
        return np.where(np.abs(x) < 6, -(x**2) / 2, far).sum(axis=1)

    def rising_score(x: np.ndarray) -> np.ndarray:
        return np.where(np.abs(x) < 6, -x, x - 12 * np.sign(x))

    def pole(x: np.ndarray) -> np.ndarray:
        squares = (x**2).sum(axis=1)
        return -(squares + np.log(squares)) / 2

    def pole_score(x: np.ndarray) -> np.ndarray:
        return -x * (1 + 1 / (x**2).sum(axis=1, keepdims=True))

    draws = np.random.default_rng(12).normal(size=(200, 2))
    with pytest.warns(SteinwiseWarning, match="grows without bound"):  # along the lines of draws
        endless = sw.check(draws, sw.Target.from_score(rising_score, rising), n_bootstrap=199)
    assert "starts the density rises without end" in " ".join(str(endless).split())
    peaked = sw.check(draws, sw.Target.from_score(pole_score, pole), n_bootstrap=199)
    assert "did not converge (80 of 80 starts)" in " ".join(str(peaked).split())


@pytest.mark.parametrize("starts", ["no", [1.0, 2.0], np.full((2, 2), np.nan), np.zeros((0, 2))])
def test_starts_that_are_no_points_are_refused(starts: object) -> None:
    with pytest.raises(InputError, match=r"starts is|rows of starts have NaN"):
        sw.methods.Transported(starts=starts)


def test_starts_of_another_dimension_are_refused() -> None:
    method = sw.methods.Transported(starts=np.zeros((3, 4)))
    with pytest.raises(InputError, match="4 columns"):
        sw.check(np.random.default_rng(0).normal(size=(60, 2)), two_apart(2).target, method=method)


def test_starts_that_are_not_used_are_told() -> None:
    """Catches starts that are dropped without a word where nothing is searched."""
    draws = np.random.default_rng(0).normal(size=(100, 2))
    starts = np.zeros((3, 2))
    with_starts = sw.methods.Transported(starts=starts)
    target = two_apart(2).target
    values = sw.Target.from_log_density(lambda x: -0.5 * (x**2).sum(axis=1))
    off = sw.methods.Transported(starts=starts, modes=False)
    cases: tuple[tuple[Any, Any, dict[str, Any], str], ...] = (
        (target, with_starts, {"coordinates": [0]}, "only some coordinates"),
        (values, with_starts, {}, "gradient"),
        (target, off, {}, "modes=False"),
    )
    for density, method, options, why in cases:
        with pytest.warns(SteinwiseWarning):
            result = sw.check(draws, density, method=method, n_bootstrap=199, **options)
        assert any("starts= was not used" in one and why in one for one in result.notes)
    assert not any("starts=" in one for one in sw.check(draws, values, n_bootstrap=199).notes)


def test_starts_outside_of_the_support_are_refused() -> None:
    """Catches points that are moved to the edge without a word."""
    target = sw.Target(lambda x: -jnp.sum(x), support=sw.support.positive)
    method = sw.methods.Transported(starts=np.array([[1.0, 1.0], [2.0, -3.0]]))
    draws = np.random.default_rng(0).exponential(size=(100, 2))
    with pytest.raises(InputError, match=r"1 point of starts= is outside.*-3, x\[1\] of point 1"):
        sw.check(draws, target, method=method)


def test_a_ring_and_a_bumpy_ridge_are_said() -> None:
    """Catches maxima that the search found, and that no word is said of."""
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * np.pi, 300), 5 + 0.3 * rng.normal(size=300)
    draws = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])

    def ring(x):
        distance = jnp.sqrt(x @ x)
        return -0.5 * ((distance - 5) / 0.3) ** 2 - jnp.log(distance)

    text = " ".join(str(sw.check(draws, sw.Target(ring), n_bootstrap=199)).split())
    assert "maxima of the density are flat in some direction, as on a ring or a ridge" in text

    def ridge(x):
        return -0.5 * (x[0] / 10) ** 2 - 0.5 * x[1] ** 2 + 0.3 * jnp.cos(3 * x[0])

    draws = rng.normal(size=(300, 2)) * [10.0, 1.0]
    text = " ".join(str(sw.check(draws, sw.Target(ridge), n_bootstrap=199)).split())
    assert "of 80 starts the search came to a maximum without a valley" in text
