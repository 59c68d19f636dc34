"""One small method for each kind of statistic: a mean, feature products, a Gram matrix."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import steinwise as sw
from benchmarks import targets
from steinwise._internal.run_options import RunOptions
from steinwise.methods.base import AbstractFitted, AbstractFixedMethod, AbstractMethod
from steinwise.methods.statistics import FeatureProduct, Mean
from steinwise.target import AbstractTarget


class SteinMean(AbstractFixedMethod):
    """A mean statistic: b_j(x) f_j(x) + f_j'(x) with fixed f_j = exp(-(x_j - v_j)^2 / 2).

    Its contributions are as autocorrelated as the chain. Those of KCC-SD with the target's own
    conditionals are not: they have mean zero given every other draw.
    """

    name: ClassVar[str] = "stein-mean"

    def describe(self) -> str:
        return "mean of Stein's operator on fixed functions"

    def fitted(self, samples: sw.Samples) -> "FittedSteinMean":
        return FittedSteinMean(self, samples)


@dataclass(frozen=True, eq=False)
class FittedSteinMean(AbstractFitted[SteinMean]):
    """The mean and the draws that it tests; it learns nothing."""

    @property
    def labels(self) -> tuple[str, ...]:
        return self.samples.names

    def statistic(self, target: AbstractTarget, run: RunOptions) -> Mean:
        x = self.samples.rows
        difference = x - np.linspace(-1.0, 1.0, self.samples.dim)
        bump = np.exp(-(difference**2) / 2)
        return Mean(bump * (target.score(x, memory=run.memory) - difference))


class SteinFeatures(AbstractFixedMethod):
    """A feature product: Stein features at five random points, with two bandwidths.

    tau_jl(x) = b_j(x) k(x, v_l) + dk/dx_j(x, v_l) has mean zero under the target, so the mean of
    <tau(x_i), tau(x_l)> over pairs is an unbiased squared distance, coordinate by coordinate.
    """

    rows_per_chunk: int = 4096
    name: ClassVar[str] = "stein-features"

    def describe(self) -> str:
        return "product of Stein features at 5 points, 2 bandwidths"

    def fitted(self, samples: sw.Samples) -> "FittedSteinFeatures":
        return FittedSteinFeatures(self, samples)


@dataclass(frozen=True, eq=False)
class FittedSteinFeatures(AbstractFitted[SteinFeatures]):
    """The feature product and the draws that it tests; it learns nothing."""

    @property
    def labels(self) -> tuple[str, ...]:
        return self.samples.names

    def statistic(self, target: AbstractTarget, run: RunOptions) -> FeatureProduct:
        x, d = self.samples.rows, self.samples.dim
        points = np.random.default_rng(20).normal(size=(5, d))
        widths = np.sqrt(d) * np.array([1.0, 2.0])

        def features(rows: slice) -> tuple[np.ndarray, np.ndarray]:
            difference = x[rows, :, None] - points.T  # (rows, d, 5)
            score = target.score(x[rows], memory=run.memory)[..., None]
            squared = (difference**2).sum(axis=1, keepdims=True)
            kernels = [np.exp(-squared / (2 * width**2)) for width in widths]
            of_widths = [
                k * (score - difference / width**2)
                for k, width in zip(kernels, widths, strict=True)
            ]
            tau = np.stack(of_widths, axis=1)
            return tau, tau

        return FeatureProduct(self.samples.n, features, self.method.rows_per_chunk)


@dataclass(frozen=True)
class Problem:
    """A target with one method for each kind of statistic."""

    target: AbstractTarget
    conditionals: sw.conditionals.Sampler  # of the distribution that the draws come from

    @property
    def methods(self) -> dict[str, AbstractMethod]:
        return {
            "mean (KCC-SD)": sw.methods.KCCSD(self.conditionals, standardise=False),
            "mean (fixed functions)": SteinMean(),
            "features": SteinFeatures(),
            "Gram (KSD)": sw.methods.KSD(),
        }


def gaussian_problem(target: sw.Gaussian, source: sw.Gaussian | None = None) -> Problem:
    """A Gaussian target; the draws come from `source`, by default from the target itself."""
    return Problem(target, targets.gaussian_conditionals(target if source is None else source))


def banana_problem() -> Problem:
    return Problem(targets.banana(), targets.banana_conditionals())
