r"""One set of draws against several models: which fits best, and which are indistinguishable.

All models are judged on the same draws with one kernel and, for KCC-SD, one stand-in for the
conditionals of the draws, which do not depend on the model. The error of a difference is that of
the batchwise differences, by the jackknife: what the models share cancels.

The difference of two unbiased squared discrepancies is a U-statistic whose first-order part
vanishes only where the two models are the same. With scores b and b + c a, and the first model
right, the difference is :math:`c^2 |w|^2`, :math:`w = E\, a(y) k(\cdot, y)`, its first-order part
has standard deviation of order :math:`c / \sqrt{n}` and its second-order part c / n: the normal
approximation holds for t however near the models are to each other. Only equal models leave 0 / 0,
and these are called indistinguishable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import steinwise
from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import require_level
from steinwise._internal.warn import warn_user
from steinwise.api.entry import (
    call_named,
    enter_draws,
    enter_method,
    enter_target_of,
    named,
    run_options,
)
from steinwise.api.ksd_ranking import default_ksd
from steinwise.calibration.batch_plan import FEWEST_BATCHES, BatchPlan, plan_for_error
from steinwise.calibration.batches import cut_into
from steinwise.calibration.jackknife import leave_one_out, leave_one_out_mean
from steinwise.calibration.ranking import rank
from steinwise.conditionals import Linear
from steinwise.conditionals.base import refuse_target
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.methods.kccsd import KCCSD, FittedKCCSD
from steinwise.methods.ksd import KSD, FittedKSD
from steinwise.methods.statistics import AbstractStatistic, FeatureProduct, Mean
from steinwise.results.comparison import Comparison
from steinwise.results.wording import note_text
from steinwise.target import AbstractTarget

ROWS_PER_CHUNK = 2**14


@own_numpy_errors
def compare_models(
    draws: Any,
    models: Mapping[str, Any],
    *,
    method: str | KSD | KCCSD = "ksd",
    alpha: float = 0.05,
    seed: Any = 0,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    memory: str | int = "1GiB",
    progress: bool | None = None,
) -> Comparison:
    r"""Rank models, each known up to a constant, by their distance from one set of draws.

    "ksd" compares unbiased squared KSDs. "kccsd" learns a stand-in r for the conditionals of the
    draws on a part of them, once, and compares on the others

    .. math:: \sum_j \Big(E\, h_j(x)\Big)^2, \qquad
        h_j(x) = E_{y \sim r} k_{cc}^j(x_j, y) / \sqrt{E_{y, y' \sim r} k_{cc}^j(y, y')}

    without bias. Each mean is 0 for the right model *whatever r is*, and in absolute value at most
    the unit-ball KCC-SD, which it reaches at r = q.

    Parameters
    ----------
    draws, names, independent, memory, progress
        As in `sw.check`.
    models
        The densities by name, each as the target of `sw.check`, all on the space of the draws.
    method
        "ksd" (with an IMQ kernel), "kccsd" (with `conditionals.Linear`), `sw.methods.KSD(kernel)`,
        or `sw.methods.KCCSD(conditional, variant="unit-ball")`. The norm variant of KCC-SD is taken
        with q's own conditionals only (`conditionals.Sampler`), as its plain mean: with a learned
        stand-in that mean can be lower for a wrong model than for the right one.
    alpha
        The level at which models are called different, for all pairs together: the verdicts hold
        although the best was chosen by the same draws.
    seed
        For what is learned, the median heuristic, and the distribution of the largest difference.

    Returns
    -------
    Comparison
        Prints as a table; `.ranking`, `.candidates` (with confidence 1 - alpha the best is among
        them), `.difference(name, other)`, `.to_dict()`, `.to_dataframe()`, `.plot()`. The best of
        some models need not be right: `sw.check` tests that.

    Examples
    --------
    >>> import numpy as np, jax.numpy as jnp, steinwise as sw
    >>> draws = np.random.default_rng(0).standard_t(3, size=(1000, 1))
    >>> models = {
    ...     "normal": lambda x: -jnp.sum(x**2) / 2,
    ...     "t, 3": lambda x: -2 * jnp.sum(jnp.log1p(x**2 / 3)),
    ...     "t, 30": lambda x: -31 / 2 * jnp.sum(jnp.log1p(x**2 / 30)),
    ... }
    >>> found = sw.compare_models(draws, models)
    >>> [ranked.name for ranked in found.ranking], found.candidates
    (['t, 3', 't, 30', 'normal'], ('t, 3',))
    """
    chosen = _method(method)
    require_level(alpha)
    run = run_options(seed=seed, memory=memory, progress=progress)
    samples = enter_draws(
        draws, run, names=names, independent=independent, held_by="sw.compare_models"
    )
    densities = _models(models, chosen, samples)

    fitted = _prepared(chosen, samples, run)
    statistics = {
        name: call_named(name, _statistic, _scored(fitted, density, scored), density, run)
        for name, (density, scored) in densities.items()
    }
    plan = _plan(fitted.samples, list(statistics.values()))
    cut = cut_into(fitted.samples, FEWEST_BATCHES) if plan is None else plan.batches
    values: dict[str, float] = {}
    without: dict[str, np.ndarray | None] = {}
    for name, statistic in statistics.items():
        (sums,) = statistic.batch_sums(cut)
        if sums.paired:
            values[name], replicates = leave_one_out(sums.values[0, 0], cut, cut.allowed)
        else:
            values[name], replicates = leave_one_out_mean(sums.values[0].sum(axis=0), cut)
        without[name] = None if plan is None else replicates
    ranking = rank(values, without, dict.fromkeys(densities, cut), alpha, seed)
    notes = [*(() if plan is None else plan.notes), *fitted.notes()]
    sentences = tuple(note_text(note) for note in notes)
    for sentence in sentences:
        warn_user(sentence)
    return Comparison(
        ranking=ranking.ranked,
        what="model",
        description=f"{fitted.describe()}, {fitted.samples.n} draws, the same for all models",
        alpha=alpha,
        critical=ranking.critical,
        notes=sentences,
        seed=seed,
        version=steinwise.__version__,
        differences=ranking.differences,
    )


def _method(method: Any) -> KSD | KCCSD:
    expected = (
        "'ksd', 'kccsd', sw.methods.KSD(kernel) or sw.methods.KCCSD(conditional, "
        "variant='unit-ball'). The other methods weigh several statistics or look at the model to "
        "choose one: their numbers do not compare two."
    )
    named = {
        "ksd": default_ksd,
        "kccsd": lambda: KCCSD(Linear(), variant="unit-ball"),
    }
    chosen = enter_method(method, named, (KSD, KCCSD), expected)
    if isinstance(chosen, KSD):
        if not chosen.compares:
            raise InputError(f"method is {method!r}: expected {expected}")
        return chosen
    refuse_target(chosen.conditional)
    if chosen.splits > 1:
        raise InputError(
            f"splits is {chosen.splits}: models are compared on the draws of one split, whose "
            "errors are known. Drop splits=."
        )
    if chosen.variant == "norm" and chosen.conditional.learns:
        raise InputError(
            "the norm variant of KCC-SD with a learned stand-in r is no distance: its mean is 0 "
            "for the right model and can be negative for a wrong one, as where r is wider than the "
            "draws' conditionals. Use variant='unit-ball', whose squared means are compared."
        )
    return chosen


def _prepared(method: KSD | KCCSD, samples: Samples, run: RunOptions) -> FittedKSD | FittedKCCSD:
    """The method made ready without a look at any model."""
    if isinstance(method, KSD):
        return method.fitted(samples)
    return next(method.prepare(samples, None, run))


def _models(
    models: Any, method: KSD | KCCSD, samples: Samples
) -> dict[str, tuple[AbstractTarget, Samples]]:
    if not isinstance(models, Mapping) or len(models) < 2:
        raise InputError(
            f"models is of type {type(models).__name__}: expected a dict of at least two "
            'densities, such as {"normal": log_density, "t": other_log_density}.'
        )
    return {
        name: call_named(name, enter_target_of, method, model, samples)
        for name, model in named(models, "models").items()
    }


def _scored(
    fitted: FittedKSD | FittedKCCSD, density: AbstractTarget, samples: Samples
) -> FittedKSD | FittedKCCSD:
    """What was fitted to all draws, or to some, with the scores that are known of one model."""
    if isinstance(fitted, FittedKSD):
        return replace(fitted, samples=samples)
    return replace(fitted, samples=fitted.samples.scored_by(density))


def _statistic(
    fitted: FittedKSD | FittedKCCSD, target: AbstractTarget, run: RunOptions
) -> AbstractStatistic:
    """What is averaged for one model: without bias, and least for the right one."""
    if isinstance(fitted, FittedKSD):
        return fitted.statistic(target, run)
    contributions = fitted.contributions(target, run)
    if fitted.method.variant == "norm":
        return Mean(contributions)
    columns = contributions[:, None, None]  # one setting, whose features are the coordinates

    def both(part: slice) -> tuple[np.ndarray, np.ndarray]:
        return columns[part], columns[part]

    return FeatureProduct(len(columns), both, ROWS_PER_CHUNK)


def _plan(samples: Samples, statistics: list[AbstractStatistic]) -> BatchPlan | None:
    """Batches that are long enough for every model; None where too few are left for an error."""

    def monitored_columns(start: int, x: np.ndarray, scores: np.ndarray | None) -> np.ndarray:
        return np.concatenate([s.monitored_columns(start, x, scores) for s in statistics], axis=1)

    return plan_for_error(samples, monitored_columns, most=statistics[0].most_batches)
