"""How long batches are, and what is said of chains before the verdict."""

import re

import numpy as np
import pytest

import steinwise as sw
from benchmarks import simulate, statistic_kinds, targets
from steinwise.calibration.batch_plan import BatchPlan, plan_batches
from steinwise.calibration.batches import Batches
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, SteinwiseWarning, TooFewDraws


def plan(draws: np.ndarray, *, most: int = 250, **options) -> BatchPlan:
    """Batches for the averages of the coordinates themselves."""
    samples = Samples.of(draws, independent=draws.ndim == 2)
    return plan_batches(samples, lambda _, x, __: x, most=most, **options)


def chains(seed: int, rho: float, count: int = 4, draws: int = 2000, d: int = 3) -> np.ndarray:
    return simulate.autoregressive(np.random.default_rng(seed), np.full(d, rho), count, draws)


def test_independent_draws_have_one_batch_each_until_there_are_many() -> None:
    """Catches batches that grow before they must, and more batches than can be carried."""
    draws = np.random.default_rng(1).normal(size=(1001, 2))
    assert plan(draws[:250]).batches.count == 250
    found = plan(draws)
    assert found.batches.count == 250
    assert set(found.batches.lengths) == {4, 5}
    assert found.rhat is None
    assert found.effective_draws == 1001


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_too_few_draws_says_how_many_would_do(count: int) -> None:
    """Catches a number that forgets that every chain holds whole batches."""
    draws = chains(2, 0.9, count=count, draws=3000)
    with pytest.raises(TooFewDraws) as caught:
        plan(draws[:, :90])
    message = str(caught.value)
    assert (
        "1 chain of 90 draws makes " if count == 1 else f"{count} chains of 90 draws make "
    ) in message
    length = int(re.findall(r"(?:batch|batches) of (\d+) draws", message)[0])
    enough = int(re.findall(r"About (\d+) draws in (?:it|each)", message)[0])
    assert plan(draws[:, :enough], batch_length=length).batches.count >= 20
    with pytest.raises(TooFewDraws):
        plan(draws[:, : enough - length], batch_length=length)


def test_too_few_independent_draws_says_how_many_would_do() -> None:
    """Catches a message whose number is itself refused."""
    draws = np.random.default_rng(3).normal(size=(500, 2))
    with pytest.raises(TooFewDraws, match=r"19 draws make 19 batches.*20 independent draws"):
        plan(draws[:19])
    assert plan(draws[:20]).batches.count == 20
    with pytest.raises(TooFewDraws, match="that is 140 independent draws"):
        plan(draws[:100], batch_length=7)
    assert plan(draws[:140], batch_length=7).batches.count == 20


def test_batch_length_overrides() -> None:
    """Catches an override that is ignored, or that goes unchecked."""
    found = plan(chains(4, 0.9), batch_length=40)
    assert (found.batches.count, found.length) == (4 * 50, 40)
    for wrong in (0, -3, 2.5):
        with pytest.raises(InputError, match="batch_length"):
            sw.check(
                chains(4, 0.9),
                targets.standard(3),
                method=statistic_kinds.SteinMean(),
                batch_length=wrong,  # type: ignore[arg-type]
            )


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_length_and_effective_draws_follow_the_autocorrelation_time(rho: float) -> None:
    """Catches a time that is off by a factor of two, or that sums over chains wrongly."""
    found = plan(chains(5, rho, draws=20_000, d=1), most=10**6)
    worth = 80_000 * (1 - rho) / (1 + rho)
    assert found.effective_draws == pytest.approx(worth, rel=0.15)
    assert found.length >= 5 * 80_000 / found.effective_draws


def test_the_slowest_column_sets_the_length() -> None:
    """Catches a mean over columns: one slow coordinate among fast ones rejected at 0.21."""
    rho = np.array([0.5, 0.95, 0.5])
    draws = simulate.autoregressive(np.random.default_rng(6), rho, 4, 5000)
    assert plan(draws).autocorrelation_time == pytest.approx(39, rel=0.35)


def test_chains_that_disagree_are_noted() -> None:
    """Catches a lost R-hat, and one that names the wrong coordinate."""
    draws = chains(7, 0.5)
    draws[2, :, 1] += 1.0
    found = plan(draws)
    assert found.rhat is not None
    assert found.rhat > 1.05
    assert [(note.kind, note.values["name"]) for note in found.notes] == [
        ("chains disagree", "x[1]")
    ]


def test_notes_come_as_warnings_before_the_verdict() -> None:
    """Catches notes that are made and never shown."""
    draws = chains(8, 0.5)
    draws[0] += 2.0
    with pytest.warns(SteinwiseWarning, match="disagree"):
        result = sw.check(draws, targets.standard(3), method=statistic_kinds.SteinMean())
    assert "disagree" in str(result)
    assert result.draws.rhat == pytest.approx(plan(draws).rhat)


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_warm_up_left_in_is_noted(count: int, rho: float) -> None:
    """Catches a start 20 standard deviations away that goes unsaid."""
    for seed in range(10):
        draws = chains(100 + seed, rho, count=count, draws=3000)
        decay = 20 * rho ** np.arange(3000)[:, None]
        assert plan(draws + decay).notes, f"seed {seed}"


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("length", [60, 150])
def test_warm_up_that_leaves_too_few_draws_is_named(count: int, length: int) -> None:
    """Catches advice to draw more where a start far away is what looks like slow mixing."""
    draws = chains(7, 0.0, count=count, draws=500)
    draws[:, :length] += 8 * np.linspace(1, 0, length)[:, None]
    with pytest.raises(TooFewDraws, match=r"The start of a chain differs .* If not, about \d+"):
        plan(draws)
    with pytest.raises(TooFewDraws, match=r"independent draws. About \d+ draws"):
        plan(chains(7, 0.9, count=count, draws=90))


@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_warm_up_is_noted_whatever_is_averaged(rho: float) -> None:
    """Catches a drift that looks only at functions which are 0 far out, as most kernels are."""
    for seed in range(10):
        draws = chains(300 + seed, rho) + 20 * rho ** np.arange(2000)[:, None]
        samples = Samples.of(draws)
        found = plan_batches(samples, lambda _, x, __: np.exp(-(x**2)), most=250)
        assert "warm-up left in" in [note.kind for note in found.notes], f"seed {seed}"


def test_one_chain_works() -> None:
    """Catches an R-hat or a cut that needs several chains."""
    found = plan(chains(9, 0.5, count=1))
    assert isinstance(found.batches, Batches)
    assert found.rhat is not None
    assert found.rhat < 1.05
    assert found.notes == ()
