"""What a method makes of its calibrated statistic: verdicts, and what pictures need."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from steinwise._internal.notes import Note
from steinwise.draws.draw_index import DrawIndex
from steinwise.results.coordinate import CoordinateResult, Effect
from steinwise.results.learning import Learning


class HasContributions:
    """What each draw adds to a statistic, computed when it is first asked for."""

    contributions_by: Callable[[], np.ndarray] | None

    @cached_property
    def draw_contributions(self) -> Float[np.ndarray, "n k"] | None:
        """One row per draw, one column per coordinate, or a single one for all of them."""
        return None if self.contributions_by is None else self.contributions_by()


@dataclass(frozen=True, eq=False)
class Findings(HasContributions):
    """What a method makes of its calibrated statistic."""

    coordinates: tuple[CoordinateResult, ...]
    detectable: Effect | None = None  # in one coordinate, with power 0.8
    evaluations: int | None = None  # of the target, on the line through a draw
    pit: Float[np.ndarray, "n c"] | None = None  # F_ij(x_ij), uniform when the draws fit
    direction_pit: Float[np.ndarray, "t k"] | None = None  # along directions, of the draws tested
    outlier_bound: float | None = None  # -log10 of the tail from which one draw is a misfit
    x: Float[np.ndarray, "n d"] | None = None  # the draws, or evenly spaced ones, for pictures
    x_names: tuple[str, ...] = ()  # of all their coordinates
    contributions_by: Callable[[], np.ndarray] | None = None  # gives `draw_contributions`
    draw_index: DrawIndex | None = None  # which draws these are
    notes: tuple[Note, ...] = ()  # what must be said before the verdict
    flag_meaning: str = ""  # a key of `wording.FLAG_MEANINGS`
    learning: Learning | None = None  # None where nothing was learned


@dataclass(frozen=True)
class DrawsSummary:
    """What the draws were, and how they were cut for calibration."""

    n_chains: int
    n_draws: int
    dim: int
    independent: bool
    batch_length: int
    n_batches: int
    autocorrelation_time: float
    effective_draws: float
    rhat: float | None
    held_out: int = 0  # draws that the method learned from, before the tested ones in every chain
