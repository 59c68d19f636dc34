"""What a check says of coordinates besides its verdicts: errors of means and sds, scales, R-hat."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from steinwise._internal.notes import note
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batch_plan import BatchPlan
from steinwise.calibration.batches import Batches
from steinwise.draws.coordinate_diagnostics import coordinate_diagnostics
from steinwise.draws.samples import Samples
from steinwise.draws.scales import coordinate_scales, label
from steinwise.errors import TargetError
from steinwise.estimates.largest_error import largest_error
from steinwise.estimates.marginals import estimate_errors, marginals
from steinwise.estimates.tolerance import judge_tolerance
from steinwise.results.findings import Findings
from steinwise.results.misfit import Misfit
from steinwise.target import AbstractTarget


def with_errors(
    findings: Findings,
    samples: Samples,
    target: AbstractTarget,
    batches: Batches,
    tolerance: float | None,
    alpha: float,
    run: RunOptions,
    *,
    has_moments: bool,
) -> Findings:
    """With the errors of means and sds, which is what people ask for.

    None where `has_moments` is false: the density has none, or scores do not know them because
    draws are split wrongly between modes.
    """
    notes, directions = findings.notes, findings.directions
    try:
        errors = None
        if has_moments and not findings.density_breaks:
            errors = estimate_errors(samples, target, batches, run.memory, directions)
    except TargetError as error:  # the verdict stands without the scores that these need
        errors, notes = None, (*notes, note("no answers", why=str(error)))
    names, known = samples.names, {}
    if errors is not None:
        more = 0 if directions is None else directions.shape[1]
        labels = [c.name for c in findings.coordinates[len(findings.coordinates) - more :]]
        known = dict(zip([*names, *labels], marginals(errors), strict=True))
        errors = errors.first(len(names))
    judged = None
    if tolerance is not None:
        judged = judge_tolerance(errors, names, tolerance, alpha, run.seed)
    coordinates = tuple(replace(c, marginal=known.get(c.name)) for c in findings.coordinates)
    cut = samples.n_chains, samples.n_draws, batches.count
    return replace(
        findings,
        coordinates=coordinates,
        tolerance=judged,
        largest_error_at=partial(largest_error, errors, names, cut, run.seed),
        notes=notes,
    )


def with_scales(findings: Findings, samples: Samples, plan: BatchPlan) -> Findings:
    """With effective sample size, R-hat and scale, by the names of coordinates."""
    diagnosed = coordinate_diagnostics(samples, plan.coordinate_rhats)
    qualities = dict(zip(samples.names, diagnosed, strict=False))
    scales = coordinate_scales(samples)
    labels = {name: label(name, scale) for name, scale in scales.items()}
    coordinates = tuple(
        replace(
            c,
            quality=qualities.get(c.name),
            scale=scales.get(c.name, ""),
            misfit=None if c.misfit is None else _as_printed(c.misfit, labels, samples.dim),
        )
        for c in findings.coordinates
    )
    return replace(findings, coordinates=coordinates, labels=labels)


def _as_printed(misfit: Misfit, labels: Mapping[str, str], dim: int) -> Misfit:
    """With what its sentence needs: labels of partners, and whether there are other coordinates."""
    partner_labels = tuple(labels.get(p, p) for p in misfit.partners)
    return replace(misfit, partner_labels=partner_labels, has_others=dim > 1)
