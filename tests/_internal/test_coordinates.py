"""Which coordinates a user asked for."""

import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.coordinates import choose_coordinates

NAMES = ["a", "b", "c", "d"]


def test_names_and_numbers_come_in_the_order_of_the_draws() -> None:
    assert choose_coordinates(["d", 1], NAMES) == (1, 3)
    assert choose_coordinates(np.array([2, 0]), NAMES) == (0, 2)


def test_a_number_of_coordinates_is_chosen_with_the_seed() -> None:
    """Catches a choice that is not a set, or that changes from call to call."""
    choices = {choose_coordinates(2, NAMES, seed) for seed in range(20)}
    assert all(len(set(choice)) == 2 for choice in choices)
    assert len(choices) > 1
    assert choose_coordinates(2, NAMES, 3) == choose_coordinates(2, NAMES, 3)
    assert choose_coordinates(9, NAMES) == (0, 1, 2, 3)


def test_a_name_goes_before_a_vector_and_a_label() -> None:
    names = ["a", "a[0]", "b[0]", "b[1]", "c"]
    labels = lambda: ["a", "a[0]", "log(b[0])", "log(b[1])", "log(c)"]  # noqa: E731
    given = {"a": (0,), "b": (2, 3), "log(b)": (2, 3), "log(b[1])": (3,), "log(c)": (4,)}
    for name, expected in given.items():
        assert choose_coordinates([name], names, labels=labels) == expected
    with pytest.raises(sw.InputError, match="none of them twice"):
        choose_coordinates(["b", "b[1]"], names, labels=labels)
    with pytest.raises(sw.InputError, match=r"there are 6: d, d, d, d, d and 1 more\.$"):
        choose_coordinates(["e"], ["d"] * 6)


@pytest.mark.parametrize(
    ("coordinates", "message"),
    [
        ("a", "expected names such as"),
        (None, "expected names such as"),
        (0, "coordinates is 0: expected a whole number, at least 1"),
        (["e"], "there is no coordinate 'e'; there are 4: a, b, c, d"),
        ([4], "there is no coordinate 4"),
        ([-1], "there is no coordinate -1"),
        ([True], "there is no coordinate True"),
        ([], "at least one"),
        (["a", 0], "none of them twice"),
    ],
)
def test_what_is_refused(coordinates: object, message: str) -> None:
    with pytest.raises(sw.InputError, match=message):
        choose_coordinates(coordinates, NAMES)
