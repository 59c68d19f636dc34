"""What a check says of one set of draws in a comparison."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from steinwise._internal.escaping import printable
from steinwise.results import wording
from steinwise.results.largest_error import LargestError
from steinwise.results.record import CheckRecord


@dataclass(frozen=True)
class SetEvidence:
    """The verdict of a check, and how far off the worst coordinates are.

    An error is None where none can be estimated from these draws.
    """

    pvalue: float
    rejected: bool  # at the level of the comparison
    flagged: int
    mean_error: float | None  # the largest, in sds of the target
    mean_error_of: str  # the coordinate
    sd_ratio: float | None  # the farthest from 1, as a logarithm
    sd_ratio_of: str
    largest_error: LargestError  # of both; the intervals of all sets hold together
    # The largest conditional shift, or logarithm of a conditional spread. Where the coordinates
    # depend on each other in a wrong way, it shows here, and means and sds may be right.
    conditional_error: float
    worst: str  # what is wrong: of the modes, or of the coordinate with the most evidence

    @property
    def all_known(self) -> bool:
        """Whether the errors of all coordinates are known; one that is not may be the largest."""
        return self.largest_error.high is not None

    @classmethod
    def of(cls, record: CheckRecord, level: float) -> "SetEvidence":
        """From the check of one set; `level` is that of the interval of its largest error."""
        own = record.findings.coordinates[: record.draws.dim]
        known = {c.name: c.marginal for c in own if c.marginal is not None}
        ratios = {name: marginal.sd_ratio for name, marginal in known.items()}
        means = {name: marginal.mean_error for name, marginal in known.items()}
        mean_of = max(means, key=lambda name: abs(means[name]), default="")
        ratio_of = max(ratios, key=lambda name: abs(np.log(ratios[name])), default="")
        effects = [c.effect for c in own if c.effect is not None]
        shifts = [abs(effect.conditional_shift) for effect in effects]
        with np.errstate(divide="ignore"):  # draws that do not move at all, given the others
            spreads = [abs(np.log(effect.conditional_spread)) for effect in effects]
        flagged = record.flagged
        worst = wording.misfit_of_modes(record.modes, record.alpha)
        if flagged and not worst:
            worst = f"{printable(flagged[0].label)}: {flagged[0].verdict}"
        return cls(
            pvalue=float(record.pvalue),
            rejected=record.rejected,
            flagged=len(flagged),
            mean_error=means.get(mean_of),
            mean_error_of=mean_of,
            sd_ratio=ratios.get(ratio_of),
            sd_ratio_of=ratio_of,
            largest_error=record.largest_error(level),
            conditional_error=float(max([*shifts, *spreads], default=np.inf)),
            worst=worst,
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain Python objects."""
        return asdict(self) | {"largest_error": self.largest_error.to_dict()}
