"""Comparisons and fits."""

from collections.abc import Sequence

from steinwise._internal.escaping import printable
from steinwise.results.wording.coordinates import NO_MISFIT
from steinwise.results.wording.phrases import UNKNOWN

COMPARISON_VERDICTS = {
    "best": "best",
    "worse": "worse than the best",
    "indistinguishable": "indistinguishable from the best",
    "too few draws": "too few independent draws to tell",
}

# how a set of draws compares with the first: if no misfit was found in it, and if one was
SET_STANDINGS = {
    "first": (NO_MISFIT, "best of these, but does not fit"),
    "worse": (f"{NO_MISFIT}, but worse than the best", "does not fit, worse than the best"),
    "indistinguishable": (
        f"{NO_MISFIT}, indistinguishable from the best",
        "does not fit; by means and sds indistinguishable from the best",
    ),
    "unknown": (
        f"{NO_MISFIT}; how far off is not known",
        "does not fit; how far off is not known",
    ),
    "not compared": (
        f"{NO_MISFIT}; could not be compared with the first",
        "does not fit; by means and sds it could not be compared with the first",
    ),
    "no check": ("too few independent draws for a check",) * 2,
}

SETS_MEANING = (
    "The p-value, and how many coordinates are flagged, are those of sw.check. The mean error, in "
    "sds of the target, and the sd ratio are the largest of all coordinates. The largest error is "
    "that of a mean, or of an sd as |log of the sd ratio|, in intervals that hold for all sets "
    "together; more draws make them shorter."
)
SETS_UNKNOWN = (
    'Where the errors of some coordinates are not known, the largest known one has "or worse" or '
    '"or more" after it; a ? stands where nothing is known.'
)
SETS_ORDER = (
    "Sets without a misfit come first, except after a set with one that is clearly closer to the "
    "target; otherwise sets are in the order of their largest errors. A wrong dependence, wrong "
    "tails and missed modes are misfits that need not show in means and sds."
)


def set_verdict(standing: str, *, misfit: bool, worst: str = "") -> str:
    """What the check of a set says, and how the set compares with the first.

    >>> set_verdict("worse", misfit=True, worst="tau: draws have heavier tails than the target")
    'does not fit, worse than the best; tau: draws have heavier tails than the target'
    """
    return f"{SET_STANDINGS[standing][misfit]}{'; ' * bool(worst)}{worst}"


def error_interval(low: float, high: float | None) -> str:
    """
    >>> error_interval(0.0, 0.123), error_interval(0.5, None), error_interval(0.0, None)
    ('0 to 0.12', '0.50 or more', '?')
    """
    least = f"{low:.2f}" if low > 0 else "0"
    if high is None:
        return f"{least} or more" if low > 0 else UNKNOWN
    return f"{least} to {high:.2f}"


def or_worse(number: str, unknown: bool) -> str:
    """The largest known error; an unknown one may be larger.

    >>> or_worse("+0.94", True), or_worse("+0.94", False)
    ('+0.94 or worse', '+0.94')
    """
    return f"{number} or worse" if unknown else number


def sets_closing(
    without_misfit: Sequence[str],
    worse: Sequence[str],
    compared: Sequence[str],
    not_compared: Sequence[str],
    alpha: float,
) -> str:
    """Which sets may be trusted as far as their checks go, and which differences are no chance.

    Of sets that are not `worse`, those were `compared` of which all errors are known.

    >>> print(sets_closing(["NUTS", "HMC"], ["VI"], ["NUTS", "HMC"], [], 0.05))
    No misfit was found in NUTS and HMC. Worse than another set by more than chance, at level 0.05
    for all sets together: VI.
    >>> print(sets_closing([], [], ["ADVI", "VI"], [], 0.05))
    A misfit was found in every set. None is worse than another by more than chance, at level 0.05
    for all sets together.
    >>> print(sets_closing(["NUTS"], [], ["NUTS"], ["VI"], 0.05))
    No misfit was found in NUTS. VI could not be compared with the others by means and sds: some of
    its errors are not known.
    >>> print(sets_closing([], [], [], ["ADVI", "VI"], 0.05))
    A misfit was found in every set. The sets could not be compared by means and sds: some of their
    errors are not known.
    """
    found = (
        f"No misfit was found in {_all_of(without_misfit)}."
        if without_misfit
        else "A misfit was found in every set."
    )
    level = f"by more than chance, at level {alpha} for all sets together"
    sentences = [found]
    if worse:
        sentences.append(f"Worse than another set {level}: {_all_of(worse)}.")
    elif len(compared) > 1:
        none = f"None of {_all_of(compared)}" if not_compared else "None"
        sentences.append(f"{none} is worse than another {level}.")
    if not_compared:
        sentences.append(_not_compared(not_compared, others=bool(worse or compared)))
    return " ".join(sentences)


def _not_compared(names: Sequence[str], *, others: bool) -> str:
    """That nobody knows whether some sets, or all, are worse than the others."""
    who = f"{_all_of(names)} could not be compared with the others"
    whose = "their" if len(names) > 1 else "its"
    return (
        f"{who if others else 'The sets could not be compared'} by means and sds: some of {whose} "
        "errors are not known."
    )


def _all_of(names: Sequence[str]) -> str:
    *most, last = map(printable, names)
    return f"{', '.join(most)} and {last}" if most else last


def comparison_closing(alpha: float) -> str:
    return f"Verdicts hold together at level {alpha}, whichever turned out best."


def fit_closing(converged: bool, discrepancy: float) -> str:
    state = "Converged" if converged else "NOT CONVERGED"
    return f"{state}; the squared discrepancy there is {discrepancy:.4g}."
