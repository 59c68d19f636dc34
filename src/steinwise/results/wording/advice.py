"""What to do about a misfit."""

from steinwise.results.misfit import Effect, Marginal, Misfit, opposed, unlike_moments

# what to do next: "narrow", "wide" and "shift" of a coordinate by itself, else by the kind
ADVICE = {
    "narrow": (
        "Too narrow",
        "The draws vary less than the target does. Mean-field variational inference "
        "does this wherever coordinates are correlated; so does a sampler with too small a "
        "temperature or a chain that has not left its start. Try a full-rank family, NUTS, or a "
        "longer run.",
    ),
    "wide": (
        "Too wide",
        "The draws vary more than the target does. Too large a step size without a "
        "Metropolis correction (Langevin, stochastic gradients) does this; so does a tempered or "
        "prior-like distribution. Shorten the step, or add the correction.",
    ),
    "shift": (
        "Shifted",
        "The mean is off. Look for warm-up left in, a biased "
        "gradient, or draws and density in different parametrisations (a missing Jacobian).",
    ),
    "given the others": (
        "Given the others",
        "With all other coordinates held fixed, the draws of this one are displaced, too narrow or "
        "too wide. That does not say how far its own mean and sd are off, nor in which direction: "
        "sw.summary(draws, target) estimates these. Wrong dependence between coordinates does "
        "this; so does a wrong step size.",
    ),
    "tails": (
        "Tails",
        "Given any others, centre and spread are right, extremes are not. A normal approximation "
        "of a distribution with heavier or lighter tails does this.",
    ),
    "outliers": (
        "Next to no mass",
        "A few draws are far outside of what the density allows. Look at those "
        "draws: divergences, a chain that was stuck, or an error in the data.",
    ),
    "dependence": (
        "Dependence",
        "Each coordinate may look right by itself, but their dependence is wrong. "
        "Factorised approximations do this. In Python, "
        "result.plot_pair(coordinate, other) shows the pair.",
    ),
    "dependence on size": (
        "Dependence on magnitude",
        "The scale of a coordinate follows another one differently from the density, as "
        "in a funnel that a sampler does not enter. Reparametrise (non-centred), or shorten the "
        "steps.",
    ),
    "outcome": (
        "Too often",
        "A value of a discrete coordinate has another probability than the target gives it, given "
        "any others. Look for an update that is left out, a proposal that is not symmetric, or a "
        "value that chains cannot reach. In Python, result.plot_pit(coordinate) shows all of them.",
    ),
    "shape": (
        "No clear shift, spread or tails",
        "The distribution of the coordinate, given any others, has another shape, such as skewness "
        "or modes with wrong weights, or a shift or width so small that only many draws show it. "
        "In Python, result.plot_pit(coordinate) shows it.",
    ),
}


def advice_keys(misfit: Misfit, effect: Effect | None, marginal: Marginal | None) -> frozenset[str]:
    """Which advice a misfit calls for; none where a method names no kind."""
    keys = set()
    if marginal is not None and marginal.rescaled:
        keys.add("narrow" if marginal.sd_ratio < 1 else "wide")
    if marginal is not None and marginal.shifted:
        keys.add("shift")
    effect = effect or Effect(0.0, 1.0)
    if misfit.kind in ("spread", "shift"):
        if not keys:
            keys.add(_of_conditional(misfit, effect, marginal))
        elif marginal and opposed(misfit, effect, marginal):
            keys.add("dependence")
    elif misfit.kind and not (misfit.kind == "shape" and keys):
        keys.add("dependence" if misfit.kind == "interaction" else misfit.kind)
    return frozenset(keys)


def _of_conditional(misfit: Misfit, effect: Effect, marginal: Marginal | None) -> str:
    """The advice on a shift or spread that is not known to be one of the coordinate by itself."""
    if misfit.has_others:
        return "given the others"
    if marginal is not None and unlike_moments(misfit, marginal):
        return "shape"
    if misfit.kind == "shift":
        return "shift"
    return "narrow" if effect.conditional_spread < 1 else "wide"
