"""The verdict on one coordinate: numbers, a kind of misfit, and the sentence for them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from steinwise.results import wording


class Effect(NamedTuple):
    """How far a coordinate is off, given all others, in terms of the target's conditional."""

    shift: float  # of the mean, in conditional standard deviations
    spread: float  # standard deviation, as a multiple of the conditional one
    # a draw farther out than 5 conditional standard deviations counts as one at 5


@dataclass(frozen=True)
class Misfit:
    """What is wrong with a flagged coordinate: a kind, and the numbers that its sentence needs.

    The kind is "shift", "spread", "tails", "shape" or "outliers" of the coordinate by itself;
    "dependence", "dependence on size" or "interaction" with others; "" where the method tells none.
    """

    kind: str = ""
    partners: tuple[str, ...] = ()  # the coordinates it depends on, where they stand out
    outliers: int = 0  # draws where the target's conditional has next to no mass
    lower_bound: bool = False  # the effect is larger than stated: too many draws are far out
    excess_kurtosis: float = 0.0  # of the draws in the target's conditional


@dataclass(frozen=True)
class CoordinateResult:
    """The verdict on one coordinate (or block, or direction)."""

    name: str
    value: float
    pvalue: float
    adjusted_pvalue: float  # over all coordinates, step-down: controls the family-wise error
    effect: Effect | None  # None where the method has no size that a person can read
    misfit: Misfit | None = None  # None where the coordinate is not flagged

    @property
    def kind(self) -> str:
        """The kind of misfit; "" where none was found, or where the method tells none."""
        return "" if self.misfit is None else self.misfit.kind

    @property
    def partners(self) -> tuple[str, ...]:
        """The coordinates that a flagged one depends on, where they stand out."""
        return () if self.misfit is None else self.misfit.partners

    @property
    def verdict(self) -> str:
        """What is wrong, in words."""
        if self.misfit is None:
            return wording.NO_MISFIT
        effect = self.effect or Effect(0.0, 1.0)
        return wording.coordinate_verdict(
            self.misfit.kind,
            shift=effect.shift,
            spread=effect.spread,
            partners=self.misfit.partners,
            outliers=self.misfit.outliers,
            lower_bound=self.misfit.lower_bound,
            excess_kurtosis=self.misfit.excess_kurtosis,
        )

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain Python objects."""
        return {
            "name": self.name,
            "value": self.value,
            "pvalue": self.pvalue,
            "adjusted_pvalue": self.adjusted_pvalue,
            "effect": None if self.effect is None else self.effect._asdict(),
            "verdict": self.verdict,
            "kind": self.kind,
            "partners": list(self.partners),
        }
