r"""How the target's conditional along a line is found: its CDF, quantiles and scores.

For a draw x_i and a coordinate j the conditional p(. | x_i,-j) is known up to a constant on the
line through x_i along coordinate j. `follow` places nodes that find its scale and place by
themselves: a first pass from the curvature at the draw, a second at quantiles of what was found,
then rounds that divide the intervals which leave most in doubt. It gives u = F(x_ij) and the
quantiles of F with their scores.

Only u must be accurate, far below n^-1/2: the test stays calibrated with any quantiles and scores
that do not depend on x_ij.
"""

from collections.abc import Callable
from functools import partial, reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from steinwise._internal.memory import chunks
from steinwise.errors import TargetError
from steinwise.orbits.curves import (
    between_nodes,
    curve_through,
    in_tails,
    integrals,
    interval_of,
    mass_error_bounds,
    masses,
    slope_error_bounds,
    summed,
)
from steinwise.orbits.lines import MIDPOINTS, QUANTILES, Lines, NormalLines
from steinwise.target import AbstractTarget
from steinwise.target.base import NOT_FINITE

DOUBLINGS = 2.0 ** np.arange(-1, 8)
FIRST_PASS = 1 + 2 * len(DOUBLINGS) + 3 + 8 + 4
SECOND_PASS = 8
DIVIDING = 24
ROUNDS = 4  # in which they are placed
MASS_SHARE = 0.01  # what doubts of masses count beside those of integrated slopes
NODES = FIRST_PASS + SECOND_PASS + DIVIDING
EVALUATIONS = 2 + NODES  # two for the curvature
LINES_PER_CALL = (64, 512, 4096)  # in one compiled call, the largest that can be filled


class Guide(NamedTuple):
    """What the draws say of a coordinate's range, to help find the target's mass."""

    sd: Float[np.ndarray, " c"]
    places: Float[np.ndarray, "c 12"]  # 8 quantiles of the draws, 4 points beyond them


def make_guide(columns: Float[np.ndarray, "n c"]) -> Guide:
    """From the draws of some coordinates."""
    low, high = columns.min(axis=0), columns.max(axis=0)
    width = high - low
    sd = columns.std(axis=0)
    inside = np.quantile(columns, np.linspace(0, 1, 8), axis=0) + 0.0123 * sd
    beyond = [low - width, low - width / 4, high + width / 4, high + width]
    return Guide(sd, np.concatenate([inside, np.stack(beyond)]).T)


def evaluations_per_line(target: AbstractTarget, x: Float[np.ndarray, "n d"]) -> int:
    """Of the target, for every line: none where its conditionals are known to be normal."""
    return EVALUATIONS if target.normal_along(x[:1], np.arange(1)) is None else 0


def follow(
    target: AbstractTarget,
    x: Float[np.ndarray, "n d"],
    directions: Float[np.ndarray, "c d"] | Int[np.ndarray, " c"],
    at: Float[np.ndarray, "n c"],
    guide: Guide,
    memory: int,
    numbers: Int[np.ndarray, " n"] | None = None,
) -> Lines | NormalLines:
    """The conditionals through the draws x along coordinates (integers) or directions (rows).

    `at` is where each draw stands on its lines: x_ij for coordinates. `numbers` are those of the
    draws, to name one where the target is not finite; elsewhere on a line it need not be.
    """
    normal = target.normal_along(x, directions)
    if normal is not None:  # no evaluations
        to_mean, sd = normal
        return NormalLines(-to_mean / sd, at + to_mean, sd)

    def evaluate(where: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        if directions.ndim == 1:
            return target.line_values(x, directions, where, memory=memory)
        return target.direction_values(x, directions, where - at[..., None], memory=memory)

    relative = 1e-6 if target.prepare(x.shape[1]) == "float64" else 1e-3
    with jax.enable_x64(True):
        step = relative * guide.sd * np.ones_like(at)
        values, slopes = evaluate(np.stack([at, at + step], axis=-1))
        _require_finite(values, slopes, x, np.arange(len(x)) if numbers is None else numbers)
        score, curvature = slopes[..., 0], (slopes[..., 1] - slopes[..., 0]) / step
        places = np.broadcast_to(guide.places, (*at.shape, guide.places.shape[-1]))
        sd = np.broadcast_to(guide.sd, at.shape)
        nodes = _per_line(_first_nodes, at.shape, at, score, curvature, sd, places)
        known = _sorted(nodes, *evaluate(nodes))
        added = _per_line(_second_nodes, at.shape, *known)
        known = _sorted(*_joined(known, (added, *evaluate(added))))
        divide = partial(_dividing_nodes, DIVIDING // ROUNDS)
        for _ in range(ROUNDS):
            added = _per_line(divide, at.shape, *_filled(known))
            known = _sorted(*_joined(known, (added, *evaluate(added))))
        found = _per_line(_finish, at.shape, at, *known)
    u, spread, log_density = np.moveaxis(found[..., :3], -1, 0)
    quantiles, scores = np.split(found[..., 3:], 2, axis=-1)
    return Lines(u, score, quantiles, scores, spread, log_density)


def _require_finite(
    values: Float[np.ndarray, "n c 2"] | None,
    slopes: Float[np.ndarray, "n c 2"],
    x: Float[np.ndarray, "n d"],
    numbers: Int[np.ndarray, " n"],
) -> None:
    """Raise where a draw itself, the first on its line, has no density or no score."""
    for what, found in (("log density", values), ("score", slopes)):
        if found is None or np.isfinite(found[..., 0]).all():
            continue
        i, c = np.argwhere(~np.isfinite(found[..., 0]))[0]
        raise TargetError(
            f"the {what} is {found[i, c, 0]} at draw {numbers[i]}, where x = {x[i].tolist()}. No "
            f"verdict is possible on draws that the target does not allow. {NOT_FINITE}"
        )


def _per_line(
    function: Callable[..., Array],
    shape: tuple[int, ...],
    *arrays: np.ndarray | None,
) -> np.ndarray:
    """A compiled function of lines, in calls of few sizes, so that it compiles rarely.

    The arrays begin with the axes `shape`, and so does what comes back.
    """
    count = int(np.prod(shape))
    flat = [None if a is None else a.reshape(count, *a.shape[len(shape) :]) for a in arrays]
    size = max((s for s in LINES_PER_CALL if s <= count), default=LINES_PER_CALL[0])
    pieces = []
    for part in chunks(count, size):
        index = np.minimum(np.arange(part.start, part.start + size), count - 1)
        found = function(*(None if a is None else a[index] for a in flat))
        pieces.append(np.asarray(found)[: part.stop - part.start])
    out = np.concatenate(pieces)
    return out.reshape(*shape, *out.shape[1:])


_Known = tuple[np.ndarray, np.ndarray | None, np.ndarray]  # nodes, values, slopes


def _joined(known: _Known, added: _Known) -> _Known:
    nodes = np.concatenate([known[0], added[0]], axis=-1)
    slopes = np.concatenate([known[2], added[2]], axis=-1)
    if known[1] is None or added[1] is None:
        return nodes, None, slopes
    return nodes, np.concatenate([known[1], added[1]], axis=-1), slopes


def _sorted(nodes: np.ndarray, values: np.ndarray | None, slopes: np.ndarray) -> _Known:
    order = np.argsort(nodes, axis=-1)  # by NumPy: ten times as fast as compiled
    nodes, slopes = (np.take_along_axis(a, order, axis=-1) for a in (nodes, slopes))
    return nodes, None if values is None else np.take_along_axis(values, order, axis=-1), slopes


def _filled(known: _Known) -> _Known:
    """With copies of the last node, so that every round has the same shapes."""
    count = NODES - known[0].shape[-1]
    nodes, values, slopes = (
        None if a is None else np.repeat(a[..., -1:], count, -1) for a in known
    )
    assert nodes is not None
    assert slopes is not None
    return _joined(known, (nodes, values, slopes))


@jax.jit
def _first_nodes(at: Array, score: Array, curvature: Array, sd: Array, places: Array) -> Array:
    """x first; then steps that double, the Newton point with its neighbours, the draws' range."""
    scale = jnp.clip(jnp.abs(curvature) ** -0.5, 1e-5 * sd, 3 * sd)
    away = scale[..., None] * jnp.asarray(DOUBLINGS)
    newton = at + jnp.clip(score * scale**2, -100 * sd, 100 * sd)
    around = newton[..., None] + scale[..., None] * jnp.array([-1.03, 0.017, 0.97])
    x = at[..., None]
    return jnp.concatenate([x, x - away, x + away, around, places], axis=-1)


@jax.jit
def _second_nodes(nodes: Array, values: Array | None, slopes: Array) -> Array:
    """Nodes at quantiles of 0.65 p + 0.35 p^0.3, both normalised.

    p is taken as constant in every eighth of an interval. The eighths are arrays of their own, like
    the Gauss nodes of `masses`: several times as fast as a small axis of them.
    """
    curve = curve_through(nodes, values, slopes)
    h = jnp.diff(curve.nodes, axis=-1) / 8
    inside = [between_nodes(curve, (eighth + 0.5) / 8) for eighth in range(8)]
    top = jnp.max(reduce(jnp.maximum, inside), axis=-1, keepdims=True)
    sharp = _normalised([jnp.exp(part - top) * h for part in inside])
    flat = _normalised([jnp.exp(0.3 * (part - top)) * h for part in inside])
    shares = [0.65 * one + 0.35 * other for one, other in zip(sharp, flat, strict=True)]
    below = summed(reduce(jnp.add, shares))
    wanted = (jnp.arange(SECOND_PASS) + 0.5) / SECOND_PASS
    take = partial(jnp.take_along_axis, indices=interval_of(wanted, below), axis=-1)
    left, eighths = wanted - take(below), 0.0
    for share in shares:
        found = take(share)
        eighths = eighths + jnp.clip(left / jnp.where(found > 0, found, 1.0), 0.0, 1.0)
        left = left - found
    return take(curve.nodes) + take(h) * eighths


def _normalised(parts: list[Array]) -> list[Array]:
    total = jnp.sum(reduce(jnp.add, parts), axis=-1, keepdims=True)
    return [part / total for part in parts]


@partial(jax.jit, static_argnums=0)
def _dividing_nodes(count: int, nodes: Array, values: Array | None, slopes: Array) -> Array:
    """Nodes in the intervals that leave most doubt of the mass on either side of the draw.

    Each goes to the interval that is worst for the parts it has already, whose doubt falls at
    least with the square of their number: a narrow mode in a wide interval gets them all.
    """
    curve = curve_through(nodes, values, slopes)
    doubt, mass = mass_error_bounds(curve)
    share = mass / jnp.sum(mass, axis=-1, keepdims=True)
    doubt = doubt / jnp.sum(mass, axis=-1, keepdims=True)
    if values is None:
        _, wrong = integrals(nodes, slopes)
        doubt = MASS_SHARE * doubt + slope_error_bounds(curve, wrong, share)
    place = jnp.arange(doubt.shape[-1])
    chosen: list[Array] = []
    for _ in range(count):  # faster than sorting the doubts
        worst = jnp.argmax(doubt, axis=-1, keepdims=True)
        parts = 1 + sum(worst == earlier for earlier in chosen)
        doubt = jnp.where(place == worst, doubt * (parts / (parts + 1)) ** 2, doubt)
        chosen.append(worst)
    divided = jnp.concatenate(chosen, axis=-1)
    alike = divided[..., :, None] == divided[..., None, :]
    across = jnp.tril(alike).sum(axis=-1) / (1 + alike.sum(axis=-1))
    take = partial(jnp.take_along_axis, indices=divided, axis=-1)
    return take(nodes[..., :-1]) + across * take(jnp.diff(nodes, axis=-1))


@jax.jit
def _finish(at: Array, nodes: Array, values: Array | None, slopes: Array) -> Array:
    """u, the spread, the log density, the quantiles and their scores, side by side."""
    curve = curve_through(nodes, values, slopes)
    density = jnp.exp(curve.log_density)
    rising, falling = curve.slopes[..., 0], -curve.slopes[..., -1]  # in exponential tails
    left = jnp.where(rising > 0, density[..., 0] / jnp.where(rising > 0, rising, 1.0), 0.0)
    right = jnp.where(falling > 0, density[..., -1] / jnp.where(falling > 0, falling, 1.0), 0.0)
    below = left[..., None] + summed(masses(curve))
    total = below[..., -1] + right
    cumulative = below / total[..., None]
    place = jnp.argmax(nodes >= at[..., None], axis=-1, keepdims=True)  # the draw is a node
    u = jnp.take_along_axis(cumulative, place, axis=-1)[..., 0]
    here = jnp.take_along_axis(curve.log_density, place, axis=-1)[..., 0] - jnp.log(total)

    v = jnp.asarray(MIDPOINTS)
    inside = interval_of(v, cumulative)
    take = partial(jnp.take_along_axis, indices=inside, axis=-1)
    take_next = partial(jnp.take_along_axis, indices=inside + 1, axis=-1)
    t0, t1 = take(curve.nodes), take_next(curve.nodes)
    p0, p1 = take(density), take_next(density)
    mass = take_next(cumulative) - take(cumulative)
    f = jnp.clip((v - take(cumulative)) / jnp.where(mass > 0, mass, 1.0), 0.0, 1.0)
    # the density taken as linear between nodes: the quantile's place solves a quadratic
    root = p0 + jnp.sqrt(jnp.maximum(p0**2 + (p1**2 - p0**2) * f, 0.0))
    r = jnp.where(root > 0, f * (p0 + p1) / jnp.where(root > 0, root, 1.0), f)
    quantiles = t0 + jnp.clip(r, 0.0, 1.0) * (t1 - t0)
    scores = take(curve.slopes) * (1 - r) + take_next(curve.slopes) * r
    quantiles, scores = in_tails(curve, cumulative, v, quantiles, scores)

    sd = jnp.std(quantiles, axis=-1)
    quarter = QUANTILES // 4
    upper = quantiles[..., -quarter - 1 : QUANTILES - quarter + 1].mean(axis=-1)
    lower = quantiles[..., quarter - 1 : quarter + 1].mean(axis=-1)
    spread = jnp.minimum(sd, (upper - lower) / 1.349)
    spread = jnp.where(spread > 0, spread, sd)
    alone = jnp.stack([u, spread, here], axis=-1)
    return jnp.concatenate([alone, quantiles, scores], axis=-1)
