"""Checks of densities with bounded coordinates, or without a gradient."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.methods import NAMES

RNG = np.random.default_rng(0)
DRAWS = np.column_stack([RNG.gamma(0.5, size=300), RNG.normal(size=300)])
SUPPORT = {"rate": sw.support.positive}
LABELS = ["rate", "x"]


def log_density(x):
    return -0.5 * jnp.log(x[0]) - x[0] - 0.5 * x[1] ** 2


def values(x):
    with np.errstate(divide="ignore"):
        return -0.5 * np.log(x[:, 0]) - x[:, 0] - 0.5 * x[:, 1] ** 2


TARGET = sw.Target(log_density, support=SUPPORT)


def test_a_right_bounded_sample_passes_and_a_wrong_one_is_named():
    """Catches a missing Jacobian: every right sample would then be rejected."""
    assert sw.check(DRAWS, TARGET, names=LABELS).pvalue > 0.05
    wrong = DRAWS * [1.5, 1.0]
    found = sw.check(wrong, TARGET, names=LABELS)
    assert found.rejected
    assert [c.name for c in found.coordinates if c.misfit] == ["rate"]


def test_values_alone_give_the_same_verdict():
    """Catches a gradient-free density that is followed another way."""
    target = sw.Target.from_log_density(values, support=SUPPORT)
    found = sw.check(DRAWS, target, names=LABELS)
    expected = sw.check(DRAWS, TARGET, names=LABELS)
    assert found.pvalue == pytest.approx(expected.pvalue, abs=0.01)
    two_a_node = found.findings.evaluations / 2  # 68 nodes on lines of the rate, 20 on the others
    assert two_a_node == pytest.approx((68 + 20) / 2, abs=2)
    assert found.findings.x is not None
    np.testing.assert_allclose(found.findings.x, DRAWS, rtol=1e-9)


def test_a_chain_and_many_draws_need_no_score():
    """Catches batch lengths, or a second family of evidence, that ask for the score."""
    rng = np.random.default_rng(2)
    target = sw.Target.from_log_density(lambda x: -0.5 * (x**2).sum(axis=1))
    assert sw.check(rng.normal(size=(2, 150, 1)), target).pvalue > 0.05
    many = sw.check(rng.normal(size=(2500, 1)), target)
    assert "lines through 1250 draws, without scores" in str(many)


def test_draws_outside_their_support_are_refused():
    """Draw, coordinate and value are named; the density is not evaluated there."""
    wrong = DRAWS.copy()
    wrong[7, 0] = -0.25
    with pytest.raises(
        sw.InputError, match=r"the first is -0.25, rate of draw 7: expected positive"
    ):
        sw.check(wrong, TARGET, names=LABELS)


def test_a_draw_without_density_is_told_on_its_own_scale():
    """Catches a logarithm that is shown as the draw."""
    holes = sw.Target(
        lambda x: jnp.where(x[0] > 2.0, -jnp.inf, -x[0]) - 0.5 * x[1] ** 2, support=SUPPORT
    )
    draws = np.array([[1.0, 0.0], [2.5, 0.5]] * 20)
    draws += 1e-3 * np.random.default_rng(0).random(draws.shape)
    with pytest.raises(sw.TargetError, match=r"at draw 1, where x = \[2.50"):
        sw.check(draws, holes, names=LABELS, independent=True)


@pytest.mark.parametrize(
    "method", [name for name in NAMES if name not in ("transported", "scores")]
)
def test_methods_on_all_of_r_d_refuse_by_name(method):
    """Catches Stein's identity used where it does not hold: correct draws would be rejected."""
    with pytest.raises(sw.InputError, match=r"rate is not real: its support is positive.*'scores'"):
        sw.check(DRAWS, TARGET, names=LABELS, method=method)


def test_other_verbs_refuse_bounded_coordinates_too():
    """Catches an entrance of its own."""
    samples = sw.Samples.of(DRAWS, names=LABELS)
    for verb in (
        lambda: sw.ksd(samples, TARGET),
        lambda: sw.thin(samples, TARGET, 10),
        lambda: sw.points(samples, TARGET, 5),
        lambda: sw.graphs.couplings(samples, TARGET),
        lambda: sw.compare({"a": samples, "b": samples}, TARGET, method="ksd"),
    ):
        with pytest.raises(sw.InputError, match="rate is not real"):
            verb()


def test_errors_of_answers_need_scores_on_the_whole_line():
    """Catches means that are corrected by an identity that fails at an edge."""
    found = sw.check(DRAWS * [1.5, 1.0], TARGET, names=LABELS)
    assert all(c.marginal is None for c in found.coordinates)
    with pytest.raises(sw.InputError, match=r"tolerance is 0.1.*R\^d"):
        sw.check(DRAWS, TARGET, names=LABELS, tolerance=0.1)


def test_scores_of_bounded_coordinates_are_used_on_the_real_line():
    """Catches scores at the draws that keep the scale of the bounded coordinate."""
    scores = np.column_stack([-0.5 / DRAWS[:, 0] - 1, -DRAWS[:, 1]])
    known = sw.check(
        DRAWS, sw.Target.at_draws(scores, support=SUPPORT), method="scores", names=LABELS
    )
    found = sw.check(DRAWS, TARGET, method="scores", names=LABELS)
    assert known.pvalue == found.pvalue > 0.05


def test_stored_draws_are_transformed_as_they_are_read(tmp_path):
    """Catches draws in a file that stay on their own scale."""
    np.save(tmp_path / "draws.npy", DRAWS)
    stored = np.load(tmp_path / "draws.npy", mmap_mode="r")
    assert (
        sw.check(stored, TARGET, names=LABELS).pvalue
        == sw.check(DRAWS, TARGET, names=LABELS).pvalue
    )


def test_a_gaussian_cut_off_at_a_bound():
    """Catches the closed form of the whole line where only a part of it counts."""
    draws = np.abs(np.random.default_rng(2).normal(size=(300, 2)))
    half = sw.Gaussian(np.zeros(2), np.eye(2), support=sw.support.positive)
    assert sw.check(draws, half).pvalue > 0.05
    with pytest.warns(sw.SteinwiseWarning, match="are positive, and some are near 0"):
        assert sw.check(draws, sw.Gaussian(np.zeros(2), np.eye(2))).rejected


def test_a_jax_density_without_derivatives_is_followed_by_its_values():
    """Catches an error where values are enough."""

    def opaque(x):
        return jax.pure_callback(
            lambda v: np.asarray(-0.5 * np.sum(v**2, axis=-1), v.dtype),
            jax.ShapeDtypeStruct((), x.dtype),
            x,
            vmap_method="expand_dims",
        )

    draws = np.random.default_rng(3).normal(size=(60, 1))
    with pytest.warns(sw.SteinwiseWarning, match="Only its values are used"):
        found = sw.check(draws, target := sw.Target(opaque))
    # a target warns once, and every result says it
    for result in (found, sw.check(draws, target)):
        assert any("Lines were followed by values" in one for one in result.notes)
    assert found.pvalue == pytest.approx(
        sw.check(draws, lambda x: -0.5 * jnp.sum(x**2)).pvalue, abs=0.01
    )


def test_only_targets_that_summary_takes_are_sent_there():
    """Catches advice that is answered by a refusal."""
    draws = np.random.default_rng(0).normal(size=(300, 2))
    values = sw.Target.from_log_density(lambda x: -0.5 * (x**2).sum(axis=1))
    assert "sw.summary" not in str(sw.check(draws, values))
    noisy = sw.Target.from_score(lambda x: -x, noisy=True)
    assert "sw.summary" not in str(sw.check(draws, noisy, method="scores"))
    assert "sw.summary" not in str(sw.check(draws, sw.Target.at_draws(-draws), method="scores"))


def test_refusals_name_every_coordinate_and_methods_that_take_them_all():
    """Catches coordinates that are only counted, and scores alone sent to methods that refuse."""
    at_draws = sw.Target.at_draws(-np.ones((len(DRAWS), 2)), support=TARGET.support)
    with pytest.raises(sw.InputError) as refused:
        sw.check(DRAWS, at_draws, names=LABELS)
    assert "With the scores alone, sw.check takes method='scores'." in str(refused.value)
    mixed = sw.Target(
        lambda x: -x[0] - 0.5 * x[1], support=[sw.support.integers(0, 1), sw.support.positive]
    )
    draws = np.column_stack([np.arange(60) % 2, np.random.default_rng(0).exponential(size=60)])
    with pytest.raises(
        sw.InputError, match=r"not real: z \(integers\(0, 1\)\), y \(positive\)\. sw"
    ):
        sw.check(draws, mixed, names=["z", "y"], method="ksd", independent=True)


def test_why_refresh_takes_real_coordinates_only():
    """Catches an identity that it does not rest on, and one verb for many names."""
    draws = np.random.default_rng(0).exponential(size=(300, 2))
    target = sw.Target(lambda x: -x.sum(), support=sw.support.positive)
    with pytest.raises(
        sw.InputError,
        match=r"lines without an end, and these are not real: s \(positive\), t \(posi.*takes them",
    ):
        sw.refresh(draws, target, sweeps=2, names=["s", "t"])
