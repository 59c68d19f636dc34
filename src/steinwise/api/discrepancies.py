"""Values of discrepancies from kernels and features, without a test."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.validation import Estimator, is_whole, require_estimator
from steinwise._internal.warn import warn_user
from steinwise.api.discrepancy_parts import (
    enter_discrepancy,
    error_and_sums,
    pair_mean,
    plan_or_warn,
    warn_of_bandwidth,
)
from steinwise.kernels import RBF, AbstractKernel
from steinwise.methods.fssd import FSSD
from steinwise.methods.ksd import KSD
from steinwise.methods.rfsd import RFSD
from steinwise.methods.sksd import SlicedKSD
from steinwise.results.discrepancy import Discrepancy


@own_numpy_errors
def ksd(
    draws: Any,
    target: Any,
    *,
    kernel: AbstractKernel | None = None,
    estimator: Estimator = "u",
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
    require_estimator(estimator)
    method = KSD() if kernel is None else KSD(kernel)
    samples, density, run = enter_discrepancy(
        method, draws, target, seed=seed, names=names, independent=independent, memory=memory
    )
    fitted = method.fitted(samples)
    statistic = fitted.gram(fitted.scores(density, run), run)
    warn_of_bandwidth(fitted)
    error, sums = error_and_sums(samples, statistic)
    own = statistic.diagonal().sum() if estimator == "v" else None
    return Discrepancy(
        value=float(pair_mean(sums.values.sum(), own, samples.n)),
        standard_error=error,
        per_coordinate=None,
        contributions=None,
        names=samples.names,
        description=f"{method.describe()}, {estimator.upper()}-statistic",
        contributions_by=fitted.contributions_by(statistic),
        draw_index=samples.draw_index,
    )


@own_numpy_errors
def fssd(
    draws: Any,
    target: Any,
    *,
    locations: Any = 5,
    kernel: AbstractKernel | None = None,
    seed: Any = 0,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    memory: str | int = "1GiB",
) -> Discrepancy:
    r"""The squared finite set Stein discrepancy, linear in n, without bias.

    .. math:: \mathrm{FSSD}^2 = |E \tau(x)|^2, \qquad
        \tau_{jl}(x) = (b_j(x) k(x, v_l) + \partial_{x_j} k(x, v_l)) / \sqrt{dJ}

    Parameters
    ----------
    draws, target, names, independent, memory, seed
        As in `sw.check`.
    locations
        An array (J, d), or how many to find on a fifth of the draws (FSSD-opt), whose value is then
        that of the others.
    kernel
        A kernel on R^d; RBF("median") by default.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(size=(500, 2)) * [1.0, 1.5]
    >>> target = sw.Gaussian([0, 0], np.eye(2))
    >>> found = sw.fssd(draws, target, locations=[[0.0, 0.0], [1.0, 1.0]])
    >>> found.per_coordinate.argmax()
    np.int64(1)
    """
    given = RBF("median") if kernel is None else kernel
    find = is_whole(locations)
    method = FSSD(given, locations, optimise=find, null="signs")
    samples, density, run = enter_discrepancy(
        method, draws, target, seed=seed, names=names, independent=independent, memory=memory
    )
    fitted = next(method.prepare(samples, density, run))
    statistic = fitted.statistic(density, run)
    warn_of_bandwidth(fitted)
    per_coordinate = statistic.mean_over_pairs()[0]
    return Discrepancy(
        value=float(per_coordinate.sum()),
        standard_error=error_and_sums(fitted.samples, statistic)[0],
        per_coordinate=per_coordinate,
        contributions=None,
        names=samples.names,
        description=method.describe(),
    )


@own_numpy_errors
def rfsd(
    draws: Any,
    target: Any,
    *,
    kind: Literal["imq", "sech"] = "imq",
    features: int = 10,
    gamma: float | None = None,
    locations: Any = None,
    seed: Any = 0,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    memory: str | int = "1GiB",
) -> Discrepancy:
    """The random feature Stein discrepancy RPhiSD, linear in n; not squared.

    Parameters
    ----------
    draws, target, names, independent, memory, seed
        As in `sw.check`.
    kind, features, gamma, locations
        As in `sw.methods.RFSD`.

    Returns
    -------
    Discrepancy
        The squares of `per_coordinate` sum to that of `value`. In many dimensions features span
        hundreds of orders of magnitude; a value that no float holds comes with a warning.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(size=(500, 2)) * [1.0, 1.5]
    >>> found = sw.rfsd(draws, sw.Gaussian([0, 0], np.eye(2)), kind="sech")
    >>> found.per_coordinate.argmax()
    np.int64(1)
    """
    method = RFSD(kind, features, gamma=gamma, locations=locations)
    samples, density, run = enter_discrepancy(
        method, draws, target, seed=seed, names=names, independent=independent, memory=memory
    )
    statistic = method.fitted(samples).statistic(density, run)
    log_squares = statistic.log_squares()
    log_value = np.logaddexp.reduce(log_squares) / 2
    with np.errstate(over="ignore", under="ignore"):
        value, per_coordinate = float(np.exp(log_value)), np.exp(log_squares / 2)
    if np.isfinite(log_value) and not 0 < value < np.inf:
        warn_user(
            f"RPhiSD is exp({log_value:.6g}), which no float holds: the value is {value:g}. "
            "sw.functional.rfsd_log_squares gives logarithms, which can be compared."
        )
    plan = plan_or_warn(samples, statistic)
    return Discrepancy(
        value=value,
        standard_error=None if plan is None else statistic.standard_error(plan.batches),
        per_coordinate=per_coordinate,
        contributions=None,
        names=samples.names,
        description=method.describe(),
    )


@own_numpy_errors
def sksd(
    draws: Any,
    target: Any,
    *,
    slices: Literal["axes", "learned", "active"] = "axes",
    kernel: AbstractKernel | None = None,
    estimator: Estimator = "u",
    seed: Any = 0,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    memory: str | int = "1GiB",
) -> Discrepancy:
    """The sliced kernelized Stein discrepancy, squared: a univariate KSD per score direction.

    Parameters
    ----------
    draws, target, names, independent, memory, seed
        As in `sw.check`.
    slices
        As in `sw.methods.SlicedKSD`. Slices that are found on a fifth of the draws are measured on
        the others.
    kernel
        As in `sw.methods.SlicedKSD`.
    estimator
        As in `sw.ksd`.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(size=(500, 2)) * [1.0, 1.5]
    >>> found = sw.sksd(draws, sw.Gaussian([0, 0], np.eye(2)))
    >>> found.per_coordinate.argmax()
    np.int64(1)
    """
    require_estimator(estimator)
    method = SlicedKSD(slices, RBF("median") if kernel is None else kernel)
    samples, density, run = enter_discrepancy(
        method, draws, target, seed=seed, names=names, independent=independent, memory=memory
    )
    fitted = next(method.prepare(samples, density, run))
    statistic = fitted.statistic(density, run)
    warn_of_bandwidth(fitted)
    error, sums = error_and_sums(fitted.samples, statistic)
    own = statistic.diagonal().sum(axis=0) if estimator == "v" else None
    per_coordinate = pair_mean(sums.values[0].sum(axis=(1, 2)), own, fitted.samples.n)
    return Discrepancy(
        value=float(per_coordinate.sum()),
        standard_error=error,
        per_coordinate=per_coordinate,
        contributions=None,
        names=samples.names,
        description=f"{method.describe()}, {estimator.upper()}-statistic",
    )
