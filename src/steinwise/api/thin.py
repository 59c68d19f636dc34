"""`sw.thin`: a few of the draws that represent the density best."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.options import known_options
from steinwise._internal.validation import is_whole, require_whole
from steinwise.api.entry import enter_points, enter_target, run_options
from steinwise.api.recognition import recognised
from steinwise.errors import InputError
from steinwise.optimise.preconditioned import ScaledSpace
from steinwise.optimise.regularisation import Regularisation, describe
from steinwise.optimise.thinning import choose_draws
from steinwise.results.points import Thinned


@known_options
@own_numpy_errors
def thin(
    draws: Any,
    target: Any = None,
    m: int | None = None,
    *,
    preconditioner: str | np.ndarray = "med",
    standardise: bool = True,
    regularised: bool = True,
    entropy: float | None = None,
    names: Sequence[str] | None = None,
    memory: str | int = "1GiB",
    progress: bool | None = None,
) -> Thinned:
    r"""Choose the m draws that represent the density best: Stein thinning.

    .. math::
        x_{t+1} = \arg\min_x \; k_0(x, x) + 2 \sum_{s \le t} k_0(x, x_s)
        + \sum_j \max(0, \partial_j^2 \log p(x)) - \lambda (t + 1) \log p(x)

    with the Stein kernel k_0 of :math:`k(x, y) = (1 + (x - y)' L (x - y))^{-1/2}`. Warm-up that was
    left in is passed over, and a bias of the sampler is partly corrected. Draws need not be
    independent. The cost is n d m, after the scores of all draws.

    The gain over as many random draws fades with the dimension, and is small at thirty coordinates
    (see the page on thinning).

    Parameters
    ----------
    draws
        (n, d), (chain, draw, d), a data frame or a `sw.Samples`, as in `sw.check`.
    target
        As in `sw.check`; none for draws that bring their density.
    m
        How many draws to choose; a draw can be chosen more than once.
    preconditioner
        L: "id" for the identity, "med" for 1 / median^2 of the distances of at most 1000 evenly
        spaced draws (the default: in many dimensions the others are too narrow), "sclmed" for
        log(min(n, 1000)) times that, "smpcov" for the inverse of the draws' covariance; or a
        positive definite matrix.
    standardise
        Divide each coordinate by its mean absolute deviation first.
    regularised
        Whether the last two terms are added: the Laplacian correction, without which points
        between modes are chosen, and the entropic term, without which modes get wrong weights.
        They need the log density and 2 n d scores along lines. With False this is Stein thinning
        as first published, a little better where p has a single mode, from the scores at the draws
        alone (`sw.Target.at_draws`).
    entropy
        The weight lambda of the entropic term, 1/m by default; with 0 only the correction is added.
    names
        One name per coordinate.
    memory
        The budget for the evaluation of scores.
    progress
        Show a progress bar; by default only on a terminal and in a notebook.

    Returns
    -------
    Thinned
        `indices` into the draws, one chain after the other; `chains` and `draws`, the chain and the
        draw within it; `points`; and `ksd`, the squared KSD of the first 1, ..., m of them.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(size=(1000, 2))
    >>> draws[:100] += 5.0  # warm-up
    >>> thinned = sw.thin(draws, sw.Gaussian([0, 0], np.eye(2)), 20)
    >>> print(thinned)  # doctest: +ELLIPSIS
    20 of 1000 draws chosen to represent the density
      chosen from  1 chain x 1000 draws
      points       20, in 2 coordinates
      discrepancy  0.0... (squared KSD, 0 is best); ... of the first 7, ... of the first 3, ...
      position     ... from each quarter of the chains
      method       Stein thinning (IMQ kernel, median preconditioner, ...)
    >>> thinned.indices.min() >= 100
    np.True_
    """
    if m is None:
        raise InputError(_without_m(target))
    require_whole("m", m, least=1)
    draws, target = recognised(draws, target)
    rule = Regularisation.of(regularised, entropy, m)
    run = run_options(memory=memory, progress=progress)
    density, samples = enter_target(
        target,
        enter_points(draws, names),
        "sw.thin",
        elsewhere="follows the density along lines" * rule.active,
        with_scores_alone="regularised=False",
    )
    x = samples.rows
    space = ScaledSpace.of(x, preconditioner, standardise)
    chosen = choose_draws(samples, density, m, space, rule, run)
    chain, draw = np.divmod(chosen.indices, samples.n_draws)
    return Thinned(
        points=x[chosen.indices],
        ksd=chosen.ksd,
        names=samples.names,
        description=describe("Stein thinning", space, standardise, rule),
        preconditioner=space.matrix,
        scale=space.scale,
        indices=chosen.indices,
        chains=chain,
        draws=draw,
        n_chains=samples.n_chains,
        n_draws=samples.n_draws,
    )


def _without_m(target: Any) -> str:
    """How to pass the number of draws: it comes third, and with its name where no target does."""
    said = "m is missing: expected how many draws to choose"
    if not is_whole(target):
        return f"{said}, as in sw.thin(draws, target, 40)."
    return (
        f"{said}. {target} came in the place of the target: pass sw.thin(draws, m={target}) if the "
        f"draws bring their density, and sw.thin(draws, target, {target}) if not."
    )
