"""`sw.points`: a few new points that represent the density."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.options import known_options
from steinwise._internal.validation import require_whole
from steinwise.api.entry import enter_points, enter_target, run_options
from steinwise.optimise.point_search import STARTS, PointSearch, place_points
from steinwise.optimise.preconditioned import ScaledSpace
from steinwise.optimise.regularisation import Regularisation, describe
from steinwise.results.points import PointSet


@known_options
@own_numpy_errors
def points(
    draws: Any,
    target: Any,
    m: int,
    *,
    preconditioner: str | np.ndarray = "med",
    standardise: bool = True,
    regularised: bool = True,
    entropy: float | None = None,
    candidates: int = 200,
    names: Sequence[str] | None = None,
    seed: Any = 0,
    memory: str | int = "1GiB",
    progress: bool | None = None,
) -> PointSet:
    r"""Place m new points that represent the density: Stein points.

    .. math:: x_{t+1} = \arg\min_{x \in R^d} \; k_0(x, x) + 2 \sum_{s \le t} k_0(x, x_s)

    The objective has many local minima. The search goes from several starts and finds good ones,
    not necessarily the lowest.

    Parameters
    ----------
    draws
        Where to look, and the scale of each coordinate: draws of a short run, of the prior or of a
        rough approximation, in any form that `sw.check` takes. They need not fit the density, but
        a mode that none of them is close to may not be found.
    target
        As in `sw.check`; it is called about 100 times per point, with a few dozen points at a time.
    m, preconditioner, standardise, entropy
        As in `sw.thin`.
    regularised
        As in `sw.thin`. The entropic term is part of the search. The Laplacian correction, whose
        gradient has third derivatives, only decides among the points where searches start and end.
    candidates
        How many points are tried before each search, half of them draws, half around points
        already placed.
    names, memory, progress
        As in `sw.thin`.
    seed
        An integer or a JAX key, for the candidates.

    Returns
    -------
    PointSet
        `points` and `ksd`, the squared KSD of the first 1, ..., m of them.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> target = sw.Gaussian([0, 0], np.eye(2))
    >>> rough = np.random.default_rng(0).normal(1.0, 2.0, size=(200, 2))
    >>> placed = sw.points(rough, target, 20)
    >>> placed.ksd[-1] < sw.thin(rough, target, 20).ksd[-1]
    np.True_
    """
    require_whole("m", m, least=1)
    require_whole("candidates", candidates, least=STARTS)
    rule = Regularisation.of(regularised, entropy, m)
    run = run_options(seed=seed, memory=memory, progress=progress)
    samples = enter_points(draws, names)
    density, _ = enter_target(target, samples, "sw.points", elsewhere="searches between the draws")
    space = ScaledSpace.of(samples.rows, preconditioner, standardise)
    search = PointSearch(space, density, rule, run.memory)
    placed = place_points(search, samples.rows, m, candidates, run)
    return PointSet(
        points=placed.points * space.scale,
        ksd=placed.ksd,
        names=samples.names,
        description=describe("Stein points", space, standardise, rule),
        preconditioner=space.matrix,
        scale=space.scale,
    )
