"""What a method makes of its calibrated statistic: verdicts, and what pictures need."""

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.notes import Note
from steinwise.draws.draw_index import DrawIndex
from steinwise.results.coordinate import CoordinateResult
from steinwise.results.largest_error import LargestError
from steinwise.results.learning import Learning
from steinwise.results.misfit import Effect
from steinwise.results.modes import ModesFound
from steinwise.results.outcomes import OutcomeShares
from steinwise.results.tolerance import ToleranceAnswer


class HasContributions:
    """What each draw adds to a statistic, computed when it is first asked for."""

    contributions_by: Callable[[], np.ndarray] | None

    @cached_property
    def draw_contributions(self) -> Float[np.ndarray, "n k"] | None:
        """One row per draw, one column per coordinate, or a single one for all of them."""
        return None if self.contributions_by is None else self.contributions_by()


class EffortSpent(NamedTuple):
    """What was looked at, and what the next level of effort would look at."""

    scored: int  # draws whose scores were looked at
    followed: int  # draws whose lines were followed
    next_followed: int  # that would be followed at the next level, 0 if there is none


@dataclass(frozen=True, eq=False, repr=False)
class Findings(HasContributions):
    """What a method makes of its calibrated statistic."""

    coordinates: tuple[CoordinateResult, ...]  # in the order of the draws, directions last
    detectable: Effect | None = None  # in one coordinate, with `POWER`
    effort: EffortSpent | None = None  # None where there are only scores
    evaluations: float | None = None  # of the target on a line through a draw, on average
    pit: Float[np.ndarray, "n c"] | None = None  # F_ij(x_ij), uniform when the draws fit
    direction_pit: Float[np.ndarray, "t k"] | None = None  # along directions, of the draws tested
    directions: Float[np.ndarray, "d k"] | None = None  # weights of the coordinates in each
    # of discrete coordinates, by name: how often each value was drawn and how often it should be
    outcomes: Mapping[str, OutcomeShares] = field(default_factory=dict)
    density_breaks: bool = False  # it ends or jumps among the draws, where no support says so
    modes: ModesFound | None = None  # None where modes were not looked for
    outlier_bound: float | None = None  # -log10 of the tail from which one draw is a misfit
    x: Float[np.ndarray, "n d"] | None = None  # the draws, or evenly spaced ones, for pictures
    x_names: tuple[str, ...] = ()  # of all their coordinates
    contributions_by: Callable[[], np.ndarray] | None = None  # gives `draw_contributions`
    draw_index: DrawIndex | None = None  # which draws these are
    tolerance: ToleranceAnswer | None = None  # None where no tolerance was given
    # gives the largest error of a mean or sd, with an interval of some level; None where no score
    # could tell any
    largest_error_at: Callable[[float], LargestError] | None = None
    has_summary: bool = True  # whether sw.summary takes the target
    notes: tuple[Note, ...] = ()  # what must be said before the verdict
    flag_meaning: str = ""  # a key of `wording.FLAG_MEANINGS`
    labels: Mapping[str, str] = field(default_factory=dict)  # as printed, where not the name itself
    learning: Learning | None = None  # None where nothing was learned

    def __repr__(self) -> str:
        """What there is, and not all of it: arrays have a row for every draw."""
        known = (one.name for one in fields(self))
        return f"{type(self).__name__}({', '.join(n for n in known if self._has(n))})"

    def _has(self, name: str) -> bool:
        value = getattr(self, name)
        return value is not None and not (isinstance(value, Sized) and len(value) == 0)

    def label(self, name: str) -> str:
        """A name as it is printed: log(tau), where the coordinate is the logarithm of tau."""
        return self.labels.get(name, name)

    def name_of(self, given: str) -> str:
        """The name of a coordinate that goes by its label, as it is printed."""
        if not isinstance(given, str):
            return given  # what asks for it says what was expected
        names = {label: name for name, label in self.labels.items()}
        known = {c.name for c in self.coordinates} | set(self.x_names)
        return given if given in known else names.get(given, given)


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
