"""What the functions that give the value of a discrepancy share."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from steinwise._internal.run_options import RunOptions
from steinwise._internal.warn import warn_user
from steinwise.api.entry import enter_draws, enter_target_of, run_options
from steinwise.calibration.batch_plan import FEWEST_BATCHES, BatchPlan, plan_batches
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import cut_into
from steinwise.calibration.jackknife import standard_error
from steinwise.draws.samples import Samples
from steinwise.errors import TooFewDraws
from steinwise.methods.base import AbstractFitted, AbstractMethod
from steinwise.methods.statistics import AbstractStatistic
from steinwise.results.wording import note_text
from steinwise.target import AbstractTarget


def pair_mean(different: Any, own: Any, n: int) -> Any:
    """The mean over pairs of different draws or, with `own`, over all pairs.

    Both are sums: over pairs of different draws, and over those of a draw with itself.
    """
    return different / (n * (n - 1)) if own is None else (different + own) / n**2


def enter_discrepancy(
    method: AbstractMethod,
    draws: Any,
    target: Any,
    *,
    seed: Any,
    names: Sequence[str] | None,
    independent: bool | None,
    memory: str | int,
    progress: bool | None = None,
) -> tuple[Samples, AbstractTarget, RunOptions]:
    """The draws in memory, the density, and how to go about them."""
    run = run_options(seed=seed, memory=memory, progress=progress)
    held_by = "a discrepancy by itself"
    given = enter_draws(draws, run, names=names, independent=independent, held_by=held_by)
    density, samples = enter_target_of(method, target, given)
    return samples, density, run


def warn_of_bandwidth(fitted: AbstractFitted) -> None:
    """Warn of a kernel that the draws do not suit; how well a stand-in learned is for a check."""
    for one in fitted.notes():
        if one.kind == "bandwidth far":
            warn_user(note_text(one))


def plan_or_warn(samples: Samples, statistic: AbstractStatistic) -> BatchPlan | None:
    """The batches for a standard error; None, with a warning, where there are too few draws."""
    try:
        columns, most = statistic.monitored_columns, statistic.most_batches
        return plan_batches(samples, columns, most=most, least=FEWEST_BATCHES)
    except TooFewDraws as error:
        warn_user(f"no standard error: {error}")
        return None


def error_and_sums(
    samples: Samples, statistic: AbstractStatistic
) -> tuple[float | None, BatchSums]:
    """The standard error, None where there are too few draws; and the sums."""
    plan = plan_or_warn(samples, statistic)
    batches = cut_into(samples, statistic.most_batches) if plan is None else plan.batches
    sums = list(statistic.batch_sums(batches))
    joined = BatchSums(np.concatenate([s.values for s in sums], axis=1), batches)
    return None if plan is None else standard_error(joined), joined
