"""Verdicts on single coordinates."""

import numpy as np

from steinwise._internal.escaping import printable
from steinwise.results.misfit import Effect, Marginal, Misfit
from steinwise.results.wording.phrases import told_apart

NO_MISFIT = "no misfit found"
MISFIT = "misfit"
MARGINAL_MEANING = (
    "The mean error is in standard deviations of the target, the sd ratio that of the draws to the "
    "target; both are estimates, of each coordinate by itself."
)
MARGINAL_UNKNOWN = (
    "A ? stands where these draws and their scores cannot tell; sw.summary, which also moves "
    "draws along lines, may be able to."
)
CONDITIONAL_MEANING = (
    "The conditional shift and spread are those of a coordinate given all others, in units of the "
    "target's conditional. How far its mean and sd are off by themselves cannot be told from these "
    "draws and their scores; sw.summary, which also moves draws along lines, may be able to."
)

DIRECTION_MEANING = (
    "A direction is a weighted sum of coordinates; those with the largest weights are in brackets."
)


def coordinate_verdict(misfit: Misfit, effect: Effect | None, marginal: Marginal | None) -> str:
    """What is wrong with a flagged coordinate: by itself, where that is known, then given others.

    >>> narrow = Marginal(0.0, 0.71, 0.0, 1.0, 0.0, 0.02, 0.71, 0.02)
    >>> coordinate_verdict(Misfit("spread"), Effect(0.0, 1.2), narrow)
    'draws are too narrow (sd 0.71, about 1.0 expected), because their dependence on ... is wrong'
    >>> coordinate_verdict(Misfit("spread"), Effect(0.0, 1.2), None)
    "given the others, draws are too wide (1.2 times the target's conditional sd)"
    """
    effect = effect or Effect(0.0, 1.0)
    given_others = _given_others(misfit, effect)
    if marginal is None or misfit.kind in ("", "outliers"):
        return given_others
    by_itself = _by_itself(marginal)
    if not by_itself:
        said = marginal.as_expected and misfit.kind not in DEPENDENCE
        return f"{'mean and sd are as expected, but ' * said}{given_others}"
    if misfit.kind in DEPENDENCE or opposed(misfit.kind, effect, marginal):
        partners = _partners(misfit) if misfit.kind in DEPENDENCE else "the others"
        return f"{by_itself}, because their dependence on {partners} is wrong"
    if misfit.kind in ("shift", "spread", "shape"):
        return by_itself
    return f"{by_itself}; {given_others}"


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
        sd, expected = told_apart(marginal.sd, marginal.expected_sd)
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


def opposed(kind: str, effect: Effect, marginal: Marginal) -> bool:
    """Whether the others turn an error round, or make one: then dependence on them is wrong."""
    if kind == "spread":
        same = (effect.conditional_spread < 1) == (marginal.sd_ratio < 1)
        return not (marginal.rescaled and same)
    if kind == "shift":
        same = (effect.conditional_shift < 0) == (marginal.mean_error < 0)
        return not (marginal.shifted and same)
    return False


def _given_others(misfit: Misfit, effect: Effect) -> str:
    """What is wrong with the conditional."""
    least = "at least " if misfit.lower_bound else ""
    if misfit.kind == "outliers":
        lie = "draw lies" if misfit.outliers == 1 else "draws lie"
        return f"{misfit.outliers} {lie} where the target's conditional has next to no mass"
    if misfit.kind == "spread":
        spread = effect.conditional_spread
        size = f"{least}{spread:.2g} times the target's conditional sd"
        return f"given the others, draws are too {'narrow' if spread < 1 else 'wide'} ({size})"
    if misfit.kind == "shift":
        size = f"{least}{effect.conditional_shift:+.2g} of the target's conditional sd"
        return f"given the others, draws are shifted by {size}"
    if misfit.kind == "tails":
        weight = "heavier" if misfit.excess_kurtosis > 0 else "lighter"
        return f"given the others, draws have {weight} tails than the target"
    if misfit.outcome is not None:
        value, observed, expected = misfit.outcome
        often = "often" if observed > expected else "rarely"
        shares = f"{_share(observed)}, {_share(expected)} expected"
        return f"draws take {value:g} too {often}: {shares}"
    if misfit.kind == "shape":
        # what is left: draws of another shape, or more draws than those whose moments were taken
        return (
            "given the others, draws differ from the target, with no clear shift, spread or tails"
        )
    if misfit.kind in DEPENDENCE:
        sentence = DEPENDENCE[misfit.kind].format(_partners(misfit))
        return f"{sentence} in a way that the target does not"
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


DEPENDENCE = {
    "dependence": "depends on {0}",
    "dependence on size": "varies with the size of {0}",
    "interaction": "depends on {0} together",
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
