"""What a check says of one set of draws in a comparison."""

from dataclasses import asdict, dataclass
from typing import Any

from steinwise.results.record import CheckRecord


@dataclass(frozen=True)
class SetEvidence:
    """The verdict of a quick check, and the largest errors of a mean and of an sd.

    An error is None where these draws cannot tell any.
    """

    pvalue: float
    rejected: bool  # at the level of the comparison
    flagged: int
    mean_error: float | None  # in sds of the target
    mean_error_of: str  # the coordinate
    sd_ratio: float | None
    sd_ratio_of: str

    @classmethod
    def of(cls, record: CheckRecord) -> "SetEvidence":
        """From the check of one set."""
        dim = record.draws.dim
        known = [c for c in record.findings.coordinates[:dim] if c.marginal is not None]
        means = {c.name: c.marginal.mean_error for c in known if c.marginal is not None}
        ratios = {c.name: c.marginal.sd_ratio for c in known if c.marginal is not None}
        mean_of = max(means, key=lambda name: abs(means[name]), default="")
        ratio_of = max(ratios, key=lambda name: abs(ratios[name] - 1), default="")
        return cls(
            pvalue=float(record.pvalue),
            rejected=record.rejected,
            flagged=len(record.flagged),
            mean_error=means.get(mean_of),
            mean_error_of=mean_of,
            sd_ratio=ratios.get(ratio_of),
            sd_ratio_of=ratio_of,
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain Python objects."""
        return asdict(self)
