"""Several sets of draws against one target: which can be trusted, and how far off is each?

Every set gets the check that `sw.check` would give it, and an interval for its largest error, of a
mean or an sd. The intervals of all sets hold together, whichever has more draws. By KSD, sets can
be ranked instead (`ksd_ranking`).
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np

import steinwise
from steinwise._internal.escaping import printable
from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.options import known_options
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import Estimator, require_estimator, require_level
from steinwise._internal.warn import warn_user
from steinwise.api.check import check
from steinwise.api.entry import (
    call_named,
    enter_effort,
    enter_method,
    enter_target_of,
    run_options,
)
from steinwise.api.ksd_ranking import ScoredSet, default_ksd, rank_by_ksd
from steinwise.api.set_entry import enter_sets
from steinwise.calibration.set_ranking import levels_per_comparison, rank_sets
from steinwise.errors import InputError, SteinwiseWarning, TooFewDraws
from steinwise.methods import Scores, Transported
from steinwise.methods.ksd import KSD
from steinwise.results.check import CheckResult
from steinwise.results.comparison import Comparison
from steinwise.results.set_comparison import SetComparison
from steinwise.results.set_evidence import SetEvidence
from steinwise.results.wording import PROGRESS, set_progress

BOOTSTRAPS = 1000  # of the check of each set, as `sw.check` has, or more where the level is small


@overload
def compare(
    draws: Mapping[str, Any],
    target: Any = ...,
    *,
    method: Literal["transported", "scores"] | Transported | Scores = ...,
    effort: str = ...,
    alpha: float = ...,
    seed: Any = ...,
    independent: bool | None = ...,
    memory: str | int = ...,
    progress: bool | None = ...,
) -> SetComparison: ...
@overload
def compare(
    draws: Mapping[str, Any],
    target: Any = ...,
    *,
    method: Literal["ksd"] | KSD,
    effort: str = ...,
    estimator: Estimator = ...,
    alpha: float = ...,
    seed: Any = ...,
    independent: bool | None = ...,
    memory: str | int = ...,
    progress: bool | None = ...,
) -> Comparison: ...
@known_options
@own_numpy_errors
def compare(
    draws: Mapping[str, Any],
    target: Any = None,
    *,
    method: str | Transported | Scores | KSD = "transported",
    effort: str = "standard",
    estimator: Estimator = "u",
    alpha: float = 0.05,
    seed: Any = 0,
    independent: bool | None = None,
    memory: str | int = "1GiB",
    progress: bool | None = None,
) -> SetComparison | Comparison:
    """Check sets of draws against one density, and order them by how far off they are.

    The table has what `sw.check` says of each set: its p-value, how many coordinates are flagged,
    and the largest errors of a mean, in sds of the target, and of an sd, as a ratio. The larger of
    the two (of a ratio the absolute logarithm) is the largest error of the set. It comes with an
    interval; the intervals of all sets hold together with confidence 1 - alpha. A set is called
    worse only if one of its errors exceeds all errors of another set by more than chance. Two sets
    that are equally far off, such as two that are right, are called different with probability at
    most alpha.

    Sets in which no misfit was found come first, then the others, each by the largest error. The
    p-values are not compared: they fall with the number of draws. A set of few draws, in which
    nothing could be found, comes after one with a misfit that is nearer for all that is known.

    Parameters
    ----------
    draws
        The sets by name, each as in `sw.check`: several samplers, or one at several settings. A
        set that needs options of its own is the pair that its adapter returns:
        ``{"NUTS": idata, "ADVI": sw.from_pymc(drawn, model, independent=True)}``.
    target
        The density, as in `sw.check`, or a model of PyMC or Stan. It may be left out where a set
        brings one, which is then that of all sets: ``{"NUTS": mcmc, "SVI": sw.from_numpyro(svi,
        ...)}``. Where only its scores at the draws
        are known, a dict with `sw.Target.at_draws(scores)` for each set, and ``method="scores"``.
    method
        "transported" or "scores", the check of each set, as in `sw.check`. Or "ksd", the kernelized
        Stein discrepancy with an IMQ kernel (draws that run off to infinity can look near to an RBF
        kernel), or `sw.methods.KSD(kernel)`: then nothing is checked, and sets are ranked by their
        squared KSD, under one kernel, with the standard error of each difference. A bandwidth
        "median" is that of all sets together, each with the same weight. One wrong coordinate
        among many counts for little in a KSD.
    effort
        Of the checks, as in `sw.check`.
    estimator
        Of the KSD. "u" asks which *distribution* is nearer: the value with ever more draws. "v"
        asks which *draws* are nearer, as they are: few draws and slow chains count against a set,
        as for a step size at a given budget.
    alpha
        The level of the check of each set, and that at which one set is called worse than another,
        for all of them together.
    seed
        As in `sw.check`. For KSD, of the rows of the median heuristic, and of the distribution of
        the largest difference.
    independent
        As in `sw.check`, and of all sets. For one of them, pass `sw.Samples.of(draws,
        independent=True)`, or the pair of an adapter, in its place.
    memory, progress
        As in `sw.check`.

    Returns
    -------
    SetComparison
        Prints as a table; `.ranking`, `.candidates`, ``comparison["name"]`` (the check of a set),
        `.to_dict()`, `.to_dataframe()`, `.plot()`. By KSD a `Comparison`, which has
        `.difference(name, other)` in place of checks.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> sets = {
    ...     "shifted": rng.normal(0.8, 1.0, size=(500, 2)),
    ...     "narrow": rng.normal(0.0, 0.8, size=(500, 2)),
    ...     "exact": rng.normal(size=(500, 2)),
    ... }
    >>> found = sw.compare(sets, sw.Gaussian([0, 0], np.eye(2)))
    >>> [ranked.name for ranked in found.ranking]
    ['exact', 'narrow', 'shifted']
    >>> found.candidates
    ('exact',)
    >>> found["narrow"].rejected
    True
    """
    chosen = _method(method)
    enter_effort(effort)
    require_estimator(estimator)
    require_level(alpha)
    run = run_options(seed=seed, memory=memory, progress=progress)
    by_ksd = isinstance(chosen, KSD)
    _refuse_options_of_others(by_ksd, effort, estimator)
    held_by = "sw.compare" if by_ksd else ""
    sets, targets = enter_sets(draws, target, independent, run, held_by)
    with run.stage(PROGRESS["density"]):
        scored = {
            name: call_named(name, enter_target_of, chosen, targets[name], sets[name])
            for name in sets
        }
    if isinstance(chosen, KSD):
        comparison = rank_by_ksd(chosen, scored, estimator, alpha, run)
    else:
        comparison = _compare_checks(chosen, scored, effort, alpha, run)
    for sentence in comparison.notes:
        warn_user(sentence)
    return comparison


def _compare_checks(
    method: Transported | Scores,
    scored: dict[str, ScoredSet],
    effort: str,
    alpha: float,
    run: RunOptions,
) -> SetComparison:
    """Each set checked by itself; their largest errors compared."""
    checks: dict[str, CheckResult] = {}
    refused: dict[str, InputError | TooFewDraws] = {}
    for number, (name, (density, samples)) in enumerate(scored.items(), 1):
        label = set_progress(number, len(scored), printable(name))
        try:
            with run.stage(label), warnings.catch_warnings():
                warnings.simplefilter("ignore", SteinwiseWarning)  # they are notes of the result
                checks[name] = check(
                    samples,
                    density,
                    method=method,
                    alpha=alpha,
                    n_bootstrap=max(BOOTSTRAPS, int(np.ceil(2 / (method.bootstrap_share * alpha)))),
                    seed=run.seed,
                    effort=effort,
                    memory=run.memory,
                    progress=run.progress,
                )
        except (InputError, TooFewDraws) as error:  # too few draws, or scores that overflow
            refused[name] = error
    if not checks:
        name, error = next(iter(refused.items()))
        raise type(error)(f"{printable(name)}: {error}") from error
    level = alpha / levels_per_comparison(len(checks))
    evidence = {name: SetEvidence.of(result, level) for name, result in checks.items()}
    notes = {name: result.notes for name, result in checks.items()}
    notes |= {name: (str(error),) for name, error in refused.items()}
    return SetComparison(
        ranking=rank_sets({name: evidence.get(name) for name in scored}),
        checks=checks,
        description=next(iter(checks.values())).description,
        alpha=alpha,
        notes=_named_notes(notes),
        seed=run.seed,
        version=steinwise.__version__,
    )


def _named_notes(notes: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The notes on each set with its name; those on all of them once."""
    of_all = set.intersection(*map(set, notes.values()))
    own = [
        f"{printable(name)}: {sentence}"
        for name, sentences in notes.items()
        for sentence in sentences
        if sentence not in of_all
    ]
    first = next(iter(notes.values()))
    return (*(sentence for sentence in first if sentence in of_all), *own)


def _method(method: Any) -> Transported | Scores | KSD:
    expected = (
        "'transported', 'scores', 'ksd', or an object such as sw.methods.KSD(kernel). The other "
        "methods have no sizes of errors, and learn from the draws or weigh several statistics: "
        "their numbers judge one set, and do not compare two."
    )
    known = {"transported": Transported, "scores": Scores, "ksd": default_ksd}
    chosen = enter_method(method, known, (Transported, Scores, KSD), expected)
    if isinstance(chosen, KSD) and not chosen.compares:
        raise InputError(f"method is {method!r}: expected {expected}")
    return chosen


def _refuse_options_of_others(by_ksd: bool, effort: str, estimator: str) -> None:
    """Refuse an option that the chosen way of comparing does not have."""
    if by_ksd and effort != "standard":
        raise InputError(
            f"effort is {effort!r}: it is that of checks, and a ranking by KSD has none. Drop it, "
            "or method=."
        )
    if not by_ksd and estimator != "u":
        raise InputError(
            f"estimator is {estimator!r}: it is that of a KSD, and checks have none. Pass "
            "method='ksd' with it, or drop it."
        )
