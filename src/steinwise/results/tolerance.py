"""Whether the errors of draws are larger than someone is willing to accept."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Answer = Literal["beyond", "within", "too few draws", "unknown"]
Moment = Literal["mean", "sd"]  # whose error it is


@dataclass(frozen=True)
class ToleranceAnswer:
    """Is any mean off by more than the tolerance, in sds of the target, or any sd by that share?

    The mean and the sd are those of the distribution that the draws come from. "beyond": one is off
    by more, by intervals that hold for all coordinates together at level alpha. "within": none is,
    at level alpha. "too few draws": all errors can be estimated, and more draws would tell whether
    one of them is. "unknown": none is seen beyond, but some errors cannot be estimated from these
    draws, or not well enough, and more draws may not help.

    The worst error is that of `quantity` ("mean" or "sd") of `coordinate`; for an sd, the error is
    its ratio to the target's less 1.
    """

    tolerance: float
    alpha: float
    answer: Answer
    coordinate: str
    quantity: Moment
    error: float
    low: float  # of an interval that holds for all coordinates together; where "within", of one
    high: float  # from one-sided bounds, each at level alpha: all of them must lie inside
    unknown: tuple[str, ...] = ()  # coordinates whose errors cannot be estimated

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain Python objects."""
        return asdict(self) | {"unknown": list(self.unknown)}
