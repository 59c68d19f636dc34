"""Intervals by lines: what they are made of, and that they cover what draws still lack."""

import numpy as np

from steinwise.calibration.batches import cut_evenly
from steinwise.draws.samples import Samples
from steinwise.estimates.answers import GIVEN, Arrival, Moved, moments_by_lines, quantiles_by_lines


def faded(seed: int, correlation: float) -> Moved:
    """Draws of N(3, 1) on their way to N(0, 1), of whose mean `correlation` is left. Halfway they
    were as far as they are now, so that the last sweeps show no change.
    """
    rng = np.random.default_rng(seed)
    n = 10_000
    first, halfway, noise = rng.normal(size=(3, n, 1))
    after = correlation * (3 + first) + np.sqrt(1 - correlation**2) * noise
    batches = cut_evenly(Samples.of(first), 64)
    return Moved(3 + first, (3 * correlation + halfway)[..., None], after[..., None], batches)


def test_intervals_hold_what_is_left_of_the_first_error() -> None:
    """Without the share of the first error, an interval of +- 0.1 around 0.6 misses 0."""
    for seed in range(5):
        moved = faded(seed, correlation=0.2)
        arrival = Arrival.of(moved, reliable=True)
        assert arrival.state == GIVEN
        np.testing.assert_allclose(arrival.left, 0.21 / (1 - 0.21), atol=0.03)
        way = moments_by_lines(moved, arrival)
        assert abs(way.mean[0]) < way.mean_reach[0]
        found = quantiles_by_lines(moved, arrival, np.array([0.5]))
        assert abs(found.values[0, 0]) < found.reach[0, 0]
        of_nothing_left = moments_by_lines(moved, Arrival(GIVEN, 0.0))
        assert abs(of_nothing_left.mean[0]) > of_nothing_left.mean_reach[0]


def test_both_must_have_arrived() -> None:
    one, other = Arrival(GIVEN, 0.1), Arrival("still moving", 0.3)
    assert one.and_of(other) == other.and_of(one) == Arrival("still moving", 0.3)
    assert one.and_of(one) == one
