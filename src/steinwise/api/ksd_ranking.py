"""Sets of draws ranked by KSD: which is nearest to the target, and which are indistinguishable.

Every set gets the same discrepancy with the same settings: one kernel, its bandwidth from all sets
together. Its error comes from batches, by the jackknife. Sets of one shape are cut into the same
batches, and the error of a difference is that of the batchwise differences: right for runs that
have nothing to do with each other, and smaller where they share their random numbers, as one
sampler at two step sizes with one seed does. Sets of different shapes are taken as independent.
"""

from collections.abc import Mapping

import numpy as np

import steinwise
from steinwise._internal.escaping import printable
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import Estimator
from steinwise.calibration.batch_plan import FEWEST_BATCHES, BatchPlan, plan_for_error
from steinwise.calibration.batches import Batches, cut_into
from steinwise.calibration.jackknife import leave_one_out
from steinwise.calibration.ranking import rank
from steinwise.draws.samples import Samples
from steinwise.kernels import IMQ
from steinwise.methods.ksd import KSD
from steinwise.methods.statistics import Gram
from steinwise.results.comparison import Comparison
from steinwise.results.wording import note_text
from steinwise.target import AbstractTarget

POOLED_ROWS = 1000  # of each set, for the bandwidth

ScoredSet = tuple[AbstractTarget, Samples]  # a density, and draws with the scores it knows


def default_ksd() -> KSD:
    """The KSD by which sets of draws and models are compared, and models fitted."""
    return KSD(IMQ("median"))


def rank_by_ksd(
    method: KSD,
    scored: Mapping[str, ScoredSet],
    estimator: Estimator,
    alpha: float,
    run: RunOptions,
) -> Comparison:
    """The sets by their squared KSDs, with the error of every difference."""
    sets = {name: samples for name, (_, samples) in scored.items()}
    grams = _grams(method, scored, run)
    plans = _plans(sets, grams)
    cuts = _cuts(sets, plans)
    values: dict[str, float] = {}
    without: dict[str, np.ndarray | None] = {}
    for name, gram in grams.items():
        (sums,) = gram.batch_sums(cuts[name])
        totals, pairs = sums.values[0, 0], cuts[name].allowed
        if estimator == "v":
            totals = totals + np.diag(cuts[name].sums(gram.diagonal()[0]))
            pairs = np.ones_like(pairs)
        values[name], replicates = leave_one_out(totals, cuts[name], pairs)
        without[name] = None if plans[name] is None else replicates
    ranking = rank(values, without, cuts, alpha, run.seed)
    notes = tuple(
        f"{printable(name)}: {note_text(one)}"
        for name, plan in plans.items()
        if plan
        for one in plan.notes
    )
    return Comparison(
        ranking=ranking.ranked,
        what="draws",
        description=f"ranked by {method.describe()}, squared, {estimator.upper()}-statistic, one "
        "kernel for all",
        alpha=alpha,
        critical=ranking.critical,
        notes=notes,
        seed=run.seed,
        version=steinwise.__version__,
        differences=ranking.differences,
    )


def _grams(method: KSD, scored: Mapping[str, ScoredSet], run: RunOptions) -> dict[str, Gram]:
    """The pairs of each set, under one kernel."""
    pooled = np.concatenate([s.evenly_spaced(POOLED_ROWS) for _, s in scored.values()])
    common = KSD(method.kernel.resolve(pooled, run.seed, per_coordinate=False))
    fitted = {name: common.fitted(samples) for name, (_, samples) in scored.items()}
    return {
        name: fitted[name].gram(fitted[name].scores(target, run), run)
        for name, (target, _) in scored.items()
    }


def _plans(sets: dict[str, Samples], grams: dict[str, Gram]) -> dict[str, BatchPlan | None]:
    """How each set wants to be cut; None where that leaves too few batches for an error."""
    return {
        name: plan_for_error(samples, grams[name].monitored_columns, most=grams[name].most_batches)
        for name, samples in sets.items()
    }


def _cuts(sets: dict[str, Samples], plans: dict[str, BatchPlan | None]) -> dict[str, Batches]:
    """The batches of each set: for all sets of one shape, those of the slowest among them."""
    coarsest: dict[tuple, Batches] = {}
    for name, plan in plans.items():
        shape = _shape(sets[name])
        if plan and (shape not in coarsest or plan.batches.count < coarsest[shape].count):
            coarsest[shape] = plan.batches
    return {
        name: coarsest[_shape(samples)] if plans[name] else cut_into(samples, FEWEST_BATCHES)
        for name, samples in sets.items()
    }


def _shape(samples: Samples) -> tuple[int, int, bool]:
    return samples.n_chains, samples.n_draws, samples.independent
