"""Draws moved along lines: sweeps of exact Gibbs steps, each along one coordinate or direction.

Every step replaces the place of a draw on a line by one from the target's conditional there
(`orbits.conditional_draws`). The target is invariant, nothing is tuned, and no gradient is needed.
Coordinates alone move slowly where the target is long in a direction along which all of their lines
are short. So the directions of the target that are long in this sense go first.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.orientation import oriented
from steinwise._internal.random import stream
from steinwise._internal.run_options import RunOptions
from steinwise._internal.threads import one_blas_thread
from steinwise.estimates.moments import is_determined, scores_to_coordinates
from steinwise.orbits.conditional_draws import steps_to_quantiles
from steinwise.results.wording import PROGRESS, sweep_progress
from steinwise.target import AbstractTarget

MOST_DIRECTIONS = 10
# The variance along a direction, in units of the conditional variances of its coordinates, from
# which it is followed. Steps along coordinates forget a fraction of about one over this.
LEAST_LENGTH = 2.0
# Places on the line of each draw and coordinate that stand for its conditional: the quantiles at
# v + k / 8, modulo 1, for the uniform v that the draw moves to. Over all draws they are the
# target's marginal distribution, with far less noise than the draws themselves.
PLACES = 8
LEAST_SHARE = 1e-12  # a quantile at 0 is infinite


class Sweep(NamedTuple):
    """The draws after a sweep."""

    x: Float[np.ndarray, "n d"]
    # quantiles of the conditional of every coordinate, as it was when its turn came; the first is
    # where the draw went
    places: Float[np.ndarray, "n d places"]


def refresh_sweeps(
    target: AbstractTarget,
    x: Float[np.ndarray, "n d"],
    scores: Float[np.ndarray, "n d"] | None,
    sweeps: int,
    run: RunOptions,
    draw_numbers: Int[np.ndarray, " n"],
) -> Iterator[Sweep]:
    """The draws after each of some sweeps.

    Parameters
    ----------
    target
        The density.
    x, scores
        The draws, and the scores at them where they are known: these show the long directions.
    sweeps
        How often all coordinates are refreshed.
    run
        The seed, the memory, and whether progress is shown.
    draw_numbers
        The numbers of the draws, to name one where the target is not finite.
    """
    directions = long_directions(x, scores)
    n, d = x.shape
    lines = [*directions, *range(d)]
    for sweep in range(sweeps):
        x, places = x.copy(), np.empty((n, d, PLACES))
        # a bar for each sweep, since a caller may ask for fewer of them: a notebook shows a bar
        # that does not reach its end as failed
        with run.meter(len(lines) * n, "line", sweep_progress(sweep + 1, sweeps)) as meter:
            for k, line in enumerate(lines):
                shares = stream(run.seed, "refresh", sweep, k).random(n)[:, None]
                if isinstance(line, int):
                    shares = (shares + np.arange(PLACES) / PLACES) % 1
                shares = np.clip(shares, LEAST_SHARE, 1 - LEAST_SHARE)
                compiles = sweep == 0 and k in (0, len(directions))  # the first line of its kind
                with run.stage(PROGRESS["first lines"]) if compiles else nullcontext():
                    steps = steps_to_quantiles(target, x, line, shares, run.memory, draw_numbers)
                if isinstance(line, int):
                    places[:, line] = x[:, [line]] + steps
                    x[:, line] = places[:, line, 0]
                else:
                    x += steps * line
                meter.update(n)
        yield Sweep(x, places)


@one_blas_thread
def long_directions(
    x: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"] | None
) -> Float[np.ndarray, "c d"]:
    """Directions in which the target is long while the lines of its coordinates are short.

    Its covariance is estimated from the scores (exactly, for a normal target, whatever the draws
    are); without them, or with too few draws, it is taken to be that of the draws.
    """
    n, d = x.shape
    if d == 1 or not is_determined(n, d):
        return np.empty((0, d))
    sd = x.std(axis=0)
    z = (x - x.mean(axis=0)) / sd
    covariance = z.T @ z / n if scores is None else -scores_to_coordinates(z, scores * sd)
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    values = np.maximum(values, 1e-6 * values[-1])
    if values[-1] <= 0:
        return np.empty((0, d))
    conditional_sd = 1 / np.sqrt((vectors**2 / values).sum(axis=1))
    root = vectors * np.sqrt(values) / conditional_sd[:, None]
    lengths, along = np.linalg.eigh(root @ root.T)
    chosen = np.argsort(-lengths)[:MOST_DIRECTIONS]
    chosen = chosen[lengths[chosen] > LEAST_LENGTH]
    return oriented(along[:, chosen].T) * conditional_sd * sd
