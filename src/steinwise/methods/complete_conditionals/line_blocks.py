"""The batch sums of a pass over the draws as calibration takes them, some lines at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from steinwise._internal.memory import chunks
from steinwise.calibration.batch_sums import BatchSums, KnownSquares
from steinwise.calibration.batches import Batches
from steinwise.methods.complete_conditionals.batch_products import Sums, products
from steinwise.methods.complete_conditionals.evidence import DroppedSetting, SourceUse
from steinwise.methods.complete_conditionals.features import CONTEXTS, Features
from steinwise.methods.complete_conditionals.line_sets import LineSet
from steinwise.methods.complete_conditionals.outcome_sums import OutcomeSums
from steinwise.methods.complete_conditionals.score_moments import ScoreMoments
from steinwise.methods.complete_conditionals.settings import (
    WEIGHTS,
    available_contexts,
    families,
    single_family,
)
from steinwise.methods.complete_conditionals.slab_pass import PassResult
from steinwise.methods.complete_conditionals.sources import FiniteOrbits
from steinwise.methods.complete_conditionals.terms import TermLayout

LINES_PER_BLOCK = 64  # whose bootstraps exist at the same time
# of the unusual outcomes of two discrete coordinates, for one feature to be tested by itself
LEAST_COINCIDENCES = 5.0


def line_blocks(
    use: SourceUse,
    contexts: Sequence[str],
    lines: LineSet,
    features: Features,
    result: PassResult,
) -> Iterator[tuple[BatchSums, list[DroppedSetting]]]:
    """The batch sums of a pass, some lines at a time, and the settings that say nothing."""
    reached, source = slice(result.batches.count), use.source
    for part in chunks(len(lines.labels), LINES_PER_BLOCK):
        sums = result.sums.part(reached, part)
        if isinstance(result.summary, ScoreMoments):
            sums = sums.scaled(result.summary.term_scale[:, part])
        if isinstance(result.summary, OutcomeSums):
            sums = sums.combined(result.summary.standardising[part])
        labels = lines.labels[part]
        by_family = families(source.name, use.bases, contexts, lines)
        for family, settings in by_family.items():
            values = products(sums, source.layout, settings)
            dropped = _drop_unusable(values, settings, labels)
            if isinstance(source, FiniteOrbits):
                dropped = []  # a coordinate that is certain given the others says nothing
            weights = WEIGHTS[lines.group] if family.endswith("alone") else (1.0, 1.0)
            expected = source.expected_squares(settings, result.batches, lines.held_out.first)
            block = BatchSums(
                values,
                result.batches,
                family,
                lines.group,
                *weights,
                expected=expected,
                known=_known_squares(sums, source.layout, settings, features, result, part),
            )
            yield block, dropped
        if lines.group == "directions":
            continue
        for context in available_contexts(contexts, lines):
            if context != "alone":  # single terms times single features: they name partners
                single = sums.singles(features, source.layout, context)
                if isinstance(result.summary, OutcomeSums):
                    common = result.summary.coincidences[part] >= LEAST_COINCIDENCES
                    single = np.where(common[:, None, None], single, 0.0)
                family = single_family(source.name, context)
                block = _single_features(single, family, lines, result.batches)
                # of a mean the root would do; but few unusual outcomes make it skewed as well
                whole = [("shift", context)]
                known = _known_squares(sums, source.layout, whole, features, result, part)
                known = None if known is None else known._replace(independent=False)
                yield replace(block, known=known), []


def _known_squares(
    sums: Sums,
    layout: TermLayout,
    settings: Sequence[tuple[str, str]],
    features: Features,
    result: PassResult,
    part: slice,
) -> KnownSquares | None:
    """Of discrete coordinates: how large batch sums are, and how large those of correct draws are.

    The spread of a statistic is in proportion to the sum over batches of the squared norms of their
    sums. Each setting has its own: where the unusual outcomes of two coordinates never coincide,
    "dependence" has next to no spread though either coordinate alone has some.
    """
    summary = result.summary
    if not isinstance(summary, OutcomeSums):
        return None
    observed, known = [], []
    for base, context in settings:
        terms = sums.of(context)[:, :, layout.bases[base][0]].astype(float)
        observed.append(np.einsum("gctf,gctf->c", terms, terms))
        number = CONTEXTS.index(context)
        size = summary.known_sizes(base, number)[part]
        known.append(size * features.multiplicities[number])
    squares = np.stack(known) ** 2, np.stack(observed) ** 2
    return KnownSquares(*squares, independent=result.batches.independent)


def _drop_unusable(
    values: Float[np.ndarray, "setting c batch batch"],
    settings: Sequence[tuple[str, str]],
    labels: tuple[str, ...],
) -> list[DroppedSetting]:
    """Set what overflows to 0, as what underflows is; and say which settings say nothing."""
    largest = np.abs(values).max(axis=(2, 3))
    dropped = []
    for s, k in zip(*np.nonzero(~((largest > 0) & np.isfinite(largest))), strict=True):
        why = "underflow" if largest[s, k] == 0 else "overflow"
        base, context = settings[s]
        same_base = [t for t, (other, _) in enumerate(settings) if other == base]
        if why == "underflow" and largest[same_base, k].any():
            continue  # it is the others that never vary so: two values have squares of one size
        dropped.append(DroppedSetting(base, context, labels[k], why))
        values[s, k] = 0.0
    return dropped


def _single_features(
    single: Float[np.ndarray, "batch c term f"], family: str, lines: LineSet, batches: Batches
) -> BatchSums:
    batch, line, term, feature = single.shape
    values = single.transpose(2, 3, 1, 0).reshape(term * feature, line, batch)
    return BatchSums(values, batches, family, lines.group, 0.0, 1.0, two_sided=True)
