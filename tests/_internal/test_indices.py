"""Evenly spaced subsets."""

import numpy as np

from steinwise._internal.indices import evenly_spaced_indices


def test_evenly_spaced_indices_include_the_ends_and_never_exceed() -> None:
    """Catches a subset that repeats indices or leaves out the ends."""
    np.testing.assert_array_equal(evenly_spaced_indices(5, 10), np.arange(5))
    found = evenly_spaced_indices(1000, 7)
    assert (len(found), found[0], found[-1]) == (7, 0, 999)
