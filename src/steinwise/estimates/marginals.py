"""Mean and sd of each coordinate as drawn, and of the target: what goes with a verdict."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from steinwise._internal.indices import evenly_spaced_indices
from steinwise.calibration.batches import Batches, even_batches
from steinwise.draws.samples import Samples
from steinwise.estimates.drawn_moments import with_all_draws
from steinwise.estimates.moments import (
    MOST_UNEXPLAINED,
    MomentErrors,
    bytes_per_draw,
    count_distinct,
    fewest_draws,
    is_determined,
    moment_errors,
)
from steinwise.results.misfit import Marginal
from steinwise.target import AbstractTarget

# Of more draws, evenly spaced ones tell the target's moments: 2000 independent ones to 0.005 sd, as
# no more than a twentieth of a variance may be left unexplained (`MOST_UNEXPLAINED`). More where
# they cost little, and several to a coordinate. The regressions cost n d^2, which is kept to that
# of 4000 draws of 300 coordinates, a second or so.
MOST_DRAWS, ENOUGH_DRAWS, CHEAP_ENTRIES = 20_000, 2000, 60_000
DRAWS_PER_COORDINATE, MOST_WORK = 8, 4000 * 300**2
# The regressions may take this share of the memory, unless draws are so few that it hardly matters.
MEMORY_SHARE, DRAWS_IN_ANY_MEMORY = 3, 1000
# The draws that tell what products of pairs and functions from a kernel would change, and the most
# coordinates in which they are asked: 0.1 CPU seconds with 30 coordinates, 0.3 with 64.
RICH_DRAWS, RICH_COORDINATES = 600, 64
# Two standard errors, in sds or as a share of larger errors, beyond which an estimate says too
# little to be shown. Draws that are worth 20 independent ones have 0.45 of it.
MOST_UNCERTAIN = 0.5
LARGEST_SCORE = 1e100  # on the scale of the draws: its square and that of a product are floats


def estimate_errors(
    samples: Samples,
    target: AbstractTarget,
    batches: Batches,
    memory: int,
    directions: Float[np.ndarray, "d k"] | None,
) -> MomentErrors | None:
    """The errors of means and sds; None where these draws and this target cannot tell.

    Of the coordinates, then of directions, given as weights of the coordinates.

    Noisy scores do not explain a coordinate as exact ones do; a regression on all scores needs
    several draws per coordinate; and scores at an absurd distance drown all others.
    """
    lines = samples.dim + (0 if directions is None else directions.shape[1])
    step = min(_step(samples.n, samples.dim, lines, memory), int(batches.lengths.min()))
    some, of_some = samples.thinned(step), batches.of_every(step, samples.n_draws)
    reached = int(of_some.bounds[-1])  # less than all after an interruption
    if target.noisy or not is_determined(reached, samples.dim):
        return None
    rows = np.arange(reached)
    x, scores = some.take(rows), some.scores_by(lambda x: target.score(x, memory=memory), rows)
    if not is_determined(count_distinct(x), samples.dim):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        spread = x.std(axis=0)
        size = np.abs(scores * spread).max()
    if not (spread.min() > 0 and size < LARGEST_SCORE):
        return None
    errors = moment_errors(x, scores, of_some, directions=directions)
    if step > 1:
        errors = with_all_draws(errors, samples, batches, directions, memory)
    if samples.dim > RICH_COORDINATES:
        return errors
    # Few functions can explain a coordinate where the draws are, and not where the target is: with
    # draws of half its width, sds were off by a tenth, with standard errors of a fiftieth.
    count = min(reached, max(RICH_DRAWS, fewest_draws(samples.dim)))
    part = evenly_spaced_indices(reached, count)
    if not is_determined(count_distinct(x[part]), samples.dim):
        return None
    halves = even_batches(1, count, 2, independent=True)  # standard errors are those of all draws
    plain, rich = (
        moment_errors(x[part], scores[part], halves, directions=directions, rich=rich)
        for rich in (False, True)
    )
    return errors.moved(plain, rich)


def _step(n: int, d: int, lines: int, memory: int) -> int:
    """The distance between the draws that are regressed.

    >>> [_step(4000, d, d, 2**30) for d in (10, 30, 105, 503)]
    [1, 2, 2, 2]
    """
    in_memory = max(DRAWS_IN_ANY_MEMORY, memory // (MEMORY_SHARE * bytes_per_draw(d, lines)))
    enough = max(ENOUGH_DRAWS, CHEAP_ENTRIES // d, DRAWS_PER_COORDINATE * d)
    most = max(fewest_draws(d), min(MOST_DRAWS, enough, MOST_WORK // d**2, in_memory))
    return max(1, min(round(n / most), n // fewest_draws(d)))


def explained(errors: MomentErrors) -> Bool[np.ndarray, " d"]:
    """The coordinates whose mean and sd the scores explain well enough."""
    unexplained = np.maximum(errors.mean_unexplained, errors.sd_unexplained)
    size = np.maximum(1.0, np.maximum(np.abs(errors.mean_error), errors.sd_ratio))
    uncertain = 2 * np.maximum(errors.mean_error_se, errors.sd_ratio_se) / size
    known = (unexplained <= MOST_UNEXPLAINED) & np.isfinite(errors.corrected_sd)
    return known & (uncertain <= MOST_UNCERTAIN)


def known_errors(
    errors: MomentErrors | None, names: Sequence[str]
) -> tuple[Bool[np.ndarray, " d"], tuple[str, ...]]:
    """The coordinates whose errors are known, and the names of the others."""
    known = np.zeros(len(names), bool) if errors is None else explained(errors)
    return known, tuple(name for name, ok in zip(names, known, strict=True) if not ok)


def marginals(errors: MomentErrors) -> list[Marginal | None]:
    """A record per coordinate; None where its mean or sd is not explained."""
    columns = (
        errors.mean,
        errors.sd,
        errors.corrected_mean,
        errors.corrected_sd,
        errors.mean_error,
        errors.mean_error_se,
        errors.sd_ratio,
        errors.sd_ratio_se,
    )
    rows = np.stack(columns, axis=1).tolist()
    return [Marginal(*row) if ok else None for row, ok in zip(rows, explained(errors), strict=True)]
