"""Points that stand for a density: chosen among draws, or placed anew."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from steinwise.results.text import aligned

SHOWN = 4  # values of the KSD


@dataclass(frozen=True, eq=False)
class PointSet:
    """Points whose empirical law has a small kernelized Stein discrepancy, the first ones first.

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
        shown = np.unique(np.geomspace(1, m, min(m, SHOWN)).round().astype(int))[-2::-1]
        values = [
            f"{self.ksd[-1]:.4g}",
            *(f"{self.ksd[k - 1]:.4g} of the first {k}" for k in shown),
        ]
        return [
            ("points", f"{m}, in {d} coordinate{'s' * (d > 1)}"),
            ("squared KSD", ", ".join(values)),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The points and their KSD as plain Python objects."""
        return {
            "description": self.description,
            "names": list(self.names),
            "points": self.points.tolist(),
            "ksd": self.ksd.tolist(),
        }

    def __str__(self) -> str:
        return "\n".join([self.description, *("  " + line for line in aligned(self.facts()))])


@dataclass(frozen=True, eq=False)
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

    def facts(self) -> list[tuple[str, str]]:
        different = len(np.unique(self.indices))
        s = "s" * (self.n_chains > 1)
        found = [
            ("chosen from", f"{self.n_chains} chain{s} x {self.n_draws} draws"),
            *super().facts(),
        ]
        if different < len(self.indices):
            found.append(
                ("repeated", f"{len(self.indices) - different}: {different} are different")
            )
        if self.n_chains > 1:
            counts = np.bincount(self.chains, minlength=self.n_chains)
            found.append(("of each chain", _ends(counts)))
        found.append(("place in the chain", _quarters(self.draws, self.n_draws)))
        return found

    def to_dict(self) -> dict[str, Any]:
        own = {name: getattr(self, name).tolist() for name in ("indices", "chains", "draws")}
        return super().to_dict() | own


def _ends(counts: np.ndarray) -> str:
    """A few counts in full, many by their range."""
    if len(counts) <= 8:
        return ", ".join(str(count) for count in counts)
    return f"{counts.min()} to {counts.max()}"


def _quarters(draws: np.ndarray, n_draws: int) -> str:
    counts = np.bincount(4 * draws // n_draws, minlength=4)
    return ", ".join(str(count) for count in counts) + " from each quarter of the chains"
