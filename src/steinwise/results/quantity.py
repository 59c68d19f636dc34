"""A row of a summary: a coordinate or a function, as drawn and as it should be."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from steinwise.results import wording

NOISE = 2.0  # standard errors within uncertainties, and of one quantity by itself


@dataclass(frozen=True)
class Estimate:
    """The target's mean and sd as one way gives them; NaN where it gives none."""

    state: str  # "given", or why not: a key of `wording.WAY_STATES`
    mean: float
    mean_error: float  # standard error
    mean_uncertainty: float  # half of a 95 % interval, possible bias included
    sd: float
    sd_error: float
    sd_uncertainty: float


@dataclass(frozen=True)
class Quantity:
    """A coordinate, or a function of the coordinates: as drawn, and as it should be."""

    name: str
    mean: float
    sd: float
    mcse_mean: float  # Monte Carlo errors of the two
    mcse_sd: float
    quantiles: tuple[float, ...]
    corrected_quantiles: tuple[float, ...]
    quantile_uncertainties: tuple[float, ...]
    by_scores: Estimate
    by_lines: Estimate
    # standard errors that a difference may have without being a bias, all quantities together
    noise: float = NOISE

    @property
    def agree(self) -> bool | None:
        """Whether the two ways agree within their uncertainties; None where one gives nothing."""
        found = [
            abs(one - other) <= reach
            for one, other, reach in (
                (
                    self.by_scores.mean,
                    self.by_lines.mean,
                    self.by_scores.mean_uncertainty + self.by_lines.mean_uncertainty,
                ),
                (
                    self.by_scores.sd,
                    self.by_lines.sd,
                    self.by_scores.sd_uncertainty + self.by_lines.sd_uncertainty,
                ),
            )
            if np.isfinite(reach)
        ]
        return all(found) if found else None

    def _from(self, field: str) -> Estimate | None:
        """The way that a corrected number comes from: by scores if it has one, else by lines."""
        if self.agree is False:
            return None
        ways = (self.by_scores, self.by_lines)
        return next((way for way in ways if np.isfinite(getattr(way, field))), None)

    def _number(self, field: str, of: str) -> float:
        way = self._from(of)
        return np.nan if way is None else getattr(way, field)

    @property
    def corrected_mean(self) -> float:
        """The target's mean; NaN where it cannot be given."""
        return self._number("mean", "mean")

    @property
    def corrected_sd(self) -> float:
        """The target's sd; NaN where it cannot be given."""
        return self._number("sd", "sd")

    @property
    def corrected_mean_uncertainty(self) -> float:
        """Half of a 95 % interval for the target's mean."""
        return self._number("mean_uncertainty", "mean")

    @property
    def corrected_sd_uncertainty(self) -> float:
        """Half of a 95 % interval for the target's sd."""
        return self._number("sd_uncertainty", "sd")

    @property
    def mean_error(self) -> float:
        """(mean - corrected mean) / corrected sd."""
        return _ratio(self.mean - self.corrected_mean, self.corrected_sd)

    @property
    def mean_error_uncertainty(self) -> float:
        """Half of a 95 % interval for the error of this mean."""
        return _ratio(self.corrected_mean_uncertainty, self.corrected_sd)

    @property
    def mean_error_se(self) -> float:
        """The standard error that `mean_error` has if the draws' distribution is right."""
        error = self._number("mean_error", "mean")
        return _ratio(float(np.hypot(self.mcse_mean, error)), self.corrected_sd)

    @property
    def sd_ratio(self) -> float:
        """sd / corrected sd."""
        return _ratio(self.sd, self.corrected_sd)

    @property
    def sd_ratio_uncertainty(self) -> float:
        """Half of a 95 % interval for the ratio."""
        return _ratio(self.sd_ratio * self.corrected_sd_uncertainty, self.corrected_sd)

    @property
    def sd_ratio_se(self) -> float:
        """The standard error that `sd_ratio` has if the draws' distribution is right.

        The ratio is 1 then, so errors count as shares of each sd. The Monte Carlo error itself is
        too small where the sd is, by chance: 1.96 of it held 0.929 of the ratios of 100 correct
        draws and 0.931 of those of slow chains; as shares of the sd, 0.939 of both (1000
        repetitions each, of normals of 5 coordinates).
        """
        error = self._number("sd_error", "sd")
        return float(np.hypot(_ratio(self.mcse_sd, self.sd), _ratio(error, self.corrected_sd)))

    @property
    def mean_is_biased(self) -> bool:
        """Whether the mean is off by more than its uncertainty and its Monte Carlo error."""
        chance = self._chance(self._number("mean_error", "mean"), self.mcse_mean)
        return abs(self.mean - self.corrected_mean) > self.corrected_mean_uncertainty + chance

    @property
    def sd_is_biased(self) -> bool:
        """Whether the sd is off by more than its uncertainty and its Monte Carlo error.

        That of correct draws, whose sd would be the corrected one.
        """
        mcse = self.mcse_sd * self.corrected_sd / self.sd if self.sd else 0.0
        chance = self._chance(self._number("sd_error", "sd"), mcse)
        return abs(self.sd - self.corrected_sd) > self.corrected_sd_uncertainty + chance

    def _chance(self, error: float, mcse: float) -> float:
        """What comes by chance on top of an uncertainty."""
        return (self.noise - NOISE) * error + self.noise * mcse

    @property
    def way(self) -> str:
        """Where the corrected numbers come from, "scores" or "lines", or "" for none."""
        found = self._from("sd") or self._from("mean")
        return "" if found is None else "scores" if found is self.by_scores else "lines"

    @property
    def reason(self) -> str:
        """Why there is no number where there is none; "" where both are given."""
        if np.isfinite(self.corrected_mean) and np.isfinite(self.corrected_sd):
            return ""
        return wording.summary_reason([self.by_scores.state, self.by_lines.state], self.agree)

    @property
    def verdict(self) -> str:
        """What is wrong with the mean and the sd, or why that cannot be said."""
        at_most = (
            abs(self.mean - self.corrected_mean) + self.corrected_mean_uncertainty,
            abs(self.sd - self.corrected_sd) + self.corrected_sd_uncertainty,
        )
        return wording.summary_verdict(
            self.reason,
            means=(self.mean, self.corrected_mean),
            sds=(self.sd, self.corrected_sd),
            at_most=(_ratio(at_most[0], self.corrected_sd), _ratio(at_most[1], self.corrected_sd)),
            mean_is_biased=self.mean_is_biased,
            sd_is_biased=self.sd_is_biased,
        )

    @property
    def badness(self) -> float:
        """The error of mean or sd in sds, which quantities are ordered by; -1 for those without."""
        unit = self.corrected_sd if np.isfinite(self.corrected_sd) else self.sd
        ratio = np.log(self.sd_ratio) if self.sd_ratio > 0 else np.nan
        errors = [abs(_ratio(self.mean - self.corrected_mean, unit)), abs(ratio)]
        return max((error for error in errors if np.isfinite(error)), default=-1.0)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python objects."""
        return asdict(self) | {name: getattr(self, name) for name in DERIVED}


COLUMNS = (
    "mean",
    "sd",
    "mcse_mean",
    "mcse_sd",
    "corrected_mean",
    "corrected_mean_uncertainty",
    "corrected_sd",
    "corrected_sd_uncertainty",
    "mean_error",
    "mean_error_uncertainty",
    "mean_error_se",
    "sd_ratio",
    "sd_ratio_uncertainty",
    "sd_ratio_se",
)
DERIVED = (*COLUMNS[4:], "agree", "way", "mean_is_biased", "sd_is_biased", "verdict")


def _ratio(value: float, unit: float) -> float:
    """In a unit; NaN where that is 0, as the sd of a constant."""
    return value / unit if unit else np.nan
