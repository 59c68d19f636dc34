"""Verdicts on all coordinates together, and the p-values in them."""

from collections.abc import Callable, Sequence

import numpy as np

from steinwise._internal.counting import counted
from steinwise._internal.escaping import listed, printable
from steinwise.results.misfit import POWER
from steinwise.results.tolerance import ToleranceAnswer


def misfit(alpha: float) -> str:
    return f"Misfit: the draws do not fit the density at level {alpha}."


NO_ROW_ALONE = "All rows together are rejected; no single one stands out enough to be named."


def rows_alone(count: int) -> str:
    """That rows have p-values below the level where there is no misfit of all rows together.

    The p-value of all weighs sums over the rows too, adjusted ones only the largest evidence.

    >>> print(rows_alone(1))
    One row by itself is below the level; all rows together, by which the verdict goes, are not.
    Take it as a hint.
    """
    those, them = ("One row by itself is", "it") if count == 1 else (f"{count} rows are", "them")
    return (
        f"{those} below the level; all rows together, by which the verdict goes, are not. Take "
        f"{them} as a hint."
    )


def no_misfit(alpha: float, detectable: tuple[float, float] | None, coordinates: int) -> str:
    """What it means that nothing was found; `detectable` is an `Effect`."""
    text = f"No misfit found at level {alpha}. This does not prove the draws right."
    if detectable is None:
        return text
    shift, spread = detectable
    what = "one coordinate that, given the others, is" if coordinates > 1 else "draws that are"
    return (
        f"{text} With probability {POWER} it would have found {what} shifted by {shift:.2g} "
        f"standard deviations or {_times(spread)} times as wide."
    )


def _times(spread: float) -> str:
    """A factor above 1 that does not look like 1.

    >>> _times(1.5), _times(1.08), _times(1.0092), _times(1.04)
    ('1.5', '1.1', '1.009', '1.04')
    """
    return f"{spread:.2g}" if spread >= 1.05 else f"{1 + float(f'{spread - 1:.1g}'):.6g}"


def misfit_with_names(
    p: str, flagged: Sequence[str], modes: str, looked_at: bool = True
) -> tuple[str, str]:
    """The verdict of the page: its first word, and the rest; `modes` says what of them is wrong.

    `looked_at` is whether coordinates were, by themselves.

    >>> misfit_with_names("0.001", [], "", looked_at=False)[1]
    'The draws do not fit the density with p = 0.001.'
    """
    names = f"flagged: {listed(flagged, 5)}" if flagged else ""
    which = "; ".join(part for part in (modes, names) if part) or NO_CULPRIT * looked_at
    rest = f"; {which}" if which else ""
    return "Misfit.", f"The draws do not fit the density with {p_is(p)}{rest}."


TINY = 1e-300  # numbers below it are 0, or what rounding left of them
SMALL = 0.00095  # what is less would be rounded to 0.000, or to a thousandth that it is not
NO_CULPRIT = "no coordinate stands out by itself"


def failed_assertion(p: str, alpha: float) -> str:
    return f"the draws do not fit the density: {p_is(p)} at level {alpha}"


UNKNOWN_NAMED = 5
TRY_SUMMARY = "sw.summary may be able to estimate them"


def tolerance_sentence(
    judged: ToleranceAnswer, label: Callable[[str], str] = str, *, summary_may_help: bool = True
) -> str:
    """Whether errors are beyond what someone accepts; `label` gives names as they are printed.

    `summary_may_help` is whether `sw.summary` may know what is not known here.

    >>> numbers = {"tolerance": 0.1, "alpha": 0.05, "error": -0.29, "low": -0.34, "high": -0.24}
    >>> worst = {"coordinate": "alpha", "quantity": "sd"}
    >>> tolerance_sentence(ToleranceAnswer(answer="beyond", **numbers, **worst))
    'Beyond the tolerance of 0.1: the sd of alpha is off by -29 % (-34 % to -24 %).'
    >>> answer = ToleranceAnswer(answer="beyond", **numbers, **worst, unknown=("mu", "tau"))
    >>> print(tolerance_sentence(answer)[79:])
    The errors of 2 others are not known, and may be larger: mu, tau. sw.summary may be able to
    estimate them.
    >>> few = {**numbers, "low": -0.63, "high": 0.05}
    >>> print(tolerance_sentence(ToleranceAnswer(answer="too few draws", **few, **worst)))
    Too few draws to judge the tolerance of 0.1: the sd of alpha may be off by -63 % to +5 %
    (estimated: -29 %).
    >>> answer = ToleranceAnswer(answer="unknown", **few, **worst, unknown=("mu", "tau"))
    >>> print(tolerance_sentence(answer))
    Nothing is surely beyond the tolerance of 0.1, but the errors of mu, tau cannot be estimated
    from these draws, and more draws may not help; sw.summary may be able to estimate them. Of the
    others, the sd of alpha may be off by -63 % to +5 % (estimated: -29 %).
    """
    asked = f"the tolerance of {judged.tolerance:g}"
    elsewhere = f"; {TRY_SUMMARY}" * summary_may_help
    unknown = [label(name) for name in judged.unknown]
    if judged.answer == "unknown" and np.isnan(judged.error):
        return (
            f"Whether means and sds are within {asked} is not known: their errors cannot be "
            f"estimated from these draws{elsewhere}."
        )
    if judged.quantity == "sd":
        error, low, high = (f"{number:+.0%}" for number in (judged.error, judged.low, judged.high))
        error, low, high = (text.replace("%", " %") for text in (error, low, high))
    else:
        error, low, high = (f"{x:+.2g} sd" for x in (judged.error, judged.low, judged.high))
    worst = f"the {judged.quantity} of {printable(label(judged.coordinate))}"
    if judged.answer == "beyond":
        others = f" {_others_unknown(unknown, summary_may_help)}" * bool(unknown)
        return f"Beyond {asked}: {worst} is off by {error} ({low} to {high}).{others}"
    if judged.answer == "within":
        return (
            f"Within {asked}: no coordinate's mean or sd is further off; the worst is {worst}, "
            f"{error}."
        )
    # an error that may be 0 is not one that there is
    maybe = f"may be off by {low} to {high} (estimated: {error})"
    if judged.answer == "too few draws":
        return f"Too few draws to judge {asked}: {worst} {maybe}."
    if not unknown:
        return (
            f"Whether {worst} is within {asked} is not known: it {maybe}, and more draws need "
            f"not narrow that{elsewhere}."
        )
    return (
        f"Nothing is surely beyond {asked}, but the errors of {listed(unknown, UNKNOWN_NAMED)} "
        f"cannot be estimated from these draws, and more draws may not help{elsewhere}. "
        f"Of the others, {worst} {maybe}."
    )


def _others_unknown(unknown: Sequence[str], summary_may_help: bool) -> str:
    """That errors besides the worst known one are not known."""
    others, names = counted(len(unknown), "other"), listed(unknown, UNKNOWN_NAMED)
    elsewhere = f" {TRY_SUMMARY}." * summary_may_help
    return f"The errors of {others} are not known, and may be larger: {names}.{elsewhere}"


def pvalue(p: float) -> str:
    """A p-value as it is written everywhere: to a thousandth, or to one digit where it is less.

    >>> [pvalue(p) for p in (0.0313, 1 / 1001, 0.00042, 2e-40, 1.0, 9e-316)]
    ['0.031', '0.001', '0.0004', '2e-40', '1.000', '< 1e-300']
    """
    if p < TINY:
        return f"< {TINY:g}"
    return f"{p:.3f}" if p >= SMALL else f"{p:.1g}"


def p_is(p: str) -> str:
    """A p-value in a sentence.

    >>> p_is(pvalue(0.03)), p_is(pvalue(0.0))
    ('p = 0.030', 'p < 1e-300')
    """
    return f"p {p}" if p.startswith("<") else f"p = {p}"


def pvalue_with_bound(p: float, n_bootstrap: int) -> str:
    """A p-value, and what it rests on: bootstraps, which give none below a least one, or a draw.

    >>> pvalue_with_bound(0.03, 1000), pvalue_with_bound(1 / 1001, 1000)
    ('0.030, 1000 bootstraps', '0.001 (the least of 1000 bootstraps)')
    >>> pvalue_with_bound(2e-40, 1000)
    '2e-40 (the tail probability of one draw that lies far out)'
    """
    least = 1 / (n_bootstrap + 1)
    if p < least * (1 - 1e-9):
        return f"{pvalue(p)} (the tail probability of one draw that lies far out)"
    bootstraps = f"{n_bootstrap} bootstraps"
    return f"{pvalue(p)}{f' (the least of {bootstraps})' if p < 1.5 * least else f', {bootstraps}'}"


def pvalue_sentence(p: str) -> str:
    return f"The p-value is {p}."


def adjusted(p: float) -> str:
    """A p-value that allows for testing all coordinates."""
    return f"adjusted {p_is(pvalue(p))}"


def dominating(
    draws: Sequence[str], shown: int, *, far_out: bool, chains: bool, has_others: bool
) -> str:
    """A handful of draws that a misfit rests on: far out, or half of the statistic.

    Of chains, a place to look at. Those of an approximation are what it does, and no place. A
    single coordinate does not have others, given which a draw is far out.
    """
    several = len(draws) > 1
    subject = f"{len(draws)} draws" if several else "One draw"
    if far_out:
        whose = "their" if several else "its"
        given = f" given {whose} other coordinates" * has_others
        verb = f"{'lie' if several else 'lies'} far out{given}"
    else:
        verb = f"make{'' if several else 's'} up half of the statistic"
    if chains:
        advice = "Look there first."
    else:
        errors = "They may be errors" if several else "It may be an error"
        advice = f"{errors}, or the draws reach where the density does not."
    return f"{subject} {verb}: {listed(draws, shown)}. {advice}"


def draw_name(chain: int | None, draw: int, coordinate: str) -> str:
    """A draw by its number, and by its chain where there are several.

    >>> draw_name(2, 41, "mu"), draw_name(None, 41, "mu")
    ('draw 41 of chain 2 in mu', 'draw 41 in mu')
    """
    where = f" in {printable(coordinate)}" if coordinate else ""
    return f"draw {draw}{'' if chain is None else f' of chain {chain}'}{where}"
