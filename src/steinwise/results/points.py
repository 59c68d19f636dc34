"""`PointSet` and `Thinned`: points that represent a density, placed anew or chosen among draws."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from steinwise.results import text, wording
from steinwise.results.shown import Shown

SHOWN = 4  # values of the KSD


@dataclass(frozen=True, eq=False, repr=False)
class PointSet(Shown):
    """Points whose empirical distribution has a small kernelized Stein discrepancy, best first.

    `ksd` holds the squared KSD of the first 1, 2, ..., m points, pairs of a point with itself
    included, in the coordinates and with the kernel that `description` names.
    """

    points: Float[np.ndarray, "m d"]
    ksd: Float[np.ndarray, " m"]
    names: tuple[str, ...]
    description: str
    preconditioner: Float[np.ndarray, "d d"] = field(repr=False)
    scale: Float[np.ndarray, " d"] = field(repr=False)

    def facts(self) -> list[tuple[str, str]]:
        """What was found, as names and values."""
        m, d = self.points.shape
        shown = np.unique(np.geomspace(1, m, min(m, SHOWN)).round().astype(int))[::-1]
        return [
            ("points", wording.points_fact(m, d)),
            ("discrepancy", wording.ksd_fact([(int(k), float(self.ksd[k - 1])) for k in shown])),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The points and their KSD as plain Python objects."""
        return {
            "description": self.description,
            "names": list(self.names),
            "points": self.points.tolist(),
            "ksd": self.ksd.tolist(),
        }

    @property
    def headline(self) -> str:
        """What was done, in words."""
        return wording.points_headline(len(self.points))

    def __str__(self) -> str:
        return text.facts(self.headline, [*self.facts(), ("method", self.description)])


@dataclass(frozen=True, eq=False, repr=False)
class Thinned(PointSet):
    """The answer of `sw.thin`: some of the draws, in the order in which they were chosen.

    `indices` count the draws one chain after the other; `chains` and `draws` say the same as a
    chain and a draw within it. A draw can be chosen more than once.
    """

    indices: Int[np.ndarray, " m"]
    chains: Int[np.ndarray, " m"]
    draws: Int[np.ndarray, " m"]
    n_chains: int
    n_draws: int

    @property
    def headline(self) -> str:
        return wording.thinned_headline(len(self.points), self.n_chains * self.n_draws)

    def facts(self) -> list[tuple[str, str]]:
        different, chosen = len(np.unique(self.indices)), len(self.indices)
        facts = [
            ("chosen from", wording.chains_fact(self.n_chains, self.n_draws)),
            *super().facts(),
        ]
        if different < chosen:
            facts.append(("repeated", wording.repeated_fact(chosen, different)))
        if self.n_chains > 1:
            counts = np.bincount(self.chains, minlength=self.n_chains)
            facts.append(("of each chain", wording.counts_fact(counts.tolist())))
        quarters = np.bincount(4 * self.draws // self.n_draws, minlength=4)
        return [*facts, ("position", wording.quarters_fact(quarters.tolist()))]

    def to_dict(self) -> dict[str, Any]:
        own = {name: getattr(self, name).tolist() for name in ("indices", "chains", "draws")}
        return super().to_dict() | own
