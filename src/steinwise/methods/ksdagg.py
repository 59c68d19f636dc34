r"""KSDAgg: KSDs of several bandwidths, aggregated (Schrab, Guedj and Gretton, 2022).

No bandwidth is chosen: every one is compared with its own null, and the smallest of these p-values
with that of the bootstraps, which have had the same choice. That is the corrected level of KSDAgg,
u_alpha, stated as a p-value; it needs no second set of bootstraps and no bisection.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float
from scipy.spatial.distance import pdist

from steinwise._internal.notes import Note
from steinwise._internal.random import stream
from steinwise._internal.run_options import RunOptions
from steinwise._internal.spread import pulled_in, spreads
from steinwise._internal.validation import as_positive, is_whole, require_flag
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.functional import imq_stein_grams
from steinwise.kernels import IMQ, AbstractKernel
from steinwise.kernels.precision import robust_centre
from steinwise.methods.bandwidth_notes import bandwidth_notes
from steinwise.methods.base import AbstractFitted, AbstractFixedMethod
from steinwise.methods.statistics import Gram, draws_and_scores
from steinwise.target import AbstractTarget

MOST_BANDWIDTHS = 1000  # each has sums over all pairs of batches
MOST_ROWS = 5000  # among which the largest distance is sought


def _bandwidths(value: Any) -> int | tuple[float, ...]:
    if is_whole(value) and 2 <= value <= MOST_BANDWIDTHS:
        return int(value)
    given = as_positive(value)
    if given is None or given.ndim == 0:
        raise InputError(
            f"bandwidths is {value!r}: expected how many, from 2 to 1000, or a tuple of them, "
            "positive numbers from 1e-70 to 1e70."
        )
    return tuple(given.tolist())


class KSDAgg(AbstractFixedMethod):
    r"""The kernelized Stein discrepancy with IMQ kernels of several bandwidths, aggregated.

    .. math:: k_\lambda(x, y) = (1 + |x - y|^2 / \lambda^2)^{-1/2}

    Parameters
    ----------
    bandwidths
        The number of bandwidths :math:`\lambda_i = l^{i/9} / d` (with 10 of them), where l is the
        largest distance of two draws (of 5000 of them, where there are more), 2 at least; or the
        bandwidths themselves.
    standardise
        Divide each coordinate by its spread in the draws first, so that the test does not depend on
        the units of the draws. The spreads come from the draws that are tested, as the published
        largest distance does; a draw beyond ten spreads from the median counts in that as ten away.
        With False all is as published, and bandwidths are in the units of the draws: right for
        draws of order 1.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).laplace(0, 0.5**0.5, size=(500, 5))
    >>> sw.check(draws, sw.Gaussian(np.zeros(5), np.eye(5)), method="ksdagg").rejected
    True
    """

    bandwidths: int | tuple[float, ...] = eqx.field(converter=_bandwidths, default=10)
    standardise: bool = True

    name: ClassVar[str] = "ksdagg"

    def __check_init__(self) -> None:
        require_flag("standardise", self.standardise)

    def describe(self) -> str:
        count = self.bandwidths if isinstance(self.bandwidths, int) else len(self.bandwidths)
        return f"KSDAgg ({count} IMQ kernels{', standardised' * self.standardise})"

    @property
    def elsewhere(self) -> str:
        return ""

    def fitted(self, samples: Samples) -> "FittedKSDAgg":
        return FittedKSDAgg(self, samples)

    def resolve(self, rows: Float[np.ndarray, "n d"], seed: object) -> Float[np.ndarray, " b"]:
        """The bandwidths for these draws, which are standardised already if they are to be."""
        if not isinstance(self.bandwidths, int):
            return np.asarray(self.bandwidths)
        rows = pulled_in(rows) if self.standardise else rows
        if len(rows) > MOST_ROWS:
            chosen = stream(seed, "bandwidths").choice(len(rows), MOST_ROWS, replace=False)
            rows = rows[np.sort(chosen)]
        largest = max(float(pdist(rows).max()), 2.0)
        return largest ** np.linspace(0, 1, self.bandwidths) / rows.shape[1]


@dataclass(frozen=True, eq=False)
class FittedKSDAgg(AbstractFitted[KSDAgg]):
    """KSDAgg and the draws that it tests; it learns nothing."""

    @property
    def labels(self) -> tuple[str, ...]:
        return ()

    @property
    def null_columns(self) -> int:
        given = self.method.bandwidths
        return 2 * (given if isinstance(given, int) else len(given))

    @cached_property
    def scale(self) -> Float[np.ndarray, " d"]:
        """What every coordinate is divided by."""
        x = self.samples.rows
        return spreads(x) if self.method.standardise else np.ones(x.shape[1])

    def notes(self) -> tuple[Note, ...]:
        if self.method.standardise and isinstance(self.method.bandwidths, int):
            return ()
        x = self.samples.rows / self.scale
        first, *others = (IMQ(width) for width in self.method.resolve(x, 0))
        every: AbstractKernel = first
        for kernel in others:
            every = every + kernel
        return bandwidth_notes(every, x)

    def statistic(self, target: AbstractTarget, run: RunOptions) -> Gram:
        x = self.samples.rows / self.scale
        scores = self.scores(target, run) * self.scale
        bandwidths = self.method.resolve(x, run.seed)
        return Gram(
            imq_tiles,
            bandwidths.astype(run.dtype),
            ((x - robust_centre(x)).astype(run.dtype), scores.astype(run.dtype)),
            draws_and_scores(x, scores),
            run.memory,
            names=tuple(f"bandwidth {b:.3g} ({k})" for k, b in enumerate(bandwidths)),
        )


def imq_tiles(
    bandwidths: Float[Array, " b"], rows: tuple[Array, Array], others: tuple[Array, Array]
) -> Float[Array, "b m n"]:
    (x, score_x), (y, score_y) = rows, others
    return imq_stein_grams(bandwidths, x, y, score_x, score_y)
