"""The graph of a density as a user passes it: a matrix, a list of edges or a dict of neighbours."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool

from steinwise.errors import InputError


def as_graph(graph: Any, names: Sequence[str]) -> Bool[np.ndarray, "d d"]:
    """A symmetric matrix of neighbours, with zeros on its diagonal.

    >>> print(as_graph({"mu": ["tau"]}, ["mu", "tau", "nu"]).astype(int))
    [[0 1 0]
     [1 0 0]
     [0 0 0]]
    """
    if isinstance(graph, Mapping):
        return _from_edges(
            ((name, neighbour) for name in graph for neighbour in graph[name]), names
        )
    if isinstance(graph, (list, tuple, set)):
        return _from_edges(graph, names)
    d = len(names)
    if getattr(graph, "shape", None) != (d, d):
        raise InputError(
            f"graph is of type {type(graph).__name__} with shape {np.shape(graph)}: expected a "
            f"symmetric array ({d}, {d}) of 0 and 1, a list of edges such as [(0, 1), (1, 2)], a "
            "dict of neighbours such as {'mu': ['tau']}, or None to find it."
        )
    return _from_matrix(np.asarray(graph))


def _from_matrix(array: np.ndarray) -> Bool[np.ndarray, "d d"]:
    if not np.isin(array, (0, 1)).all() or not np.array_equal(array, array.T):
        raise InputError(
            "graph is a matrix that is not symmetric, or has entries other than 0 and 1: expected "
            "1 for neighbours. For a precision matrix P pass P != 0."
        )
    neighbours = array.astype(bool)
    np.fill_diagonal(neighbours, False)
    return neighbours


def _from_edges(edges: Any, names: Sequence[str]) -> Bool[np.ndarray, "d d"]:
    position: dict[Any, int] = {name: j for j, name in enumerate(names)}
    position |= {j: j for j in range(len(names))}
    neighbours = np.zeros((len(names), len(names)), dtype=bool)
    for edge in edges:
        try:
            i, j = (position[end] for end in edge)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{edge!r} is not an edge: expected two coordinates, by their index below "
                f"{len(names)} or by their name, such as {(names[0], names[-1])!r}."
            ) from error
        neighbours[i, j] = neighbours[j, i] = i != j
    return neighbours
