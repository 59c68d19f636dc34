"""KSDAgg, against independent figures."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import cut_by_length
from steinwise.calibration.signs import bootstrap, rademacher
from steinwise.draws.samples import Samples
from steinwise.methods import ksdagg
from steinwise.methods.ksdagg import FittedKSDAgg, KSDAgg, imq_tiles

X = np.random.default_rng(0).laplace(0, 1 / np.sqrt(2), (200, 5))
TARGET = sw.Gaussian(np.zeros(5), np.eye(5))
PUBLISHED = KSDAgg(standardise=False)
# from independent implementations, on X
BANDWIDTHS = [0.2, 0.25984783985369697, 0.3376044993831627, 0.43862899944801803]
BANDWIDTHS += [0.5698839900187797, 0.7404156188679285, 0.9619769957838471, 1.249838221716908]
BANDWIDTHS += [1.6238388103986228, 2.1097550357633956]
U_STATISTICS = [0.011497658835374592, 0.013850348034017319, 0.01649344897484652]
U_STATISTICS += [0.019393189679627908, 0.02227518206281359, 0.024590867322473942]
U_STATISTICS += [0.02567160464173359, 0.024992553744126247, 0.022436735548833533]
U_STATISTICS += [0.018477774824143374]


def test_bandwidths_and_their_statistics_are_those_of_others() -> None:
    """Catches another collection of bandwidths, and an IMQ with another exponent."""
    np.testing.assert_allclose(PUBLISHED.resolve(X, 0), BANDWIDTHS, rtol=1e-9)
    statistic = FittedKSDAgg(PUBLISHED, Samples.of(X)).statistic(TARGET, RunOptions())
    batches = cut_by_length(1, 200, 1, independent=True)
    values = [
        bootstrap(sums, rademacher(0, 9, 200)).statistic[0, 0]
        for sums in statistic.batch_sums(batches)
    ]
    np.testing.assert_allclose(values, U_STATISTICS, rtol=1e-9)


def test_shared_products_give_the_same_kernels() -> None:
    """Catches a bandwidth that reaches one part of the Stein kernel and not another."""
    with jax.enable_x64(True):
        x = jnp.asarray(X)
        rows = x - x.mean(axis=0), -x
        found = imq_tiles(jnp.array([0.3, 2.0]), rows, rows)
        for tile, bandwidth in zip(found, (0.3, 2.0), strict=True):
            expected = sw.kernels.IMQ(bandwidth).stein_gram(x, x, -x, -x)
            np.testing.assert_allclose(tile, expected, rtol=1e-9)


@pytest.mark.parametrize(
    "bandwidths",
    [
        1,
        0,
        (),
        (1.0, -2.0),
        2.5,
        True,
        "ten",
        ("1", "2"),
        (1.0, np.nan),
        (1.0, np.inf),
        [[1], [1, 2]],
    ],
)
def test_bandwidths_that_make_no_sense_are_answered(bandwidths: object) -> None:
    with pytest.raises(sw.InputError, match=r"bandwidths is .*expected how many, from 2 to 1000"):
        KSDAgg(bandwidths)  # type: ignore[arg-type]


def test_bandwidths_may_be_numbers_of_any_kind() -> None:
    """Catches a count of NumPy's that is taken for a sequence, and the truth of an array."""
    assert KSDAgg(np.int64(5)).resolve(X, 0) == pytest.approx(KSDAgg(5).resolve(X, 0))  # type: ignore[arg-type]
    for given in (np.array([1.0, 2.0]), [1, 2], (1.0, 2.0)):
        np.testing.assert_array_equal(KSDAgg(given).resolve(X, 0), [1.0, 2.0])  # type: ignore[arg-type]


def test_of_many_draws_some_give_the_largest_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches bandwidths that need all pairs of a million draws, or that no seed decides."""
    rows = np.random.default_rng(3).normal(size=(200, 2)) * 10
    every = KSDAgg().resolve(rows, 0)
    monkeypatch.setattr(ksdagg, "MOST_ROWS", 50)
    some, again, others = (KSDAgg().resolve(rows, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(some, again)
    assert 0.5 * every[-1] < some[-1] <= every[-1]
    assert some[-1] != others[-1]
