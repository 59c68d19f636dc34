"""All cases of `benchmarks.power`, by suite."""

from benchmarks.cases import Case, Outcome, generator
from benchmarks.fit_cases import FITS
from benchmarks.graphical_cases import GRAPHICAL
from benchmarks.learned_cases import LEARNED, LEARNED_SIZE
from benchmarks.linear_cases import LINEAR, LINEAR_SIZE
from benchmarks.model_cases import MODELS
from benchmarks.power_cases import POWER, SIZE
from benchmarks.rival_cases import RIVALS, RIVALS_SIZE

CASES: dict[str, dict[str, Case]] = {
    "power": POWER,
    "size": SIZE,
    "rivals": RIVALS,
    "rivals-size": RIVALS_SIZE,
    "learned": LEARNED,
    "learned-size": LEARNED_SIZE,
    "models": MODELS,
    "fits": FITS,
    "graphical": GRAPHICAL,
    "linear": LINEAR,
    "linear-size": LINEAR_SIZE,
}


def repeat(suite: str, name: str, repetition: int) -> dict[str, Outcome]:
    """One repetition of a case."""
    return CASES[suite][name].run(generator(name, repetition), repetition)
