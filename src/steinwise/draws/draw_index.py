"""From a row of an analysis back to the draw that the user gave."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int


@dataclass(frozen=True, eq=False)
class DrawIndex:
    """Which of the user's draws the rows of an analysis are.

    >>> every_tenth = DrawIndex(np.arange(0, 100, 10))  # ten draws kept in every chain
    >>> every_tenth.of(12)
    (1, 20)
    """

    draws: Int[np.ndarray, " draw"]  # the draws that were kept, the same in every chain
    rows: Int[np.ndarray, " m"] | None = None  # a further subset of the rows, all chains in turn

    def of(self, row: int) -> tuple[int, int]:
        """The chain and the number of the draw within it, as the user counts them."""
        chain, position = divmod(row if self.rows is None else int(self.rows[row]), len(self.draws))
        return chain, int(self.draws[position])
