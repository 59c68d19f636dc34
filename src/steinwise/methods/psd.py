r"""PSD: the polynomial Stein discrepancy, linear in the number of draws.

Stein's operator of second order is applied to all monomials P_1..P_J of degree 1 to r,

.. math::
    \tau_k(x) = \Delta P_k(x) + \langle b(x), \nabla P_k(x) \rangle, \qquad
    \mathrm{PSD}^2 = \sum_k (E \tau_k(x))^2, \qquad J = \binom{d + r}{d} - 1,

which is 0 when the draws come from p; for a normal p, whenever their first r moments are p's.

Srinivasan, Sutton, Drovandi and South, "The polynomial Stein discrepancy for assessing moment
convergence", 2025. The features and both nulls are those of the authors' program; its V-statistic
with a sign per draw gives the p-value of the U-statistic with these signs, as products of a draw
with itself have the same sign in both.
"""

import itertools
from dataclasses import dataclass
from math import comb
from typing import ClassVar, Literal

import jax
import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.compiled import call_in_chunks, rows_of
from steinwise._internal.memory import even_size
from steinwise._internal.random import stream
from steinwise._internal.run_options import RunOptions
from steinwise._internal.spread import spreads
from steinwise._internal.validation import require_choice, require_flag, require_whole
from steinwise.calibration.batches import Batches
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.functional import polynomial_stein_features
from steinwise.methods.base import AbstractFitted, AbstractFixedMethod, Evidence
from steinwise.methods.chi_square_null import chi_square_calibration
from steinwise.methods.statistics import AbstractStatistic, FeatureProduct
from steinwise.target import AbstractTarget

NULLS = ("signs", "covariance")
MOST_FEATURES = 10_000  # the covariance of all of them is held whole
# The largest product of a score and powers: in 64 bit its fourth power, of which the spread of
# bootstraps is made, is still a float; in 32 bit it is one itself.
LARGEST_TERM = {"float64": 1e70, "float32": 1e35}
ROWS_PER_CHUNK = 4096
COPIES = 8  # of its features, and of their factors, that a chunk of rows may take in memory


class PSD(AbstractFixedMethod):
    r"""The squared polynomial Stein discrepancy: means of Stein terms of all monomials.

    .. math::
        \mathrm{PSD}^2 = \sum_k (E [\Delta P_k(x) + \langle b(x), \nabla P_k(x) \rangle])^2

    Cheap, and powerful where low moments of many coordinates are off. It sees no fault that leaves
    the first r moments right, says nothing of single coordinates, and one far draw decides it.
    Its level holds with signs: the terms are skewed, scores times powers, but a sum of squares of
    their means is less so. The published limit is far too cautious where the draws are not many
    more than the monomials (it rejects 0.000 of correct draws with 20 coordinates and 200 draws, at
    level 0.05), as a few draws decide the covariance; see the page on benchmarks.

    Parameters
    ----------
    degree
        r, the largest degree of a monomial.
    null
        "signs" (the default): a sign per batch of draws; for at most 250 independent draws that is
        the published bootstrap, a sign per draw. "covariance": the published limit, n PSD^2 is
        distributed as sum_k lambda_k (Z_k^2 - 1), with lambda the eigenvalues of the covariance of
        the terms (in a chain, of their batch sums).
    standardise
        Take each coordinate from its median, in units of its spread in the draws, so that the test
        depends on neither. With False all is as published, and monomials are those of the draws.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 1.0, 1.3]
    >>> sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)), method="psd").rejected
    True
    """

    degree: int = 2
    null: Literal["signs", "covariance"] = "signs"
    standardise: bool = True

    name: ClassVar[str] = "psd"

    def __check_init__(self) -> None:
        require_whole("degree", self.degree, least=1)
        require_choice("null", self.null, NULLS)
        require_flag("standardise", self.standardise)

    def describe(self) -> str:
        return f"PSD (degree {self.degree}, {self.null} null{', standardised' * self.standardise})"

    @property
    def elsewhere(self) -> str:
        return ""

    def fitted(self, samples: Samples) -> "FittedPSD":
        count = comb(samples.dim + self.degree, self.degree) - 1
        if count > MOST_FEATURES:
            raise InputError(
                f"degree={self.degree} with {samples.dim} coordinates means {count} monomials: "
                f"expected at most {MOST_FEATURES}. Take a smaller degree, or method='scores', "
                "whose cost is linear in the number of coordinates."
            )
        return FittedPSD(self, samples)


@dataclass(frozen=True, eq=False)
class FittedPSD(AbstractFitted[PSD]):
    """PSD and the draws that it tests; it learns nothing."""

    @property
    def labels(self) -> tuple[str, ...]:
        return ()

    def statistic(self, target: AbstractTarget, run: RunOptions) -> FeatureProduct:
        x, score = self.samples.rows, self.scores(target, run)
        if self.method.standardise:
            x, score = standardised(x, score)
        require_moderate(x, score, self.method.degree, run.dtype)
        x, score = x.astype(run.dtype), score.astype(run.dtype)
        n, factors = self.samples.n, monomials(self.samples.dim, self.method.degree)
        most = int(np.clip(run.memory // (8 * COPIES * factors.size), 1, ROWS_PER_CHUNK))
        size = even_size(n, most)

        def features(part: slice) -> tuple[np.ndarray, np.ndarray]:
            rows, count = rows_of(x[part], score[part]), part.stop - part.start
            tau = call_in_chunks(lambda x, b: _features(x, b, factors), rows, count, size)
            tau = tau[:, None, None]
            return tau, tau

        return FeatureProduct(n, features, size)

    def test(
        self, statistic: AbstractStatistic, batches: Batches, n_bootstrap: int, seed: object
    ) -> Evidence:
        if self.method.null == "signs":
            return super().test(statistic, batches, n_bootstrap, seed)
        assert isinstance(statistic, FeatureProduct)
        width = len(monomials(self.samples.dim, self.method.degree))
        rng = stream(seed, "polynomial null")
        calibration = chi_square_calibration(statistic, batches, width, n_bootstrap, rng)
        return Evidence(calibration, batches)


_features = jax.jit(polynomial_stein_features)


def standardised(
    x: Float[np.ndarray, "n d"], score: Float[np.ndarray, "n d"]
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
    """Draws from their medians in units of their spreads, and the scores on that scale."""
    unit = spreads(x)
    return (x - np.median(x, axis=0)) / unit, score * unit


def require_moderate(
    x: Float[np.ndarray, "n d"], score: Float[np.ndarray, "n d"], degree: int, dtype: str
) -> None:
    """Refuse draws whose Stein terms overflow when they are squared and summed."""
    largest_x, largest_score = (np.maximum(np.abs(rows).max(axis=1), 1) for rows in (x, score))
    logs = (degree - 1) * np.log10(largest_x) + np.log10(largest_score)
    row = int(np.argmax(logs))
    if logs[row] > np.log10(LARGEST_TERM[dtype]):
        raise InputError(
            f"a draw has a coordinate of size {largest_x[row]:.3g} and a score of size "
            f"{largest_score[row]:.3g}, on the scale of the others: terms of degree={degree} "
            f"overflow in {dtype}. Take the draw out if it is an error; else take a smaller "
            "degree, or the default method, to which far draws do no harm."
        )


def monomials(d: int, degree: int) -> Int[np.ndarray, "j degree"]:
    """The coordinates whose products are the monomials of degree 1 and more; d for a factor 1.

    >>> monomials(2, 2).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2]]
    """
    chosen = itertools.combinations_with_replacement(range(d + 1), degree)
    return np.array([factors for factors in chosen if factors[0] < d])
