"""The nodes of lines with what the density is there, and compiled functions of them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.compiled import call_in_chunks, rows_of
from steinwise.orbits.nodes import NODES_PER_LINE

# Lines in one compiled call. One size, so that nodes compile once; calls of 4096 lines take as long
# a line, or twice as long where their arrays leave the processor's cache.
LINES_PER_CALL = 512


class NodeTable(NamedTuple):
    """The nodes of every line in increasing order, with the log density and its slope there."""

    nodes: Float[np.ndarray, "n c k"]
    values: Float[np.ndarray, "n c k"] | None  # None where only scores are known
    slopes: Float[np.ndarray, "n c k"]

    @classmethod
    def sorted(
        cls, nodes: np.ndarray, values: np.ndarray | None, slopes: np.ndarray
    ) -> "NodeTable":
        order = np.argsort(nodes, axis=-1)  # by NumPy: ten times as fast as compiled
        nodes, slopes = (np.take_along_axis(array, order, axis=-1) for array in (nodes, slopes))
        if values is not None:
            values = np.take_along_axis(values, order, axis=-1)
        return cls(nodes, values, slopes)

    def joined(
        self, nodes: np.ndarray, values: np.ndarray | None, slopes: np.ndarray
    ) -> "NodeTable":
        """With more nodes, in order."""
        both = None
        if self.values is not None and values is not None:
            both = np.concatenate([self.values, values], axis=-1)
        return NodeTable.sorted(
            np.concatenate([self.nodes, nodes], axis=-1),
            both,
            np.concatenate([self.slopes, slopes], axis=-1),
        )

    def padded(self) -> "NodeTable":
        """With copies of the last node, so that every round has the same shapes."""

        def pad(array: np.ndarray) -> np.ndarray:
            copies = np.repeat(array[..., -1:], NODES_PER_LINE - array.shape[-1], -1)
            return np.concatenate([array, copies], axis=-1)

        values = None if self.values is None else pad(self.values)
        return NodeTable(pad(self.nodes), values, pad(self.slopes))


def for_each_line(
    function: Callable[..., Array], first: np.ndarray, *others: np.ndarray | None
) -> np.ndarray:
    """A compiled function of lines, in calls of one size, so that it is compiled once.

    The arrays begin with the axes (n, c), draws and lines, and so does the result.
    """
    shape = first.shape[:2]
    count = int(np.prod(shape))
    by_line = [
        None if array is None else array.reshape(count, *array.shape[2:])
        for array in (first, *others)
    ]
    out = call_in_chunks(function, rows_of(*by_line), count, LINES_PER_CALL)
    return out.reshape(*shape, *out.shape[1:])
