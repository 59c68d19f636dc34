r"""Functions of a draw's place on its line, times functions of its other coordinates.

Terms are functions of u = F(x_ij): each has mean zero, given the other coordinates, when the draw
comes from p. Features are functions of the other coordinates. Sums of their products over batches
are all that the default check needs.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise.lines import MIDPOINTS, QUANTILES, Lines

STEIN_TERMS, COSINE_TERMS, HERMITE_TERMS = 8, 6, 4
FARTHEST = 5.0  # normal scores are clipped here
SKETCHES = 32  # random combinations of products, where there are more products than these

TERMS = 2 * STEIN_TERMS + COSINE_TERMS + HERMITE_TERMS
_STEIN, _STEIN_OTHER = slice(0, STEIN_TERMS), slice(STEIN_TERMS, 2 * STEIN_TERMS)
_COSINE = slice(2 * STEIN_TERMS, 2 * STEIN_TERMS + COSINE_TERMS)
_HERMITE = slice(TERMS - HERMITE_TERMS, TERMS)
BASE_TERMS = {
    "shape": (_STEIN, _STEIN_OTHER),
    "shift": (_COSINE, _COSINE),
    "tails": (_HERMITE, _HERMITE),
}
SINGLE_TERMS = slice(_COSINE.start, _COSINE.start + 2)  # the place and the spread of u


def context_slices(d: int, pairs: np.ndarray, sketch: np.ndarray | None) -> dict[str, slice]:
    """Where the features of each context stand."""
    ends = np.cumsum([1, d, d, len(pairs), 0 if sketch is None else SKETCHES])
    starts = [0, *ends[:-1]]
    names = ["alone", "dependence", "dependence on size", "pairs", "sketch"]
    places = {name: slice(int(a), int(b)) for name, a, b in zip(names, starts, ends, strict=True)}
    return places | {
        "interaction": places["pairs" if sketch is None else "sketch"],
        "last": places["sketch"],
    }


@partial(jax.jit, static_argnums=1)
def products(
    sums: Float[Array, "batch c term feature"], settings: tuple[tuple[str, int, int], ...]
) -> Float[Array, "setting c batch batch"]:
    """Inner products between all pairs of batches, per setting: a base, and a span of features."""

    def one_line(sums: Array) -> Array:
        def form(terms: slice, start: int, stop: int) -> Array:
            return sums[:, terms, start:stop].reshape(len(sums), -1)

        pairs = [(BASE_TERMS[base], span) for base, *span in settings]
        return jnp.stack(
            [form(left, *span) @ form(right, *span).T for (left, right), span in pairs]
        )

    return jnp.swapaxes(jax.lax.map(one_line, jnp.swapaxes(sums, 0, 1)), 0, 1)


@jax.jit
def batch_products(
    lines: Lines,
    at: Float[Array, "n c"],
    others: Float[Array, "n d"],
    weight: Float[Array, "batch longest"],
    coordinates: Array,
    pairs: Array,
    sketch: Array | None,
) -> Array:
    batch, longest = weight.shape
    terms = _terms(lines, at) * weight.reshape(-1, 1, 1)
    features = _features(others, coordinates, pairs, sketch)
    terms = terms.reshape(batch, longest, *terms.shape[1:])
    features = features.reshape(batch, longest, *features.shape[1:])
    return jnp.einsum("glcp,glcf->gcpf", terms, features)


def _terms(lines: Lines, at: Float[Array, "n c"]) -> Float[Array, "n c term"]:
    """Functions of a draw's place on its line, each of mean zero when the draw comes from p."""
    step = (at[..., None] - lines.quantiles) / lines.spread[..., None]
    here = (lines.score * lines.spread)[..., None]
    there = lines.quantile_scores * lines.spread[..., None]
    stein = (here * there + (here - there) * step + 1 - step**2) * jnp.exp(-(step**2) / 2)
    order = jnp.arange(1, STEIN_TERMS + 1)
    waves = jnp.sqrt(2.0) * jnp.cos(jnp.pi * MIDPOINTS[:, None] * order)
    cosines = jnp.sqrt(2.0) * jnp.cos(jnp.pi * lines.u[..., None] * order)
    z = jnp.clip(jax.scipy.special.ndtri(lines.u), -FARTHEST, FARTHEST)
    hermite = [
        z,
        (z**2 - 1) / np.sqrt(2),
        (z**3 - 3 * z) / np.sqrt(6),
        (z**4 - 6 * z**2 + 3) / np.sqrt(24),
    ]
    low = order[:COSINE_TERMS]
    return jnp.concatenate(
        [
            stein @ waves / QUANTILES,
            cosines,
            cosines[..., :COSINE_TERMS] / low,
            jnp.stack(hermite, axis=-1),
        ],
        axis=-1,
    )


def _features(
    others: Float[Array, "n d"], coordinates: Array, pairs: Array, sketch: Array | None
) -> Float[Array, "n c feature"]:
    """Functions of the other coordinates: a coordinate's own column is set to zero."""
    keep = jnp.arange(others.shape[1]) != coordinates[:, None]
    z = others[:, None, :] * keep
    parts = [
        jnp.ones_like(z[..., :1]),
        z,
        (z**2 - 1) * keep,
        z[..., pairs[:, 0]] * z[..., pairs[:, 1]],
    ]
    if sketch is not None:
        both = (z @ sketch[0]) * (z @ sketch[1])
        parts.append(both - (z**2) @ (sketch[0] * sketch[1]))
    return jnp.concatenate(parts, axis=-1)
