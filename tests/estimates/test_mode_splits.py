"""Draws that are split wrongly between modes, before numbers are made of them."""

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import cut_evenly
from steinwise.draws.samples import Samples
from steinwise.estimates.mode_splits import wrong_split


def two_modes(weight: float, apart: float = 5.0) -> sw.Target:
    """Normal densities at +- apart along the first of two coordinates."""

    def log_density(x):
        high, low = -0.5 * (x[0] - apart) ** 2, -0.5 * (x[0] + apart) ** 2
        return jnp.logaddexp(jnp.log(weight) + high, jnp.log1p(-weight) + low) - 0.5 * x[1] ** 2

    return sw.Target(log_density)


def draws(share: float, n: int, seed: int = 0) -> np.ndarray:
    """Right within their modes, with a share in the upper one."""
    rng = np.random.default_rng(seed)
    sides = np.where(np.arange(n) < share * n, 5.0, -5.0)
    return rng.normal(size=(n, 2)) + np.stack([rng.permutation(sides), np.zeros(n)], axis=1)


def split_of(target: sw.Target, x: np.ndarray) -> tuple:
    batches = cut_evenly(Samples.of(x), 50)
    return wrong_split(target, x, x, ("a", "b"), batches, RunOptions(seed=0))


def test_a_mode_without_draws_is_found_with_its_mass() -> None:
    split, notes = split_of(two_modes(0.7), draws(1.0, 400))
    assert split is not None
    assert not notes
    np.testing.assert_allclose([split.where["a"], split.where["b"]], [-5, 0], atol=1e-2)
    assert split.mass_low <= 0.3 <= split.mass_high
    assert split.drawn == split.refreshed == 0


def test_the_mode_that_lacks_draws_is_named() -> None:
    split, _ = split_of(two_modes(0.5), draws(0.9, 400))
    assert split is not None
    assert split.where["a"] < 0
    np.testing.assert_allclose(split.drawn, 0.1)


@pytest.mark.parametrize("weight", [0.5, 0.8, 0.999])
def test_a_split_within_chance_is_none(weight: float) -> None:
    """Of a mode that holds 0.001, 400 draws need have none."""
    share = np.random.default_rng(1).binomial(400, weight) / 400
    assert split_of(two_modes(weight), draws(share, 400)) == (None, ())


def test_copies_are_said() -> None:
    """Two exchangeable means, in either order: draws may keep to one."""

    def log_density(x):
        return jnp.logaddexp(
            -0.5 * ((x[0] - 4) ** 2 + (x[1] + 4) ** 2), -0.5 * ((x[0] + 4) ** 2 + (x[1] - 4) ** 2)
        )

    x = np.random.default_rng(0).normal([4, -4], size=(400, 2))
    split, notes = split_of(sw.Target(log_density), x)
    assert split is None
    assert [one.kind for one in notes] == ["mode copies"]


def test_no_numbers_of_a_wrong_split() -> None:
    """Lines cross the valley between modes 8 sds apart now and then, and seem to have settled."""
    target, x = two_modes(0.5, apart=4.0), np.random.default_rng(1).normal([4, 0], size=(500, 2))
    with pytest.warns(sw.SteinwiseWarning, match=r"a mode near .* and none of the draws"):
        answers = sw.summary(x, target, progress=False, functions={"sum": lambda x: x.sum(axis=1)})
    assert answers.split is not None
    for quantity in answers.quantities:
        assert np.isnan([quantity.corrected_mean, quantity.corrected_sd]).all()
        assert np.isnan(quantity.corrected_quantiles).all()
        assert "split wrongly between modes" in quantity.verdict
    with pytest.warns(sw.SteinwiseWarning, match="chains that start in every mode"):
        refreshed = sw.refresh(x, target, progress=False)
    assert not refreshed.settled
    assert set(refreshed.states) == {"split wrongly between modes"}
    assert "Not settled" in str(refreshed)


def test_a_check_of_a_wrong_split_knows_no_errors_of_means() -> None:
    """The mean is off by 1 sd, and scores near the draws say that it is right."""
    target, x = two_modes(0.5), np.random.default_rng(1).normal([5, 0], size=(500, 2))
    result = sw.check(x, target, progress=False)
    assert result.rejected
    assert all(c.mean_error is None for c in result.coordinates)
    assert "mean and sd are as expected" not in str(result)
    assert result.largest_error().size is None


def test_a_right_split_has_numbers() -> None:
    """Those of the mixture: mean 0, sd sqrt(26)."""
    answers = sw.summary(draws(0.5, 500), two_modes(0.5), progress=False)
    assert answers.split is None
    found = answers["x[0]"]
    assert abs(found.corrected_sd - np.sqrt(26)) < found.corrected_sd_uncertainty
