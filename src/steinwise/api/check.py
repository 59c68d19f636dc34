"""`sw.check`: draws and a density in, a verdict out."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import steinwise
from steinwise._internal.coordinates import choose_coordinates
from steinwise._internal.counting import counted
from steinwise._internal.notes import Note, note
from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.options import known_options
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import (
    require_at_least,
    require_level,
    require_share,
    require_whole,
)
from steinwise._internal.warn import warn_user
from steinwise.api.coordinate_facts import with_errors, with_scales
from steinwise.api.entry import (
    enter_draws,
    enter_effort,
    enter_method,
    enter_target_of,
    run_options,
)
from steinwise.api.recognition import recognised
from steinwise.api.suspicions import NOT_NORMALISED, about_overflow, suspicions, transposed
from steinwise.calibration.batch_plan import MIN_BATCHES, BatchPlan, plan_batches
from steinwise.calibration.families import require_room
from steinwise.calibration.pvalues import Calibration, average_over_splits
from steinwise.draws.samples import Samples
from steinwise.draws.scales import coordinate_labels
from steinwise.errors import InputError
from steinwise.methods import NAMES, by_name
from steinwise.methods.base import AbstractFitted, AbstractMethod, Evidence
from steinwise.methods.statistics import AbstractStatistic
from steinwise.results.check import CheckResult
from steinwise.results.findings import DrawsSummary
from steinwise.results.wording import PROGRESS, note_text
from steinwise.target import AbstractTarget, ScoresAtDraws
from steinwise.target.support import is_real

DOMINATED = 0.9  # the share of one term in the variance of the null, beyond which signs say little


@known_options
@own_numpy_errors
def check(
    draws: Any,
    target: Any = None,
    *,
    method: str | AbstractMethod = "transported",
    alpha: float = 0.05,
    n_bootstrap: int = 1000,
    seed: Any = 0,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    batch_length: int | None = None,
    coordinates: int | Sequence[str] | Sequence[int] | None = None,
    effort: str = "standard",
    tolerance: float | None = None,
    evaluations: float | None = None,
    memory: str | int = "1GiB",
    dtype: str = "float64",
    progress: bool | None = None,
) -> CheckResult:
    """Test whether draws come from a density, and which coordinates do not.

    Parameters
    ----------
    draws
        (n, d) for independent draws, (chain, draw, d) for MCMC, a data frame, or a `sw.Samples`.
        They and the density must be in the same unconstrained space. The default method reads
        memory-mapped arrays, and arrays of zarr and HDF5, by chunk, and works on a Dask array where
        its chunks are.
    target
        A log density (a JAX-traceable function of one draw), `sw.Target(...)`,
        `sw.Target.from_score(...)` or `sw.Gaussian(...)`; or `sw.Target.at_draws(scores)`, where
        only the scores at the draws are known, for the methods that need no more. What an adapter
        knows is recognised: ``sw.check(mcmc)`` of NumPyro, ``sw.check(sampler)`` of emcee,
        ``sw.check(idata, model)`` of PyMC, ``sw.check(fit, model)`` of Stan, ``sw.check(states,
        logdensity_fn)`` of BlackJAX, and the pair that an adapter returns.
    method
        "transported" (the default: the conditional probability transform of every coordinate, see
        `sw.methods.Transported`), "scores" (the same from the scores at the draws alone), "kccsd"
        (learned conditionals), "ksd", "nystrom", "graphical", "ksdagg", "fssd", "rfsd", "psd",
        "lambda_psd", "sksd", or a method object such as
        `sw.methods.KCCSD(sw.conditionals.Linear())`.
    alpha
        The level of the test.
    n_bootstrap
        Sign vectors drawn for the null; the least p-value is 1 / (n_bootstrap + 1).
    seed
        An integer or a JAX key. The same inputs and seed give the same numbers.
    names
        One name per coordinate.
    independent
        True to take the draws as independent whatever their shape, False to take (n, d) as one
        chain. By default (n, d) is independent, and refused if its rows are autocorrelated.
    batch_length
        Draws per batch, instead of 5 autocorrelation times of the slowest average.
    coordinates
        Which coordinates get a verdict: their names or numbers, names of vectors for all of their
        entries, or how many to draw at random. All by default; the cost is theirs. The others still
        count as those on which they may depend. The default method follows no directions then,
        unless all are chosen.
    effort
        What the default method looks at. "quick": the scores at the draws, one gradient per draw,
        as ``method="scores"`` does. "standard": these, and lines through 1000 to 2000 draws, evenly
        spaced, or of 500 or more with more than 80 coordinates; of fewer draws, lines through all.
        "full": lines through all draws.
    tolerance
        Ask as well whether any mean is off by more than this many sds of the target, or any sd by
        more than this share: 0.1 for a tenth of an sd and 10 %. With enough draws every
        approximation is rejected; this says whether its errors matter. See `result.tolerance`.
    evaluations
        The most evaluations of the density that the check may cost. Where all draws would cost
        more, every k-th draw of each chain is tested, and a note says so. Modes are not looked for
        then. What lines cost is tried on up to 64 draws; the check may cost a quarter more.
    memory
        The budget for working arrays, such as "500MB" or "2GiB". It changes no number, or, where
        networks are trained, the last digits.
    dtype
        "float64", or "float32" for the bulk of the work: sums over draws and bootstraps. The
        density is evaluated and followed in 64 bit in either case, where it allows that.
    progress
        Say what is done, and show progress bars; by default only on a terminal and in a notebook.

    Returns
    -------
    CheckResult
        Prints as a report; `.rejected`, `.pvalue`, `.coordinates`, the worst first,
        ``result["tau"]`` for one of them, `.to_dict()`, `.plot()`.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(3).normal(size=(400, 3)) * [1.0, 1.0, 1.5]
    >>> result = sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)))
    >>> result.rejected
    True
    >>> for c in result.coordinates:
    ...     print(f"{c.name}: {c.verdict}")
    x[2]: draws are too wide (sd 1.5, about 1.0 expected)
    x[1]: no misfit found
    x[0]: no misfit found
    """
    draws, target = recognised(draws, target, independent)
    requested = enter_method(
        method,
        {name: lambda name=name: by_name(name)() for name in NAMES},
        AbstractMethod,
        f"one of {list(NAMES)} or a method object such as sw.methods.KCCSD(conditional=...).",
    )
    _check_options(alpha, n_bootstrap, requested.bootstrap_share, batch_length)
    if tolerance is not None:
        require_share("tolerance", tolerance)
    run = run_options(seed=seed, memory=memory, dtype=dtype, progress=progress)
    held_by = "" if requested.reads_by_chunk else f"the method {requested.name!r}"
    given = enter_draws(
        draws, run, names=names, independent=independent, held_by=held_by, target=target
    )
    chosen = requested.at_effort(enter_effort(effort))
    if evaluations is not None:
        chosen = chosen.within_budget()
    if coordinates is not None:
        labels = partial(coordinate_labels, given)
        chosen = chosen.restricted(choose_coordinates(coordinates, given.names, seed, labels))
    with run.stage(PROGRESS["density"]):
        density, scored = enter_target_of(chosen, target, given)
    samples, thinned = _affordable(scored, chosen, density, evaluations)
    has_answers = density.has_scores(given.dim) and is_real(density.support, given.names)
    if tolerance is not None and not has_answers:
        raise InputError(
            f"tolerance is {tolerance}: it is about the errors of means and sds, which need a "
            "score, and coordinates on all of R^d. Leave it out, or take bounded coordinates of "
            "draws and density to the real line."
        )

    with np.errstate(over="ignore", invalid="ignore"):  # overflow is answered below
        splits = [
            _test_split(fitted, density, run, n_bootstrap, batch_length)
            for fitted in chosen.prepare(samples, density, run)
        ]
    calibration = average_over_splits([split.evidence.calibration for split in splits])
    fitted, statistic, plan, evidence = splits[0]
    if not _is_finite(calibration):
        raise InputError(about_overflow(calibration, chosen, dtype, fitted.samples, density))
    _require_seen(calibration, chosen)
    findings = fitted.findings(statistic, evidence, calibration, plan, alpha)
    flagged = [c for c in findings.coordinates if c.adjusted_pvalue <= alpha]
    worst = sorted(flagged, key=lambda c: c.pvalue)
    behind = (
        suspicions([c.name for c in worst], fitted.samples, density)
        if calibration.pvalue <= alpha
        else ()
    )
    proper = not NOT_NORMALISED & {one.kind for one in behind}
    split = findings.modes is not None and bool(findings.modes.flagged(alpha))
    shown = tolerance is not None or any(c.effect is not None for c in findings.coordinates)
    if shown and has_answers:
        with run.stage(PROGRESS["answers"]):
            findings = with_errors(
                findings,
                fitted.samples,
                density,
                plan.batches,
                tolerance,
                alpha,
                run,
                has_moments=proper and not split,
            )
    findings = with_scales(findings, fitted.samples, plan)
    can_be_followed = not density.noisy and not isinstance(density, ScoresAtDraws)
    findings = replace(findings, has_summary=has_answers and can_be_followed)
    dominated = calibration.largest_share > DOMINATED and calibration.pvalue > alpha
    notes = (
        *behind,
        *thinned,
        *transposed(samples, density),
        *_evaluated_only(samples, density),
        *([note("refreshed", name=coordinate_labels(samples)[-1])] if samples.refreshed else []),
        *chosen.precision_notes(dtype),
        *plan.notes,
        *findings.notes,
        *([note("one term decides")] if dominated else []),
    )
    sentences = tuple(note_text(one) for one in notes)
    for one, sentence in zip(notes, sentences, strict=True):
        if one.kind != "values only":  # a target warns of that itself
            warn_user(sentence)
    return CheckResult(
        statistic=calibration.statistic,
        pvalue=calibration.pvalue,
        alpha=alpha,
        method=chosen.name,
        description=fitted.describe(),
        findings=findings,
        draws=_summary(fitted.samples, plan, samples.n - fitted.samples.n),
        n_bootstrap=n_bootstrap,
        seed=seed,
        dtype=density.prepare(samples.dim),
        normal_pvalue=calibration.normal_pvalue,
        notes=sentences,
        version=steinwise.__version__,
        discrepancy=calibration.discrepancy,
        null=calibration.null,
    )


class _TestedSplit(NamedTuple):
    """One split of the draws: what was fitted to it, tested on it, and found."""

    fitted: AbstractFitted
    statistic: AbstractStatistic
    plan: BatchPlan
    evidence: Evidence


def _test_split(
    fitted: AbstractFitted,
    target: AbstractTarget,
    run: RunOptions,
    n_bootstrap: int,
    batch_length: int | None,
) -> _TestedSplit:
    require_room(n_bootstrap, fitted.null_columns, run.memory)
    statistic = fitted.statistic(target, run)
    plan = plan_batches(
        fitted.samples,
        statistic.monitored_columns,
        most=statistic.most_batches,
        batch_length=batch_length,
    )
    evidence = fitted.test(statistic, plan.batches, n_bootstrap, run.seed)
    return _TestedSplit(fitted, statistic, plan.up_to(evidence.batches), evidence)


def _is_finite(calibration: Calibration) -> bool:
    return bool(np.isfinite(calibration.statistic) and np.isfinite(calibration.null).all())


def _require_seen(calibration: Calibration, method: AbstractMethod) -> None:
    """A statistic that is always 0 has no p-value."""
    if calibration.statistic == 0 and not calibration.null.any():
        raise InputError(
            f"the method {method.name!r} sees nothing of these draws: its statistic is 0, and "
            "so is its null. Its kernel, or its locations, are far from all draws; or none of "
            "two draws are near each other on the scale of its kernel. Give it the scale of "
            "the draws, or take the default method."
        )


def _evaluated_only(samples: Samples, target: AbstractTarget) -> tuple[Note, ...]:
    """A note on a density that cannot be differentiated, which is meant to be."""
    why = target.no_derivative(samples.dim)
    return (note("values only", why=why),) if why else ()


def _affordable(
    samples: Samples, method: AbstractMethod, target: AbstractTarget, most: float | None
) -> tuple[Samples, tuple[Note, ...]]:
    """The draws that a budget of evaluations allows, and a note on what was left out."""
    if most is None:
        return samples, ()
    require_at_least("evaluations", most, 1)
    each, spent = method.evaluations(samples, target, most)
    step = int(np.ceil(samples.n * each / max(1.0, most - spent)))
    if step <= 1:
        return samples, ()
    fewer = samples.thinned(step)
    if fewer.n < MIN_BATCHES:
        raise InputError(
            f"evaluations is {most:g}, but every draw costs {each:.3g} evaluations of the density: "
            f"{counted(fewer.n, 'draw is', 'draws are')} left, and at least {MIN_BATCHES} are "
            f"needed. Raise it to {spent + 2 * MIN_BATCHES * each:.2g} or more, or test some "
            "coordinates only (coordinates=)."
        )
    counts = {"step": step, "tested": fewer.n, "given": samples.n, "each": each}
    return fewer, (note("draws thinned", evaluations=most, **counts),)


def _check_options(alpha: Any, n_bootstrap: Any, share: float, batch_length: Any) -> None:
    require_level(alpha)
    require_whole("n_bootstrap", n_bootstrap, least=1)
    needed = int(np.ceil(1 / (share * alpha))) - 1
    if n_bootstrap < needed:
        least = 1 / (share * (n_bootstrap + 1))
        raise InputError(
            f"n_bootstrap is {n_bootstrap}, whose least p-value is {least:.3g}: "
            f"the level {alpha} can never be reached. Take at least {needed}; {20 * needed} is "
            "better."
        )
    if batch_length is not None:
        require_whole("batch_length", batch_length, least=1)


def _summary(samples: Samples, plan: BatchPlan, held_out: int) -> DrawsSummary:
    return DrawsSummary(
        n_chains=samples.n_chains,
        n_draws=samples.n_draws,
        dim=samples.dim,
        independent=samples.independent,
        batch_length=plan.length,
        n_batches=plan.batches.count,
        autocorrelation_time=plan.autocorrelation_time,
        effective_draws=plan.effective_draws,
        rhat=plan.rhat,
        held_out=held_out,
    )
