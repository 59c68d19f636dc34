"""What was found along lines, as verdicts on coordinates and as what pictures are made of."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steinwise.calibration.batch_plan import BatchPlan
from steinwise.calibration.pvalues import Calibration
from steinwise.draws.samples import Samples
from steinwise.methods.complete_conditionals.detectable import (
    TERMS_OF_NORMAL,
    detectable,
    detectable_by_simulation,
)
from steinwise.methods.complete_conditionals.effects import NormalScoreSums
from steinwise.methods.complete_conditionals.evidence import LineEvidence, LineFindings
from steinwise.methods.complete_conditionals.line_sets import LineSet
from steinwise.methods.complete_conditionals.outcome_sums import OutcomeSums
from steinwise.methods.complete_conditionals.settings import alone_family, families
from steinwise.results.coordinate import CoordinateResult
from steinwise.results.misfit import Effect
from steinwise.results.outcomes import OutcomeShares


def coordinate_results(
    evidence: LineEvidence,
    calibration: Calibration,
    samples: Samples,
    contexts: Sequence[str],
    plan: BatchPlan,
    alpha: float,
) -> tuple[CoordinateResult, ...]:
    """The verdicts on all coordinates in their order, then on directions."""
    results, order, k = [], [], 0
    for leading in evidence.leading:
        directions = leading.lines.group == "directions"
        order += (leading.lines.own + directions * samples.dim).tolist()
        effects = leading.summary.effects
        for j, name in enumerate(leading.lines.labels):
            misfit = None
            if calibration.adjusted_pvalues[k] <= alpha:
                group, deciding = leading.lines.group, calibration.deciding[k]
                findings, context = _decided(evidence, group, contexts, deciding)
                partners = findings.partners(j, context, calibration, samples.names, alpha)
                misfit = leading.summary.line(j).misfit(context, partners, plan)
            results.append(
                CoordinateResult(
                    name=name,
                    value=float(calibration.values[k]),
                    pvalue=float(calibration.coordinate_pvalues[k]),
                    adjusted_pvalue=float(calibration.adjusted_pvalues[k]),
                    effect=effects[j],
                    misfit=misfit,
                )
            )
            k += 1
    return tuple(results[i] for i in np.argsort(order, kind="stable"))


def _decided(
    evidence: LineEvidence, group: str, contexts: Sequence[str], deciding: tuple[str, int]
) -> tuple[LineFindings, str]:
    """The findings and the context of the setting that decided on a line of a group."""
    family, setting = deciding
    source, _, rest = family.partition(": ")
    findings = next(
        f for f in evidence.found if f.use.source.name == source and f.lines.group == group
    )
    settings = families(source, findings.use.bases, contexts, findings.lines)
    if family not in settings:
        return findings, rest
    base, context = settings[family][setting]
    return findings, "dependence" if base == "strength" and context == "alone" else context


def detectable_alone(
    evidence: LineEvidence,
    calibration: Calibration,
    samples: Samples,
    lines: LineSet,
    plan: BatchPlan,
    alpha: float,
) -> Effect | None:
    """What would have been found of a coordinate by itself, where that is looked at.

    `lines` are those of coordinates. Unknown with noisy scores: how much the noise hides depends
    on it.
    """
    if evidence.found[0].use.source.target.noisy:
        return None
    found = []
    for use in {findings.use.source.name: findings.use for findings in evidence.found}.values():
        alone = calibration.families.get(alone_family(use.source.name, lines))
        if alone is None or use.source.name not in TERMS_OF_NORMAL:
            continue
        threshold = float(np.quantile(alone.null, 1 - alpha))
        if evidence.simulated:
            if {"shift", "tails"} <= set(use.bases):
                found.append(detectable_by_simulation(threshold, samples.n, use.bases))
            continue
        settings = [(base, "alone") for base in use.bases]
        batches = plan.batches.of_every(use.step, samples.n_draws)
        expected = use.source.expected_squares(settings, batches, 0)
        some = replace(plan, effective_draws=plan.effective_draws / use.step)
        found.append(detectable(threshold, some, use.source, use.bases, expected))
    if not found:
        return None
    shifts, spreads = zip(*found, strict=True)
    return Effect(min(shifts), min(spreads))


def mean_evaluations(found: tuple[LineFindings, ...]) -> float | None:
    """Evaluations of the log density on a line, on average; None if no lines were followed."""
    kinds = NormalScoreSums, OutcomeSums
    sums = [f.summary for f in found if isinstance(f.summary, kinds)]
    if not sums:
        return None
    spent = sum(one.evaluations.sum() for one in sums)
    return float(spent / sum(one.draws.sum() for one in sums))


def direction_weights(found: tuple[LineFindings, ...]) -> np.ndarray | None:
    """The weights of the coordinates in the directions that were followed."""
    along = [findings.lines for findings in found if findings.lines.group == "directions"]
    return along[0].weights if along else None


def coordinate_pit(found: tuple[LineFindings, ...]) -> np.ndarray:
    """u along the coordinates, in their order."""
    of_coordinates = [findings for findings in found if findings.lines.group != "directions"]
    order = np.argsort(np.concatenate([findings.lines.own for findings in of_coordinates]))
    return np.concatenate([findings.kept for findings in of_coordinates], axis=1)[:, order]


def direction_pit(found: tuple[LineFindings, ...], kept: np.ndarray) -> np.ndarray | None:
    """u along directions, without the draws that the directions were taken from."""
    for findings in found:
        if findings.lines.group == "directions":
            return findings.kept[findings.lines.held_out.tested(kept)]
    return None


def outcomes_by_name(found: tuple[LineFindings, ...]) -> dict[str, OutcomeShares]:
    """How often each value of a discrete coordinate was drawn, by the coordinate's name."""
    outcomes: dict[str, OutcomeShares] = {}
    for findings in found:
        if isinstance(findings.summary, OutcomeSums):
            shares = findings.summary.shares
            outcomes |= dict(zip(findings.lines.labels, shares, strict=True))
    return outcomes
