"""Headings of the page, and the words in pictures."""

from steinwise._internal.escaping import printable
from steinwise.results.wording.coordinates import MISFIT, NO_MISFIT
from steinwise.results.wording.verdicts import p_is, pvalue

PAGE = {
    "summary": "How far off are the answers?",
    "quantity": "quantity",
    "intervals": "As drawn and corrected",
    "title": "Do these draws come from this density?",
    "modes": "Modes",
    "modes picture": "the log density on the line between two modes, and the draws along it",
    "coordinates": "Coordinates",
    "search": "Find a coordinate or a verdict",
    "place": "place in the conditional",
    "advice": "What it means, and what to do next",
    "statistic": "The statistic and its null",
    "picture": "the statistic against its null",
    "facts": "How the result was obtained",
    "marginals": "The worst coordinates, as drawn and as expected",
    "marginals picture": "histograms of the worst coordinates",
    "pair": "The worst pair",
    "pair picture": "a coordinate's place in its conditional, against another coordinate",
}


def worst_shown(shown: int, coordinates: int) -> str:
    return f"The {shown} worst of {coordinates} coordinates."


def histogram_label(name: str) -> str:
    return f"histogram of {printable(name)} in its conditional"


LABELS = {
    "as drawn": "as drawn",
    "corrected": "corrected",
    "one sd": "mean and one sd to either side, in corrected sds",
    "conditional": "in the target's conditional",
    "place of": "place of ",
    "place along": "place along ",
    "share of draws": "share of the draws",
    "density of draws": "density of the draws",
    "surplus": "surplus of draws, as a share",
    "contribution": "added to the statistic",
    "share of all": "share of all",
    "far out": "-log10 of its tail probability",
    "null": "null (bootstrap)",
    "statistic": "statistic",
    "mean errors": "mean error, in sds",
    "sd errors": "sd ratio - 1",
    "shifts": "conditional shift, in sds",
    "spreads": "conditional spread - 1",
    "size": "how far off, as a share of an sd",
    "flagged": "flagged",
    "unknown": "not known from these draws",
    "at least": "at least this far off; some errors are not known",
    "expected marginal": "expected: mean and one sd",
    "drawn marginal": "drawn: mean and one sd",
    "bootstraps": "bootstraps",
    "difference": "discrepancy minus that of the best",
    "largest error": "largest error of a mean (in sds) or an sd (log ratio)\n(orange: misfit)",
    "draws": "draws",
    "path": "the straight line from one mode (0) to another (1)",
    "log density": "log density minus its maximum",
    "ratio": "smoothed ratio",
    "mean": "mean",
}


# what is said while something runs, by what it does or what it reads
PROGRESS = {
    "density": "compiling the density",
    "modes": "looking for modes of the density",
    "first lines": "compiling what follows the density along lines",
    "answers": "estimating the errors of means and sds",
    "lines": "following the density along lines",
    "scores": "gradients at the draws",
    "sums": "weighing the values of discrete coordinates",
}


def sweep_progress(number: int, most: int) -> str:
    return f"refreshing draws, sweep {number} of at most {most}"


def set_progress(number: int, sets: int, name: str) -> str:
    return f"checking set {number} of {sets}, {name}"


def observed_label(observed: float) -> str:
    return f"these draws, {observed:.3g}"


def level_label(alpha: float) -> str:
    return f"level {alpha}"


def expected_label(alpha: float) -> str:
    return f"expected, level {alpha}"


def bar_label(values: int) -> str:
    """What a bar of neighbouring values begins with."""
    return f"({values} values to a bar, from the one shown)" if values > 1 else ""


def null_title(rejected: bool, p: float) -> str:
    return f"{MISFIT if rejected else NO_MISFIT}, {p_is(pvalue(p))}"


def evidence_label(alpha: float) -> str:
    return f"evidence, -log10 of the adjusted p-value\n(dashed: level {alpha})"


def flagged_title(flagged: int, shown: int, coordinates: int) -> str:
    part = f"; {shown} of {coordinates} shown" if shown < coordinates else ""
    return f"{flagged} flagged{part}"


def intervals_title(alpha: float) -> str:
    return f"simultaneous intervals, level {alpha:g}"
