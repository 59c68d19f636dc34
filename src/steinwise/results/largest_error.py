"""How far off the worst mean or sd of a set of draws is, with an interval that covers it."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise.results.tolerance import Moment


class ErrorEstimates(NamedTuple):
    """The errors of all means, and the logarithms of all sd ratios, that an interval comes from."""

    errors: Float[np.ndarray, " k"]
    doubts: Float[np.ndarray, " k"]  # how far they may be off beyond chance
    # of the values without each batch: their products are variances and covariances of the errors
    deviations: Float[np.ndarray, "batch k"]
    critical: float  # standard errors that all errors together are within, at the level
    cut: tuple[int, int, int]  # chains, draws and batches: sets of one cut have the same batches


@dataclass(frozen=True)
class LargestError:
    """The largest error of a mean, in sds of the target, or of an sd, as abs(log(sd ratio)).

    The logarithm makes draws that are half as wide as far off as draws that are twice as wide. The
    mean and the sd are those of the distribution that the draws come from. With confidence
    1 - alpha the largest error lies from `low` to `high`: simultaneous intervals of all of them.

    Where some errors cannot be estimated from these draws (`unknown`), there is no `high`; where
    none can, there is no `size` either.
    """

    alpha: float
    size: float | None  # as estimated
    low: float
    high: float | None
    coordinate: str  # whose error is the largest; "" where none is known
    quantity: Moment
    unknown: tuple[str, ...] = ()  # coordinates whose errors cannot be estimated
    estimates: ErrorEstimates | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python objects."""
        return {
            "alpha": self.alpha,
            "size": self.size,
            "low": self.low,
            "high": self.high,
            "coordinate": self.coordinate,
            "quantity": self.quantity,
            "unknown": list(self.unknown),
        }
