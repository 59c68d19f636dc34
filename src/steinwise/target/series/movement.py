"""Which entries of a value a coordinate moves.

The answer may say too much, never too little: an entry that is said to move and does not costs
time, the reverse would be an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

# A coordinate that moves more than this share of a value's entries is said to move all of them:
# no other one could share a pass with it, and the exact answer would take memory.
MOST = 0.5


@dataclass(frozen=True, eq=False)
class Movement:
    """Which coordinates move all entries of a value, and which entries the others move."""

    everywhere: np.ndarray  # a mask of coordinates
    some: Any  # a sparse array (entry, coordinate) of counts, or None if there are no others
    size: int  # the number of entries

    def coordinates(self) -> np.ndarray:
        """The coordinates that move any entry, as a mask."""
        if self.some is None:
            return self.everywhere
        return self.everywhere | (np.asarray(self.some.sum(axis=0)).ravel() > 0)

    def rows(self) -> Any:
        """All of it as one sparse array (entry, coordinate)."""
        everywhere = sparse.csr_array(self.everywhere[None].astype(np.int32))
        everywhere = everywhere[np.zeros(self.size, dtype=int)]
        return everywhere if self.some is None else everywhere + self.some

    def select(self, entries: np.ndarray) -> "Movement":
        """The movement of a value that is made of these entries; of none where negative."""
        entries = np.asarray(entries).ravel()
        if self.some is None:
            return Movement(self.everywhere, None, len(entries))
        chosen = self.some[np.maximum(entries, 0)]
        if (entries < 0).any():
            chosen = sparse.diags_array((entries >= 0).astype(float), format="csr") @ chosen
        return movement(self.everywhere, chosen, len(entries))

    def summed(self, into: np.ndarray, size: int) -> "Movement":
        """The movement of a value of which entry `into[i]` depends on entry i."""
        if self.some is None:
            return Movement(self.everywhere, None, size)
        adding = sparse.csr_array(
            (np.ones(self.size, np.int32), (into.ravel(), np.arange(self.size))),
            shape=(size, self.size),
        )
        return movement(self.everywhere, adding @ self.some, size)


def movement(everywhere: np.ndarray, some: Any, size: int) -> Movement:
    """From counts; a coordinate that moves most entries is said to move all."""
    some = sparse.csr_array(some)
    some.eliminate_zeros()
    some.data = np.ones(len(some.data), np.int32)
    moved = np.bincount(some.indices, minlength=len(everywhere))
    everywhere = everywhere | (moved > MOST * size)
    if everywhere[some.indices].any():
        some = some @ sparse.diags_array((~everywhere).astype(float), format="csr")
        some.eliminate_zeros()
    return Movement(everywhere, some if some.nnz else None, size)


def union(parts: Sequence[Movement], size: int) -> Movement:
    """Moved by any of the parts, which have the same number of entries."""
    everywhere = np.any([part.everywhere for part in parts], axis=0)
    some = [part.some for part in parts if part.some is not None]
    if not some:
        return Movement(everywhere, None, size)
    return movement(everywhere, sum(some[1:], some[0]), size)
