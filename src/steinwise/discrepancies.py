"""Values of discrepancies, without a test."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from steinwise.batches import plan_batches
from steinwise.calibration import standard_error
from steinwise.conditionals import AbstractConditional, Histogram
from steinwise.errors import InputError, SteinwiseWarning, TooFewDraws
from steinwise.kernels import RBF, AbstractKernel
from steinwise.memory import budget_bytes
from steinwise.methods import KCCSD, KSD
from steinwise.results import Discrepancy
from steinwise.samples import Samples
from steinwise.statistics import AbstractStatistic, BatchSums, Mean
from steinwise.target import AbstractTarget, as_target
from steinwise.work import Work


def kccsd(
    draws: Any,
    target: Any,
    *,
    conditional: AbstractConditional | None = None,
    kernel: AbstractKernel | Sequence[AbstractKernel] | None = None,
    blocks: Sequence[Sequence[int | str]] | None = None,
    variant: Literal["norm", "unit-ball"] = "norm",
    split: tuple[float, float, float] = (0.2, 0.1, 0.7),
    seed: Any = 0,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    memory: str | int = "1GiB",
    progress: bool | None = None,
) -> Discrepancy:
    r"""The kernelized complete conditional Stein discrepancy of draws from a density.

    .. math:: \sum_j w_j^2, \qquad w_j^2 = E\, k_{cc}^j(x_j, y_j; x_{-j})

    or, with variant "unit-ball", sum_j E sqrt(E k_cc) by its lower bound with the stand-in's atoms.

    Parameters
    ----------
    draws, target, names, independent, memory, progress
        As in `sw.check`.
    conditional, kernel, blocks, variant, split
        As in `sw.methods.KCCSD`; the kernel is RBF(1.0) by default. A conditional that learns is
        fitted to the first two parts of the split, and the value is that of the third.
    seed
        An integer or a JAX key.

    Returns
    -------
    Discrepancy
        `value` (the sum), `per_coordinate` (w_j^2, or per block), `contributions` (H, n x d),
        `standard_error`, and the `witness` f*_j as a callable.

    Examples
    --------
    The draws are shifted by 0.5; in one dimension the stand-in is their own law.

    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(0.5, 1.0, size=(2000, 1))
    >>> def own_law(key, x, n_atoms):
    ...     return np.random.default_rng(key).normal(0.5, 1.0, size=(*x.shape, n_atoms))
    >>> sampler = sw.conditionals.Sampler(own_law, n_atoms=50)
    >>> found = sw.kccsd(draws, sw.Gaussian([0.0], [[1.0]]), conditional=sampler)
    >>> exact = 0.5**2 / 3**0.5  # E of 0.25 k(x, y), x - y normal with variance 2
    >>> abs(found.value - exact) < 3 * found.standard_error
    True
    """
    method = KCCSD(
        Histogram() if conditional is None else conditional,
        RBF(1.0) if kernel is None else kernel,
        blocks,
        variant,
        split,
    )
    samples, density, work = _enter(draws, target, seed, names, independent, memory, progress)
    method, samples = next(method.prepare(samples, density, work))
    statistic = Mean(method.contributions(samples, density, work))
    per_coordinate = statistic.contributions.mean(axis=0)
    error, _ = _standard_error(samples, statistic)
    return Discrepancy(
        value=float(per_coordinate.sum()),
        standard_error=error,
        per_coordinate=per_coordinate,
        contributions=statistic.contributions,
        names=method.labels(samples),
        description=method.describe(),
        witness=method.witness(samples, density, work) if blocks is None else None,
    )


def ksd(
    draws: Any,
    target: Any,
    *,
    kernel: AbstractKernel | None = None,
    estimator: Literal["u", "v"] = "u",
    seed: Any = 0,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    memory: str | int = "1GiB",
) -> Discrepancy:
    """The squared kernelized Stein discrepancy, quadratic in n, in tiles within `memory`.

    Parameters
    ----------
    draws, target, names, independent, memory
        As in `sw.check`.
    kernel
        A kernel on R^d; RBF("median") by default.
    estimator
        "u" leaves out the pairs of a draw with itself and is unbiased for independent draws; "v"
        keeps them and is never negative.
    seed
        For the rows of the median heuristic.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(size=(500, 2))
    >>> target = sw.Gaussian([0, 0], np.eye(2))
    >>> found = sw.ksd(draws, target, kernel=sw.kernels.IMQ())
    >>> abs(found.value) < 0.02
    True
    """
    if estimator not in ("u", "v"):
        raise InputError(f"estimator is {estimator!r}: expected 'u' or 'v'.")
    method = KSD() if kernel is None else KSD(kernel)
    samples, density, work = _enter(draws, target, seed, names, independent, memory, None)
    statistic = method.gram(samples, density.score(samples.rows, memory=work.memory), work)
    error, sums = _standard_error(samples, statistic)
    n, everything = samples.n, float(sums.values.sum())
    if estimator == "v":
        value = everything / n**2
    else:
        diagonal = statistic.diagonal().sum()
        value = (everything - diagonal) / (n * (n - 1))
    return Discrepancy(
        value=float(value),
        standard_error=error,
        per_coordinate=None,
        contributions=None,
        names=samples.names,
        description=f"{method.describe()}, {estimator.upper()}-statistic",
    )


def _enter(
    draws: Any,
    target: Any,
    seed: Any,
    names: Sequence[str] | None,
    independent: bool | None,
    memory: str | int,
    progress: bool | None,
) -> tuple[Samples, AbstractTarget, Work]:
    samples = Samples.of(draws, names=names, independent=independent)
    density = as_target(target)
    density.prepare(samples.dim)
    return samples, density, Work(seed, budget_bytes(memory), progress=progress)


def _standard_error(
    samples: Samples, statistic: AbstractStatistic
) -> tuple[float | None, BatchSums]:
    """The standard error, None with a warning where there are too few draws; and the sums."""
    try:
        plan = plan_batches(samples, statistic.averaged, most=statistic.most_batches)
    except TooFewDraws as error:
        warnings.warn(f"no standard error: {error}", SteinwiseWarning, stacklevel=3)
        plan = plan_batches(
            Samples(samples.values, samples.names, True), statistic.averaged, most=1, least=1
        )
        return None, next(iter(statistic.batch_sums(plan.batches)))
    sums = list(statistic.batch_sums(plan.batches))
    joined = BatchSums(np.concatenate([s.values for s in sums], axis=1), plan.batches)
    return standard_error(joined), joined
