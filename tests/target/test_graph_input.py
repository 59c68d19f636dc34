"""Graphs as users pass them."""

import numpy as np
import pytest

import steinwise as sw
from steinwise.target.graph_input import as_graph

NAMES = ("mu", "tau", "theta")
CHAIN = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)


@pytest.mark.parametrize(
    "graph",
    [
        CHAIN,
        CHAIN.astype(int),
        [(0, 1), (2, 1)],
        [("mu", "tau"), ("tau", 2)],
        {"tau": ["mu", "theta"]},
        {0: [1], 2: [1], "tau": []},
    ],
)
def test_a_graph_may_be_given_in_any_form(graph) -> None:
    assert (as_graph(graph, NAMES) == CHAIN).all()


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.ones((2, 3)), r"expected a symmetric array \(3, 3\)"),
        (np.triu(np.ones((3, 3))), "not symmetric"),
        (0.5 * np.ones((3, 3)), "other than 0 and 1"),
        ([(0, 3)], r"\(0, 3\) is not an edge"),
        ([("mu", "sigma")], "is not an edge"),
        ([(0, 1, 2)], "is not an edge"),
        ("mu", "graph is of type str"),
    ],
)
def test_a_graph_that_makes_no_sense_is_refused(graph, message: str) -> None:
    with pytest.raises(sw.InputError, match=message):
        as_graph(graph, NAMES)
