"""Corrected means and sds, and draws that were moved to correct them."""

from collections.abc import Mapping, Sequence

import numpy as np

from steinwise._internal.counting import counted
from steinwise._internal.escaping import listed

MORE_SWEEPS = 3  # times as many, where some did not do
SPLIT = "split wrongly between modes"  # the state of all coordinates
REFRESHED_COLUMNS = ("coordinate", "mean", "refreshed mean", "sd", "refreshed sd", "state")


def sweeps_fact(sweeps: int) -> str:
    return f"{counted(sweeps, 'sweep')} along lines, each coordinate given all others"


def refresh_closing(states: Sequence[str], sweeps: int) -> str:
    """Whether refreshed draws have arrived, and what to do where they have not."""
    moving, remembering = states.count("moving"), states.count("remembers its start")
    if SPLIT in states:
        return "Not settled: sweeps do not cure a wrong split of the draws between modes."
    if not moving and not remembering:
        return (
            "Settled: the second half of the sweeps moved no mean and no sd beyond its error, "
            "draws have forgotten where they started, and a search found no mode with a wrong "
            "share of them."
        )
    counts = [f"{moving} of {len(states)} coordinates still move"] * (moving > 0)
    counts += [f"{remembering} of {len(states)} remember where they started"] * (remembering > 0)
    return (
        f"Not settled: {' and '.join(counts)} after {counted(sweeps, 'sweep')}. Try "
        f"sweeps={MORE_SWEEPS * sweeps}. If that does not help, the target is one in which steps "
        "along lines get stuck: separate modes, or a strong dependence that is not straight. Then "
        "sample it anew."
    )


# why a way gives no number
WAY_STATES = {
    "explains too little": "the regression on scores explains too little",
    "still moving": "refreshed draws still move",
    "not forgotten": "refreshed draws remember where they started",
    "too slow": "the chains are too slow to tell whether refreshed draws have settled",
    "not finite": "draws that are too far out leave no finite numbers along lines",
    "wrong modes": "the draws are split wrongly between modes",
}


UNSETTLED = ("still moving", "not forgotten")  # that more sweeps may change


def summary_reason(states: Sequence[str], agree: bool | None) -> str:
    """Why a number is not given, from the states of the two ways.

    >>> summary_reason(["explains too little", "given"], None)
    'the regression on scores explains too little'
    """
    if agree is False:
        return "the two ways disagree"
    reasons = dict.fromkeys(WAY_STATES[state] for state in states if state != "given")
    return ", and ".join(reasons)


def summary_verdict(
    reason: str,
    *,
    means: tuple[float, float],
    sds: tuple[float, float],
    at_most: tuple[float, float],
    mean_is_biased: bool,
    sd_is_biased: bool,
) -> str:
    """What is wrong with a mean and an sd, or why nothing can be said.

    `means` and `sds` are the drawn and the corrected one, NaN where there is none, for a `reason`;
    `at_most` how far the drawn ones may be off, in corrected sds.

    >>> numbers = {"means": (1.3, 1.0), "sds": (0.71, 1.0), "at_most": (0.32, 0.311)}
    >>> summary_verdict("", **numbers, mean_is_biased=True, sd_is_biased=True)
    'sd too small: 0.71 instead of 1; mean too high by 0.3 sd'
    >>> summary_verdict("", **numbers, mean_is_biased=False, sd_is_biased=False)
    'no bias beyond chance, but mean may be off by 0.32 sd, sd by 31 %'
    >>> numbers = {"means": (1.01, 1.0), "sds": (0.99, 1.0), "at_most": (0.02, 0.02)}
    >>> summary_verdict("", **numbers, mean_is_biased=False, sd_is_biased=False)
    "no bias found: mean within 0.02 sd of the target's, sd within 2 %"
    """
    mean_known, sd_known = np.isfinite(means[1]), np.isfinite(sds[1])
    if not mean_known and not sd_known:
        return f"cannot be corrected: {reason}"
    found = []
    if sd_is_biased:
        size = "small" if sds[0] < sds[1] else "large"
        found.append(f"sd too {size}: {sds[0]:.3g} instead of {sds[1]:.3g}")
    if mean_is_biased:
        found.append(_mean_error(means, sds[1]))
    if not sd_known or not mean_known:
        missing, known = ("sd", "mean") if mean_known else ("mean", "sd")
        found = found or [f"no bias of the {known} found"]
        return f"{found[0]}; {missing} cannot be corrected, because {reason}"
    if found:
        return "; ".join(found)
    if not np.isfinite(at_most).all():  # the sd of a constant
        return "no bias found"
    mean, sd = at_most
    if max(at_most) > LARGE:
        return (
            f"no bias beyond chance, but mean may be off by {mean:.2g} sd, sd by {100 * sd:.2g} %"
        )
    return f"no bias found: mean within {mean:.2g} sd of the target's, sd within {100 * sd:.2g} %"


def _mean_error(means: tuple[float, float], sd: float) -> str:
    size = "high" if means[0] > means[1] else "low"
    if np.isfinite(sd) and sd > 0:
        return f"mean too {size} by {abs(means[0] - means[1]) / sd:.2g} sd"
    return f"mean too {size}: {means[0]:.3g} instead of {means[1]:.3g}"


LARGE = 0.2  # errors, in sds, which "no bias found" would not be a fair word for
EXACT = 1e-5  # sds, ten times what rounding leaves: a regression that explains everything
MOST_DIGITS = 6  # before or after the point
SUMMARY_COLUMNS = ("", "mean", "corrected mean", "sd", "corrected sd", "verdict")


def with_uncertainty(value: float, uncertainty: float, unit: float) -> str:
    """A number and half of its interval, to two digits of the latter, or a hundredth of a unit.

    To as many more as it takes for the uncertainty not to be 0.

    >>> with_uncertainty(1.23456, 0.0123, 1.0)
    '1.235 +- 0.012'
    >>> with_uncertainty(1.23456, 1e-3, 1.0)
    '1.235 +- 0.001'
    >>> with_uncertainty(1.23456, 3e-5, 1.0)
    '1.23456 +- 0.00003'
    >>> with_uncertainty(1.23456, 1e-6, 1.0), with_uncertainty(-1e-9, 1e-6, 1.0)
    ('1.235 (exact)', '0 (exact)')
    >>> with_uncertainty(1.23456e-9, 1e-11, 1e-9)
    '1.235e-09 +- 1e-11'
    >>> with_uncertainty(np.nan, np.nan, 1.0)
    '-'
    """
    if not np.isfinite(uncertainty):
        return "-"
    shown = max(uncertainty, unit / 100)
    digits = max(0, 1 - int(np.floor(np.log10(shown)))) if shown > 0 else 0
    if EXACT * unit < uncertainty < 0.5 * 10.0**-digits:
        digits = -int(np.floor(np.log10(uncertainty)))
    if digits > MOST_DIGITS or max(abs(value), uncertainty) >= 10.0**MOST_DIGITS:
        return f"{value:.4g} +- {uncertainty:.2g}"
    if uncertainty <= EXACT * unit:
        return f"{round(value, digits) + 0.0:g} (exact)"
    return f"{round(value, digits) + 0.0:.{digits}f} +- {uncertainty:.{digits}f}"


def summary_fact(n: int, refreshed: int, sweeps: int) -> str:
    some = "all" if refreshed == n else f"{refreshed}"
    times = "once" if sweeps == 1 else f"{sweeps} times"
    return f"{n} draws; corrections from {some} of them, refreshed {times} along lines"


PLUS_MINUS = "+- is half of a 95 % interval for that number alone, possible bias included."
BEYOND_CHANCE = (
    "What is called too high, low, large or small is beyond chance for all rows together (correct "
    "draws would get such a row one time in twenty), so more draws would probably not cure it."
)
NAMES_SHOWN = 10  # of rows that cannot be corrected for the same reason


def summary_closing(
    count: int,
    missing: Mapping[str, Sequence[str]],
    agree: Sequence[bool],
    unsettled_after: int | None,
    has_uncertainty: bool,
) -> str:
    """What the uncertainties mean, which numbers there are, and what the two ways say of them.

    `missing` are the names of rows that cannot be corrected, by the reason; `agree` whether the two
    ways do, in rows that have both; `unsettled_after` the number of sweeps, None where draws
    settled; `has_uncertainty` whether any number has its +-.

    >>> summary_closing(3, {}, [True, False, True], None, True).split(". ")[3]
    'The two estimates, by scores and by lines, agree for 2 of 3 that have both'
    >>> summary_closing(2, {}, [True, True], None, True).split(". ")[3]
    'The two estimates, by scores and by lines, agree for both rows that have them'
    >>> closing = summary_closing(3, {"refreshed draws still move": ["tau"]}, [], 10, False)
    >>> closing = closing.split(". ")
    >>> closing[2]
    '1 of 3 cannot be corrected, because refreshed draws still move: tau'
    >>> closing[3]
    'More sweeps than 10 may help: sweeps=30 (on the command line, --sweeps 30)'
    """
    sentences = []
    if sum(map(len, missing.values())) < count:
        sentences += ["Rows are sorted by their errors, the worst first."] * (count > 1)
        sentences += [PLUS_MINUS] * has_uncertainty
        sentences.append(BEYOND_CHANCE)
    if agree:
        each = "the one row that has" if len(agree) == 1 else f"all {len(agree)} that have"
        if sum(agree) < len(agree):
            each = f"{sum(agree)} of {len(agree)} that have"
        both = "both rows that have them" if sum(agree) == len(agree) == 2 else f"{each} both"
        sentences.append(f"The two estimates, by scores and by lines, agree for {both}.")
    for reason, names in missing.items():
        which = f": {listed(names, NAMES_SHOWN)}" * (len(names) < count)
        sentences.append(f"{len(names)} of {count} cannot be corrected, because {reason}{which}.")
    if unsettled_after is not None:
        if not missing:
            sentences.append(
                "The draws have not settled along lines, so these numbers come from scores alone, "
                "and there are no quantiles."
            )
        more = MORE_SWEEPS * unsettled_after
        sentences.append(
            f"More sweeps than {unsettled_after} may help: sweeps={more} (on the command line, "
            f"--sweeps {more}). If not, sample the density anew."
        )
    sentences.append("A mode that neither the lines nor the search found does not show here.")
    return " ".join(sentences)
