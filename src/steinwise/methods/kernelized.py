"""KSD: the kernelized Stein discrepancy, a Gram matrix over pairs of draws."""

from typing import ClassVar

import numpy as np
from jaxtyping import Array

from steinwise.functional import in_precision_of
from steinwise.kernels import RBF, AbstractKernel
from steinwise.methods.abstract import AbstractMethod, Work
from steinwise.samples import Samples
from steinwise.statistics import Gram
from steinwise.target import AbstractTarget


class KSD(AbstractMethod):
    r"""The squared kernelized Stein discrepancy, E k_0(x, y) over independent x, y from q.

    .. math::
        k_0(x, y) = \langle b(x), b(y) \rangle k + \langle b(x), \nabla_y k \rangle
        + \langle b(y), \nabla_x k \rangle + \sum_j \partial_{x_j} \partial_{y_j} k

    Parameters
    ----------
    kernel
        A kernel on R^d; RBF with the median heuristic by default.
    """

    kernel: AbstractKernel = RBF("median")

    name: ClassVar[str] = "ksd"

    def describe(self) -> str:
        return f"KSD ({type(self.kernel).__name__} kernel)"

    def labels(self, samples: Samples) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def statistic(self, samples: Samples, target: AbstractTarget, work: Work) -> Gram:
        x = samples.rows
        scores = target.score(x, memory=work.memory)
        kernel = self.kernel.resolve(x, work.seed, per_coordinate=False)
        # a degenerate pair statistic averages functions of the draws and their scores
        squares = (x - x.mean(axis=0)) ** 2
        monitored = np.concatenate([x, scores, squares], axis=1)
        rows = x.astype(work.dtype), scores.astype(work.dtype)
        return Gram(stein_tile, kernel, rows, monitored, work.memory)


def stein_tile(kernel: AbstractKernel, rows: tuple, others: tuple) -> Array:
    (x, score_x), (y, score_y) = rows, others
    kernel = in_precision_of(x, kernel)
    return kernel.stein_gram(x, y, score_x, score_y)
