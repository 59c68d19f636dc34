"""`Refreshed`: draws that were moved along lines, and whether they have arrived."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from steinwise._internal.optional import require
from steinwise._internal.random import plain_seed
from steinwise.draws.samples import Samples
from steinwise.results import text, wording
from steinwise.results.modes import ModeSplit
from steinwise.results.record import SCHEMA_VERSION
from steinwise.results.shown import Shown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Refreshed(Shown):
    """The answer of `sw.refresh`.

    `means` and `sds` hold the history of each summary: row k is after k sweeps, row 0 as drawn.
    """

    samples: Samples  # the draws after the last sweep, (chain, draw, d); (n, d) are one chain
    labels: tuple[str, ...]  # what the coordinates are: log(tau), where a model has tau
    means: Float[np.ndarray, "rows d"]
    sds: Float[np.ndarray, "rows d"]
    mean_change_error: Float[np.ndarray, " d"]  # of the change over the second half of the sweeps
    sd_change_error: Float[np.ndarray, " d"]
    moving: Bool[np.ndarray, " d"]  # by more than that, all summaries taken together
    remembered: Float[np.ndarray, " d"]  # squared correlation of first and last values, or squares
    arrived: Bool[np.ndarray, " d"]  # neither moving nor remembered
    split: ModeSplit | None  # a mode with a wrong share of the draws
    seed: Any
    notes: tuple[str, ...]
    version: str

    @property
    def sweeps(self) -> int:
        return len(self.means) - 1

    @property
    def settled(self) -> bool:
        """Whether draws are where the density is.

        No summary moves beyond its error any more, no start is remembered, and no mode is known to
        have a wrong share of the draws.
        """
        return bool(self.arrived.all()) and self.split is None

    @property
    def states(self) -> tuple[str, ...]:
        """Of each coordinate "settled", "moving" or "remembers its start".

        Or of all of them "split wrongly between modes".
        """
        if self.split is not None:
            return (wording.SPLIT,) * len(self.labels)
        return tuple(
            "settled" if arrived else "moving" if moving else "remembers its start"
            for arrived, moving in zip(self.arrived, self.moving, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """All but the draws, as plain Python objects."""
        return {
            "schema_version": SCHEMA_VERSION,
            "names": list(self.samples.names),
            "labels": list(self.labels),
            "sweeps": self.sweeps,
            "settled": self.settled,
            "states": list(self.states),
            "means": self.means.tolist(),
            "sds": self.sds.tolist(),
            "mean_change_error": self.mean_change_error.tolist(),
            "sd_change_error": self.sd_change_error.tolist(),
            "remembered": self.remembered.tolist(),
            "split": None if self.split is None else self.split.to_dict(),
            "seed": plain_seed(self.seed),
            "notes": list(self.notes),
            "version": self.version,
        }

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per coordinate, indexed by its label, as in log(tau). Needs pandas."""
        pandas = require("pandas", "io", "to_dataframe")
        table = {
            "mean": self.means[0],
            "sd": self.sds[0],
            "refreshed_mean": self.means[-1],
            "refreshed_sd": self.sds[-1],
            "last_mean_change": self.means[-1] - self.means[self.sweeps // 2],
            "mean_change_error": self.mean_change_error,
            "last_sd_change": self.sds[-1] - self.sds[self.sweeps // 2],
            "sd_change_error": self.sd_change_error,
            "remembered": self.remembered,
            "state": list(self.states),
        }
        return pandas.DataFrame(table, index=pandas.Index(self.labels, name="name"))

    def __str__(self) -> str:
        closing = wording.refresh_closing(self.states, self.sweeps)
        return text.refreshed(list(self._rows()), self.sweeps, self.notes, closing)

    def _rows(self) -> Iterator[tuple[str, ...]]:
        order = np.lexsort((-self.remembered, self.arrived))
        for j in order:
            yield (
                self.labels[j],
                f"{self.means[0, j]:.4g}",
                f"{self.means[-1, j]:.4g}",
                f"{self.sds[0, j]:.4g}",
                f"{self.sds[-1, j]:.4g}",
                self.states[j],
            )
