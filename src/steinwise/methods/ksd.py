"""KSD: the kernelized Stein discrepancy, a Gram matrix over pairs of draws."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal, get_args

import jax
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import require_flag
from steinwise.calibration.batches import Batches, BatchPlan
from steinwise.calibration.pvalues import Calibration, calibrate
from steinwise.calibration.signs import multinomial, rademacher
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.functional import stein_of_pairs
from steinwise.kernels import RBF, AbstractKernel
from steinwise.kernels.base import require_kernel
from steinwise.kernels.precision import cast_centred, in_precision_of
from steinwise.methods.base import AbstractMethod
from steinwise.methods.statistics import AbstractStatistic, Gram, Mean
from steinwise.methods.statistics.gram import pair_parts
from steinwise.results.check import Findings
from steinwise.target import AbstractTarget

Bootstraps = Literal["batches", "draws", "multinomial"]
MOST_DRAWS = 5000  # whose signs can be drawn one by one: the Gram matrix is held whole


class KSD(AbstractMethod):
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
        if self.bootstrap not in get_args(Bootstraps):
            raise InputError(f"bootstrap is {self.bootstrap!r}: expected {get_args(Bootstraps)}.")
        if self.linear and self.bootstrap != "batches":
            raise InputError("the linear-time KSD is a mean: it takes bootstrap='batches' only.")

    def describe(self) -> str:
        details = [f"{type(self.kernel).__name__} kernel"]
        if self.linear:
            details.append("linear time")
        if self.bootstrap != "batches":
            details.append("a sign per draw" if self.bootstrap == "draws" else "multinomial")
        return f"KSD ({', '.join(details)})"

    def labels(self, samples: Samples) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def prepare(
        self,
        samples: Samples,
        target: AbstractTarget,  # noqa: ARG002
        run: RunOptions,  # noqa: ARG002
    ) -> Iterator[tuple[AbstractMethod, Samples]]:
        if self.bootstrap == "batches":
            yield self, samples
            return
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
        yield self, samples

    def statistic(
        self, samples: Samples, target: AbstractTarget, run: RunOptions
    ) -> AbstractStatistic:
        scores = target.score(samples.rows, memory=run.memory)
        if self.linear:
            return self._linear(samples, scores, run)
        return self.gram(samples, scores, run)

    def gram(self, samples: Samples, scores: Float[np.ndarray, "n d"], run: RunOptions) -> Gram:
        """All pairs of draws."""
        x = samples.rows
        return Gram(
            stein_tile,
            self.kernel.resolve(x, run.seed, per_coordinate=False),
            (*cast_centred(self.kernel, run.dtype, x), scores.astype(run.dtype)),
            monitored(x, scores),
            run.memory,
            batches_at_most=250 if self.bootstrap == "batches" else samples.n,
        )

    def _linear(self, samples: Samples, scores: np.ndarray, run: RunOptions) -> Mean:
        """The contribution of a pair stands at its first draw, twice; the second has none."""
        kernel = self.kernel.resolve(samples.rows, run.seed, per_coordinate=False)
        chains, draws, d = samples.values.shape
        half = draws // 2
        halves = slice(0, half), slice(draws - half, draws)
        both = samples.values, scores.reshape(samples.values.shape)
        pairs = [array[:, part].reshape(-1, d) for array in both for part in halves]
        with jax.enable_x64(True):
            values = np.asarray(_stein_of_pairs(kernel, *pairs))
        contributions = np.zeros((chains, draws, 1))
        contributions[:, :half, 0] = values.reshape(chains, half) * draws / half
        # of wrong draws the contributions are a step, which would pass for a slow chain
        return Mean(contributions.reshape(-1, 1), monitored(samples.rows, scores))

    def findings(
        self,
        samples: Samples,
        statistic: AbstractStatistic,
        plan: BatchPlan,
        verdict: Calibration,
        alpha: float,
    ) -> Findings:
        found = super().findings(samples, statistic, plan, verdict, alpha)
        if not isinstance(statistic, Gram):
            return replace(found, parts_by=None)  # the linear estimator puts a pair on one draw
        return replace(found, parts_by=partial(pair_parts, statistic))

    def calibrate(
        self, statistic: AbstractStatistic, batches: Batches, n_bootstrap: int, seed: object
    ) -> Calibration:
        if self.bootstrap != "batches" and (batches.lengths > 1).any():
            raise InputError(
                f"batch_length came with bootstrap={self.bootstrap!r}, where every draw counts by "
                "itself: drop one of them."
            )
        signs = multinomial if self.bootstrap == "multinomial" else rademacher
        return calibrate(statistic.batch_sums(batches), n_bootstrap, seed, signs)


def monitored(
    x: Float[np.ndarray, "n d"],
    scores: Float[np.ndarray, "n d"],
    centre: Float[np.ndarray, " d"] | None = None,
) -> np.ndarray:
    """What decides the batch length: a degenerate pair statistic averages functions of these."""
    middle = x.mean(axis=0) if centre is None else centre
    return np.concatenate([x, scores, (x - middle) ** 2], axis=1)


def stein_tile(kernel: AbstractKernel, rows: tuple, others: tuple) -> Array:
    (x, score_x), (y, score_y) = rows, others
    return in_precision_of(x, kernel).stein_gram(x, y, score_x, score_y)[None]


_stein_of_pairs = jax.jit(stein_of_pairs)
