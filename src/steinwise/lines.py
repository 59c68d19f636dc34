r"""The target's conditional along a line: its CDF, quantiles and scores.

For a draw x_i and a coordinate j the conditional p(. | x_i,-j) is known up to a constant on the
line through x_i along coordinate j. `follow` places nodes that find its scale and place by
themselves: a first pass from the curvature at the draw, a second at quantiles of what was found,
then rounds that bisect where most is left in doubt. It gives u = F(x_ij) and the quantiles of F
with their scores.

Only u must be accurate, far below n^-1/2: the test stays calibrated with any quantiles and scores
that do not depend on x_ij.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import ndtr, ndtri

from steinwise.memory import chunks
from steinwise.target import AbstractTarget

QUANTILES = 32  # midpoints (k + 1/2) / QUANTILES of (0, 1)
MIDPOINTS = (np.arange(QUANTILES) + 0.5) / QUANTILES
NORMAL_QUANTILES = ndtri(MIDPOINTS)
NODES_AT_ONCE = 2**15  # quantiles of lines, which stay in the processor's cache
DOUBLINGS = 2.0 ** np.arange(-1, 8)
FIRST_PASS = 1 + 2 * len(DOUBLINGS) + 3 + 8 + 4
SECOND_PASS = 8
BISECTED = 24
ROUNDS, SLOPE_ROUNDS = 3, 6  # with a log density, and with its slopes only
RELEVANT = 15.0  # log densities this far below the highest hold no mass that matters
HIGHEST = 1.0  # above the higher node of an interval, what is believed of a log density inside
BENT_SHARE = 0.1  # what the mass of a bent interval counts beside the bounds of that mass
MASS_SHARE = 0.01  # what doubts of masses count beside those of integrated slopes
NODES = FIRST_PASS + SECOND_PASS + BISECTED
EVALUATIONS = 2 + NODES  # two for the curvature
LINES_PER_CALL = (64, 512, 4096)  # in one compiled call, the largest that can be filled
STEEPEST = 1e6  # change of log density over one interval, when it is integrated
LOWEST = 1e4  # below the highest log density of a line, where the density is not finite
_GAUSS = np.polynomial.legendre.leggauss(4)
GAUSS_NODES, GAUSS_WEIGHTS = (_GAUSS[0] + 1) / 2, _GAUSS[1] / 2


@dataclass(frozen=True, eq=False)
class Lines:
    """Conditionals of the target along lines, each seen from its draw."""

    u: Float[np.ndarray, "n c"]  # F(x_ij)
    score: Float[np.ndarray, "n c"]  # b_j(x_i)
    quantiles: Float[np.ndarray, "n c k"]  # F^-1 at MIDPOINTS
    quantile_scores: Float[np.ndarray, "n c k"]
    spread: Float[np.ndarray, "n c"]  # a robust standard deviation of the conditional
    log_density: Float[np.ndarray, "n c"]  # log p(x_ij | x_i,-j)

    @property
    def normal_scores(self) -> Float[np.ndarray, "n c"]:
        return ndtri(self.u)

    def stein_kernel(
        self, at: Float[np.ndarray, "n c"], weights: Float[np.ndarray, "k w"], dtype: np.dtype
    ) -> Float[np.ndarray, "w cn"]:
        """Weighted sums over the quantiles of a Stein kernel between draw and quantile.

        The RBF kernel, as wide as the spread of the line, in units of which all is taken. The draws
        of a coordinate follow each other.
        """
        n, c = at.shape
        out = np.empty((weights.shape[1], c * n), dtype)

        def by_quantile(values: Float[np.ndarray, "n c #k"]) -> Float[np.ndarray, "#k m"]:
            return values.transpose(2, 1, 0).reshape(values.shape[2], -1).astype(dtype)

        for some in chunks(c, max(1, NODES_AT_ONCE // (n * QUANTILES))):
            spread = self.spread[:, some, None]
            # in 64 bit: both may be far from 0
            step = by_quantile((at[:, some, None] - self.quantiles[:, some]) / spread)
            here = by_quantile(self.score[:, some, None] * spread)
            there = by_quantile(self.quantile_scores[:, some] * spread)
            with np.errstate(over="ignore", invalid="ignore"):  # the method looks for it
                # here there + (here - there) step + 1 - step^2
                kernel = (here - step) * (there + step) + 1
                kernel *= np.exp(-0.5 * step**2)
                out[:, some.start * n : some.stop * n] = weights.T.astype(dtype) @ kernel
        return out


@dataclass(frozen=True, eq=False)
class NormalLines:
    """Conditionals that are normal: in units of the spread they are all the same."""

    z: Float[np.ndarray, "n c"]  # where the draw stands
    mean: Float[np.ndarray, "n c"]
    sd: Float[np.ndarray, " c"]

    @cached_property
    def u(self) -> Float[np.ndarray, "n c"]:
        return ndtr(self.z)

    @property
    def score(self) -> Float[np.ndarray, "n c"]:
        return -self.z / self.sd

    @property
    def quantiles(self) -> Float[np.ndarray, "n c k"]:
        return self.mean[..., None] + self.sd[:, None] * NORMAL_QUANTILES

    @property
    def quantile_scores(self) -> Float[np.ndarray, "n c k"]:
        return np.broadcast_to(-NORMAL_QUANTILES / self.sd[:, None], (*self.z.shape, QUANTILES))

    @property
    def spread(self) -> Float[np.ndarray, "n c"]:
        return np.broadcast_to(self.sd, self.z.shape)

    @property
    def log_density(self) -> Float[np.ndarray, "n c"]:
        return -(self.z**2) / 2 - np.log(self.sd * np.sqrt(2 * np.pi))

    @property
    def normal_scores(self) -> Float[np.ndarray, "n c"]:
        return self.z

    def stein_kernel(
        self,
        at: Float[np.ndarray, "n c"],  # noqa: ARG002
        weights: Float[np.ndarray, "k w"],
        dtype: np.dtype,
    ) -> Float[np.ndarray, "w cn"]:
        """As of other lines.

        Between z and a quantile q it is (1 - 2 q^2 + 5 q z - 2 z^2) exp(-q^2 / 2 + q z - z^2 / 2).
        """
        q, z = NORMAL_QUANTILES[:, None], self.z.T.ravel().astype(dtype)
        exponents = np.concatenate([-(q**2) / 2, q, np.full_like(q, -0.5)], axis=1).astype(dtype)
        factors = np.concatenate([(1 - 2 * q**2) * weights, 5 * q * weights, -2 * weights], axis=1)
        factors = factors.T.astype(dtype)
        out = np.empty((weights.shape[1], len(z)), dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # the method looks for it
            powers = np.stack([np.ones_like(z), z, z**2])
            for part in chunks(len(z), NODES_AT_ONCE // QUANTILES):
                kernel = exponents @ powers[:, part]
                np.exp(kernel, out=kernel)
                by_power = (factors @ kernel).reshape(3, -1, kernel.shape[1])
                by_power *= powers[:, None, part]
                np.sum(by_power, axis=0, out=out[:, part])
        return out


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
) -> Lines | NormalLines:
    """The conditionals through the draws x along coordinates (integers) or directions (rows).

    `at` is where each draw stands on its lines: x_ij for coordinates.
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
        _, slopes = evaluate(np.stack([at, at + step], axis=-1))
        score, curvature = slopes[..., 0], (slopes[..., 1] - slopes[..., 0]) / step
        places = np.broadcast_to(guide.places, (*at.shape, guide.places.shape[-1]))
        sd = np.broadcast_to(guide.sd, at.shape)
        nodes = _per_line(_first_nodes, at.shape, at, score, curvature, sd, places)
        known = _sorted(nodes, *evaluate(nodes))
        added = _per_line(_second_nodes, at.shape, *known)
        known = _sorted(*_joined(known, (added, *evaluate(added))))
        rounds = SLOPE_ROUNDS if known[1] is None else ROUNDS
        for _ in range(rounds):
            bisect = partial(_bisecting_nodes, BISECTED // rounds)
            added = _per_line(bisect, at.shape, *_filled(known))
            known = _sorted(*_joined(known, (added, *evaluate(added))))
        found = _per_line(_finish, at.shape, at, *known)
    u, spread, log_density = np.moveaxis(found[..., :3], -1, 0)
    quantiles, scores = np.split(found[..., 3:], 2, axis=-1)
    return Lines(u, score, quantiles, scores, spread, log_density)


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


class _Curve(NamedTuple):
    """A line's log density at its nodes, 0 at the highest."""

    nodes: Array
    log_density: Array
    slopes: Array


def _curve(nodes: Array, values: Array | None, slopes: Array) -> _Curve:
    log_density = _summed(_integrals(nodes, slopes)[0]) if values is None else values
    finite = jnp.isfinite(log_density) & jnp.isfinite(slopes)
    highest = jnp.max(jnp.where(finite, log_density, -jnp.inf), axis=-1, keepdims=True)
    log_density = jnp.where(finite, log_density - highest, -LOWEST)
    return _Curve(nodes, log_density, jnp.where(finite, slopes, 0.0))


def _bends(nodes: Array, slopes: Array) -> tuple[Array, Array]:
    """The slopes' derivative at the nodes, and their fourth divided difference there.

    By quartics through five neighbours; secants at the two outermost nodes of either end.
    """

    def divided(lower: Array, apart: int) -> Array:
        gap = nodes[..., apart:] - nodes[..., :-apart]
        return jnp.diff(lower, axis=-1) / jnp.where(gap > 0, gap, jnp.inf)

    first = divided(slopes, 1)
    second = divided(first, 2)
    third = divided(second, 3)
    fourth = divided(third, 4)
    t0, t1, t2, t3 = (nodes[..., k : nodes.shape[-1] - 4 + k] for k in range(4))
    inside = first[..., :-3] + second[..., :-2] * (2 * t2 - t0 - t1)
    inside = inside + (t2 - t0) * (t2 - t1) * (third[..., :-1] + fourth * (t2 - t3))
    bends = jnp.concatenate([first[..., :2], inside, first[..., -2:]], axis=-1)
    ends = [jnp.repeat(side, 2, axis=-1) for side in (fourth[..., :1], fourth[..., -1:])]
    return bends, jnp.concatenate([ends[0], fourth, ends[1]], axis=-1)


def _guarded(bends: Array, h: Array, secants: Array) -> Array:
    """Derivatives of the slopes that nodes of many scales, or a kink, have not made wild.

    They are kept between the two secants, and where these have one sign below three times the
    flatter one, as for monotone interpolation. A quartic that is close to the parabola through
    three neighbours may come closer to the steeper secant.
    """
    before = jnp.concatenate([secants[..., :1], secants], axis=-1)
    after = jnp.concatenate([secants, secants[..., -1:]], axis=-1)
    steepest = 3 * jnp.minimum(jnp.abs(before), jnp.abs(after))
    one_sign = before * after > 0
    low = jnp.where(one_sign, jnp.where(before > 0, 0.0, -steepest), jnp.minimum(before, after))
    high = jnp.where(one_sign, jnp.where(before > 0, steepest, 0.0), jnp.maximum(before, after))
    h_before = jnp.concatenate([h[..., :1], h], axis=-1)
    h_after = jnp.concatenate([h, h[..., -1:]], axis=-1)
    parabola = (h_after * before + h_before * after) / (h_before + h_after)
    believed = jnp.abs(bends - parabola) <= 0.1 * jnp.abs(after - before)
    low = jnp.where(believed, jnp.minimum(low, jnp.minimum(before, after)), low)
    high = jnp.where(believed, jnp.maximum(high, jnp.maximum(before, after)), high)
    return jnp.clip(jnp.nan_to_num(bends), low, high)


def _integrals(nodes: Array, slopes: Array) -> tuple[Array, Array]:
    """The change of log p over every interval, from its slopes, and how wrong it may be.

    The trapezoid corrected by the slopes' own derivatives: exact for cubic slopes.
    """
    slopes = jnp.where(jnp.isfinite(slopes), slopes, 0.0)
    h, rise = jnp.diff(nodes, axis=-1), jnp.diff(slopes, axis=-1)
    bends, fourth = _bends(nodes, slopes)
    kept = _guarded(bends, h, rise / jnp.where(h > 0, h, 1.0))
    correction = h**2 / 12 * (kept[..., :-1] - kept[..., 1:])
    correction = jnp.where(jnp.isfinite(correction), correction, 0.0)
    # slopes that rise, or fall, from end to end have their integral between the two rectangles
    monotone = (kept[..., :-1] * rise >= 0) & (kept[..., 1:] * rise >= 0)
    most = jnp.where(monotone, h * jnp.abs(rise) / 4, jnp.inf)
    correction = jnp.clip(correction, -most, most)
    pieces = h * (slopes[..., :-1] + slopes[..., 1:]) / 2 + correction
    removed, fourth = jnp.abs(bends - kept), jnp.abs(fourth)
    doubt = h**5 / 30 * jnp.maximum(fourth[..., :-1], fourth[..., 1:])
    doubt = doubt + h**2 / 12 * (removed[..., :-1] + removed[..., 1:])
    doubt = jnp.where(jnp.isfinite(doubt), doubt, STEEPEST)
    doubt = jnp.minimum(doubt, jnp.abs(correction) + h * jnp.abs(rise) / 2)
    return jnp.clip(pieces, -STEEPEST, STEEPEST), jnp.minimum(doubt, STEEPEST)


def _summed(pieces: Array) -> Array:
    """Sums from the left end, beginning at 0."""
    return jnp.concatenate([jnp.zeros_like(pieces[..., :1]), jnp.cumsum(pieces, axis=-1)], axis=-1)


@partial(jax.jit, static_argnums=0)
def _bisecting_nodes(count: int, nodes: Array, values: Array | None, slopes: Array) -> Array:
    """Midpoints of the intervals that leave most doubt of the mass on either side of the draw."""
    curve = _curve(nodes, values, slopes)
    doubt, masses = _mass_doubts(curve)
    share = masses / jnp.sum(masses, axis=-1, keepdims=True)
    doubt = doubt / jnp.sum(masses, axis=-1, keepdims=True)
    if values is None:
        _, wrong = _integrals(nodes, slopes)
        doubt = MASS_SHARE * doubt + _slope_doubts(curve, wrong, share)
    middles = (nodes[..., :-1] + nodes[..., 1:]) / 2
    place = jnp.arange(middles.shape[-1])
    found = []
    for _ in range(count):  # faster than sorting the doubts
        worst = jnp.argmax(doubt, axis=-1, keepdims=True)
        found.append(jnp.take_along_axis(middles, worst, axis=-1))
        doubt = jnp.where(place == worst, -1.0, doubt)
    return jnp.concatenate(found, axis=-1)


def _mass_doubts(curve: _Curve) -> tuple[Array, Array]:
    """How far apart the bounds of every interval's mass are, and their middle.

    A log density that bends one way lies between the chord and the two tangents; another, about,
    between the tangents. It may bend more than once: a share of the mass of bent intervals is
    added.
    """
    h = jnp.diff(curve.nodes, axis=-1)
    a, b = curve.log_density[..., :-1], curve.log_density[..., 1:]
    chord, da, db = b - a, curve.slopes[..., :-1] * h, curve.slopes[..., 1:] * h
    one_way = (da - chord) * (chord - db) >= 0
    across = jnp.where(da == db, 0.5, (chord - db) / jnp.where(da == db, 1.0, da - db))
    across = jnp.clip(across, 0.0, 1.0)  # where the tangents meet
    corner = a + across * da
    tangents = across * _mean_exp(a, corner) + (1 - across) * _mean_exp(corner, b)
    straight = _mean_exp(a, b)
    either = jnp.abs(_mean_exp(a, a + da) - _mean_exp(b - db, b))
    between = jnp.where(one_way, jnp.abs(tangents - straight), either)
    masses = h * jnp.where(one_way, (tangents + straight) / 2, straight)
    bent = jnp.minimum(jnp.abs(da - chord) + jnp.abs(db - chord), 1 / BENT_SHARE)
    return h * between + BENT_SHARE * bent * masses, masses


def _mean_exp(a: Array, b: Array) -> Array:
    """The mean of exp over the straight line from a to b."""
    a, b = jnp.minimum(a, HIGHEST), jnp.minimum(b, HIGHEST)
    gap = b - a
    small = jnp.abs(gap) < 1e-3
    series = jnp.exp(a) * (1 + gap / 2 + gap**2 / 6)
    return jnp.where(small, series, (jnp.exp(b) - jnp.exp(a)) / jnp.where(small, 1.0, gap))


def _slope_doubts(curve: _Curve, wrong: Array, share: Array) -> Array:
    """What errors of integrated slopes may do to the share of mass on either side of them.

    Only intervals between the outermost places count that hold mass, or may hold it for all that
    is known of the integrals up to there.
    """
    # between slopes of one sign log p rises, or falls, at least by a part of what was found
    steady = curve.slopes[..., :-1] * curve.slopes[..., 1:] > 0
    found = jnp.abs(jnp.diff(curve.log_density, axis=-1))
    so_far = _summed(jnp.where(steady, jnp.minimum(wrong, found / 2), wrong))
    top = jnp.argmax(curve.log_density, axis=-1, keepdims=True)
    unknown = jnp.abs(so_far - jnp.take_along_axis(so_far, top, axis=-1))
    weighty = curve.log_density + unknown > -RELEVANT
    from_left = jnp.cumsum(weighty, axis=-1) > 0
    from_right = jnp.cumsum(weighty[..., ::-1], axis=-1)[..., ::-1] > 0
    inside = from_left & from_right
    below = jnp.cumsum(share, axis=-1)
    wrong = jnp.minimum(wrong, 1.0)
    # both sides of an interval whose integral is unknown may hold half of the mass
    weight = jnp.maximum(below * (1 - below + share), wrong / 4)
    return jnp.where(inside[..., 1:] & inside[..., :-1], wrong * weight, 0.0)


def _hermite(curve: _Curve, r: float) -> Array:
    """The guarded cubic through values and slopes, at a fraction r of every interval.

    Where both tangents lie on one side of the chord the log density is taken to bend one way, and
    lies between them; elsewhere it lies within their hull. The cubic is kept there.
    """
    h = jnp.diff(curve.nodes, axis=-1)
    a, b = curve.log_density[..., :-1], curve.log_density[..., 1:]
    da, db = curve.slopes[..., :-1] * h, curve.slopes[..., 1:] * h
    chord = b - a
    cubic = a + r * (da + r * (3 * chord - 2 * da - db + r * (da + db - 2 * chord)))
    straight, from_a, from_b = a + r * chord, a + r * da, b - (1 - r) * db
    lower_tangent, upper_tangent = jnp.minimum(from_a, from_b), jnp.maximum(from_a, from_b)
    concave, convex = (da >= chord) & (chord >= db), (da <= chord) & (chord <= db)
    low = jnp.where(concave, straight, jnp.where(convex, upper_tangent, lower_tangent))
    high = jnp.where(concave, lower_tangent, jnp.where(convex, straight, upper_tangent))
    low, high = jnp.minimum(low, straight), jnp.maximum(high, straight)
    high = jnp.minimum(high, jnp.maximum(a, b) + HIGHEST)
    # an interval this steep has its mass at one end, and may have been cut by STEEPEST
    return jnp.where(jnp.abs(chord) < STEEPEST / 10, jnp.clip(cubic, low, high), straight)


def _masses(curve: _Curve) -> Array:
    inside = [
        w * jnp.exp(_hermite(curve, r)) for r, w in zip(GAUSS_NODES, GAUSS_WEIGHTS, strict=True)
    ]
    return jnp.diff(curve.nodes, axis=-1) * reduce(jnp.add, inside)


@jax.jit
def _second_nodes(nodes: Array, values: Array | None, slopes: Array) -> Array:
    """Nodes at quantiles of 0.65 p + 0.35 p^0.3, both normalised.

    p is taken as constant in every eighth of an interval. The eighths are arrays of their own, like
    the Gauss nodes of `_masses`: several times as fast as a small axis of them.
    """
    curve = _curve(nodes, values, slopes)
    h = jnp.diff(curve.nodes, axis=-1) / 8
    inside = [_hermite(curve, (eighth + 0.5) / 8) for eighth in range(8)]
    top = jnp.max(reduce(jnp.maximum, inside), axis=-1, keepdims=True)
    sharp = _normalised([jnp.exp(part - top) * h for part in inside])
    flat = _normalised([jnp.exp(0.3 * (part - top)) * h for part in inside])
    shares = [0.65 * one + 0.35 * other for one, other in zip(sharp, flat, strict=True)]
    below = _summed(reduce(jnp.add, shares))
    wanted = (jnp.arange(SECOND_PASS) + 0.5) / SECOND_PASS
    take = partial(jnp.take_along_axis, indices=_interval_of(wanted, below), axis=-1)
    left, eighths = wanted - take(below), 0.0
    for share in shares:
        found = take(share)
        eighths = eighths + jnp.clip(left / jnp.where(found > 0, found, 1.0), 0.0, 1.0)
        left = left - found
    return take(curve.nodes) + take(h) * eighths


def _normalised(parts: list[Array]) -> list[Array]:
    total = jnp.sum(reduce(jnp.add, parts), axis=-1, keepdims=True)
    return [part / total for part in parts]


def _interval_of(share: Array, cumulative: Array) -> Array:
    """The interval in which the cumulative mass of a line comes to a share of it."""
    among = jax.vmap(partial(jnp.searchsorted, v=share, side="right"))
    return jnp.clip(among(cumulative) - 1, 0, cumulative.shape[-1] - 2)


@jax.jit
def _finish(at: Array, nodes: Array, values: Array | None, slopes: Array) -> Array:
    """u, the spread, the log density, the quantiles and their scores, side by side."""
    curve = _curve(nodes, values, slopes)
    density = jnp.exp(curve.log_density)
    rising, falling = curve.slopes[..., 0], -curve.slopes[..., -1]  # in exponential tails
    left = jnp.where(rising > 0, density[..., 0] / jnp.where(rising > 0, rising, 1.0), 0.0)
    right = jnp.where(falling > 0, density[..., -1] / jnp.where(falling > 0, falling, 1.0), 0.0)
    below = left[..., None] + _summed(_masses(curve))
    total = below[..., -1] + right
    cumulative = below / total[..., None]
    place = jnp.argmax(nodes >= at[..., None], axis=-1, keepdims=True)  # the draw is a node
    u = jnp.take_along_axis(cumulative, place, axis=-1)[..., 0]
    here = jnp.take_along_axis(curve.log_density, place, axis=-1)[..., 0] - jnp.log(total)

    v = jnp.asarray(MIDPOINTS)
    inside = _interval_of(v, cumulative)
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
    quantiles, scores = _in_tails(curve, cumulative, v, quantiles, scores)

    sd = jnp.std(quantiles, axis=-1)
    quarter = QUANTILES // 4
    upper = quantiles[..., -quarter - 1 : QUANTILES - quarter + 1].mean(axis=-1)
    lower = quantiles[..., quarter - 1 : quarter + 1].mean(axis=-1)
    spread = jnp.minimum(sd, (upper - lower) / 1.349)
    spread = jnp.where(spread > 0, spread, sd)
    alone = jnp.stack([u, spread, here], axis=-1)
    return jnp.concatenate([alone, quantiles, scores], axis=-1)


def _in_tails(
    curve: _Curve, cumulative: Array, v: Array, quantiles: Array, scores: Array
) -> tuple[Array, Array]:
    """Quantiles beyond the first or last node, by the exponential tails."""
    first, last = curve.slopes[..., :1], curve.slopes[..., -1:]
    left, right = cumulative[..., :1], 1 - cumulative[..., -1:]
    left, right = (jnp.where(side > 0, side, 1.0) for side in (left, right))
    low = curve.nodes[..., :1] + jnp.log(v / left) / jnp.where(first > 0, first, 1.0)
    high = curve.nodes[..., -1:] + jnp.log((1 - v) / right) / jnp.where(last < 0, last, -1.0)
    in_left, in_right = v < cumulative[..., :1], v > cumulative[..., -1:]
    quantiles = jnp.where(in_left, low, jnp.where(in_right, high, quantiles))
    return quantiles, jnp.where(in_left, first, jnp.where(in_right, last, scores))
