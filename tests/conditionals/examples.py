"""Draws, training data and stand-ins that the tests of this folder share."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.conditionals import (
    KDE,
    AbstractConditional,
    AbstractFittedConditional,
    Atoms,
    Auto,
    Histogram,
    Linear,
    MixtureDensity,
    Sampled,
    TrainingData,
    Transported,
)

D = 3
COVARIANCE = 0.5 * np.eye(D) + 0.5
TARGET = sw.Gaussian(np.zeros(D), np.eye(D))

MODELS: dict[str, AbstractConditional] = {
    "histogram": Histogram(),
    "kde": KDE(),
    "linear": Linear(),
    "mixture density": MixtureDensity(),
    "transported": Transported(),
    "transported, pooled": Transported(8, pooled=True),
    "auto": Auto(),
    "sampled": Sampled(Histogram(), n_atoms=7),
}


def normal(seed: int, n: int, covariance: np.ndarray = COVARIANCE) -> np.ndarray:
    rng = np.random.default_rng([5, seed])
    return rng.multivariate_normal(np.zeros(len(covariance)), covariance, n)


def training(train: np.ndarray, validation: np.ndarray, target: Any = None) -> TrainingData:
    """Blocks of one coordinate, named b0, b1, ..."""
    d = train.shape[1]
    return TrainingData(
        train,
        validation,
        tuple(np.array([j]) for j in range(d)),
        tuple(f"b{j}" for j in range(d)),
        sw.Gaussian(np.zeros(d), np.eye(d)) if target is None else target,
        RunOptions(progress=False),
    )


def losses(model: AbstractConditional, data: TrainingData) -> np.ndarray:
    """Validation losses per coordinate."""
    log_density = model.fit(data).log_density(data.validation)
    assert log_density is not None
    return -log_density.mean(axis=0)


def quiet_check(draws: np.ndarray, method: Any, target: Any = TARGET, **options: Any) -> Any:
    """A check without its note on coordinates that hardly depend on each other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.SteinwiseWarning)
        return sw.check(draws, target, method=method, progress=False, **options)


@dataclass(frozen=True, eq=False)
class AlreadyFitted(AbstractConditional, AbstractFittedConditional):
    """A stand-in that was learned elsewhere: all draws are tested."""

    fitted: AbstractFittedConditional

    learns: ClassVar[bool] = False

    def fit(self, data: TrainingData) -> "AlreadyFitted":  # noqa: ARG002
        return self

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:
        return self.fitted.atoms(x, seed, first_row)


@dataclass(frozen=True, eq=False)
class Recorder(AbstractConditional, AbstractFittedConditional):
    """The marginal quartiles; records the draws that it gets. Without a density."""

    fitted_to: list[tuple[np.ndarray, np.ndarray]]
    tested: list[np.ndarray]
    quartiles: np.ndarray | None = None

    @classmethod
    def new(cls) -> "Recorder":
        return cls([], [])

    def fit(self, data: TrainingData) -> "Recorder":
        self.fitted_to.append((data.train, data.validation))
        return replace(self, quartiles=np.quantile(data.train, [0.25, 0.5, 0.75], axis=0).T)

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:  # noqa: ARG002
        self.tested.append(x)
        assert self.quartiles is not None
        points = np.broadcast_to(self.quartiles, (*x.shape, 3))
        return Atoms(points, np.full(points.shape, 1 / 3))
