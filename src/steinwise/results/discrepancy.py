"""`Discrepancy`: the value of a discrepancy, without a test."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from steinwise.draws.draw_index import DrawIndex
from steinwise.errors import InputError
from steinwise.results import text
from steinwise.results.findings import HasContributions
from steinwise.results.influence import InfluentialDraw, ranked_draws
from steinwise.results.shown import Shown


@dataclass(frozen=True, eq=False, repr=False)
class Discrepancy(Shown, HasContributions):
    """The value of a discrepancy.

    `standard_error` is None where the draws are too few, or too dependent, to have one;
    `per_coordinate`, `contributions` and `witness` are None where the discrepancy has none.
    """

    value: float
    standard_error: float | None
    per_coordinate: Float[np.ndarray, " k"] | None
    contributions: Float[np.ndarray, "n k"] | None
    names: tuple[str, ...]
    description: str
    witness: Callable[..., np.ndarray] | None = field(default=None, repr=False)
    contributions_by: Callable[[], np.ndarray] | None = field(default=None, repr=False)
    draw_index: DrawIndex | None = field(default=None, repr=False)  # which draws these are

    def influential(
        self, k: int = 10, coordinate: str | None = None
    ) -> tuple[InfluentialDraw, ...]:
        """The k draws that add most to the value, of all coordinates or of one."""
        contributions = self.draw_contributions
        if contributions is None or self.draw_index is None:
            raise InputError("this discrepancy does not say what single draws add.")
        names = self.names if contributions.shape[1] == len(self.names) else ()
        return ranked_draws(contributions, names, self.draw_index, k, coordinate)

    def __str__(self) -> str:
        return text.discrepancy(
            self.description, self.value, self.standard_error, self.names, self.per_coordinate
        )
