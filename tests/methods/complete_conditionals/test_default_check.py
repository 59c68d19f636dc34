"""What `sw.check` with nothing else said gives its user."""

import warnings

import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from benchmarks import simulate

TARGET = sw.Gaussian(np.zeros(3), np.eye(3))
NAMES = ["mu", "log_sigma", "theta[0]"]


@pytest.fixture(scope="module")
def narrow() -> sw.CheckResult:
    draws = np.random.default_rng(0).normal(size=(600, 3)) * [1.0, 1.0, 0.7]
    return sw.check(draws, TARGET, names=NAMES)


def test_it_names_the_coordinate_and_its_fault(narrow: sw.CheckResult) -> None:
    """Catches verdicts that speak of another coordinate, or of the wrong kind of fault."""
    assert narrow.method == "transported"
    assert narrow.rejected
    verdicts = {c.name: c.verdict for c in narrow.coordinates}
    assert verdicts["theta[0]"] == "draws are too narrow (sd 0.72, about 1.0 expected)"
    effect = narrow["theta[0]"].effect
    assert effect is not None
    assert effect.conditional_spread == pytest.approx(0.7, abs=0.05)
    assert abs(effect.conditional_shift) < 0.1
    assert "theta[0]" in str(narrow)


def test_the_transforms_are_those_of_the_conditionals(narrow: sw.CheckResult) -> None:
    """Catches transforms that are filed under another coordinate or left out."""
    draws = np.random.default_rng(0).normal(size=(600, 3)) * [1.0, 1.0, 0.7]
    assert narrow.findings.pit is not None
    np.testing.assert_allclose(narrow.findings.pit, stats.norm.cdf(draws), atol=1e-12)


def test_a_closed_form_costs_no_evaluations_and_a_density_at_most_seventy() -> None:
    """Catches a cost that is stated but not kept, or not stated."""
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(60, 2)) / 3 + rng.normal(size=(60, 1))  # so that a direction is there
    closed = sw.check(draws, sw.Gaussian(np.zeros(2), np.eye(2)))
    seen = []

    def score(x: np.ndarray) -> np.ndarray:
        seen.append(len(x))
        return -x

    by_score = sw.check(draws, sw.Target.from_score(score))
    assert closed.findings.evaluations == 0
    assert by_score.findings.evaluations is not None
    assert by_score.findings.evaluations <= 70
    lines = len(by_score.coordinates)
    assert lines == 3
    followed = 2 * len(draws) + 4 * len(draws) // 5  # a fifth of them gave the direction
    scored = len(draws)  # for the errors of means and sds
    # from 3 draws, on both sides of both coordinates, and once more on one: neither fits
    far_out = 2 * 2 * 3 + 2 * 3
    assert by_score.findings.evaluations * followed + scored + far_out == sum(seen)
    assert f"evaluations on each of {lines} lines through a draw" in str(by_score)


def test_no_misfit_is_never_called_right() -> None:
    """Catches a report that promises more than a test can."""
    result = sw.check(np.random.default_rng(2).normal(size=(300, 3)), TARGET)
    assert not result.rejected
    text = " ".join(str(result).split())
    assert "This does not prove the draws right." in text
    assert "With probability 0.8 it would have found" in text


def test_the_pictures_can_be_drawn_and_ask_for_names_that_exist(narrow: sw.CheckResult) -> None:
    assert len(narrow.plot().axes) == 2
    assert narrow.plot_pit("theta[0]").axes[0].get_xlabel().startswith("place of theta[0]")
    assert narrow.plot_pair("theta[0]", "mu").axes[0].get_xlabel() == "mu"
    with pytest.raises(sw.InputError, match=r"no coordinate 'tau'; there are mu"):
        narrow.plot_pit("tau")
    by_ksd = sw.check(np.random.default_rng(0).normal(size=(60, 3)), TARGET, method="ksd")
    with pytest.raises(sw.InputError, match="no conditional transforms"):
        by_ksd.plot_pit("x[0]")


def test_a_chain_is_checked_as_a_chain() -> None:
    """Catches signs per draw where draws depend on each other."""
    rng = np.random.default_rng(5)
    draws = rng.normal(size=(4, 1500, 3))
    for t in range(1, draws.shape[1]):
        draws[:, t] = 0.8 * draws[:, t - 1] + 0.6 * draws[:, t]
    result = sw.check(draws, TARGET)
    assert not result.rejected
    assert result.draws.batch_length > 20
    wide = draws * [1.0, 1.25, 1.0]
    assert sw.check(wide, TARGET)["x[1]"].verdict.startswith("draws are too wide")


def test_the_transported_stand_in_gives_the_value_of_kccsd() -> None:
    """For a shift by m against N(0, 1) with the RBF of width 1, KCC-SD is m^2 / sqrt(3)."""
    draws = np.random.default_rng(6).normal(0.5, 1.0, size=(8000, 2)) - [0.0, 0.5]
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    found = sw.kccsd(draws, target, conditional=sw.conditionals.Transported())
    assert found.per_coordinate is not None
    assert found.standard_error is not None
    assert found.per_coordinate[0] == pytest.approx(0.25 / np.sqrt(3), abs=0.02)
    assert abs(found.per_coordinate[1]) < 0.005
    with pytest.warns(sw.SteinwiseWarning, match="no better than"):  # they are independent
        result = sw.check(draws, target, method=sw.methods.KCCSD(sw.conditionals.Transported()))
    assert [c.name for c in result.flagged] == ["x[0]"]
    with pytest.raises(sw.InputError, match="bins is 7"):
        sw.conditionals.Transported(bins=7)


def test_a_direction_that_fits_the_start_of_a_chain_is_no_warm_up() -> None:
    """Catches directions that count as slow or moved by the draws they were learned from."""
    d, rho = 300, 0.5
    draws = simulate.autoregressive(np.random.default_rng(0), np.full(d, rho), 4, 500)
    with warnings.catch_warnings(action="error"):
        found = sw.check(draws, sw.Gaussian(np.zeros(d), np.eye(d)), effort="quick")
    assert found["direction 1"].name.startswith("direction 1")
    assert found.draws.autocorrelation_time < 2 * (1 + rho) / (1 - rho)
