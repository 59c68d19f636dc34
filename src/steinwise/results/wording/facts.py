"""How a result was obtained, and how long that will take."""

import math
from collections.abc import Sequence
from textwrap import fill
from typing import Any

from steinwise._internal.counting import counted
from steinwise.results.wording.verdicts import pvalue_with_bound


def draws_fact(draws: Any) -> str:
    """The draws of a `DrawsSummary`."""
    if draws.independent:
        text = f"{draws.n_chains * draws.n_draws} independent draws"
    else:
        text = (
            f"{counted(draws.n_chains, 'chain')} x {draws.n_draws} draws, worth about "
            f"{draws.effective_draws:.0f} independent ones"
        )
    if draws.held_out:
        text += f" ({draws.held_out} more to learn from)"
    return f"{text}; {counted(draws.dim, 'coordinate')}"


def batches_fact(draws: Any) -> str:
    """The batches of a `DrawsSummary`, of which every chain has equally many."""
    per_chain = draws.n_batches // draws.n_chains
    shortest, left_over = divmod(draws.n_draws, per_chain)
    lengths = f"{shortest} or {shortest + 1} draws" if left_over else counted(shortest, "draw")
    text = f"{draws.n_batches}, of {lengths} each"
    if draws.independent:
        return text
    times = f"autocorrelation time {draws.autocorrelation_time:.3g}"
    split = "split " * (draws.n_chains == 1)  # of the halves of a chain, which has no other
    return f"{text}; {times}, largest {split}R-hat {draws.rhat:.3f}"


def evaluations_fact(evaluations: float, lines: int) -> str:
    """What following lines cost, in evaluations of the density that would have taken as long.

    >>> print(evaluations_fact(15.6, 3))
    15.6 evaluations on each of 3 lines through a draw
    >>> print(evaluations_fact(0.951, 3))
    less than one evaluation (0.951) for each of 3 lines through a draw
    """
    where = f"each of {lines} lines" if lines > 1 else "the line"
    if 0 < evaluations < 1:
        return f"less than one evaluation ({evaluations:.3g}) for {where} through a draw"
    return f"{evaluations:.3g} evaluations on {where} through a draw"


def effort_fact(scored: int, followed: int, next_followed: int) -> str:
    """What was looked at, and what the next effort would look at, 0 if there is none.

    >>> effort_fact(4000, 1000, 4000)
    'scores at 4000 draws, lines through 1000; "full" follows 4 times as many'
    >>> effort_fact(0, 1000, 1000), effort_fact(0, 4000, 0)
    ('lines through all 1000 draws ("full" is the same)', 'lines through all 4000 draws')
    """
    if followed and followed >= next_followed:
        same = ' ("full" is the same)' if next_followed else ""
        return f"lines through all {followed} draws{same}"
    if scored == 0:
        times = f"{round(next_followed / followed, 1):g} times as many"
        return f'lines through {followed} draws, without scores; "full" follows {times}'
    looked_at = f"scores at {scored} draws"
    if followed == 0:
        return f'{looked_at}; "standard" follows lines through {next_followed} as well'
    times = f"{round(next_followed / followed, 1):g} times as many"
    return f'{looked_at}, lines through {followed}; "full" follows {times}'


WIDTH = 96  # of what is said while a check runs


def time_ahead(seconds: float, draws: int, fewer: int | None, scores: bool) -> str:
    """How long it will take to follow lines, and what would take less.

    `fewer` are the draws whose lines a standard effort follows, if these are less; `scores` is
    whether the density has scores.

    >>> print(time_ahead(200.0, 4000, 1000, True))
    Following the lines through 4000 draws will take about 3 minutes. effort="standard" follows
    those through 1000, in about 50 seconds; effort="quick" follows none.
    """
    sentence = f"Following the lines through {draws} draws will take about {duration(seconds)}."
    options = []
    if fewer is not None:
        less = duration(seconds * fewer / draws)
        options.append(f'effort="standard" follows those through {fewer}, in about {less}')
    if scores:
        options.append('effort="quick" follows none')
    return fill(" ".join([sentence, *(["; ".join(options) + "."] if options else [])]), WIDTH)


def duration(seconds: float) -> str:
    """A time in words, to about a tenth.

    >>> [duration(seconds) for seconds in (0.4, 34.0, 200.0, 5000.0, 20_000.0)]
    ['1 second', '30 seconds', '3 minutes', '80 minutes', '6 hours']
    """
    units = (("second", 1.0, 100.0), ("minute", 60.0, 100.0), ("hour", 3600.0, math.inf))
    noun, unit, _ = next(one for one in units if seconds < one[1] * one[2])
    count = round(seconds / unit)
    return counted(max(1, round(count, -1) if count >= 20 else count), noun)


def pvalue_fact(p: float, n_bootstrap: int, seed: object) -> str:
    return f"{pvalue_with_bound(p, n_bootstrap)}, seed {seed}"


def statistic_fact(observed: float, threshold: float, alpha: float) -> str:
    """What is compared with the null, as pictures show it.

    >>> statistic_fact(12.345, 2.71, 0.05)
    '12.3; correct draws stay below 2.71 with probability 0.95'
    """
    return (
        f"{observed:.3g}; correct draws stay below {threshold:.3g} with probability {1 - alpha:g}"
    )


def learning_fact(models: Sequence[str], train: int, validation: int, splits: int) -> str:
    """Which models were learned, and from how many draws."""
    several = len(set(models)) > 1
    names = ", ".join(
        f"{model} of {models.count(model)}" if several else model for model in dict.fromkeys(models)
    )
    averaged = f"; {splits} splits averaged" if splits > 1 else ""
    return f"{names}; from {train} draws, validated on {validation}{averaged}"


def precision_fact(dtype: str) -> str:
    return f"the density was evaluated in {dtype}"


def chains_fact(chains: int, draws: int) -> str:
    return f"{counted(chains, 'chain')} x {draws} draws"


def points_fact(count: int, d: int) -> str:
    return f"{count}, in {counted(d, 'coordinate')}"


def ksd_fact(values: Sequence[tuple[int, float]]) -> str:
    """The squared KSD of all points, then of the first few.

    >>> ksd_fact([(20, 0.05), (7, 0.1)])
    '0.05 (squared KSD, 0 is best); 0.1 of the first 7'
    """
    (_, last), *first = values
    earlier = ", ".join(f"{value:.4g} of the first {k}" for k, value in first)
    return f"{last:.4g} (squared KSD, 0 is best){'; ' * bool(earlier)}{earlier}"


def points_headline(points: int) -> str:
    return f"{counted(points, 'point')} placed to represent the density"


def thinned_headline(points: int, draws: int) -> str:
    """With more points than draws, some draws come more than once.

    >>> thinned_headline(20, 1000)
    '20 of 1000 draws chosen to represent the density'
    >>> thinned_headline(80, 60)
    '80 points chosen from 60 draws, some of them more than once, to represent the density'
    """
    if points > draws:
        return (
            f"{points} points chosen from {draws} draws, some of them more than once, to represent "
            "the density"
        )
    return f"{points} of {draws} draws chosen to represent the density"


def repeated_fact(chosen: int, different: int) -> str:
    return f"{chosen - different}: {different} are different"


def counts_fact(counts: Sequence[int]) -> str:
    """A few counts in full, many by their range."""
    if len(counts) <= 8:
        return ", ".join(str(count) for count in counts)
    return f"{min(counts)} to {max(counts)}"


def quarters_fact(counts: Sequence[int]) -> str:
    return ", ".join(str(count) for count in counts) + " from each quarter of the chains"
