r"""KSDAgg: KSDs of several bandwidths, aggregated (Schrab, Guedj and Gretton, 2022).

No bandwidth is chosen: every one is compared with its own null, and the smallest of these p-values
with that of the bootstraps, which have had the same choice. That is the corrected level of KSDAgg,
u_alpha, told as a p-value; it needs no second set of bootstraps and no bisection.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float
from scipy.spatial.distance import pdist

from steinwise._internal.random import stream
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import as_positive, is_whole
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.functional import imq_stein_grams
from steinwise.kernels.precision import robust_centre
from steinwise.methods.base import AbstractFitted, AbstractFixedMethod
from steinwise.methods.ksd import draws_and_scores
from steinwise.methods.statistics import Gram
from steinwise.target import AbstractTarget

MOST_ROWS = 5000  # among which the largest distance is sought


def _bandwidths(value: Any) -> int | tuple[float, ...]:
    if is_whole(value) and value >= 2:
        return int(value)
    given = as_positive(value)
    if given is None or given.ndim == 0:
        raise InputError(
            f"bandwidths is {value!r}: expected how many, at least 2, or a tuple of them, positive "
            "finite numbers."
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

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).laplace(0, 0.5**0.5, size=(500, 5))
    >>> sw.check(draws, sw.Gaussian(np.zeros(5), np.eye(5)), method="ksdagg").rejected
    True
    """

    bandwidths: int | tuple[float, ...] = eqx.field(converter=_bandwidths, default=10)

    name: ClassVar[str] = "ksdagg"

    def describe(self) -> str:
        count = self.bandwidths if isinstance(self.bandwidths, int) else len(self.bandwidths)
        return f"KSDAgg ({count} IMQ kernels)"

    def fitted(self, samples: Samples) -> "FittedKSDAgg":
        return FittedKSDAgg(self, samples)

    def resolve(self, rows: Float[np.ndarray, "n d"], seed: object) -> Float[np.ndarray, " b"]:
        """The bandwidths for these draws."""
        if not isinstance(self.bandwidths, int):
            return np.asarray(self.bandwidths)
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

    def statistic(self, target: AbstractTarget, run: RunOptions) -> Gram:
        x = self.samples.rows
        scores = target.score(x, memory=run.memory)
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
