"""Which draws make up a misfit: the few that dominate, by chain and number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from steinwise._internal.validation import require_whole
from steinwise.draws.samples import DrawIndex
from steinwise.errors import InputError

if TYPE_CHECKING:
    from steinwise.results.check import CheckResult

EXACT_SHARE = 0.01  # PLACEHOLDER
HANDFUL = 0.02  # the share of the draws up to which they are a handful, five at least
NAMED = 5


@dataclass(frozen=True)
class InfluentialDraw:
    """A draw and what it adds to a misfit."""

    chain: int
    draw: int  # in its chain, of all that were given
    value: float
    share: float | None  # of the sum over all draws, where that is positive; others may take away
    coordinate: str  # the one where it adds most; "" where there is one value for all

    def __str__(self) -> str:
        where = f" in {self.coordinate}" if self.coordinate else ""
        return f"draw {self.draw} of chain {self.chain}{where}"


def surprise(u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """-log10 of the probability to lie as far out in the target's conditional."""
    return -np.log10(np.maximum(2 * np.minimum(u, 1 - u), np.finfo(float).eps))


def ranked_draws(
    parts: Float[np.ndarray, "n k"],
    names: Sequence[str],
    places: DrawIndex,
    k: int,
    coordinate: str | None = None,
    *,
    summed: bool = True,
) -> tuple[InfluentialDraw, ...]:
    """The draws with the largest parts: their sums over the columns, or the largest of them."""
    require_whole("k", k, least=1)
    if coordinate is not None:
        if coordinate not in names:
            shown = ", ".join(names[:10]) or "none, for this method"
            raise InputError(f"there is no coordinate {coordinate!r}; there are {shown}.")
        parts, names = parts[:, [list(names).index(coordinate)]], [coordinate]
    values = parts.sum(axis=1) if summed else parts.max(axis=1)
    total = float(values.sum())
    found = []
    for row in np.argsort(-values, kind="stable")[:k]:
        chain, draw = places.of(int(row))
        column = int(np.argmax(parts[row]))
        found.append(
            InfluentialDraw(
                chain=chain,
                draw=draw,
                value=float(values[row]),
                share=float(values[row]) / total if summed and total > 0 else None,
                coordinate=names[column] if len(names) == parts.shape[1] else "",
            )
        )
    return tuple(found)


def dominating_draws(result: "CheckResult") -> tuple[InfluentialDraw, ...]:
    """The draws without which little of a misfit would remain, if these are a handful.

    For the default check those that lie so far out that each is a misfit by itself. Otherwise as
    few as make up half of the sum over all draws.
    """
    findings = result.findings
    if not result.rejected or findings.places is None:
        return ()
    n = result.draws.n_chains * len(findings.places.draws)
    most = max(NAMED, int(HANDFUL * n))
    if findings.parts is not None:
        ordered = result.influential(most)
        shares = np.cumsum([one.share or 0.0 for one in ordered])
        enough = shares >= 0.5
        return ordered[: int(np.argmax(enough)) + 1] if enough.any() else ()
    if findings.pit is None:
        return ()
    bound = -np.log10(result.alpha * EXACT_SHARE / (n * len(result.coordinates)))
    outlying = [one for one in result.influential(most + 1) if one.value >= bound]
    return tuple(outlying) if len(outlying) <= most else ()


def dominance_note(result: "CheckResult") -> str:
    """The same in words; nothing where the misfit is one of all draws."""
    few = dominating_draws(result)
    if not few:
        return ""
    named = ", ".join(str(one) for one in few[:NAMED])
    more = f" and {len(few) - NAMED} more" if len(few) > NAMED else ""
    several = f"{len(few)} draws" if len(few) > 1 else "One draw"
    what = "make up half of the statistic" if len(few) > 1 else "makes up half of the statistic"
    if result.findings.parts is None:
        what = "lie far out" if len(few) > 1 else "lies far out"
    return f"{several} {what}: {named}{more}. Look there first."
