"""What `benchmarks.power --suite linear` measures: cheap approximations and the originals."""

from functools import partial

import numpy as np

import steinwise as sw
from benchmarks import alternatives, rival_cases, simulate, targets
from benchmarks.cases import Case
from steinwise.kernels import IMQ, RBF, RandomFourier
from steinwise.methods import KCCSD, KSD, AbstractMethod, NystromKSD

N = 400
METHODS: dict[str, AbstractMethod] = {
    "KSD, RBF": KSD(),
    "Nystrom KSD, RBF": NystromKSD(),
    "KSD, IMQ": KSD(IMQ("median")),
    "Nystrom KSD, IMQ": NystromKSD(IMQ("median")),
    "KCC-SD": KCCSD(sw.conditionals.Linear(), RBF(1.0), standardise=False),
    "KCC-SD, 10 waves": KCCSD(sw.conditionals.Linear(), RandomFourier(waves=10), standardise=False),
    "KCC-SD, unit ball": KCCSD(
        sw.conditionals.Linear(), RBF(1.0), variant="unit-ball", standardise=False
    ),
    "KCC-SD, unit ball, 10 waves": KCCSD(
        sw.conditionals.Linear(), RandomFourier(waves=10), variant="unit-ball", standardise=False
    ),
}


case = partial(rival_cases.case, methods=METHODS)


def shifted(rng: np.random.Generator, d: int) -> np.ndarray:
    """N(0, I) with its first coordinate shifted by 0.25."""
    x = rng.normal(size=(N, d))
    x[:, 0] += 0.25
    return x


LINEAR: dict[str, Case] = {
    "laplace-5": case(targets.standard(5), lambda rng: alternatives.laplace(rng, N, 5), "shown"),
    "right-marginals-5": case(
        targets.standard(5),
        lambda rng: simulate.independent(rng, alternatives.equicorrelated(5, 1.0, 0.15), N),
        "shown",
    ),
    "shifted-5": case(targets.standard(5), lambda rng: shifted(rng, 5), "shown"),
}
"""Wrong draws, n = 400, d = 5."""

LINEAR_SIZE: dict[str, Case] = {
    "correlated-5": case(
        targets.correlated(5),
        lambda rng: simulate.independent(rng, targets.correlated(5).covariance, N),
        "level",
    ),
    "ar-0.5": case(
        targets.standard(3),
        lambda rng: simulate.autoregressive(rng, np.full(3, 0.5), 4, 250),
        "level",
    ),
}
"""Correct draws: n = 400 with d = 5, and four chains of 250 draws with d = 3."""
