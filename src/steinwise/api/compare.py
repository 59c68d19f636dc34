"""Several sets of draws against one target: which is nearest, and which cannot be told apart.

Every set gets the same discrepancy with the same settings: one kernel, its bandwidth from all sets
together. Its error comes from batches, by the jackknife. Sets of one shape are cut into the same
batches, and the error of a difference is that of the batchwise differences: right for runs that
have nothing to do with each other, and smaller where they share their random numbers, as one
sampler at two step sizes with one seed does. Sets of different shapes are taken as independent.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import steinwise
from steinwise._internal.escaping import printable
from steinwise._internal.notes import Note, note
from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import Estimator, require_estimator, require_level
from steinwise.api.check import check
from steinwise.api.entry import (
    call_named,
    enter_draws,
    enter_method,
    enter_target_of,
    named,
    run_options,
)
from steinwise.calibration.batch_plan import FEWEST_BATCHES, BatchPlan, plan_for_error
from steinwise.calibration.batches import Batches, cut_into
from steinwise.calibration.jackknife import leave_one_out
from steinwise.calibration.ranking import rank
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, SteinwiseWarning, TooFewDraws
from steinwise.kernels import IMQ
from steinwise.methods.ksd import KSD
from steinwise.methods.statistics import Gram
from steinwise.results.comparison import Comparison, Ranked
from steinwise.results.set_evidence import SetEvidence
from steinwise.results.wording import note_text
from steinwise.target import AbstractTarget, ScoresAtDraws

POOLED_ROWS = 1000  # of each set, for the bandwidth
BOOTSTRAPS = 1000  # of the check of each set, as `sw.check` has


@own_numpy_errors
def compare(
    draws: Mapping[str, Any],
    target: Any,
    *,
    method: str | KSD = "ksd",
    estimator: Estimator = "u",
    alpha: float = 0.05,
    seed: Any = 0,
    independent: bool | None = None,
    memory: str | int = "1GiB",
) -> Comparison:
    """Rank sets of draws by their distance from one density, and check each of them.

    The table has what a quick `sw.check` says of each set (its p-value, how many coordinates are
    flagged, the largest errors of a mean and of an sd), and the discrepancy by which sets are
    ranked, with the difference to the best. That is a KSD, and not the numbers of the checks: a
    p-value falls with the number of draws, so it is no distance, and errors of means and sds cannot
    be told of just those sets that are far off, nor do they see a wrong dependence. Where the check
    of the best finds a misfit, its verdict says so; where that of another finds none, a note does.

    Parameters
    ----------
    draws
        The sets by name, each as in `sw.check`: several samplers, or one at several settings.
    target
        The density, as in `sw.check`. Where only its scores at the draws are known, a dict with
        `sw.Target.at_draws(scores)` for each set.
    method
        "ksd", the kernelized Stein discrepancy with an IMQ kernel (draws that run off to infinity
        can look near to an RBF kernel), or `sw.methods.KSD(kernel)`. A bandwidth "median" is
        that of all sets together, each with the same weight.
    estimator
        "u" asks which *distribution* is nearer: the value with ever more draws. "v" asks
        which *draws* are nearer, as they are: few draws and slow chains count against a set, as
        for a step size at a given budget.
    alpha
        The level at which sets are told apart, for all pairs together.
    seed
        For the rows of the median heuristic, and the distribution of the largest difference.
    independent, memory
        As in `sw.check`.

    Returns
    -------
    Comparison
        Prints as a table; `.ranking`, `.candidates`, `.difference(name, other)`, `.to_dict()`,
        `.to_dataframe()`, `.plot()`.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> z = np.random.default_rng(0).normal(size=(500, 2))
    >>> sets = {"exact": z, "a little wide": 1.1 * z, "shifted": z + 0.5}
    >>> found = sw.compare(sets, sw.Gaussian([0, 0], np.eye(2)))
    >>> [ranked.name for ranked in found.ranking]
    ['exact', 'a little wide', 'shifted']
    >>> found.ranking[2].verdict
    'worse than the best'
    """
    chosen = _method(method)
    require_estimator(estimator)
    require_level(alpha)
    run = run_options(seed=seed, memory=memory)
    sets = _sets(draws, independent, run)
    targets = _targets(target, sets)
    scored = {
        name: call_named(name, enter_target_of, chosen, targets[name], sets[name]) for name in sets
    }

    grams = _grams(chosen, scored, run)
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
    ranking = rank(values, without, cuts, alpha, seed)
    ranked = tuple(
        replace(one, evidence=_evidence(*scored[one.name], alpha, run)) for one in ranking.ranked
    )
    notes = [
        f"{printable(name)}: {note_text(one)}"
        for name, plan in plans.items()
        if plan
        for one in plan.notes
    ]
    notes += map(note_text, _against_checks(ranked))
    for sentence in notes:
        warnings.warn(sentence, SteinwiseWarning, stacklevel=3)
    return Comparison(
        ranking=ranked,
        what="draws",
        description=f"ranked by {chosen.describe()}, squared, {estimator.upper()}-statistic, one "
        "kernel for all",
        alpha=alpha,
        critical=ranking.critical,
        notes=tuple(notes),
        seed=seed,
        version=steinwise.__version__,
        differences=ranking.differences,
    )


def _evidence(
    density: AbstractTarget, samples: Samples, alpha: float, run: RunOptions
) -> SetEvidence | None:
    """What a quick check says of one set; None where it is no verdict that a check could give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteinwiseWarning)  # the comparison has its own notes
        try:
            return SetEvidence.of(
                check(
                    samples,
                    density,
                    method="scores",
                    alpha=alpha,
                    n_bootstrap=max(BOOTSTRAPS, int(np.ceil(2 / alpha))),
                    seed=run.seed,
                    memory=run.memory,
                )
            )
        except (InputError, TooFewDraws):  # too few draws, or scores that overflow
            return None


def _against_checks(ranked: Sequence[Ranked]) -> tuple[Note, ...]:
    """A note where the best has a misfit, and another has none that its check could find."""
    best, *others = ranked
    passed = [one.name for one in others if one.evidence and not one.evidence.rejected]
    if best.evidence is None or not best.evidence.rejected or not passed:
        return ()
    return (note("ranking against checks", best=best.name, passed=" and ".join(passed)),)


def _method(method: Any) -> KSD:
    expected = (
        "'ksd' or sw.methods.KSD(kernel). The other methods learn from the draws or weigh several "
        "statistics: their numbers judge one set, and do not compare two."
    )
    chosen = enter_method(method, {"ksd": lambda: KSD(IMQ("median"))}, KSD, expected)
    if not chosen.compares:
        raise InputError(f"method is {method!r}: expected {expected}")
    return chosen


def _sets(draws: Any, independent: bool | None, run: RunOptions) -> dict[str, Samples]:
    if not isinstance(draws, Mapping) or len(draws) < 2:
        raise InputError(
            f"draws is of type {type(draws).__name__}: expected a dict of at least two sets, such "
            'as {"step 0.1": draws, "step 0.2": other_draws}.'
        )
    sets = {}
    for name, given in named(draws, "draws").items():
        sets[name] = call_named(name, _enter_set, given, independent, run)
    dims = {name: samples.dim for name, samples in sets.items()}
    if len(set(dims.values())) > 1:
        raise InputError(f"the sets have different numbers of coordinates: {dims}.")
    (first, one), *others = sets.items()
    for name, other in others:
        _require_same_order(first, one.names, name, other.names)
    return sets


def _require_same_order(
    first: str, names: Sequence[str], second: str, others: Sequence[str]
) -> None:
    """Refuse sets that have a coordinate of one name at different places."""
    place = {name: j for j, name in enumerate(names)}
    for j, name in enumerate(others):
        if place.get(name, j) != j:
            raise InputError(
                f"{printable(name)} is coordinate {place[name]} of {printable(first)} and "
                f"coordinate {j} of {printable(second)}: expected one order, the density's. For a "
                "data frame, frame[columns] puts the columns in order."
            )


def _enter_set(draws: Any, independent: bool | None, run: RunOptions) -> Samples:
    return enter_draws(draws, run, independent=independent, held_by="sw.compare")


def _targets(target: Any, sets: dict[str, Samples]) -> Mapping[str, Any]:
    """The density for each set: one for all, unless only scores at the draws are known."""
    if not isinstance(target, Mapping):
        if isinstance(target, ScoresAtDraws):
            raise InputError(
                "target is sw.Target.at_draws(scores), the scores at the draws of one set: "
                "expected those of each, a dict of such targets with the names of the sets."
            )
        return dict.fromkeys(sets, target)
    given = named(target, "target")
    if given.keys() != sets.keys():
        raise InputError(
            f"target is of type dict with the names {sorted(given)}, and the sets are "
            f"{sorted(sets)}: expected a target for each set, all of one density."
        )
    return given


def _grams(
    method: KSD, scored: dict[str, tuple[AbstractTarget, Samples]], run: RunOptions
) -> dict[str, Gram]:
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
