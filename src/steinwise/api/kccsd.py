"""The value of the KCC-SD, without a test."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from steinwise._internal.coordinates import choose_coordinates
from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.validation import is_whole
from steinwise.api.discrepancy_parts import enter_discrepancy, error_and_sums, warn_of_bandwidth
from steinwise.conditionals import AbstractConditional, Histogram
from steinwise.draws.scales import coordinate_labels
from steinwise.kernels import RBF, AbstractKernel
from steinwise.methods.kccsd import KCCSD
from steinwise.results.discrepancy import Discrepancy


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
    conditional, blocks, variant
        As in `sw.methods.KCCSD`.
    kernel
        As in `sw.methods.KCCSD`; RBF(1.0) by default.
    split
        As in `sw.methods.KCCSD`. A conditional that learns is fitted to the first two parts, and
        the value is that of the third.
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
    samples, density, run = enter_discrepancy(
        method,
        draws,
        target,
        seed=seed,
        names=names,
        independent=independent,
        memory=memory,
        progress=progress,
    )
    if coordinates is not None:
        labels = partial(coordinate_labels, samples)
        method = method.restricted(choose_coordinates(coordinates, samples.names, seed, labels))
    fitted = next(method.prepare(samples, density, run))
    statistic = fitted.statistic(density, run)
    warn_of_bandwidth(fitted)
    per_coordinate = statistic.contributions.mean(axis=0)
    error, _ = error_and_sums(fitted.samples, statistic)
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
