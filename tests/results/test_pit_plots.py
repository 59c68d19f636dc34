"""Pictures of where draws fall in the target's conditionals."""

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from scipy import stats

import steinwise as sw
from tests.results.readable import assert_readable


def test_no_legend_covers_the_bins_of_a_transform(shifted: sw.CheckResult) -> None:
    """Catches a legend over the first bins, where the misfit of most coordinates shows."""
    figure = shifted.plot_pit(shifted.findings.coordinates[0].name)
    assert figure.axes[0].get_legend() is None
    assert len(figure.legends) == 1
    assert_readable(figure)


def test_pictures_of_coordinates_can_be_read(shifted: sw.CheckResult) -> None:
    """Catches long names in labels, along both axes."""
    one, other = (c.name for c in shifted.findings.coordinates[:2])
    assert_readable(shifted.plot_pit(one))
    assert_readable(shifted.plot_pair(one, other))
    assert_readable(shifted.plot_witness(one))
    assert_readable(shifted.plot_witness(one, other))


def test_a_direction_can_be_shown(shifted: sw.CheckResult) -> None:
    """Catches a flag that no picture explains, and one drawn of the draws that chose it."""
    name, findings = shifted["direction 1"].name, shifted.findings
    figure = shifted.plot_pit(name)
    assert_readable(figure)
    assert figure.axes[0].get_xlabel().startswith("place along direction 1 (")
    assert findings.x is not None
    assert findings.direction_pit is not None
    assert len(findings.direction_pit) == 160  # of 200: a fifth is held out
    effect = shifted["direction 1"].effect
    assert effect is not None
    scores = stats.norm.ppf(findings.direction_pit[:, 0])
    assert scores.mean() == pytest.approx(effect.conditional_shift, abs=0.05)
    again = shifted.plot_pit("direction 1").axes[0]
    assert again.get_xlabel() == figure.axes[0].get_xlabel()
    with pytest.raises(sw.InputError, match=r"no coordinate 'direction 77'.*; and direction 1"):
        shifted.plot_pit("direction 77")
    with pytest.raises(sw.InputError, match="Only plot_pit shows directions"):
        shifted.plot_pair(name, shifted.findings.coordinates[0].name)


def test_the_band_of_a_direction_is_that_of_the_draws_it_shows() -> None:
    """Catches a band for all draws around a histogram of four fifths of them: it is too narrow."""
    covariance = 0.3 * np.eye(3) + 0.7
    draws = np.random.default_rng(3).multivariate_normal(np.zeros(3), covariance, size=1000)
    result = sw.check(draws, sw.Gaussian(np.zeros(3), covariance), n_bootstrap=100)
    low, high = stats.binom.ppf([0.05 / 40, 1 - 0.05 / 40], 800, 1 / 20)
    band = result.plot_pit("direction 1").axes[0].patches[0]
    assert isinstance(band, Rectangle)
    assert band.get_height() == pytest.approx((high - low) * 20 / 800)
