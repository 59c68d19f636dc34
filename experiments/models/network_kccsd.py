"""Approximate KCC-SD of chains of network weights.

A stand-in learned by networks for each of 701 weights and every chain would take far longer than
the chains. So some weights of every array of the network are chosen, each of which represents its
share of the array (few stiff weights near the output contribute most), and the stand-in of a weight
is its marginal histogram over draws that are not tested: the first fifth of the same chain, as in
the paper, or the other chains.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from experiments.engine.tasks import rounded
from experiments.models.network import Network, typical_spread
from steinwise import functional
from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.run_options import RunOptions
from steinwise.conditionals import Histogram, TrainingData
from steinwise.kernels import RBF
from steinwise.target import AbstractTarget

WEIGHTS_PER_ARRAY = 13  # at random, the same for all step sizes: 60 of 701 weights
TESTED = 50  # draws of a chain
TRAIN = 0.2  # the share of a chain, from its start, that a stand-in is learned from
TRAINING_DRAWS = 500  # of a chain that a histogram is built from


class Variant(NamedTuple):
    """How KCC-SD is computed."""

    scaled: bool  # whether bandwidths are the typical sds of the conditionals; 1 otherwise
    other_chains: bool  # whether the stand-in comes from the other chains
    bins: int


VARIANTS = {
    "sigma = 1": Variant(False, False, 20),
    "conditional spread": Variant(True, False, 20),
    "conditional spread, 10 bins": Variant(True, False, 10),
    "conditional spread, other chains": Variant(True, True, 20),
}


class ChosenWeights(NamedTuple):
    """The weights that are tested, and how many weights of their array each represents."""

    indices: Int[np.ndarray, " c"]
    represents: Float[np.ndarray, " c"]


def choose_weights(model: Network, most: int = WEIGHTS_PER_ARRAY) -> ChosenWeights:
    """At most `most` weights of every array of the network."""
    rng, arrays = np.random.default_rng(0), model.layer()
    members = [np.flatnonzero(arrays == array) for array in np.unique(arrays)]
    chosen = [np.sort(rng.permutation(indices)[:most]) for indices in members]
    shares = [
        np.full(len(indices), len(array) / len(indices))
        for array, indices in zip(members, chosen, strict=True)
    ]
    return ChosenWeights(np.concatenate(chosen), np.concatenate(shares))


def approximate_kccsd(
    model: Network, draws: Float[np.ndarray, "chains n d"], chosen: ChosenWeights, seed: int
) -> dict[str, list[float]]:
    """The value of every chain in every variant, scaled up to all weights."""
    target, spread = model.target(), typical_spread(model)[chosen.indices]
    first = round(TRAIN * draws.shape[1])
    train, tested = draws[:, :first], draws[:, first:]
    tested = tested[:, evenly_spaced_indices(tested.shape[1], TESTED)]
    values: dict[str, list[float]] = {}
    for name, variant in VARIANTS.items():
        bandwidth = spread if variant.scaled else np.ones(len(chosen.indices))
        values[name] = []
        for c, x in enumerate(tested):
            source = np.delete(draws, c, axis=0) if variant.other_chains else train[[c]]
            points, weights = marginal_histograms(source, chosen, variant.bins, target, seed, x)
            contributions = _contributions(target, x, chosen, bandwidth, points, weights)
            # times bandwidth^2: the value of sigma = 1 for weights divided by the bandwidth
            scaled = np.mean(contributions, axis=0) * bandwidth**2 * chosen.represents
            values[name].append(rounded(np.sum(scaled)))
    return values


def _contributions(
    target: AbstractTarget,
    x: Float[np.ndarray, "n d"],
    chosen: ChosenWeights,
    bandwidth: Float[np.ndarray, " c"],
    points: Float[np.ndarray, "n c m"],
    weights: Float[np.ndarray, "n c m"],
) -> Float[np.ndarray, "n c"]:
    own, line_scores = x[:, chosen.indices], target.line_scores(x, chosen.indices, points)
    with jax.enable_x64(True):
        return np.asarray(
            functional.kccsd_contributions(
                RBF(bandwidth),
                jnp.asarray(own),
                jnp.asarray(target.score(x)[:, chosen.indices]),
                jnp.asarray(points),
                jnp.asarray(line_scores),
                jnp.asarray(weights),
            )
        )


def marginal_histograms(
    source: Float[np.ndarray, "chains n d"],
    chosen: ChosenWeights,
    bins: int,
    target: AbstractTarget,
    seed: int,
    x: Float[np.ndarray, "n d"],
) -> tuple[Float[np.ndarray, "n c m"], Float[np.ndarray, "n c m"]]:
    """Atoms and their weights, from the marginal histogram of every chosen network weight."""
    indices = chosen.indices
    subset = evenly_spaced_indices(source.shape[1], TRAINING_DRAWS)
    rows = source[:, subset, :][..., indices].reshape(-1, len(indices))
    labels = tuple(str(j) for j in indices)
    blocks = tuple(np.array([j]) for j in range(len(indices)))
    data = TrainingData(
        rows[::2], rows[1::2], blocks, labels, target, RunOptions(seed, progress=False)
    )
    atoms = Histogram(bins, hidden=1, epochs=0).fit(data).atoms(x[:, indices], seed, 0)
    return np.array(atoms.points), atoms.weights
