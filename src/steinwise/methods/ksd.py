"""KSD: the kernelized Stein discrepancy, a Gram matrix over pairs of draws."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import jax
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.compiled import precision
from steinwise._internal.notes import Note
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import require_choice, require_flag
from steinwise.calibration.batches import Batches
from steinwise.calibration.families import calibrate
from steinwise.calibration.signs import multinomial, rademacher
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.functional import stein_of_pairs
from steinwise.kernels import RBF, AbstractKernel
from steinwise.kernels.base import require_kernel
from steinwise.kernels.precision import cast_centred, in_precision_of
from steinwise.methods.bandwidth_notes import bandwidth_notes
from steinwise.methods.base import AbstractFitted, AbstractFixedMethod, Evidence
from steinwise.methods.statistics import AbstractStatistic, Gram, Mean, draws_and_scores
from steinwise.target import AbstractTarget

Bootstraps = Literal["batches", "draws", "multinomial"]
MOST_DRAWS = 5000  # whose signs can be drawn one by one: the Gram matrix is held whole


class KSD(AbstractFixedMethod):
    r"""The squared kernelized Stein discrepancy, E k_0(x, y) over independent x, y from q.

    .. math::
        k_0(x, y) = \langle b(x), b(y) \rangle k + \langle b(x), \nabla_y k \rangle
        + \langle b(y), \nabla_x k \rangle + \sum_j \partial_{x_j} \partial_{y_j} k

    Parameters
    ----------
    kernel
        A kernel on R^d; RBF with the median heuristic by default.
    bootstrap
        "batches" (the default): a sign per batch of draws, right for chains too. Pairs inside a
        batch are left out, so that with more than 250 draws the statistic is that of `sw.ksd` up
        to these pairs, and depends a little on the order. As published, both for at most 5000
        independent draws, whose pairs are all held in memory; chains are refused: "draws", a sign
        per draw, and "multinomial", counts of draws with replacement, less 1.
    linear
        The linear-time estimator: the mean over as many pairs as there are draws in half of each
        chain, a draw of the first half with one of the second. Cheap, and far less powerful.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(0.3, 1.0, size=(300, 2))
    >>> sw.check(draws, sw.Gaussian([0, 0], np.eye(2)), method=sw.methods.KSD()).rejected
    True
    """

    kernel: AbstractKernel = RBF("median")
    bootstrap: Bootstraps = "batches"
    linear: bool = False

    name: ClassVar[str] = "ksd"

    def __check_init__(self) -> None:
        require_kernel(self.kernel)
        require_flag("linear", self.linear)
        require_choice("bootstrap", self.bootstrap, get_args(Bootstraps))
        if self.linear and self.bootstrap != "batches":
            raise InputError("the linear-time KSD is a mean: it takes bootstrap='batches' only.")

    def describe(self) -> str:
        details = [f"{type(self.kernel).__name__} kernel"]
        if self.linear:
            details.append("linear time")
        if self.bootstrap != "batches":
            details.append("a sign per draw" if self.bootstrap == "draws" else "multinomial")
        return f"KSD ({', '.join(details)})"

    @property
    def elsewhere(self) -> str:
        return ""

    @property
    def compares(self) -> bool:
        """Whether its values, means over all pairs, can be compared batch by batch."""
        return not self.linear and self.bootstrap == "batches"

    def fitted(self, samples: Samples) -> "FittedKSD":
        if self.bootstrap != "batches":
            self._require_independent(samples)
        return FittedKSD(self, samples)

    def _require_independent(self, samples: Samples) -> None:
        if not samples.independent:
            raise InputError(
                f"bootstrap={self.bootstrap!r} supposes independent draws, and these are chains: "
                "right ones would be rejected. The default, bootstrap='batches', works with "
                "batches of a chain; for draws known to be independent pass independent=True."
            )
        if samples.n > MOST_DRAWS:
            raise InputError(
                f"bootstrap={self.bootstrap!r} holds a matrix of all pairs of draws: at most "
                f"{MOST_DRAWS}, not {samples.n}. The default, 'batches', has no such limit."
            )


@dataclass(frozen=True, eq=False)
class FittedKSD(AbstractFitted[KSD]):
    """KSD and the draws that it tests; it learns nothing."""

    @property
    def labels(self) -> tuple[str, ...]:
        return ()

    def notes(self) -> tuple[Note, ...]:
        return bandwidth_notes(self.method.kernel, self.samples.rows)

    def statistic(self, target: AbstractTarget, run: RunOptions) -> AbstractStatistic:
        scores = self.scores(target, run)
        if self.method.linear:
            return self._linear(scores, run)
        return self.gram(scores, run)

    def gram(self, scores: Float[np.ndarray, "n d"], run: RunOptions) -> Gram:
        """All pairs of draws."""
        x, kernel = self.samples.rows, self.method.kernel
        return Gram(
            stein_tile,
            kernel.resolve(x, run.seed, per_coordinate=False),
            (*cast_centred(kernel, run.dtype, x), scores.astype(run.dtype)),
            draws_and_scores(x, scores),
            run.memory,
            batches_at_most=250 if self.method.bootstrap == "batches" else self.samples.n,
        )

    def _linear(self, scores: np.ndarray, run: RunOptions) -> Mean:
        """The contribution of a pair stands at its first draw, twice; the second has none."""
        samples = self.samples
        kernel = self.method.kernel.resolve(samples.rows, run.seed, per_coordinate=False)
        chains, draws, d = samples.values.shape
        half = draws // 2
        halves = slice(0, half), slice(draws - half, draws)
        (x,) = cast_centred(self.method.kernel, run.dtype, samples.rows)
        both = (array.reshape(chains, draws, d) for array in (x, scores.astype(run.dtype)))
        pairs = [array[:, part].reshape(-1, d) for array in both for part in halves]
        with precision():
            values = np.asarray(_stein_of_pairs(kernel, *pairs))
        contributions = np.zeros((chains, draws, 1))
        contributions[:, :half, 0] = values.reshape(chains, half) * draws / half
        # of wrong draws the contributions are a step, which would pass for a slow chain
        return Mean(contributions.reshape(-1, 1), draws_and_scores(samples.rows, scores))

    def contributions_by(self, statistic: AbstractStatistic) -> Callable[[], np.ndarray] | None:
        # the linear estimator puts a pair on one of its draws: it does not say what a draw adds
        return statistic.means_over_pairs if isinstance(statistic, Gram) else None

    def test(
        self, statistic: AbstractStatistic, batches: Batches, n_bootstrap: int, seed: object
    ) -> Evidence:
        bootstrap = self.method.bootstrap
        if bootstrap != "batches" and (batches.lengths > 1).any():
            raise InputError(
                f"batch_length came with bootstrap={bootstrap!r}, where every draw counts by "
                "itself: drop one of them."
            )
        weights = multinomial if bootstrap == "multinomial" else rademacher
        blocks = statistic.batch_sums(batches)
        return Evidence(calibrate(blocks, n_bootstrap, seed, weights), batches)


def stein_tile(kernel: AbstractKernel, rows: tuple, others: tuple) -> Array:
    (x, score_x), (y, score_y) = rows, others
    return in_precision_of(x, kernel).stein_gram(x, y, score_x, score_y)[None]


_stein_of_pairs = jax.jit(stein_of_pairs)
