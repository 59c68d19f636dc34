"""All methods under contract, and the draws and targets that they are tried on."""

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np

import steinwise as sw
from benchmarks.targets import gaussian_conditionals
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batch_plan import plan_batches
from steinwise.calibration.batches import Batches
from steinwise.conditionals import KDE, Histogram, Linear, MixtureDensity
from steinwise.draws.samples import Samples
from steinwise.methods import Transported
from steinwise.methods.base import AbstractFitted, AbstractMethod
from steinwise.methods.fssd import FSSD
from steinwise.methods.graphical import GraphicalKSD
from steinwise.methods.kccsd import KCCSD
from steinwise.methods.ksd import KSD
from steinwise.methods.ksdagg import KSDAgg
from steinwise.methods.lambda_psd import LambdaPSD
from steinwise.methods.nystrom import NystromKSD
from steinwise.methods.psd import PSD
from steinwise.methods.rfsd import RFSD
from steinwise.methods.scores import Scores
from steinwise.methods.sksd import SlicedKSD
from steinwise.methods.statistics import AbstractStatistic

N = 60  # a batch each, so that the order of the draws cannot matter


def normal(d: int) -> sw.Gaussian:
    return sw.Gaussian(np.zeros(d), 0.5 * np.eye(d) + 0.5)


def draws(seed: int, n: int = N, d: int = 3) -> np.ndarray:
    rng = np.random.default_rng([99, seed])
    return rng.multivariate_normal(np.zeros(d), normal(d).covariance, n)


def target_null(kind: Literal["imq", "sech"], d: int) -> RFSD:
    """RPhiSD with the published null; the published gamma misses the level."""
    return RFSD(kind, null="target", gamma=1.0, target_draws=lambda seed, n: draws(seed, n, d))


METHODS: dict[str, AbstractMethod | Callable[[int], AbstractMethod]] = {
    "transported": Transported(),
    "transported, no directions": Transported(directions=False),
    "scores": Scores(),
    "kccsd": lambda d: KCCSD(gaussian_conditionals(normal(d))),
    "kccsd, histogram": KCCSD(Histogram(bins=6, epochs=50)),
    "kccsd, kde": KCCSD(KDE()),
    "kccsd, linear": KCCSD(Linear()),
    "kccsd, linear, 3 splits": KCCSD(Linear(), splits=3),
    "kccsd, mixture density": KCCSD(MixtureDensity(epochs=50)),
    "kccsd, waves": KCCSD(Linear(), sw.kernels.RandomFourier(waves=10), variant="unit-ball"),
    "ksd": KSD(),
    "ksd, imq": KSD(sw.kernels.IMQ()),
    "ksd, a sign per draw": KSD(bootstrap="draws"),
    "ksd, multinomial": KSD(bootstrap="multinomial"),
    "ksd, linear": KSD(linear=True),
    "ksdagg": KSDAgg(),
    "nystrom": NystromKSD(),
    "nystrom, imq": NystromKSD(sw.kernels.IMQ(), landmarks=20),
    "fssd": FSSD(),
    "fssd, imq": FSSD(sw.kernels.IMQ("median")),
    "fssd, signs": FSSD(null="signs"),
    "fssd, fixed": lambda d: FSSD(locations=np.ones((2, d)), optimise=False, null="signs"),
    "graphical": GraphicalKSD(),
    "graphical, given": lambda d: GraphicalKSD(np.ones((d, d)), sw.kernels.IMQ()),
    "rfsd, imq": RFSD("imq"),
    "rfsd, sech": RFSD("sech"),
    "rfsd, imq, null of the target": lambda d: target_null("imq", d),
    "rfsd, sech, null of the target": lambda d: target_null("sech", d),
    "psd": PSD(),
    "psd, degree 3, covariance": PSD(degree=3, null="covariance"),
    "lambda_psd": LambdaPSD(),
    "lambda_psd, degree 3": LambdaPSD(degree=3),
    "sksd, axes": SlicedKSD(),
    "sksd, learned": SlicedKSD("learned"),
    "sksd, active": SlicedKSD("active"),
}

# calibrated draw by draw, or by draws of the target: they refuse chains
INDEPENDENT_ONLY = {name for name in METHODS if "sign per draw" in name or "multinomial" in name}
INDEPENDENT_ONLY |= {name for name in METHODS if "null of the target" in name}


def method(name: str, d: int) -> AbstractMethod:
    found = METHODS[name]
    return found if isinstance(found, AbstractMethod) else found(d)


def prepared(one: AbstractMethod, x: np.ndarray) -> list[AbstractFitted]:
    """The method with what it learns from some of the draws, and the others, for every split."""
    samples = Samples.of(x, independent=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.SteinwiseWarning)
        return list(one.prepare(samples, normal(samples.dim), RunOptions()))


def batches_of_one_draw(fitted: AbstractFitted, statistic: AbstractStatistic) -> Batches:
    """As in `sw.check`, with a batch for every draw: pairs inside a batch are left out."""
    samples = fitted.samples
    plan = plan_batches(samples, statistic.monitored_columns, most=statistic.most_batches)
    assert plan.batches.count == samples.n
    return plan.batches


def value(fitted: AbstractFitted) -> float:
    """The discrepancy in a check, or the largest z of a coordinate, with a batch for every draw.

    Not the statistic, which is on the scale of the bootstraps.
    """
    statistic = fitted.statistic(normal(fitted.samples.dim), RunOptions())
    batches = batches_of_one_draw(fitted, statistic)
    found = fitted.test(statistic, batches, 99, 0).calibration
    if found.discrepancy is not None:
        return found.discrepancy
    return float(np.max(found.values)) if found.values.size else found.statistic
