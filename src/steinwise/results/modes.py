"""The modes that a check found: what each should hold, and what the draws hold of it."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

ModeKind = Literal["", "unvisited", "too few draws", "too many draws", "cannot judge"]


@dataclass(frozen=True)
class ModeResult:
    """One mode, or several that are copies of each other."""

    where: dict[str, float]  # its peak, by the names of the coordinates
    copies: int  # modes that are the same but for the order of exchangeable coordinates
    mass: float  # the share of the density, of all modes that were found; NaN where not known
    mass_low: float  # of an interval of 95 %
    mass_high: float
    draws: int  # that are nearest to it, of those tested
    share: float  # the same as a share of the draws tested
    expected: float  # how many should be, given the density at the images of all draws in all modes
    information: float  # the variance of that number, if the draws are right and independent
    pvalue: float
    adjusted_pvalue: float  # over all modes and coordinates
    kind: ModeKind

    def to_dict(self) -> dict[str, Any]:
        """The mode as plain Python objects."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class ModePath:
    """The straight line between the peaks of two modes, and the draws next to it."""

    modes: tuple[int, int]  # their numbers
    steps: Float[np.ndarray, " m"]  # 0 at the first peak, 1 at the second
    log_density: Float[np.ndarray, " m"]  # less that of the higher peak
    draws: Float[np.ndarray, " n"]  # where the draws are along the way


@dataclass(frozen=True)
class ModeSplit:
    """A mode whose share of the draws is not its share of the mass, even after sweeps."""

    where: dict[str, float]  # its peak, by the labels of the coordinates
    mass: float  # of the density, of all modes that were found; NaN where not known
    mass_low: float  # of an interval of 95 %
    mass_high: float
    drawn: float  # its share of the draws
    refreshed: float  # the same after all sweeps

    def to_dict(self) -> dict[str, Any]:
        """The mode as plain Python objects."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class ModesFound:
    """What a search for modes found, and what became of its starts."""

    modes: tuple[ModeResult, ...]  # in the order of their peaks, the highest first
    tested: int  # draws whose modes were looked at
    starts: int
    unbounded: int  # starts from which the density rises without end
    unfinished: int  # starts that did not arrive within the effort
    flat: int  # maxima that are ridges or saddles, and no modes
    shoulders: int  # maxima with no valley between them and a higher one
    left_out: int  # maxima beyond those that were looked at
    copies: int = 0  # modes that are copies of another by the order of exchangeable coordinates
    copy_shares: tuple[
        float, ...
    ] = ()  # of the draws, in those copies that hold some; largest first
    path: ModePath | None = None  # between the two modes that differ most from their share

    def flagged(self, alpha: float) -> tuple[ModeResult, ...]:
        """The modes with too few or too many draws, the worst first."""
        wrong = [m for m in self.modes if m.adjusted_pvalue <= alpha]
        return tuple(sorted(wrong, key=lambda m: (m.adjusted_pvalue, m.draws)))

    def to_dict(self) -> dict[str, Any]:
        """All but the picture, as plain Python objects."""
        names = [f.name for f in fields(self) if f.name not in ("modes", "path")]
        return {
            "modes": [mode.to_dict() for mode in self.modes],
            **{name: getattr(self, name) for name in names},
            "copy_shares": list(self.copy_shares),
        }
