"""Verdicts on single coordinates."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steinwise._internal.escaping import printable
from steinwise.results.misfit import DEPENDENT, Effect, Marginal, Misfit, named_kind
from steinwise.results.wording.phrases import to_distinct_digits, value_text
from steinwise.results.wording.verdicts import adjusted

NO_MISFIT = "no misfit found"
MISFIT = "misfit"
MARGINAL_MEANING = (
    "The mean error is in standard deviations of the target, the sd ratio that of the draws to the "
    "target; both are estimates, of each coordinate by itself."
)
MARGINAL_UNKNOWN = (
    "A ? marks an error that cannot be estimated from these draws and their scores; it may be "
    "the largest."
)
SUMMARY_MAY_HELP = "sw.summary, which also moves draws along lines, may be able to estimate it."
GIVEN_OTHERS = (
    "The conditional shift and spread are those of a coordinate given all others, in units of the "
    "target's conditional."
)
GIVEN_NOTHING = (
    "The conditional shift and spread are those of the only coordinate, on a scale on which the "
    "target has mean 0 and sd 1."
)
NO_CONTRADICTION = (
    "An sd ratio below 1 next to a conditional spread above 1 is no contradiction: draws that lack "
    "a dependence are too narrow by themselves, and too wide given the others."
)
MARGINALS_UNKNOWN = (
    "How far its mean and sd are off by themselves cannot be estimated from these draws and their "
    "scores."
)


def both_meaning(coordinates: int) -> str:
    """How to read conditional shifts and spreads next to errors of means and sds."""
    return f"{GIVEN_OTHERS} {NO_CONTRADICTION}" if coordinates > 1 else GIVEN_NOTHING


def conditional_meaning(coordinates: int) -> str:
    """How to read conditional shifts and spreads where there is nothing else."""
    return f"{GIVEN_OTHERS if coordinates > 1 else GIVEN_NOTHING} {MARGINALS_UNKNOWN}"


def directions_meaning(names: Sequence[str]) -> str:
    """What the directions in a table are, which has their numbers only.

    >>> print(directions_meaning(["direction 1 (b - a)", "direction 2 (mu + z[3], ...)"]))
    Directions are weighted sums of coordinates. By the largest weights, direction 1 is b - a;
    direction 2 is mu + z[3], ...
    """
    parts = (name.split(" (", 1) for name in names)
    sums = "; ".join(f"{short} is {largest[:-1]}" for short, largest in parts)
    end = "" if sums.endswith("...") else "."
    return f"Directions are weighted sums of coordinates. By the largest weights, {sums}{end}"


def coordinate_verdict(misfit: Misfit, effect: Effect | None, marginal: Marginal | None) -> str:
    """What is wrong with a flagged coordinate: by itself, where that is known, then given others.

    >>> narrow = Marginal(0.0, 0.71, 0.0, 1.0, 0.0, 0.02, 0.71, 0.02)
    >>> coordinate_verdict(Misfit("spread"), Effect(0.0, 1.2), narrow)
    'draws are too narrow (sd 0.71, about 1.0 expected), because their dependence on ... is wrong'
    >>> coordinate_verdict(Misfit("spread"), Effect(0.0, 1.2), None)
    "given the others, draws are too wide (1.2 times the target's conditional sd); whether they are
    by themselves is not known"
    >>> coordinate_verdict(Misfit("spread", has_others=False), Effect(0.0, 1.2), None)
    "draws are too wide (1.2 times the target's spread)"
    """
    effect = effect or Effect(0.0, 1.0)
    kind = named_kind(misfit, effect, marginal)
    given_others = _given_others(replace(misfit, kind=kind), effect)
    if kind in ("", "outliers"):
        return given_others
    by_itself = "" if marginal is None else _by_itself(marginal)
    if not by_itself:
        return _without_error_by_itself(given_others, replace(misfit, kind=kind), marginal)
    if kind in DEPENDENT:
        partners = _partners(misfit) if misfit.kind == kind else "the others"
        return f"{by_itself}, because their dependence on {partners} is wrong"
    if kind in ("shift", "spread", "shape"):
        return by_itself
    return f"{by_itself}; {given_others}"


def coordinate_line(label: str, sizes: tuple[float, float] | None, p: float, verdict: str) -> str:
    """A coordinate on one line; `sizes` are its mean error and sd ratio, where they are known.

    >>> coordinate_line("mu", (0.142, 0.531), 0.0009, "draws are too narrow")
    'mu: mean error +0.14, sd ratio 0.53, adjusted p = 0.0009: draws are too narrow'
    """
    known = "" if sizes is None else f"mean error {sizes[0]:+.2f}, sd ratio {sizes[1]:.2f}, "
    return f"{printable(label)}: {known}{adjusted(p)}: {verdict}"


def _without_error_by_itself(given_others: str, misfit: Misfit, marginal: Marginal | None) -> str:
    """What is wrong given the others, next to a mean and an sd that are not clearly off.

    "Too wide" is read as of the coordinate by itself, unless a sentence says what is known of that.
    """
    if misfit.kind in DEPENDENT:
        return given_others
    if marginal is not None and marginal.as_expected:
        return f"mean and sd are as expected, but {given_others}"
    if not misfit.has_others or misfit.kind not in ("shift", "spread"):
        return given_others
    if marginal is None:
        return f"{given_others}; whether they are by themselves is not known"
    if marginal.close:
        return f"mean and sd are nearly as expected, but {given_others}"
    return f"{given_others}; whether they are by themselves is not clear"


def _by_itself(marginal: Marginal) -> str:
    """The errors of mean and sd, those that are clear."""
    errors = []
    if marginal.shifted:
        mean, expected = (
            _in_units_of(marginal.expected_sd, number)
            for number in (marginal.mean, marginal.expected_mean)
        )
        errors.append(
            f"shifted by {marginal.mean_error:+.2g} sd (mean {mean}, about {expected} expected)"
        )
    if marginal.rescaled:
        width = "narrow" if marginal.sd_ratio < 1 else "wide"
        sd, expected = to_distinct_digits(marginal.sd, marginal.expected_sd)
        # narrow draws say little of what lies beyond them: their estimate errs on the low side
        about = f"roughly {expected}" if marginal.rough else f"about {expected}"
        more = " or more" if marginal.rough and marginal.sd_ratio < 1 else ""
        errors.append(f"too {width} (sd {sd}, {about}{more} expected)")
    return f"draws are {' and '.join(errors)}" if errors else ""


def _in_units_of(sd: float, number: float) -> str:
    """A number to a hundredth of an sd or so.

    >>> _in_units_of(1.0, 12.3456), _in_units_of(0.01, -1e-17), _in_units_of(300.0, 12.3456)
    ('12.35', '0.0000', '12')
    """
    decimals = max(0, 2 - int(np.floor(np.log10(sd) + 0.01)))  # 0.99 is as good as 1
    return f"{round(number, decimals) + 0.0:.{decimals}f}"


def _given_others(misfit: Misfit, effect: Effect) -> str:
    """What is wrong with the conditional."""
    least = "at least " if misfit.lower_bound else ""
    given = "given the others, " if misfit.has_others else ""
    unit = "the target's conditional sd" if misfit.has_others else "the target's spread"
    if misfit.kind == "outliers":
        lie = "draw lies" if misfit.outliers == 1 else "draws lie"
        where = "the target's conditional" if misfit.has_others else "the target"
        return f"{misfit.outliers} {lie} where {where} has next to no mass"
    if misfit.kind == "spread":
        spread = effect.conditional_spread
        width = "narrow" if spread < 1 else "wide"
        return f"{given}draws are too {width} ({least}{spread:.2g} times {unit})"
    if misfit.kind == "shift":
        return f"{given}draws are shifted by {least}{effect.conditional_shift:+.2g} of {unit}"
    if misfit.kind == "tails":
        weight = "heavier" if misfit.excess_kurtosis > 0 else "lighter"
        return f"{given}draws have {weight} tails than the target"
    if misfit.outcome is not None:
        value, observed, expected = misfit.outcome
        often = "often" if observed > expected else "rarely"
        shares = f"{_share(observed)}, {_share(expected)} expected"
        return f"draws take {value_text(value)} too {often}: {shares}"
    if misfit.kind == "shape":
        # what is left: draws of another shape, or more draws than those whose moments were taken
        return f"{given}draws differ from the target, with no clear shift, spread or tails"
    if misfit.kind in DEPENDENCE:
        return DEPENDENCE[misfit.kind].format(_partners(misfit))
    return MISFIT


def _share(share: float) -> str:
    """
    >>> _share(0.4096), _share(0.0213), _share(0.00034)
    ('0.41', '0.021', '0.00034')
    """
    return f"{share:.2f}" if share >= 0.1 else f"{share:.2g}"


def _partners(misfit: Misfit) -> str:
    """The coordinates that another depends on."""
    return " and ".join(map(printable, misfit.partner_labels or misfit.partners)) or "the others"


# A dependence that the draws lack and one that the target lacks give the same kind of misfit.
DEPENDENCE = {
    "dependence": "its dependence on {0} is wrong",
    "dependence on size": "its dependence on the magnitude of {0} is wrong",
    "interaction": "its dependence on {0} together is wrong",
}

# what it means that a coordinate is flagged, by what a method compares
FLAG_MEANINGS = {
    "": "",
    "conditional": "A coordinate is flagged when its distribution given all others is not the "
    "target's. Where the target's coordinates depend on each other, one wrong coordinate makes "
    "its neighbours' conditionals wrong too, so neighbours of a wrong coordinate can be flagged "
    "with it.",
    "blanket": "A coordinate is flagged when its distribution given its neighbours in the target's "
    "graph is not the target's. A wrong coordinate makes its neighbours' conditionals wrong too, "
    "so they can be flagged with it.",
}
