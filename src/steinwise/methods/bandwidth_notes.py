"""What to say where the bandwidth of a kernel has nothing to do with the draws that it compares.

A number is a bandwidth in the units of the draws: right for draws of order 1, and blind to all but
a few pairs, or to all but their mean, where the draws have other units.
"""

from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import pdist

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.notes import Note, note
from steinwise._internal.spread import spreads
from steinwise.kernels import AbstractKernel
from steinwise.kernels.bandwidths import AbstractScaled

UNLIKE = 100.0  # the ratio of two coordinates' spreads
FAR = 100.0  # times the typical distance of two draws, or as small a share of it
ROWS = 200  # draws whose distances are looked at

Rows = Float[np.ndarray, "n d"]


def bandwidth_notes(kernel: AbstractKernel, rows: Rows) -> tuple[Note, ...]:
    """On a kernel of all coordinates together."""
    rows = rows[evenly_spaced_indices(len(rows), ROWS)]
    widths = _bandwidths(kernel)
    ratios = [1 / _typical(pdist(rows / width)) for width in widths]
    by_coordinate = any(width.ndim for width in widths)
    return (*_notes([_nearest(ratios)], [""]), *(() if by_coordinate else unlike_notes(rows)))


def unlike_notes(rows: Rows) -> tuple[Note, ...]:
    """On coordinates whose distances do not count next to those of another one."""
    spread = spreads(rows)
    if spread.max() < UNLIKE * spread.min():
        return ()
    return (note("unlike scales", least=float(spread.min()), most=float(spread.max())),)


def coordinate_bandwidth_notes(
    kernels: Sequence[AbstractKernel], rows: Rows, names: Sequence[str]
) -> tuple[Note, ...]:
    """On univariate kernels: one for each column of the rows, or one for all of them."""
    gaps = spreads(rows)
    if len(kernels) == 1:
        widths = [np.broadcast_to(width, gaps.shape) for width in _bandwidths(kernels[0])]
        ratios = [_nearest([width[j] / gap for width in widths]) for j, gap in enumerate(gaps)]
    else:
        each = zip(kernels, gaps, strict=True)
        ratios = [_nearest([float(w) / gap for w in _bandwidths(k)]) for k, gap in each]
    return _notes(ratios, [f" in {name}" for name in names])


def _bandwidths(kernel: AbstractKernel) -> list[np.ndarray]:
    """Of all kernels that this one is made of; none where one of them has a median for it."""

    def scaled(node: object) -> bool:
        return isinstance(node, AbstractScaled)

    leaves = [leaf for leaf in jax.tree.leaves(kernel, is_leaf=scaled) if scaled(leaf)]
    if any(isinstance(leaf.bandwidth, str) for leaf in leaves):
        return []
    return [np.asarray(leaf.bandwidth) for leaf in leaves]


def _typical(distances: np.ndarray) -> float:
    return float(np.median(distances)) or 1.0


def _nearest(ratios: Sequence[float]) -> float:
    """The ratio of bandwidth and distance that is nearest to 1; 1 where there is none."""
    return float(min(ratios, key=lambda ratio: abs(np.log(ratio)), default=1.0))


def _notes(ratios: Sequence[float], places: Sequence[str]) -> tuple[Note, ...]:
    far = [k for k, ratio in enumerate(ratios) if not 1 / FAR < ratio < FAR]
    if not far:
        return ()
    worst = max(far, key=lambda k: abs(np.log(ratios[k])))
    more = f" (and far in {len(far) - 1} more)" if len(far) > 1 else ""
    return (note("bandwidth far", ratio=ratios[worst], where=places[worst], more=more),)
