"""Verdicts on all coordinates together, and the p-values in them."""

from collections.abc import Callable, Sequence

import numpy as np

from steinwise._internal.escaping import printable
from steinwise.results.tolerance import ToleranceAnswer
from steinwise.results.wording.phrases import listed


def misfit(alpha: float) -> str:
    return f"Misfit: the draws do not fit the density at level {alpha}."


def no_misfit(alpha: float, detectable: tuple[float, float] | None) -> str:
    """What it means that nothing was found; `detectable` is an `Effect`."""
    text = f"No misfit found at level {alpha}. This does not prove the draws right."
    if detectable is None:
        return text
    shift, spread = detectable
    return (
        f"{text} With probability 0.8 it would have found one coordinate that, given the others, "
        f"is shifted by {shift:.2g} standard deviations or {spread:.2g} times as wide."
    )


def misfit_with_names(p: str, flagged: Sequence[str], modes: str) -> tuple[str, str]:
    """The verdict of the page: its first word, and the rest; `modes` says what of them is wrong."""
    names = f"wrong given the others: {listed(flagged, 5)}" if flagged else ""
    which = "; ".join(part for part in (modes, names) if part) or NO_CULPRIT
    return "Misfit.", f"The draws do not fit the density with p = {p}; {which}."


SMALL = 0.00095  # what is less would be rounded to 0.000, or to a thousandth that it is not
NO_CULPRIT = "no coordinate stands out by itself"


def failed_assertion(p: str, alpha: float) -> str:
    return f"the draws do not fit the density: p = {p} at level {alpha}"


def tolerance_sentence(judged: ToleranceAnswer, label: Callable[[str], str] = str) -> str:
    """Whether errors are beyond what someone accepts; `label` gives names as they are printed.

    >>> numbers = {"tolerance": 0.1, "alpha": 0.05, "error": -0.29, "low": -0.34, "high": -0.24}
    >>> worst = {"coordinate": "alpha", "quantity": "sd"}
    >>> tolerance_sentence(ToleranceAnswer(answer="beyond", **numbers, **worst))
    'Beyond the tolerance of 0.1: the sd of alpha is off by -29 % (-34 % to -24 %).'
    """
    asked = f"the tolerance of {judged.tolerance:g}"
    names = listed([label(name) for name in judged.unknown], 5)
    if judged.answer == "unknown" and np.isnan(judged.error):
        return f"Whether means and sds are within {asked} cannot be told from these draws."
    if judged.quantity == "sd":
        error, low, high = (f"{number:+.0%}" for number in (judged.error, judged.low, judged.high))
        error, low, high = (text.replace("%", " %") for text in (error, low, high))
    else:
        error, low, high = (f"{x:+.2g} sd" for x in (judged.error, judged.low, judged.high))
    worst = f"the {judged.quantity} of {printable(label(judged.coordinate))}"
    if judged.answer == "beyond":
        return f"Beyond {asked}: {worst} is off by {error} ({low} to {high})."
    if judged.answer == "within":
        return f"Within {asked}: no mean or sd is further off; the worst is {worst}, {error}."
    if judged.answer == "unknown":
        return f"Nothing is seen beyond {asked}, but the errors of {names} cannot be told."
    return f"Too few draws to judge {asked}: {worst} is off by {error} ({low} to {high})."


def pvalue(p: float) -> str:
    """A p-value as it is written everywhere: to a thousandth, or to one digit where it is less.

    >>> [pvalue(p) for p in (0.0313, 1 / 1001, 0.00042, 2e-40, 1.0)]
    ['0.031', '0.001', '0.0004', '2e-40', '1.000']
    """
    return f"{p:.3f}" if p >= SMALL else f"{p:.1g}"


def pvalue_with_bound(p: float, n_bootstrap: int) -> str:
    """A p-value, and whether it is the smallest that this many bootstraps can give.

    >>> pvalue_with_bound(1 / 1001, 1000), pvalue_with_bound(2e-40, 1000)
    ('0.001 (the least possible)', '2e-40')
    """
    least = 1 / (n_bootstrap + 1)
    at_bound = least * (1 - 1e-9) <= p < 1.5 * least
    return f"{pvalue(p)}{' (the least possible)' * at_bound}"


def pvalue_sentence(p: str) -> str:
    return f"The p-value is {p}."


def adjusted(p: float) -> str:
    """A p-value that allows for testing all coordinates."""
    return f"adjusted p = {pvalue(p)}"


def dominating(draws: Sequence[str], shown: int, *, far_out: bool) -> str:
    """A handful of draws that a misfit rests on: far out, or half of the statistic."""
    several = len(draws) > 1
    subject = f"{len(draws)} draws" if several else "One draw"
    if far_out:
        whose = "their" if several else "its"
        verb = f"{'lie' if several else 'lies'} far out given {whose} other coordinates"
    else:
        verb = f"make{'' if several else 's'} up half of the statistic"
    return f"{subject} {verb}: {listed(draws, shown)}. Look there first."


def draw_name(chain: int, draw: int, coordinate: str) -> str:
    where = f" in {printable(coordinate)}" if coordinate else ""
    return f"draw {draw} of chain {chain}{where}"
