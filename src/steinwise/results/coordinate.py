"""The verdict on one coordinate: numbers, a kind of misfit, and the sentence for them."""

from dataclasses import dataclass
from typing import Any

from steinwise.draws.coordinate_diagnostics import ChainQuality
from steinwise.draws.scales import label
from steinwise.results import wording
from steinwise.results.misfit import Effect, Marginal, Misfit, named_kind
from steinwise.results.outcomes import Outcome


@dataclass(frozen=True, repr=False)
class CoordinateResult:
    """The verdict on one coordinate (or block, or direction)."""

    name: str
    value: float
    pvalue: float
    adjusted_pvalue: float  # over all coordinates, step-down: controls the family-wise error
    effect: Effect | None  # None where the method has no size that a person can read
    misfit: Misfit | None = None  # None where the coordinate is not flagged
    marginal: Marginal | None = None  # None where it cannot be estimated from these draws
    quality: ChainQuality | None = None  # ESS and R-hat; None for independent draws
    scale: str = ""  # "log", "logit" or "unconstrained", where it is not that of the parameter

    def __repr__(self) -> str:
        sizes = (
            None if self.marginal is None else (self.marginal.mean_error, self.marginal.sd_ratio)
        )
        return wording.coordinate_line(self.label, sizes, self.adjusted_pvalue, self.verdict)

    @property
    def label(self) -> str:
        """The name as it is printed, log(tau) where a row is about the logarithm of tau."""
        return label(self.name, self.scale)

    @property
    def mean_error(self) -> float | None:
        """The mean of the draws less the target's, in its sds; None where that is not known."""
        return None if self.marginal is None else self.marginal.mean_error

    @property
    def sd_ratio(self) -> float | None:
        """The sd of the draws over the target's; None where that is not known."""
        return None if self.marginal is None else self.marginal.sd_ratio

    @property
    def kind(self) -> str:
        """The kind of misfit that the verdict names.

        "" where none was found, or where the method tells none.
        """
        if self.misfit is None:
            return ""
        return named_kind(self.misfit, self.effect or Effect(0.0, 1.0), self.marginal)

    @property
    def partners(self) -> tuple[str, ...]:
        """The coordinates that a flagged one depends on, where they stand out."""
        return () if self.misfit is None else self.misfit.partners

    @property
    def outcome(self) -> Outcome | None:
        """The value that a flagged discrete coordinate takes too often, or too rarely."""
        return None if self.misfit is None else self.misfit.outcome

    @property
    def verdict(self) -> str:
        """What is wrong, in words."""
        if self.misfit is None:
            return wording.NO_MISFIT
        return wording.coordinate_verdict(self.misfit, self.effect, self.marginal)

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain Python objects."""
        return {
            "name": self.name,
            "scale": self.scale,
            "value": self.value,
            "pvalue": self.pvalue,
            "adjusted_pvalue": self.adjusted_pvalue,
            "effect": None if self.effect is None else self.effect._asdict(),
            "marginal": None if self.marginal is None else self.marginal._asdict(),
            "quality": None if self.quality is None else self.quality._asdict(),
            "verdict": self.verdict,
            "kind": self.kind,
            "partners": list(self.partners),
            "outcome": None if self.outcome is None else self.outcome._asdict(),
        }
