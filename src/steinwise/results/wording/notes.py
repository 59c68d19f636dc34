"""What must be said with a result, by the kind of a note."""

from steinwise._internal.escaping import printable
from steinwise._internal.notes import Note


def note_text(note: Note) -> str:
    """A note as a sentence."""
    values = {
        name: printable(value) if isinstance(value, str) else value
        for name, value in note.values.items()
    }
    if note.kind == "starts unused":
        values["reason"] = NO_SEARCH[values["reason"]]
    return NOTES[note.kind].format(**values)


# why modes were not looked for
NO_SEARCH = {
    "modes off": "modes=False or evaluations= was passed",
    "some coordinates": "only some coordinates are tested",
    "discrete coordinates": "some coordinates are discrete",
    "few draws": "the draws are too few to hold some out for it",
    "no gradient": "it takes a log density with its gradient, of at most 500 coordinates, and a "
    "normal density has one mode",
}


NOTES = {
    "chains disagree": "the chains disagree with each other: R-hat is {rhat:.3f} in {name} (at "
    "most {bound:.2f} is expected). They have not mixed, or warm-up was left in; the verdict below "
    "speaks of their mixture.",
    "chain not settled": "the chain is not settled: R-hat is {rhat:.3f} in {name} (at most "
    "{bound:.2f} is expected). It has not mixed, or warm-up was left in; the verdict below speaks "
    "of the mixture of its parts.",
    "chains called independent": "these chains were passed with independent=True, but their draws "
    "are autocorrelated: {value:.2f} at lag {lag} in {name} ({signal}). Treating draws of MCMC as "
    "independent causes false alarms: remove the option.",
    "repeated draws": "only {distinct} of the {first}{looked_at} draws are different, as after "
    "resampling, or in a chain that was shuffled. Draws that come again are not independent, and "
    "treating them so causes false alarms: resample fewer, without replacement, or pass the chain "
    "as (chain, draw, d).",
    "more coordinates than draws": "{n} draws of {d} coordinates: if rows are coordinates, did you "
    "mean draws.T? If not, pass names= to silence this note.",
    "warm-up left in": "the start of a chain differs from the rest: its first {length} draws are "
    "on average {distance:.1f} standard deviations away from later windows of the same length. Was "
    "warm-up left in? Drop it and check again.",
    "density breaks": "the log density falls to -inf, or jumps, among the draws, at an edge that "
    "no support was declared for. Lines were followed by values. Scores say nothing of such an "
    "edge: they were left out, and the errors of means and sds are not known.",
    "density is flat": "the density does not depend on {names}, so it cannot be normalised: is a "
    "term missing, such as a prior? The density should take all coordinates of the draws, and "
    "the draws should have no others.",
    "density levels off": "the log density levels off along {names}, so it cannot be normalised: "
    "did you forget the logarithm, or is a term missing, such as a prior? It should be log p(x), "
    "not p(x). The errors of means and sds are not known.",
    "density grows": "the log density grows without bound along {names}: is its sign right? A "
    "potential energy, or a loss, is minus a log density.",
    "positive draws of a logarithm": "all draws of {names} are positive, and the density has mass "
    "below 0 there. Does it take the logarithm? Then pass np.log of these draws: draws and density "
    "must be on the same scale.",
    "positive draws": "all draws of {names} are positive, and some are near 0: {question} "
    "Then pass support={support} to sw.Target, or check {logarithms}, with the Jacobian in the "
    "density.",
    "values only": "{why} Lines were followed by values of the density instead, which takes more "
    "of them, and the errors of means and sds are not known.",
    "no answers": "the errors of means and sds are not known: they need the score at every draw. "
    "{why}",
    "mode copies": "{count} modes are copies of each other with exchangeable coordinates in "
    "another order, as by label switching. Means and sds of single coordinates are those of the "
    "copies that the draws are in.",
    "no modes": "modes were not looked for, because the density failed away from the draws. {why}",
    "starts unused": "starts= was not used: modes were not looked for, because {reason}.",
    "draws interrupted": "interrupted: the verdict rests on the first {looked_at} of {all_draws} "
    "draws.",
    "lines interrupted": "interrupted: {done} of {lines} coordinates and directions were looked "
    "at. The verdict speaks of these only.",
    "only scores": "interrupted while lines were followed: the verdict rests on the scores at the "
    "draws.",
    "overflow": "a part of the test of {line} ({base!r}, {context!r}){more} was left out: its "
    "numbers overflow. Are there draws at an absurd distance?",
    "underflow": "a part of the test of {line} ({base!r}, {context!r}){more} was left out: its "
    "numbers underflow. No draw is where the target's conditional has its mass.",
    "draws thinned": "one in {step} draws was tested, {tested} of {given}, to keep to "
    "{evaluations:g} evaluations of the density: a draw takes {each:.3g}.",
    "refreshed": "draws were moved by sw.refresh, {name} last: it fits the density given the "
    "others by construction, and this check is blind to it. Check the draws as they were before.",
    "nothing learned": "for {count} of {of} coordinates ({names}) the learned conditional predicts "
    "the validation draws no better than the coordinate's own marginal distribution does. There is "
    "hardly any dependence on the others, or {train} draws are too few to learn it.",
    "one term decides": "a single batch of draws, or pair of batches, makes up nearly all of the "
    "statistic. Its random signs then say nothing: the p-value is large whatever the other draws "
    "are. Some draws are very far out; look at these first, or take the default method, which "
    "looks at far draws one by one.",
    "bandwidth far": "the kernel's bandwidth is {ratio:.2g} times the typical distance of two draws"
    "{where}{more}. A kernel much narrower than that compares hardly any two draws, and one much "
    "wider sees little but means: such a test finds nothing. A bandwidth is in the units of the "
    "draws, unless the method standardises them; 'median' takes it from the draws.",
    "unlike scales": "the spreads of the coordinates go from {least:.2g} to {most:.2g}, and this "
    "method compares draws by one distance over all coordinates: it sees the widest, and next to "
    "nothing of the others. Divide the coordinates of draws and density by their spreads, or take "
    "a method that goes coordinate by coordinate, as the default does.",
    "precision unused": "dtype={dtype!r} has no effect on the method {method!r}, which computes in "
    "float64: {why}.",
    "fit overflows": "the curvature of the discrepancy is not finite: the density overflows there.",
    "parameters without effect": "not identified: the score does not change with {names} anywhere "
    "near the draws. A factor of the density that does not depend on x is part of its constant.",
    "parameters only together": "not identified: the score depends on {names} through a "
    "combination of them only. Fix one of them, or write the model in terms of the combination.",
    "fit stuck": "not converged: to first order the score does not change there with one of the "
    "parameters, as where the density is symmetric in it. Start elsewhere.",
    "fit is a saddle": "this solves the first-order condition but is no minimum of the "
    "discrepancy: a saddle, or draws too few to tell. Try other starts.",
    "fit not converged": "not converged after {steps} trust region steps ({message}) and {rounds} "
    "rounds on the equations. Start nearer, rescale the parameters so that they are of order 1, or "
    "raise max_iterations.",
    "chains too slow": "the chains are too short, or too slow, for reliable errors: these rest on "
    "{count} batches of draws that still depend on each other, and are too small.",
    "no standard errors": "the draws are too few, or too dependent, for standard errors.",
}
