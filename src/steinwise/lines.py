r"""The target's conditional along a line: its CDF, quantiles and scores.

For a draw x_i and a coordinate j the conditional p(. | x_i,-j) is known up to a constant on the
line through x_i along coordinate j. `follow` places nodes that find its scale and place by
themselves, in two passes, and gives u = F(x_ij) and the quantiles of F with their scores.

Only u must be accurate, far below n^-1/2: the test stays calibrated with any quantiles and scores
that do not depend on x_ij.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import ndtr, ndtri

from steinwise.target import AbstractTarget

QUANTILES = 32  # midpoints (k + 1/2) / QUANTILES of (0, 1)
MIDPOINTS = (np.arange(QUANTILES) + 0.5) / QUANTILES
DOUBLINGS = 2.0 ** np.arange(-1, 8)
SECOND_PASS = 32
WORST, ROUNDS = 4, 6  # intervals bisected per round, when only slopes are known
WIDE_SHARE = 0.3  # what an interval of large mass counts beside one whose slopes bend
RELEVANT = 15.0  # log densities this far below the highest hold no mass that matters
EVALUATIONS = 2 + (1 + 2 * len(DOUBLINGS) + 3 + 8 + 4) + SECOND_PASS  # two for the curvature
STEEPEST = 1e6  # change of log density over one interval, when it is integrated
LOWEST = 1e4  # below the highest log density of a line, where the density is not finite
_GAUSS = np.polynomial.legendre.leggauss(4)
GAUSS_NODES, GAUSS_WEIGHTS = (_GAUSS[0] + 1) / 2, _GAUSS[1] / 2


class Lines(NamedTuple):
    """Conditionals of the target along lines, each seen from its draw."""

    u: Float[np.ndarray, "n c"]  # F(x_ij)
    score: Float[np.ndarray, "n c"]  # b_j(x_i)
    quantiles: Float[np.ndarray, "n c k"]  # F^-1 at MIDPOINTS
    quantile_scores: Float[np.ndarray, "n c k"]
    spread: Float[np.ndarray, "n c"]  # a robust standard deviation of the conditional


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


def follow(
    target: AbstractTarget,
    x: Float[np.ndarray, "n d"],
    directions: Float[np.ndarray, "c d"] | Int[np.ndarray, " c"],
    at: Float[np.ndarray, "n c"],
    guide: Guide,
    memory: int,
) -> Lines:
    """The conditionals through the draws x along coordinates (integers) or directions (rows).

    `at` is where each draw stands on its lines: x_ij for coordinates.
    """
    normal = target.normal_along(x, directions)
    if normal is not None:
        return _normal_lines(at, *normal)

    def evaluate(points: Array | np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        where = np.asarray(points)
        if directions.ndim == 1:
            return target.line_values(x, directions, where, memory=memory)
        return target.direction_values(x, directions, where - at[..., None], memory=memory)

    relative = 1e-6 if target.prepare(x.shape[1]) == "float64" else 1e-3
    with jax.enable_x64(True):
        step = relative * guide.sd * np.ones_like(at)
        _, slopes = evaluate(np.stack([at, at + step], axis=-1))
        score, curvature = slopes[..., 0], (slopes[..., 1] - slopes[..., 0]) / step
        nodes = _first_nodes(at, score, curvature, guide)
        values, slopes = evaluate(nodes)
        if values is not None:
            nodes, values, slopes = _add(
                nodes, values, slopes, _second_nodes(nodes, values, slopes, SECOND_PASS), evaluate
            )
        else:  # part of the second pass goes where integrating the slopes needs it
            added = _second_nodes(nodes, None, slopes, SECOND_PASS - ROUNDS * WORST)
            nodes, _, slopes = _add(nodes, None, slopes, added, evaluate)
            for _ in range(ROUNDS):
                added = _bisecting_nodes(nodes, slopes)
                nodes, _, slopes = _add(nodes, None, slopes, added, evaluate)
        u, quantiles, scores, spread = _finish(nodes, values, slopes)
    return Lines(
        np.asarray(u), score, np.asarray(quantiles), np.asarray(scores), np.asarray(spread)
    )


def _add(
    nodes: Array,
    values: np.ndarray | None,
    slopes: np.ndarray,
    added: Array,
    evaluate: Callable[..., tuple[np.ndarray | None, np.ndarray]],
) -> tuple[Array, np.ndarray | None, np.ndarray]:
    more_values, more_slopes = evaluate(added)
    if values is not None and more_values is not None:
        values = np.concatenate([values, more_values], axis=-1)
    slopes = np.concatenate([slopes, more_slopes], axis=-1)
    return jnp.concatenate([nodes, added], axis=-1), values, slopes


def _normal_lines(at: np.ndarray, to_mean: np.ndarray, sd: np.ndarray) -> Lines:
    """The closed form where the conditional is normal: no evaluations."""
    z = -to_mean / sd
    standard = ndtri(MIDPOINTS)
    mean = (at + to_mean)[..., None]
    scores = np.broadcast_to(-standard / sd[:, None], (*at.shape, QUANTILES))
    spread = np.broadcast_to(sd, at.shape)
    return Lines(ndtr(z), -z / sd, mean + sd[:, None] * standard, scores, spread)


@jax.jit
def _first_nodes(at: Array, score: Array, curvature: Array, guide: Guide) -> Array:
    """x first; then steps that double, the Newton point with its neighbours, the draws' range."""
    sd = guide.sd
    scale = jnp.clip(jnp.abs(curvature) ** -0.5, 1e-5 * sd, 3 * sd)
    away = scale[..., None] * jnp.asarray(DOUBLINGS)
    newton = at + jnp.clip(score * scale**2, -100 * sd, 100 * sd)
    around = newton[..., None] + scale[..., None] * jnp.array([-1.03, 0.017, 0.97])
    places = jnp.broadcast_to(guide.places, (*at.shape, guide.places.shape[-1]))
    x = at[..., None]
    return jnp.concatenate([x, x - away, x + away, around, places], axis=-1)


class _Curve(NamedTuple):
    """A line's log density at sorted nodes, with the mass between them."""

    nodes: Array
    log_density: Array
    slopes: Array
    left: Array  # mass of the exponential tails
    right: Array
    masses: Array
    order: Array


def _curve(nodes: Array, values: Array | None, slopes: Array, fine: bool) -> _Curve:
    order = jnp.argsort(nodes, axis=-1)
    nodes, slopes = (jnp.take_along_axis(a, order, axis=-1) for a in (nodes, slopes))
    if values is None:
        log_density = _integrated(nodes, slopes)
    else:
        log_density = jnp.take_along_axis(values, order, axis=-1)
    finite = jnp.isfinite(log_density) & jnp.isfinite(slopes)
    highest = jnp.max(jnp.where(finite, log_density, -jnp.inf), axis=-1, keepdims=True)
    log_density = jnp.where(finite, log_density - highest, -LOWEST)
    slopes = jnp.where(finite, slopes, 0.0)
    masses = _masses(nodes, log_density, slopes, fine)
    density = jnp.exp(log_density)
    rising, falling = slopes[..., 0], -slopes[..., -1]
    left = jnp.where(rising > 0, density[..., 0] / jnp.where(rising > 0, rising, 1.0), 0.0)
    right = jnp.where(falling > 0, density[..., -1] / jnp.where(falling > 0, falling, 1.0), 0.0)
    return _Curve(nodes, log_density, slopes, left, right, masses, order)


def _bends(nodes: Array, slopes: Array) -> Array:
    """The derivative of the slopes at the nodes, by quartics through five neighbours."""
    last = nodes.shape[-1] - 1
    start = jnp.clip(jnp.arange(last + 1) - 2, 0, last - 4)
    near = start[:, None] + jnp.arange(5)
    t, s = nodes[..., near], slopes[..., near]
    own = (jnp.arange(last + 1) - start)[:, None] == jnp.arange(5)
    here = nodes[..., None]
    apart = t[..., :, None] - t[..., None, :]
    apart = jnp.where(jnp.eye(5, dtype=bool), 1.0, apart)
    apart = jnp.where(apart == 0, 1e-300, apart)
    inverse = 1 / jnp.prod(apart, axis=-1)  # barycentric weights
    inverse_own = jnp.sum(jnp.where(own, inverse, 0.0), axis=-1, keepdims=True)
    gap = jnp.where(own, 1.0, here - t)
    gap = jnp.where(gap == 0, 1e-300, gap)
    terms = jnp.where(own, 0.0, inverse / inverse_own / gap)
    s_own = slopes[..., None]
    return jnp.sum(terms * (s - s_own), axis=-1)


def _integrated(nodes: Array, slopes: Array) -> Array:
    """log p from its slopes: the trapezoid corrected by the slopes' own derivatives."""
    slopes = jnp.where(jnp.isfinite(slopes), slopes, 0.0)
    h = jnp.diff(nodes, axis=-1)
    bends = _bends(nodes, slopes)
    pieces = h * (slopes[..., :-1] + slopes[..., 1:]) / 2
    pieces = pieces + h**2 / 12 * (bends[..., :-1] - bends[..., 1:])
    # between monotone slopes the integral lies between the two rectangles
    low = h * jnp.minimum(slopes[..., :-1], slopes[..., 1:])
    high = h * jnp.maximum(slopes[..., :-1], slopes[..., 1:])
    pieces = jnp.clip(jnp.clip(jnp.nan_to_num(pieces), low, high), -STEEPEST, STEEPEST)
    start = jnp.zeros_like(nodes[..., :1])
    return jnp.concatenate([start, jnp.cumsum(pieces, axis=-1)], axis=-1)


@jax.jit
def _bisecting_nodes(nodes: Array, slopes: Array) -> Array:
    """Midpoints of the intervals over which the slopes are integrated worst.

    Only intervals between the outermost places of any weight count: what lies outside does not
    change the share of the mass on either side of the draw.
    """
    curve = _curve(nodes, None, slopes, fine=True)
    bends = _bends(curve.nodes, curve.slopes)
    doubt = jnp.diff(curve.nodes, axis=-1) ** 2 * jnp.abs(jnp.diff(bends, axis=-1))
    share = curve.masses / jnp.sum(curve.masses, axis=-1, keepdims=True)
    doubt = doubt + WIDE_SHARE * share
    weighty = curve.log_density > -RELEVANT
    from_left = jnp.cumsum(weighty, axis=-1) > 0
    from_right = jnp.cumsum(weighty[..., ::-1], axis=-1)[..., ::-1] > 0
    between = (from_left & from_right)[..., 1:] & (from_left & from_right)[..., :-1]
    worst = jax.lax.top_k(jnp.where(between, doubt, -1.0), WORST)[1]
    left = jnp.take_along_axis(curve.nodes, worst, axis=-1)
    right = jnp.take_along_axis(curve.nodes, worst + 1, axis=-1)
    return (left + right) / 2


def _hermite(nodes: Array, log_density: Array, slopes: Array, r: Array) -> Array:
    """The guarded cubic through values and slopes, at fractions r of every interval.

    Where both tangents lie on one side of the chord the log density bends one way, and lies
    between them; elsewhere it lies within their hull. The cubic is kept there.
    """
    h = jnp.diff(nodes, axis=-1)[..., None]
    a, b = log_density[..., :-1, None], log_density[..., 1:, None]
    da, db = slopes[..., :-1, None] * h, slopes[..., 1:, None] * h
    chord = b - a
    cubic = a + r * (da + r * (3 * chord - 2 * da - db + r * (da + db - 2 * chord)))
    straight, from_a, from_b = a + r * chord, a + r * da, b - (1 - r) * db
    lower_tangent, upper_tangent = jnp.minimum(from_a, from_b), jnp.maximum(from_a, from_b)
    concave, convex = (da >= chord) & (chord >= db), (da <= chord) & (chord <= db)
    low = jnp.where(concave, straight, jnp.where(convex, upper_tangent, lower_tangent))
    high = jnp.where(concave, lower_tangent, jnp.where(convex, straight, upper_tangent))
    low, high = jnp.minimum(low, straight), jnp.maximum(high, straight)
    # an interval this steep has its mass at one end, and may have been cut by STEEPEST
    return jnp.where(jnp.abs(chord) < STEEPEST / 10, jnp.clip(cubic, low, high), straight)


def _masses(nodes: Array, log_density: Array, slopes: Array, fine: bool) -> Array:
    r = jnp.asarray(GAUSS_NODES)
    w = jnp.asarray(GAUSS_WEIGHTS)
    if not fine:  # the first pass has wide intervals: Gauss-Legendre on each quarter of them
        r = ((jnp.arange(4)[:, None] + r) / 4).ravel()
        w = jnp.tile(w, 4) / 4
    h = jnp.diff(nodes, axis=-1)
    return h * (jnp.exp(_hermite(nodes, log_density, slopes, r)) @ w)


@partial(jax.jit, static_argnums=3)
def _second_nodes(nodes: Array, values: Array | None, slopes: Array, count: int) -> Array:
    """Nodes at quantiles of 0.65 p + 0.35 p^0.3, both normalised."""
    curve = _curve(nodes, values, slopes, fine=False)
    r = (jnp.arange(8) + 0.5) / 8
    inside = _hermite(curve.nodes, curve.log_density, curve.slopes, r)
    h = jnp.diff(curve.nodes, axis=-1)[..., None] / 8
    inside = inside - jnp.max(inside, axis=(-1, -2), keepdims=True)
    sharp, flat = jnp.exp(inside) * h, jnp.exp(0.3 * inside) * h
    share = 0.65 * _normalised(sharp) + 0.35 * _normalised(flat)
    share = share.reshape(*share.shape[:-2], -1)
    cumulative = jnp.cumsum(share, axis=-1)
    cumulative = cumulative / cumulative[..., -1:]
    edges = (curve.nodes[..., :-1, None] + h * (jnp.arange(8) + 1)).reshape(share.shape)
    edges = jnp.concatenate([curve.nodes[..., :1], edges], axis=-1)
    cumulative = jnp.concatenate([jnp.zeros_like(cumulative[..., :1]), cumulative], axis=-1)
    wanted = (jnp.arange(count) + 0.5) / count
    flat_lines = (cumulative.reshape(-1, edges.shape[-1]), edges.reshape(-1, edges.shape[-1]))
    found = jax.vmap(lambda c, e: jnp.interp(wanted, c, e))(*flat_lines)
    return found.reshape(*nodes.shape[:-1], count)


def _normalised(weights: Array) -> Array:
    return weights / jnp.sum(weights, axis=(-1, -2), keepdims=True)


@jax.jit
def _finish(nodes: Array, values: Array | None, slopes: Array) -> tuple[Array, Array, Array, Array]:
    curve = _curve(nodes, values, slopes, fine=True)
    total = curve.left + curve.right + curve.masses.sum(axis=-1)
    below = curve.left[..., None] + jnp.cumsum(curve.masses, axis=-1)
    cumulative = jnp.concatenate([curve.left[..., None], below], axis=-1) / total[..., None]
    place = jnp.argmin(curve.order, axis=-1, keepdims=True)  # where node 0, the draw, went
    u = jnp.take_along_axis(cumulative, place, axis=-1)[..., 0]

    v = jnp.asarray(MIDPOINTS)
    k = jnp.sum(cumulative[..., None, :] <= v[:, None], axis=-1) - 1  # interval of every quantile
    inside = jnp.clip(k, 0, nodes.shape[-1] - 2)
    take = partial(jnp.take_along_axis, indices=inside, axis=-1)
    take_next = partial(jnp.take_along_axis, indices=inside + 1, axis=-1)
    t0, t1 = take(curve.nodes), take_next(curve.nodes)
    density = jnp.exp(curve.log_density)
    p0, p1 = take(density), take_next(density)
    mass = take_next(cumulative) - take(cumulative)
    f = jnp.clip((v - take(cumulative)) / jnp.where(mass > 0, mass, 1.0), 0.0, 1.0)
    # the density taken as linear between nodes: the quantile's place solves a quadratic
    root = p0 + jnp.sqrt(jnp.maximum(p0**2 + (p1**2 - p0**2) * f, 0.0))
    r = jnp.where(root > 0, f * (p0 + p1) / jnp.where(root > 0, root, 1.0), f)
    quantiles = t0 + jnp.clip(r, 0.0, 1.0) * (t1 - t0)
    scores = take(curve.slopes) * (1 - r) + take_next(curve.slopes) * r
    quantiles, scores = _in_tails(curve, cumulative, total, v, k, quantiles, scores)

    sd = jnp.std(quantiles, axis=-1)
    quarter = QUANTILES // 4
    upper = quantiles[..., -quarter - 1 : QUANTILES - quarter + 1].mean(axis=-1)
    lower = quantiles[..., quarter - 1 : quarter + 1].mean(axis=-1)
    spread = jnp.minimum(sd, (upper - lower) / 1.349)
    return u, quantiles, scores, jnp.where(spread > 0, spread, sd)


def _in_tails(
    curve: _Curve, cumulative: Array, total: Array, v: Array, k: Array, quantiles, scores
) -> tuple[Array, Array]:
    """Quantiles beyond the first or last node, by the exponential tails."""
    first, last = curve.slopes[..., :1], curve.slopes[..., -1:]
    left = jnp.where(curve.left > 0, curve.left / total, 1.0)[..., None]
    right = jnp.where(curve.right > 0, curve.right / total, 1.0)[..., None]
    low = curve.nodes[..., :1] + jnp.log(v / left) / jnp.where(first > 0, first, 1.0)
    high = curve.nodes[..., -1:] + jnp.log((1 - v) / right) / jnp.where(last < 0, last, -1.0)
    in_left, in_right = k < 0, v > cumulative[..., -1:]
    quantiles = jnp.where(in_left, low, jnp.where(in_right, high, quantiles))
    return quantiles, jnp.where(in_left, first, jnp.where(in_right, last, scores))
