"""Corrected means and sds, and draws that were moved to correct them."""

from collections.abc import Sequence

import numpy as np


def sweeps_fact(sweeps: int) -> str:
    return f"{sweeps} sweep{'s' * (sweeps > 1)} along lines, each coordinate given all others"


def refresh_closing(states: Sequence[str], sweeps: int) -> str:
    """Whether refreshed draws have arrived, and what to do where they have not."""
    moving, remembering = states.count("moving"), states.count("remembers its start")
    if not moving and not remembering:
        return (
            "Settled: the last sweep moved no mean and no sd beyond its error, and draws have "
            "forgotten where they started. (A mode that no line reaches does not show.)"
        )
    counts = [f"{moving} of {len(states)} coordinates still move"] * (moving > 0)
    counts += [f"{remembering} of {len(states)} remember where they started"] * (remembering > 0)
    return (
        f"Not settled: {' and '.join(counts)} after {sweeps} sweep{'s' * (sweeps > 1)}. Try more "
        "sweeps. If that does not help, the target is one in which steps along lines get stuck: "
        "separate modes, or a strong dependence that is not straight. Then sample it anew."
    )


# why a way gives no number
WAY_STATES = {
    "explains too little": "the regression on scores explains too little",
    "still moving": "refreshed draws still move",
    "not forgotten": "refreshed draws remember where they started",
    "too slow": "the chains are too slow to tell whether refreshed draws have settled",
}


def summary_verdict(
    states: Sequence[str],
    *,
    agree: bool | None,
    sds: tuple[float, float],
    mean_error: float,
    mean_is_biased: bool,
    sd_is_biased: bool,
) -> str:
    """What is wrong with a mean and an sd, or why nothing can be said.

    `states` are those of the two ways, `sds` the drawn and the corrected one.

    >>> numbers = {"agree": True, "sds": (0.71, 1.0), "mean_error": 0.3}
    >>> summary_verdict(["given"] * 2, **numbers, mean_is_biased=True, sd_is_biased=True)
    'sd too small: 0.71 instead of 1; mean too high by 0.3 sd'
    """
    if agree is False:
        return "cannot be corrected: the two ways disagree"
    if "given" not in states:
        return f"cannot be corrected: {', and '.join(WAY_STATES[state] for state in states)}"
    wrong = []
    if sd_is_biased:
        drawn, corrected = sds
        size = "small" if drawn < corrected else "large"
        wrong.append(f"sd too {size}: {drawn:.3g} instead of {corrected:.3g}")
    if mean_is_biased:
        wrong.append(f"mean too {'high' if mean_error > 0 else 'low'} by {abs(mean_error):.2g} sd")
    return "; ".join(wrong) or "mean and sd are right within their errors"


MOST_DIGITS = 6  # before or after the point
SUMMARY_COLUMNS = ("", "mean", "corrected mean", "sd", "corrected sd", "verdict")


def with_uncertainty(value: float, uncertainty: float, unit: float) -> str:
    """A number and half of its interval, to two digits of the latter, or a thousandth of a unit.

    >>> with_uncertainty(1.23456, 0.0123, 1.0)
    '1.235 +- 0.012'
    >>> with_uncertainty(1.23456, 1e-9, 1.0)
    '1.235 +- 0.000'
    >>> with_uncertainty(1.23456e-9, 1e-11, 1e-9)
    '1.235e-09 +- 1e-11'
    >>> with_uncertainty(np.nan, np.nan, 1.0)
    '-'
    """
    if not np.isfinite(uncertainty):
        return "-"
    shown = max(uncertainty, unit / 100)
    digits = max(0, 1 - int(np.floor(np.log10(shown)))) if shown > 0 else 0
    if digits > MOST_DIGITS or max(abs(value), uncertainty) >= 10.0**MOST_DIGITS:
        return f"{value:.4g} +- {uncertainty:.2g}"
    return f"{round(value, digits) + 0.0:.{digits}f} +- {uncertainty:.{digits}f}"


def summary_fact(n: int, refreshed: int, sweeps: int) -> str:
    some = "all" if refreshed == n else f"{refreshed}"
    return f"{n} draws; corrections from {some} of them, refreshed {sweeps} times along lines"


def summary_closing(count: int, given: int, compared: int, agree: int, settled: bool) -> str:
    """What the uncertainties mean, how many numbers there are, and what the two ways say of them.

    >>> print(summary_closing(3, 3, 3, 2, True)[55:130])
    The two estimates, by scores and by lines, agree for 2 of 3 that have both.
    """
    none = "" if given == count else f" {count - given} of {count} cannot be corrected."
    if compared:
        each = f"{agree} of {compared}" if agree < compared else f"all {compared}"
        ways = f" The two estimates, by scores and by lines, agree for {each} that have both."
    elif not settled and given:
        ways = (
            " The draws have not settled along lines, so these numbers come from scores alone. Try "
            "a larger number for sweeps= to get a second estimate, and quantiles."
        )
    else:
        ways = ""
    return (
        f"+- is half of a 95 % interval, possible bias included.{ways}{none} Nothing here sees a "
        "mode that no line through a draw reaches."
    )
