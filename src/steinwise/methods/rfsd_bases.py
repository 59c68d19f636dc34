r"""Base functions of random feature Stein discrepancies, and the distributions of their locations.

With :math:`\alpha = \gamma / 3` and :math:`\xi = 4 \alpha / (2 + \alpha)`, as in the paper.
"""

import abc
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import pdist
from scipy.special import gammaln

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.spread import pulled_in
from steinwise.errors import InputError
from steinwise.kernels.median import MEDIAN_ROWS, median_distance

Rows = Float[np.ndarray, "rows d"]
Locations = Float[np.ndarray, "m d"]


@dataclass(frozen=True, eq=False)
class AbstractBase(abc.ABC):
    """A base function, and the importance distribution of its locations."""

    centre: Float[np.ndarray, " d"]
    order: ClassVar[int]  # r

    @classmethod
    @abc.abstractmethod
    def around(cls, x: Rows, gamma: float, degrees: float, seed: object) -> Self:
        """With the scales that some draws suggest."""

    @abc.abstractmethod
    def sample(self, rng: np.random.Generator, count: int) -> Locations:
        """Locations drawn from the importance distribution."""

    @abc.abstractmethod
    def log_density(self, z: Locations) -> Float[np.ndarray, " m"]:
        """log nu."""

    @abc.abstractmethod
    def evaluate(
        self, x: Rows, z: Locations
    ) -> tuple[Float[np.ndarray, "rows m"], Float[np.ndarray, "rows d m"]]:
        """log Phi(x, z), and its gradient in x."""


@dataclass(frozen=True, eq=False)
class MultiquadricBase(AbstractBase):
    """(c'^2 + |x - z|^2)^beta', and a multivariate t distribution."""

    scale: float  # c'
    exponent: float  # beta'
    degrees: float
    order: ClassVar[int] = 1

    @classmethod
    def around(cls, x: Rows, gamma: float, degrees: float, seed: object) -> Self:
        c = 4 * float(median_distance(x, seed, per_coordinate=False))
        exponent = -(x.shape[1] + degrees) / (2 * _xi(gamma))
        return cls(pulled_in(x).mean(axis=0), (1 - gamma / 6) * c / 2, exponent, degrees)

    def sample(self, rng: np.random.Generator, count: int) -> Locations:
        normal = rng.standard_normal((count, len(self.centre)))
        return self.centre + self.scale * normal / np.sqrt(rng.chisquare(self.degrees, (count, 1)))

    def log_density(self, z: Locations) -> Float[np.ndarray, " m"]:
        d, t = len(self.centre), self.degrees
        squared = (((z - self.centre) / self.scale) ** 2).sum(axis=1)
        constant = gammaln((d + t) / 2) - gammaln(t / 2) - d * np.log(np.sqrt(np.pi) * self.scale)
        return constant - (d + t) / 2 * np.log1p(squared)

    def evaluate(
        self, x: Rows, z: Locations
    ) -> tuple[Float[np.ndarray, "rows m"], Float[np.ndarray, "rows d m"]]:
        away = x[:, :, None] - z.T
        squared = self.scale**2 + (away**2).sum(axis=1)
        return self.exponent * np.log(squared), 2 * self.exponent * away / squared[:, None, :]


@dataclass(frozen=True, eq=False)
class SecantBase(AbstractBase):
    """prod_j sech(a (x_j - z_j)), and independent coordinates with density (s / pi) sech."""

    rate: float  # a
    tail_rate: float  # s
    order: ClassVar[int] = 2

    @classmethod
    def around(cls, x: Rows, gamma: float, degrees: float, seed: object) -> Self:  # noqa: ARG003
        xi = _xi(gamma)
        rate = 1 / (xi * _median_l1(x))
        return cls(pulled_in(x).mean(axis=0), rate, cls.order * xi * rate)

    def sample(self, rng: np.random.Generator, count: int) -> Locations:
        # log |Cauchy| has the density sech / pi
        cauchy = rng.standard_cauchy((count, len(self.centre)))
        return self.centre + np.log(np.abs(cauchy)) / self.tail_rate

    def log_density(self, z: Locations) -> Float[np.ndarray, " m"]:
        log_sech = _log_sech(self.tail_rate * (z - self.centre))
        return (np.log(self.tail_rate / np.pi) + log_sech).sum(axis=1)

    def evaluate(
        self, x: Rows, z: Locations
    ) -> tuple[Float[np.ndarray, "rows m"], Float[np.ndarray, "rows d m"]]:
        scaled = self.rate * (x[:, :, None] - z.T)
        return _log_sech(scaled).sum(axis=1), -self.rate * np.tanh(scaled)


BASES: dict[str, type[AbstractBase]] = {"imq": MultiquadricBase, "sech": SecantBase}


def _xi(gamma: float) -> float:
    alpha = gamma / 3
    return 4 * alpha / (2 + alpha)


def _log_sech(t: np.ndarray) -> np.ndarray:
    """-log cosh t, for any t."""
    return np.log(2) - np.logaddexp(t, -t)


def _median_l1(rows: Rows) -> float:
    """The median of |x_i - x_l|_1 on at most 1000 rows, evenly spaced."""
    median = float(
        np.median(pdist(rows[evenly_spaced_indices(len(rows), MEDIAN_ROWS)], "cityblock"))
    )
    if median == 0:
        raise InputError(
            "the median distance is 0: more than half of the pairs of draws are equal. Drop the "
            "repeated draws."
        )
    return median
