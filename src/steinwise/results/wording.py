"""Every sentence about a result, keyed by kind and numbers.

Methods and calibration return kinds and numbers; text, page, tables and plots lay out what is
worded here. A changed word is a change of this file.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from steinwise._internal.notes import Note

# -- verdicts on single coordinates ----------------------------------------------------------------

NO_MISFIT = "no misfit found"
MISFIT = "misfit"


def coordinate_verdict(
    kind: str,
    *,
    shift: float,
    spread: float,
    partners: Sequence[str],
    outliers: int,
    lower_bound: bool,
    excess_kurtosis: float,
) -> str:
    """What is wrong with a flagged coordinate.

    >>> numbers = {"shift": 0.5, "spread": 1.0, "outliers": 0, "excess_kurtosis": 0.0}
    >>> coordinate_verdict("shift", **numbers, partners=(), lower_bound=False)
    "draws are shifted by +0.5 of the target's conditional sd"
    >>> coordinate_verdict("interaction", **numbers, partners=("a", "b"), lower_bound=False)
    'depends on a and b together in a way that the target does not'
    """
    least = "at least " if lower_bound else ""
    if kind == "outliers":
        lie = "draw lies" if outliers == 1 else "draws lie"
        return f"{outliers} {lie} where the target's conditional has next to no mass"
    if kind == "spread":
        width = "narrow" if spread < 1 else "wide"
        return f"draws are too {width} (sd {least}{spread:.2g} of the target's conditional)"
    if kind == "shift":
        return f"draws are shifted by {least}{shift:+.2g} of the target's conditional sd"
    if kind == "tails":
        weight = "heavier" if excess_kurtosis > 0 else "lighter"
        return f"draws have {weight} tails than the target"
    if kind == "shape":
        return "draws have another shape than the target"
    if kind in DEPENDENCE:
        sentence = DEPENDENCE[kind] if partners else "depends on the other coordinates"
        return f"{sentence.format(*partners)} in a way that the target does not"
    return MISFIT


DEPENDENCE = {
    "dependence": "depends on {0}",
    "dependence on size": "varies with the size of {0}",
    "interaction": "depends on {0} and {1} together",
}

# what it means that a coordinate is flagged, by what a method compares
FLAG_MEANINGS = {
    "": "",
    "conditional": "A coordinate is flagged when its distribution given all others is not the "
    "target's. Where the target's coordinates depend on each other, one wrong coordinate makes "
    "its neighbours' conditionals wrong too, so neighbours of a wrong coordinate can be flagged "
    "with it.",
    "blanket": "A coordinate is flagged when its distribution given its neighbours in the target's "
    "graph is not the target's. A wrong coordinate makes its neighbours' conditionals wrong too, "
    "so they can be flagged with it.",
}

# what to do next, by the kind of misfit; a spread is "narrow" or "wide"
ADVICE = {
    "narrow": (
        "Too narrow",
        "The draws vary less than the density allows. Mean-field variational inference "
        "does this wherever coordinates are correlated; so does a sampler with too small a "
        "temperature or a chain that has not left its start. Try a full-rank family, NUTS, or a "
        "longer run.",
    ),
    "wide": (
        "Too wide",
        "The draws vary more than the density allows. Too large a step size without a "
        "Metropolis correction (Langevin, stochastic gradients) does this; so does a tempered or "
        "prior-like distribution. Shorten the step, or add the correction.",
    ),
    "shift": (
        "Shifted",
        "The mean is off, given the other coordinates. Look for warm-up left in, a biased "
        "gradient, or draws and density in different parametrisations (a missing Jacobian).",
    ),
    "tails": (
        "Tails",
        "Centre and spread are right, extremes are not. A normal approximation of a distribution "
        "with heavier or lighter tails does this.",
    ),
    "outliers": (
        "Next to no mass",
        "A few draws are far outside of what the density allows. Look at those "
        "draws: divergences, a chain that was stuck, or an error in the data.",
    ),
    "dependence": (
        "Depends on",
        "Each coordinate may look right by itself, but their dependence is wrong. "
        "Factorised approximations do this. Plot the pair: result.plot_pair(coordinate, other).",
    ),
    "dependence on size": (
        "Varies with",
        "The scale of a coordinate follows another one differently from the density, as "
        "in a funnel that a sampler does not enter. Reparametrise (non-centred), or shorten the "
        "steps.",
    ),
    "shape": (
        "Another shape",
        "The distribution of the coordinate, given the others, has another shape: skewness, or "
        "modes with wrong weights. Look at result.plot_pit(coordinate).",
    ),
}


def advice_key(kind: str, spread: float) -> str:
    """Which advice a misfit calls for; "" where a method names no kind."""
    if kind == "spread":
        return "narrow" if spread < 1 else "wide"
    if kind == "interaction":
        return "dependence"
    return kind


# -- verdicts on all coordinates together ----------------------------------------------------------


def misfit(alpha: float) -> str:
    return f"Misfit: the draws do not fit the density at level {alpha}."


def no_misfit(alpha: float, detectable: tuple[float, float] | None) -> str:
    """What it means that nothing was found; `detectable` is a shift and a spread."""
    text = f"No misfit found at level {alpha}. This does not prove the draws right."
    if detectable is None:
        return text
    shift, spread = detectable
    return (
        f"{text} With probability 0.8 it would have found one coordinate shifted by "
        f"{shift:.2g} conditional standard deviations, or {spread:.2g} times as wide."
    )


def misfit_with_names(p: str, flagged: Sequence[str]) -> tuple[str, str]:
    """The verdict of the page: its first word, and the rest."""
    which = f"wrong given the others: {listed(flagged, 5)}." if flagged else f"{NO_CULPRIT}."
    return "Misfit.", f"The draws do not fit the density with p = {p}; {which}"


NO_CULPRIT = "no coordinate stands out by itself"


def failed_assertion(p: str, alpha: float) -> str:
    return f"the draws do not fit the density: p = {p} at level {alpha}"


def pvalue(p: float, n_bootstrap: int) -> str:
    """A p-value; the smallest that this many bootstraps can give; or one that needs none.

    >>> pvalue(0.0313, 999), pvalue(0.001, 999), pvalue(2e-40, 999)
    ('0.031', '0.001 (the least possible)', '2e-40')
    """
    least = 1 / (n_bootstrap + 1)
    if p < least * (1 - 1e-9):
        return f"{p:.1g}"
    digits = max(3, round(-np.log10(least)))
    text = f"{p:.{digits}f}"
    return f"{text} (the least possible)" if p < 1.5 * least else text


def dominating(draws: Sequence[str], shown: int, *, far_out: bool) -> str:
    """A handful of draws that a misfit rests on: far out, or half of the statistic."""
    several = len(draws) > 1
    subject = f"{len(draws)} draws" if several else "One draw"
    if far_out:
        verb = "lie far out" if several else "lies far out"
    else:
        verb = f"make{'' if several else 's'} up half of the statistic"
    return f"{subject} {verb}: {listed(draws, shown)}. Look there first."


def draw_name(chain: int, draw: int, coordinate: str) -> str:
    where = f" in {coordinate}" if coordinate else ""
    return f"draw {draw} of chain {chain}{where}"


# -- notes -----------------------------------------------------------------------------------------


def note_text(note: Note) -> str:
    """A note as a sentence."""
    return NOTES[note.kind].format(**note.values)


NOTES = {
    "chains disagree": "the chains disagree with each other: R-hat is {rhat:.3f} in {name} (at "
    "most {bound:.2f} is expected). They have not mixed, or warm-up was left in; the verdict below "
    "speaks of their mixture.",
    "chain not settled": "the chain is not settled: R-hat is {rhat:.3f} in {name} (at most "
    "{bound:.2f} is expected). It has not mixed, or warm-up was left in; the verdict below speaks "
    "of the mixture of its parts.",
    "warm-up left in": "the start of a chain differs from the rest: its first {length} draws are "
    "on average {distance:.1f} standard deviations away from what as many later ones show. Was "
    "warm-up left in? Drop it and check again.",
    "draws interrupted": "interrupted: the verdict rests on the first {looked_at} of {all_draws} "
    "draws.",
    "lines interrupted": "interrupted: {done} of {lines} coordinates and directions were looked "
    "at. The verdict speaks of these only.",
    "overflow": "the setting {base!r}, {context!r} of {line}{more} left out: numbers overflow. Are "
    "there draws at an absurd distance?",
    "underflow": "the setting {base!r}, {context!r} of {line}{more} left out: numbers underflow. "
    "No draw is where the target's conditional has its mass.",
    "draws thinned": "one in {step} draws was tested, {tested} of {given}, to keep to "
    "{evaluations:g} evaluations of the density: a draw takes {each}.",
    "nothing learned": "for {count} of {of} coordinates ({names}) the learned conditional predicts "
    "the validation draws no better than the coordinate's own marginal distribution does. They "
    "hardly depend on the others, or {train} draws are too few to learn how.",
    "precision unused": "dtype={dtype!r} has no effect on the method {method!r}, which computes in "
    "float64: {why}.",
    "fit overflows": "the curvature of the discrepancy is not finite: the density overflows there.",
    "parameters without effect": "not identified: {names} does not change the score anywhere near "
    "the draws. A factor of the density that does not depend on x is part of its constant.",
    "parameters only together": "not identified: the score depends on {names} through a "
    "combination of them only. Fix one of them, or write the model in terms of the combination.",
    "fit stuck": "not converged: to first order the score does not change there with one of the "
    "parameters, as where the density is symmetric in it. Start elsewhere.",
    "fit is a saddle": "this solves the first-order condition but is no minimum of the "
    "discrepancy: a saddle, or draws too few to tell. Try other starts.",
    "fit not converged": "not converged after {steps} trust region steps ({message}) and {rounds} "
    "rounds on the equations. Start nearer, rescale the parameters so that they are of order 1, or "
    "raise max_iterations.",
    "no standard errors": "the draws are too few, or too dependent, for standard errors.",
}

# -- comparisons -----------------------------------------------------------------------------------

COMPARISON_VERDICTS = {
    "best": "best",
    "worse": "worse than the best",
    "not told apart": "not told apart from the best",
    "too few draws": "too few independent draws to tell",
}


def comparison_closing(alpha: float) -> str:
    return f"Verdicts hold together at level {alpha}, whichever turned out best."


# -- fits ------------------------------------------------------------------------------------------


def fit_closing(converged: bool, discrepancy: float) -> str:
    state = "Converged" if converged else "NOT CONVERGED"
    return f"{state}; the squared discrepancy there is {discrepancy:.4g}."


# -- facts: how a result was obtained --------------------------------------------------------------


def counted(count: int, noun: str) -> str:
    """
    >>> counted(1, "chain"), counted(3, "chain")
    ('1 chain', '3 chains')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def draws_fact(draws: Any) -> str:
    """The draws of a `DrawsSummary`."""
    if draws.independent:
        text = f"{draws.n_chains * draws.n_draws} independent draws"
    else:
        text = (
            f"{counted(draws.n_chains, 'chain')} x {draws.n_draws} draws, worth about "
            f"{draws.effective_draws:.0f} independent ones"
        )
    if draws.held_out:
        text += f" ({draws.held_out} more to learn from)"
    return f"{text}; {counted(draws.dim, 'coordinate')}"


def batches_fact(draws: Any) -> str:
    """The batches of a `DrawsSummary`."""
    text = f"{draws.n_batches} of {counted(draws.batch_length, 'draw')}"
    if draws.independent:
        return text
    times = f"autocorrelation time {draws.autocorrelation_time:.3g}"
    return f"{text}; {times}, largest R-hat {draws.rhat:.3f}"


def evaluations_fact(evaluations: int, lines: int) -> str:
    where = f"each of {lines} lines" if lines > 1 else "the line"
    return f"{evaluations} evaluations on {where} through a draw"


def pvalue_fact(p: float, n_bootstrap: int, seed: object) -> str:
    return f"{pvalue(p, n_bootstrap)}, {n_bootstrap} bootstraps, seed {seed}"


def learning_fact(models: Sequence[str], train: int, validation: int, splits: int) -> str:
    """Which models were learned, and from how many draws."""
    several = len(set(models)) > 1
    names = ", ".join(
        f"{model} of {models.count(model)}" if several else model for model in dict.fromkeys(models)
    )
    averaged = f"; {splits} splits averaged" if splits > 1 else ""
    return f"{names}; from {train} draws, validated on {validation}{averaged}"


def precision_fact(dtype: str) -> str:
    return f"the density was evaluated in {dtype}"


def chains_fact(chains: int, draws: int) -> str:
    return f"{counted(chains, 'chain')} x {draws} draws"


def points_fact(count: int, d: int) -> str:
    return f"{count}, in {counted(d, 'coordinate')}"


def ksd_fact(values: Sequence[tuple[int, float]]) -> str:
    """The squared KSD of all points, then of the first few."""
    (_, last), *first = values
    return ", ".join([f"{last:.4g}", *(f"{value:.4g} of the first {k}" for k, value in first)])


def repeated_fact(chosen: int, different: int) -> str:
    return f"{chosen - different}: {different} are different"


def counts_fact(counts: Sequence[int]) -> str:
    """A few counts in full, many by their range."""
    if len(counts) <= 8:
        return ", ".join(str(count) for count in counts)
    return f"{min(counts)} to {max(counts)}"


def quarters_fact(counts: Sequence[int]) -> str:
    return ", ".join(str(count) for count in counts) + " from each quarter of the chains"


# -- the page -------------------------------------------------------------------------------------

PAGE = {
    "title": "Do these draws come from this density?",
    "coordinates": "Coordinates",
    "search": "Find a coordinate or a verdict",
    "place": "place in the conditional",
    "advice": "What it means, and what to do next",
    "statistic": "The statistic and its null",
    "picture": "the statistic against its null",
    "facts": "How the result was obtained",
}


def pvalue_sentence(p: str) -> str:
    return f"The p-value is {p}."


def worst_shown(shown: int, coordinates: int) -> str:
    return f"The {shown} worst of {coordinates} coordinates."


def histogram_label(name: str) -> str:
    return f"histogram of {name} in its conditional"


# -- pictures --------------------------------------------------------------------------------------

LABELS = {
    "conditional": "in the target's conditional",
    "place of": "place of ",
    "place along": "place along ",
    "density of draws": "density of the draws",
    "surplus": "surplus of draws, as a share",
    "contribution": "added to the statistic",
    "null": "null (bootstrap)",
    "observed": "these draws",
    "statistic": "statistic, on the scale of its null",
    "bootstraps": "bootstraps",
    "difference": "discrepancy, less that of the best",
    "draws": "draws",
    "ratio": "smoothed ratio",
    "mean": "mean",
}


def level_label(alpha: float) -> str:
    return f"level {alpha}"


def expected_label(alpha: float) -> str:
    return f"expected, level {alpha}"


def null_title(rejected: bool, p: float) -> str:
    return f"{MISFIT if rejected else NO_MISFIT}, p = {p:.3g}"


def evidence_label(alpha: float) -> str:
    return f"evidence, -log10 of the adjusted p-value\n(dashed: level {alpha})"


def flagged_title(flagged: int, shown: int, coordinates: int) -> str:
    part = f"; {shown} of {coordinates} shown" if shown < coordinates else ""
    return f"{flagged} flagged{part}"


def intervals_title(alpha: float) -> str:
    return f"simultaneous intervals, level {alpha:g}"


# -- lists -----------------------------------------------------------------------------------------


def listed(names: Sequence[str], shown: int) -> str:
    """
    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


def more_rows(count: int, shown: int) -> list[str]:
    """A line on the rows that a table does not show."""
    return [f"... and {count - shown} more"] if count > shown else []
