r"""Nystrom KSD: the mean Stein feature, projected on the features of a few draws.

With landmarks z_1..z_m among the draws, H the m x m matrix k_0(z_a, z_b) and
h(x) = (k_0(z_1, x), ..., k_0(z_m, x)),

.. math::
    \mathrm{KSD}^2 = E\, k_0(x, y) \approx E\, \langle \phi(x), \phi(y) \rangle, \qquad
    \phi(x) = H^{-1/2} h(x).

Kalinke, Szabo and Sriperumbudur, "Nystrom kernel Stein discrepancy", 2025, who take 4 sqrt(n)
landmarks, in the V-statistic. Here it is the mean over pairs of different draws. Where one of a
pair is a landmark, the product is k_0 itself; where none is, h(x) has mean 0 given the landmarks
when x comes from p. So the mean is 0 for correct draws, and signs calibrate it, although the
landmarks are tested with the others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import jax
import numpy as np
from jaxtyping import Array, Float, Int

from steinwise._internal.compiled import call_in_chunks, precision, rows_of
from steinwise._internal.memory import chunks
from steinwise._internal.notes import Note
from steinwise._internal.random import stream
from steinwise._internal.run_options import RunOptions
from steinwise._internal.threads import one_blas_thread
from steinwise._internal.validation import require_whole
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import Batches
from steinwise.draws.samples import Samples
from steinwise.draws.storage import add_rows
from steinwise.kernels import RBF, AbstractKernel
from steinwise.kernels.base import require_kernel
from steinwise.methods.bandwidth_notes import bandwidth_notes
from steinwise.methods.base import AbstractFitted, AbstractFixedMethod
from steinwise.methods.statistics import AbstractStatistic, draws_and_scores
from steinwise.target import AbstractTarget

LEAST_EIGENVALUE = 1e-10  # of H, times the largest: below it a direction is rounding
ROWS_PER_CHUNK = 1024
COPIES = 8  # of its features that a chunk of rows may take in memory


class NystromKSD(AbstractFixedMethod):
    r"""The squared kernelized Stein discrepancy through a few of the draws, in n m d.

    .. math::
        E\, \langle \phi(x), \phi(y) \rangle, \qquad
        \phi(x) = H^{-1/2} (k_0(z_1, x), \ldots, k_0(z_m, x))

    Nearly the test of `KSD`, for a share of m / n of its cost. The features are computed in 64 bit
    whatever `dtype` says: an inverse needs the digits.

    Parameters
    ----------
    kernel
        A kernel on R^d; RBF with the median heuristic by default.
    landmarks
        m; 4 sqrt(n) by default. With all draws it is `KSD`.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(0.1, 1.0, size=(2000, 2))
    >>> sw.check(draws, sw.Gaussian([0, 0], np.eye(2)), method="nystrom").rejected
    True
    """

    kernel: AbstractKernel = RBF("median")
    landmarks: int | None = None

    name: ClassVar[str] = "nystrom"
    float64_because: ClassVar[str] = "the inverse of its Gram matrix needs the digits"

    def __check_init__(self) -> None:
        require_kernel(self.kernel)
        if self.landmarks is not None:
            require_whole("landmarks", self.landmarks, least=1)

    def describe(self) -> str:
        count = "4 sqrt(n)" if self.landmarks is None else self.landmarks
        return f"Nystrom KSD ({type(self.kernel).__name__} kernel, {count} landmarks)"

    @property
    def elsewhere(self) -> str:
        return ""

    def fitted(self, samples: Samples) -> "FittedNystromKSD":
        return FittedNystromKSD(self, samples)


@dataclass(frozen=True, eq=False)
class FittedNystromKSD(AbstractFitted[NystromKSD]):
    """Nystrom KSD and the draws that it tests; its landmarks are among them."""

    @property
    def labels(self) -> tuple[str, ...]:
        return ()

    def notes(self) -> tuple[Note, ...]:
        return bandwidth_notes(self.method.kernel, self.samples.rows)

    def statistic(self, target: AbstractTarget, run: RunOptions) -> "NystromProduct":
        x, n, landmarks = self.samples.rows, self.samples.n, self.method.landmarks
        score = self.scores(target, run)
        m = min(n, int(np.ceil(4 * np.sqrt(n))) if landmarks is None else landmarks)
        chosen = np.sort(stream(run.seed, "landmarks").choice(n, m, replace=False))
        kernel = self.method.kernel.resolve(x, run.seed, per_coordinate=False)
        return NystromProduct(kernel, x, score, chosen, run.memory)


@dataclass(frozen=True, eq=False)
class NystromProduct(AbstractStatistic):
    """The mean over pairs of <phi(x_i), phi(x_l)>: sums of h over batches, projected afterwards."""

    kernel: AbstractKernel
    x: Float[np.ndarray, "n d"]
    score: Float[np.ndarray, "n d"]
    chosen: Int[np.ndarray, " m"]
    memory: int

    @property
    def most_batches(self) -> int:
        return 250

    def monitored_columns(
        self, start: int, x: np.ndarray, _: np.ndarray | None = None, /
    ) -> Float[np.ndarray, "m q"]:
        part = slice(start, start + len(x))
        return draws_and_scores(self.x[part], self.score[part], self.x.mean(axis=0))

    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        n, m = len(self.x), len(self.chosen)
        sums, marks = np.zeros((batches.count, m)), (self.x[self.chosen], self.score[self.chosen])
        size = int(np.clip(self.memory // (8 * COPIES * m), 1, ROWS_PER_CHUNK))
        for part in chunks(n, size):
            rows, count = rows_of(self.x[part], self.score[part]), part.stop - part.start
            gram = call_in_chunks(
                lambda x, b: _stein_gram(self.kernel, x, b, *marks), rows, count, size
            )
            add_rows(sums, gram, part.start, batches.bounds)
        with precision():
            own = np.asarray(_stein_gram(self.kernel, *marks, *marks))
        projected = _project(sums, own)
        yield BatchSums((projected @ projected.T)[None, None], batches)


@jax.jit
def _stein_gram(kernel: AbstractKernel, x: Array, bx: Array, y: Array, by: Array) -> Array:
    return kernel.stein_gram(x, y, bx, by)


@one_blas_thread
def _project(
    rows: Float[np.ndarray, "g m"], gram: Float[np.ndarray, "m m"]
) -> Float[np.ndarray, "g r"]:
    """The rows times R, where R R' is the pseudo-inverse of the Gram matrix.

    Each landmark counts in units of its own k_0(z, z): next to that of a far draw, those of all
    others would be rounding.
    """
    own = np.sqrt(np.diagonal(gram))
    unit = np.where(own > 0, own, 1.0)
    eigenvalues, vectors = np.linalg.eigh((gram + gram.T) / 2 / unit[:, None] / unit)
    kept = eigenvalues > LEAST_EIGENVALUE * eigenvalues[-1]
    return (rows / unit) @ (vectors[:, kept] / np.sqrt(eigenvalues[kept]))
