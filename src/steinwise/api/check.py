"""The front door: draws and a density in, a verdict out."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import steinwise
from steinwise._internal.coordinates import choose_coordinates
from steinwise._internal.memory import budget_bytes
from steinwise._internal.random import seed_words
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import require_at_least, require_level, require_whole
from steinwise.calibration.batch_plan import MIN_BATCHES, BatchPlan, plan_batches
from steinwise.calibration.pvalues import Calibration, averaged
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, SteinwiseWarning
from steinwise.methods import BY_NAME, AbstractMethod
from steinwise.results.check import CheckResult
from steinwise.results.findings import DrawsSummary
from steinwise.target import AbstractTarget, as_target

PRECISIONS = ("float64", "float32")


def check(
    draws: Any,
    target: Any,
    *,
    method: str | AbstractMethod = "transported",
    alpha: float = 0.05,
    n_bootstrap: int = 1000,
    seed: Any = 0,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    batch_length: int | None = None,
    coordinates: int | Sequence[str] | Sequence[int] | None = None,
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
        `sw.Target.from_score(...)` or `sw.Gaussian(...)`.
    method
        "transported" (the default: the conditional probability transform of every coordinate, see
        `sw.methods.Transported`), "kccsd" (learned conditionals), "ksd", "nystrom", "graphical",
        "ksdagg", "fssd", "rfsd", "sksd", or a method object such as
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
        Which coordinates get a verdict: their names or numbers, or how many of them to draw at
        random. All by default; the cost is theirs. The others still count as those on which they
        may depend.
    evaluations
        The most evaluations of the density that the check may cost. Where all draws would cost
        more, every k-th draw of each chain is tested, and a note says so.
    memory
        The budget for working arrays, such as "500MB" or "2GiB". It changes no number, or, where
        networks are trained, the last digits.
    dtype
        "float64", or "float32" for the bulk of the work: sums over draws and bootstraps. The
        density is evaluated and followed in 64 bit in either case, where it allows that.
    progress
        Show progress bars; by default only on a terminal.

    Returns
    -------
    CheckResult
        Prints as a report; `.rejected`, `.pvalue`, `.coordinates`, `.to_dict()`, `.plot()`.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(1).normal(size=(400, 3)) * [1.0, 1.0, 1.5]
    >>> result = sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)))
    >>> result.rejected
    True
    >>> for c in result.coordinates:
    ...     print(f"{c.name}: {c.verdict}")
    x[0]: no misfit found
    x[1]: no misfit found
    x[2]: draws are too wide (sd 1.5 of the target's conditional)
    """
    chosen = _method(method)
    _check_options(alpha, n_bootstrap, chosen.bootstrap_share, seed, batch_length, dtype)
    budget = budget_bytes(memory)
    samples = Samples.of(draws, names=names, independent=independent)
    if not chosen.reads_by_chunk:
        samples = samples.loaded(budget, f"the method {chosen.name!r}")
    if coordinates is not None:
        chosen = chosen.restricted(choose_coordinates(coordinates, samples.names, seed))
    density = as_target(target)
    evaluated_in = density.prepare(samples.dim)
    samples, thinned = _affordable(samples, chosen, density, evaluations)

    run = RunOptions(seed, budget, dtype, progress)
    runs = []
    for fitted, tested in chosen.prepare(samples, density, run):
        statistic = fitted.statistic(tested, density, run)
        plan = plan_batches(
            tested, statistic.averaged, most=statistic.most_batches, batch_length=batch_length
        )
        verdict = fitted.calibrate(statistic, plan.batches, n_bootstrap, seed)
        plan = plan.up_to(statistic.reached(plan.batches))
        runs.append((fitted, tested, statistic, plan, verdict))
    verdict = averaged([run[-1] for run in runs])
    _require_finite(verdict, chosen, dtype)
    chosen, tested, statistic, plan, _ = runs[0]
    findings = chosen.findings(tested, statistic, plan, verdict, alpha)
    notes = thinned + plan.notes + findings.notes
    for note in notes:
        warnings.warn(note, SteinwiseWarning, stacklevel=2)
    return CheckResult(
        statistic=verdict.statistic,
        pvalue=verdict.pvalue,
        alpha=alpha,
        method=chosen.name,
        description=chosen.describe(),
        findings=findings,
        draws=_summary(tested, plan, samples.n - tested.n),
        n_bootstrap=n_bootstrap,
        seed=seed,
        dtype=evaluated_in,
        normal_pvalue=verdict.normal_pvalue,
        notes=notes,
        version=steinwise.__version__,
        observed=verdict.observed,
        null=verdict.null,
    )


def _method(method: str | AbstractMethod) -> AbstractMethod:
    if isinstance(method, AbstractMethod):
        return method
    if isinstance(method, str) and method in BY_NAME:
        return BY_NAME[method]()
    raise InputError(
        f"method is {method!r}: expected one of {sorted(BY_NAME)} or a method object such as "
        "sw.methods.KCCSD(conditional=...)."
    )


def _require_finite(verdict: Calibration, method: AbstractMethod, dtype: str) -> None:
    """A statistic that is no number has no p-value: nothing is at or above it."""
    if np.isfinite(verdict.observed) and np.isfinite(verdict.null).all():
        return
    wider = "pass dtype='float64', " if dtype == "float32" else ""
    raise InputError(
        f"the method {method.name!r} gives the statistic {verdict.observed}, or a null that is not "
        f"finite: its sums overflow in {dtype}. Some draws or scores are enormous. Take them out "
        f"if they are errors; else {wider}rescale the coordinates, draws and density alike, or "
        "take the default method."
    )


def _affordable(
    samples: Samples, method: AbstractMethod, target: AbstractTarget, most: float | None
) -> tuple[Samples, tuple[str, ...]]:
    """As many of the draws as keep to a number of evaluations, and a note on what was left out."""
    if most is None:
        return samples, ()
    require_at_least("evaluations", most, 1)
    each = method.evaluations(samples, target)
    step = -(-samples.n * each // int(most))
    if step <= 1:
        return samples, ()
    fewer = samples.thinned(step)
    if fewer.n < MIN_BATCHES:
        raise InputError(
            f"evaluations is {most:g}, but every draw costs {each} evaluations of the density: "
            f"{fewer.n} draws are left, and at least {MIN_BATCHES} are needed. Raise it to "
            f"{2 * MIN_BATCHES * each:.2g} or more, or test some coordinates only (coordinates=)."
        )
    return fewer, (
        f"one in {step} draws was tested, {fewer.n} of {samples.n}, to keep to {most:g} "
        f"evaluations of the density: a draw takes {each}.",
    )


def _check_options(
    alpha: Any, n_bootstrap: Any, share: float, seed: Any, batch_length: Any, dtype: Any
) -> None:
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
    if dtype not in PRECISIONS:
        raise InputError(f"dtype is {dtype!r}: expected one of {PRECISIONS}.")
    seed_words(seed)


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
