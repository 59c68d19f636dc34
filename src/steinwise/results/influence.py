"""Which draws a misfit rests on: the few that dominate, by chain and number."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from steinwise._internal.escaping import listed
from steinwise._internal.validation import require_whole
from steinwise.draws.draw_index import DrawIndex
from steinwise.errors import InputError
from steinwise.results import wording

HANDFUL = 0.02  # of the draws, or LEAST_HANDFUL of them: few enough to be looked at one by one
LEAST_HANDFUL = 5


@dataclass(frozen=True)
class InfluentialDraw:
    """A draw and what it adds to a misfit."""

    chain: int
    draw: int  # in its chain, of all that were given
    value: float
    share: float | None  # of the sum over all draws, where that is positive; others may take away
    coordinate: str  # the one where it adds most; "" where there is one value for all

    def __str__(self) -> str:
        return wording.draw_name(self.chain, self.draw, self.coordinate)


def surprise(u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """-log10 of the probability to lie as far out in the target's conditional."""
    return -np.log10(np.maximum(2 * np.minimum(u, 1 - u), np.finfo(float).eps))


def handful(n: int) -> int:
    """How many of n draws still are a handful."""
    return max(LEAST_HANDFUL, int(HANDFUL * n))


def ranked_draws(
    contributions: Float[np.ndarray, "n k"],
    names: Sequence[str],
    draw_index: DrawIndex,
    k: int,
    coordinate: str | None = None,
    *,
    summed: bool = True,
) -> tuple[InfluentialDraw, ...]:
    """The draws that add most: their sums over the columns, or their largest column."""
    require_whole("k", k, least=1)
    if coordinate is not None:
        if coordinate not in names:
            shown = listed(names, most=10) or "none, for this method"
            raise InputError(f"there is no coordinate {coordinate!r}; there are {shown}.")
        column = list(names).index(coordinate)
        contributions, names = contributions[:, [column]], [coordinate]
    values = contributions.sum(axis=1) if summed else contributions.max(axis=1)
    total = float(values.sum())
    ranked = []
    for row in np.argsort(-values, kind="stable")[:k]:
        chain, draw = draw_index.of(int(row))
        column = int(np.argmax(contributions[row]))
        ranked.append(
            InfluentialDraw(
                chain=chain,
                draw=draw,
                value=float(values[row]),
                share=float(values[row]) / total if summed and total > 0 else None,
                coordinate=names[column] if len(names) == contributions.shape[1] else "",
            )
        )
    return tuple(ranked)
