"""All cases of `benchmarks.power`, by suite."""

from benchmarks.cases import Case, Outcome, generator
from benchmarks.effort_cases import EFFORTS
from benchmarks.fit_cases import FITS
from benchmarks.graphical_cases import GRAPHICAL
from benchmarks.learned_cases import LEARNED, LEARNED_SIZE
from benchmarks.linear_cases import LINEAR, LINEAR_SIZE
from benchmarks.mode_cases import MODES, MODES_SIZE
from benchmarks.model_cases import MODELS
from benchmarks.polynomial_cases import POLYNOMIALS, POLYNOMIALS_SIZE
from benchmarks.power_cases import POWER, SCORES_SIZE, SIZE, UNIFORM
from benchmarks.rival_cases import RIVALS, RIVALS_SIZE
from benchmarks.support_cases import SUPPORT, SUPPORT_SIZE
from benchmarks.tolerance_cases import TOLERANCES

CASES: dict[str, dict[str, Case]] = {
    "power": POWER,
    "size": SIZE,
    "scores-size": SCORES_SIZE,
    "efforts": EFFORTS,
    "uniform": UNIFORM,
    "rivals": RIVALS,
    "rivals-size": RIVALS_SIZE,
    "polynomials": POLYNOMIALS,
    "polynomials-size": POLYNOMIALS_SIZE,
    "learned": LEARNED,
    "learned-size": LEARNED_SIZE,
    "models": MODELS,
    "fits": FITS,
    "graphical": GRAPHICAL,
    "linear": LINEAR,
    "linear-size": LINEAR_SIZE,
    "modes": MODES,
    "modes-size": MODES_SIZE,
    "support": SUPPORT,
    "support-size": SUPPORT_SIZE,
    "tolerance": TOLERANCES,
}


def repeat(suite: str, name: str, repetition: int) -> dict[str, Outcome]:
    """One repetition of a case."""
    return CASES[suite][name].run(generator(name, repetition), repetition)
