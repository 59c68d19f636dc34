"""How far off a coordinate is, by itself and given the others, and which kind of misfit that is."""

from dataclasses import dataclass
from typing import NamedTuple

from steinwise.results.outcomes import Outcome

# Standard errors from which an error of a mean or an sd is reported, and up to which there seems to
# be none. At 3.5, with the t distribution of 64 batches, an error of one of 30 coordinates is
# reported by chance in one check of twenty; at 3, in one of five.
CLEAR, SLIGHT = 3.5, 2.0
CLOSE = 0.2  # sds: an error that may be larger is not said to be none
# Two standard errors of an sd ratio, as a share of it, from which the expected sd is a rough
# estimate: not even the first of its two digits is sure.
ROUGH = 0.25
POWER = 0.8  # with which a test would have found the smallest effects that it reports


class Effect(NamedTuple):
    """How far a coordinate is off, given all others, in terms of the target's conditional.

    It says nothing of the coordinate by itself: draws can be too wide given the others and too
    narrow by themselves, as those of mean-field variational inference are.
    """

    conditional_shift: float  # of the mean, in conditional standard deviations
    conditional_spread: float  # standard deviation, as a multiple of the conditional one
    # a draw farther out than 5 conditional standard deviations counts as one at 5


class Marginal(NamedTuple):
    """A coordinate by itself: its moments in the draws, and estimates of those of the target."""

    mean: float  # of the draws
    sd: float
    expected_mean: float  # of the target, estimated
    expected_sd: float
    mean_error: float  # (mean - expected_mean) / expected_sd
    mean_error_se: float
    sd_ratio: float  # sd / expected_sd
    sd_ratio_se: float

    @property
    def shifted(self) -> bool:
        """Whether the mean is clearly off."""
        return abs(self.mean_error) > CLEAR * self.mean_error_se

    @property
    def as_expected(self) -> bool:
        """Whether mean and sd are what the target's may be."""
        shift, width = SLIGHT * self.mean_error_se, SLIGHT * self.sd_ratio_se
        inside = abs(self.mean_error) <= shift and abs(self.sd_ratio - 1) <= width
        return inside and max(shift, width) <= CLOSE

    @property
    def close(self) -> bool:
        """Whether mean and sd are off by little at most, if at all."""
        shift = abs(self.mean_error) + SLIGHT * self.mean_error_se
        width = abs(self.sd_ratio - 1) + SLIGHT * self.sd_ratio_se
        return max(shift, width) <= CLOSE

    @property
    def rough(self) -> bool:
        """Whether the expected sd is no more than a rough estimate."""
        return 2 * self.sd_ratio_se > ROUGH * self.sd_ratio

    @property
    def rescaled(self) -> bool:
        """Whether the sd is clearly off."""
        return abs(self.sd_ratio - 1) > CLEAR * self.sd_ratio_se


DEPENDENT = ("dependence", "dependence on size", "interaction")  # kinds of it


@dataclass(frozen=True)
class Misfit:
    """What is wrong with a flagged coordinate: a kind, and the numbers that its sentence needs.

    The kind is "shift", "spread", "tails", "shape", "outcome" or "outliers" of the coordinate given
    the others; "dependence", "dependence on size" or "interaction" with others; "" where the method
    tells none.
    """

    kind: str = ""
    partners: tuple[str, ...] = ()  # the coordinates it depends on, where they stand out
    partner_labels: tuple[str, ...] = ()  # as they are printed, where that is not by their names
    has_others: bool = True  # coordinates besides this one, which it is judged given
    outliers: int = 0  # draws where the target's conditional has next to no mass
    lower_bound: bool = False  # the effect is larger than stated: too many draws are far out
    excess_kurtosis: float = 0.0  # of the draws in the target's conditional
    outcome: Outcome | None = None  # of a discrete coordinate, taken too often or too rarely


def named_kind(misfit: Misfit, effect: Effect, marginal: Marginal | None) -> str:
    """The kind that a verdict names, with what is known of the coordinate by itself.

    >>> narrow = Marginal(0.0, 0.71, 0.0, 1.0, 0.0, 0.02, 0.71, 0.02)
    >>> named_kind(Misfit("spread"), Effect(0.0, 1.4), narrow)
    'dependence'
    >>> named_kind(Misfit("spread"), Effect(0.0, 0.7), narrow)
    'spread'
    """
    if marginal is None:
        return misfit.kind
    if (marginal.shifted or marginal.rescaled) and opposed(misfit, effect, marginal):
        return "dependence"
    return "shape" if unlike_moments(misfit, marginal) else misfit.kind


def opposed(misfit: Misfit, effect: Effect, marginal: Marginal) -> bool:
    """Whether the others turn an error round, or make one: then dependence on them is wrong."""
    if misfit.kind == "spread" and misfit.has_others:
        same = (effect.conditional_spread < 1) == (marginal.sd_ratio < 1)
        return not (marginal.rescaled and same)
    if misfit.kind == "shift" and misfit.has_others:
        same = (effect.conditional_shift < 0) == (marginal.mean_error < 0)
        return not (marginal.shifted and same)
    return False


def unlike_moments(misfit: Misfit, marginal: Marginal) -> bool:
    """Whether a single coordinate has a shift or spread that its own mean and sd do not have.

    Then its distribution has another shape: there are no others, given which it could be off.
    """
    return not misfit.has_others and misfit.kind in ("shift", "spread") and marginal.as_expected
