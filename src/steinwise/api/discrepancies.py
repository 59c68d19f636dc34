"""Values of discrepancies, without a test."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from steinwise._internal.coordinates import choose_coordinates
from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import Estimator, is_whole, require_estimator
from steinwise.api.entry import enter_draws, enter_target_of, run_options
from steinwise.calibration.batch_plan import BatchPlan, plan_batches
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import cut_into
from steinwise.calibration.jackknife import standard_error
from steinwise.conditionals import AbstractConditional, Histogram
from steinwise.draws.samples import Samples
from steinwise.errors import SteinwiseWarning, TooFewDraws
from steinwise.kernels import RBF, AbstractKernel
from steinwise.methods.base import AbstractFitted, AbstractMethod
from steinwise.methods.fssd import FSSD
from steinwise.methods.kccsd import KCCSD
from steinwise.methods.ksd import KSD
from steinwise.methods.rfsd import RFSD
from steinwise.methods.sksd import SlicedKSD
from steinwise.methods.statistics import AbstractStatistic
from steinwise.results.discrepancy import Discrepancy
from steinwise.results.wording import note_text
from steinwise.target import AbstractTarget


@own_numpy_errors
def kccsd(
    draws: Any,
    target: Any,
    *,
    conditional: AbstractConditional | None = None,
    kernel: AbstractKernel | Sequence[AbstractKernel] | None = None,
    blocks: Sequence[Sequence[int | str]] | None = None,
    variant: Literal["norm", "unit-ball"] = "norm",
    split: tuple[float, float, float] = (0.2, 0.1, 0.7),
    coordinates: int | Sequence[str] | Sequence[int] | None = None,
    standardise: bool = False,
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
    coordinates
        Names or numbers of coordinates: the value is the sum over these. Or how many to draw at
        random: the value is then their sum times d over that number, an unbiased estimate of the
        sum over all, and the standard error counts the choice too.
    standardise
        Divide each coordinate by its spread first, as `sw.methods.KCCSD` does by default. Without
        it the value and the bandwidths are in the units of the draws; a warning says where a
        bandwidth is far from their spread.
    seed
        An integer or a JAX key.

    Returns
    -------
    Discrepancy
        `value` (the sum), `per_coordinate` (w_j^2, or per block), `contributions` (H, n x d),
        `standard_error`, and the `witness` f*_j as a callable.

    Examples
    --------
    The draws are shifted by 0.5; in one dimension the stand-in is their own distribution.

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
        standardise=standardise,
    )
    samples, density, run = _enter(
        method, draws, target, seed, names, independent, memory, progress
    )
    if coordinates is not None:
        method = method.restricted(choose_coordinates(coordinates, samples.names, seed))
    fitted = next(method.prepare(samples, density, run))
    statistic = fitted.statistic(density, run)
    _say(fitted)
    per_coordinate = statistic.contributions.mean(axis=0)
    error, _ = _standard_error(fitted.samples, statistic)
    value = float(per_coordinate.sum())
    if is_whole(coordinates):
        value, error = _of_all(per_coordinate, error, samples.dim)
    return Discrepancy(
        value=value,
        standard_error=error,
        per_coordinate=per_coordinate,
        contributions=statistic.contributions,
        names=fitted.labels,
        description=fitted.describe(),
        witness=fitted.witness(density, run) if blocks is None else None,
        contributions_by=fitted.contributions_by(statistic),
        draw_index=fitted.samples.draw_index,
    )


def _of_all(
    chosen: Float[np.ndarray, " m"], error: float | None, d: int
) -> tuple[float, float | None]:
    """The sum over d coordinates, from some drawn at random, and its standard error."""
    m = len(chosen)
    if m == d or error is None:
        return float(chosen.sum()) * d / m, error
    if m == 1:  # nothing tells how far coordinates differ
        return float(chosen.sum()) * d, None
    choice = d**2 * (1 - m / d) * chosen.var(ddof=1) / m
    return float(chosen.sum()) * d / m, float(np.sqrt((error * d / m) ** 2 + choice))


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
    samples, density, run = _enter(method, draws, target, seed, names, independent, memory, None)
    fitted = method.fitted(samples)
    statistic = fitted.gram(fitted.scores(density, run), run)
    _say(fitted)
    error, sums = _standard_error(samples, statistic)
    own = statistic.diagonal().sum() if estimator == "v" else None
    return Discrepancy(
        value=float(_pair_mean(sums.values.sum(), own, samples.n)),
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
    samples, density, run = _enter(method, draws, target, seed, names, independent, memory, None)
    fitted = next(method.prepare(samples, density, run))
    statistic = fitted.statistic(density, run)
    _say(fitted)
    per_coordinate = statistic.mean_over_pairs()[0]
    return Discrepancy(
        value=float(per_coordinate.sum()),
        standard_error=_standard_error(fitted.samples, statistic)[0],
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
    samples, density, run = _enter(method, draws, target, seed, names, independent, memory, None)
    statistic = method.fitted(samples).statistic(density, run)
    log_squares = statistic.log_squares()
    log_value = np.logaddexp.reduce(log_squares) / 2
    with np.errstate(over="ignore", under="ignore"):
        value, per_coordinate = float(np.exp(log_value)), np.exp(log_squares / 2)
    if np.isfinite(log_value) and not 0 < value < np.inf:
        warnings.warn(
            f"RPhiSD is exp({log_value:.6g}), which no float holds: the value is {value:g}. "
            "sw.functional.rfsd_log_squares gives logarithms, which can be compared.",
            SteinwiseWarning,
            stacklevel=3,
        )
    plan = _plan(samples, statistic, stacklevel=4)
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
    slices, kernel
        As in `sw.methods.SlicedKSD`. Slices that are found on a fifth of the draws are measured on
        the others.
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
    samples, density, run = _enter(method, draws, target, seed, names, independent, memory, None)
    fitted = next(method.prepare(samples, density, run))
    statistic = fitted.statistic(density, run)
    _say(fitted)
    error, sums = _standard_error(fitted.samples, statistic)
    own = statistic.diagonal().sum(axis=0) if estimator == "v" else None
    per_coordinate = _pair_mean(sums.values[0].sum(axis=(1, 2)), own, fitted.samples.n)
    return Discrepancy(
        value=float(per_coordinate.sum()),
        standard_error=error,
        per_coordinate=per_coordinate,
        contributions=None,
        names=samples.names,
        description=f"{method.describe()}, {estimator.upper()}-statistic",
    )


def _pair_mean(different: Any, own: Any, n: int) -> Any:
    """The mean over pairs of different draws or, with `own`, over all pairs.

    Both are sums: over pairs of different draws, and over those of a draw with itself.
    """
    return different / (n * (n - 1)) if own is None else (different + own) / n**2


def _enter(
    method: AbstractMethod,
    draws: Any,
    target: Any,
    seed: Any,
    names: Sequence[str] | None,
    independent: bool | None,
    memory: str | int,
    progress: bool | None,
) -> tuple[Samples, AbstractTarget, RunOptions]:
    run = run_options(seed=seed, memory=memory, progress=progress)
    held_by = "a discrepancy by itself"
    given = enter_draws(draws, run, names=names, independent=independent, held_by=held_by)
    density, samples = enter_target_of(method, target, given)
    return samples, density, run


def _say(fitted: AbstractFitted) -> None:
    """Warn of a kernel that the draws do not suit; how well a stand-in learned is for a check."""
    for one in fitted.notes():
        if one.kind == "bandwidth far":
            warnings.warn(note_text(one), SteinwiseWarning, stacklevel=4)


def _plan(samples: Samples, statistic: AbstractStatistic, *, stacklevel: int) -> BatchPlan | None:
    """The batches for a standard error; None, with a warning, where there are too few draws."""
    try:
        return plan_batches(samples, statistic.monitored_columns, most=statistic.most_batches)
    except TooFewDraws as error:
        warnings.warn(f"no standard error: {error}", SteinwiseWarning, stacklevel=stacklevel)
        return None


def _standard_error(
    samples: Samples, statistic: AbstractStatistic
) -> tuple[float | None, BatchSums]:
    """The standard error, None where there are too few draws; and the sums."""
    plan = _plan(samples, statistic, stacklevel=5)
    batches = cut_into(samples, statistic.most_batches) if plan is None else plan.batches
    sums = list(statistic.batch_sums(batches))
    joined = BatchSums(np.concatenate([s.values for s in sums], axis=1), batches)
    return None if plan is None else standard_error(joined), joined
