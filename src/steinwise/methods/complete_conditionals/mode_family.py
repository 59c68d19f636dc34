r"""Modes as evidence: does each mode have the draws that it should have, given their orbits?

With c(x) the mode of a draw and P_k the probability of mode k on its orbit under the maps between
modes, r_k = 1{c(x) = k} - P_k has mean zero given the orbit where the draw comes from p. So have
products with any function of the orbit: of w, of the weights of its points, of ranks of these.
Functions of x, c(x) or log p(x) are not of that kind, and destroy the level.

Copies of a mode count as one: how draws are split between them is not tested.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batch_sums import BatchSums, KnownSquares
from steinwise.calibration.batches import Batches
from steinwise.calibration.signs import squares_of_signs
from steinwise.draws.normal_scores import NormalScores
from steinwise.draws.samples import Samples
from steinwise.methods.complete_conditionals.line_sets import HeldOut
from steinwise.orbits.modes.maps import ModeOrbits
from steinwise.orbits.modes.search import FoundModes
from steinwise.target import AbstractTarget

GROUP = "modes"
ALONE, WITH_PLACE = "modes: alone", "modes: with their place"
# What too few or too many draws of a mode count against one kind of dependence: as much as a
# coordinate's fault by itself (see `settings.WEIGHTS`).
MODE_WEIGHTS = (8.0, 8.0)
# The variance of the number of a mode's draws that is enough for signs, which are symmetric where
# these numbers are not.
LEAST_INFORMATION = 5.0
MOST_DRAWS = 10_000  # whose orbits are looked at, evenly spaced: a few evaluations each
MOST_PLACES = 64  # coordinates of w on which residuals may depend


@dataclass(frozen=True, eq=False)
class SearchedModes:
    """What a search found, and without which draws."""

    found: FoundModes
    held_out: HeldOut

    @property
    def comparable(self) -> bool:
        """Whether there are several modes that are not copies of each other."""
        return self.found.maps is not None and self.found.group_count > 1

    def orbits(
        self, target: AbstractTarget, x: Float[np.ndarray, "n d"], memory: int
    ) -> ModeOrbits:
        assert self.found.maps is not None
        return self.found.maps.orbits(target, x, memory)

    def of_groups(
        self, orbits: ModeOrbits
    ) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, "n group"]]:
        """The mode of each draw, and the probabilities of all modes, with copies as one."""
        groups = self.found.groups
        chance = np.zeros((len(orbits.own), self.found.group_count))
        for k, group in enumerate(groups):
            chance[:, group] += orbits.probabilities[:, k]
        return groups[orbits.own], chance

    def residuals(
        self, target: AbstractTarget, x: Float[np.ndarray, "n d"], memory: int
    ) -> Float[np.ndarray, "n group"]:
        own, chance = self.of_groups(self.orbits(target, x, memory))
        return (own[:, None] == np.arange(chance.shape[1])) - chance


class ModeCounts(NamedTuple):
    """How the tested draws are split between modes, and what batches make of it."""

    counts: Int[np.ndarray, " group"]
    expected: Float[np.ndarray, " group"]  # of the counts, given the orbits of the draws
    tested: int
    information: Float[np.ndarray, " group"]
    judged: Int[np.ndarray, " k"]  # the groups that can be judged
    blocks: tuple[BatchSums, ...]  # none where none can


def count_modes(
    modes: SearchedModes,
    target: AbstractTarget,
    samples: Samples,
    batches: Batches,
    run: RunOptions,
) -> ModeCounts:
    """The draws of each mode, and residuals as batch sums."""
    step = min(-(-samples.n // MOST_DRAWS), int(batches.lengths.min()))
    some = batches.of_every(step, samples.n_draws)
    numbers = np.arange(samples.n).reshape(samples.n_chains, -1)[:, ::step].ravel()
    numbers = numbers[: some.bounds[-1]]
    orbits = modes.orbits(target, samples.take(numbers), run.memory)
    own, chance = modes.of_groups(orbits)
    tested = modes.held_out.tested(numbers)
    drawn = (own[:, None] == np.arange(chance.shape[1])) & tested[:, None]
    variance = chance * (1 - chance) * tested[:, None]
    information = variance.sum(axis=0)
    judged = np.flatnonzero(information >= LEAST_INFORMATION)
    counts = drawn.sum(axis=0)
    blocks: tuple[BatchSums, ...] = ()
    if len(judged):
        residuals = (drawn - chance * tested[:, None])[:, judged]
        places = _places(orbits, tested)
        blocks = tuple(_blocks(residuals, variance[:, judged], places, some))
    expected = chance[tested].sum(axis=0)
    return ModeCounts(counts, expected, int(tested.sum()), information, judged, blocks)


def _places(orbits: ModeOrbits, tested: np.ndarray) -> Float[np.ndarray, "n q"]:
    """Normal scores of w, and of the density of the whole orbit: functions of the orbit alone."""
    columns = np.column_stack([orbits.place[:, :MOST_PLACES], orbits.log_sum])
    return NormalScores.among(columns[tested])(columns)


def _blocks(
    residuals: Float[np.ndarray, "n k"],
    variance: Float[np.ndarray, "n k"],
    places: Float[np.ndarray, "n q"],
    batches: Batches,
) -> Iterator[BatchSums]:
    """Products of the sums of batches: of residuals, then of residuals times functions of w."""
    sums, spread = batches.sums(residuals), batches.sums(variance)
    alone = np.einsum("gk,hk->kgh", sums, sums)[None]
    allowed = batches.allowed
    known = 2 * np.einsum("gk,hk,gh->k", spread, spread, allowed.astype(float))[None]
    squares = KnownSquares(known, squares_of_signs(BatchSums(alone, batches)))
    yield BatchSums(alone, batches, ALONE, GROUP, *MODE_WEIGHTS, known=squares)
    with_place = batches.sums(residuals[:, :, None] * places[:, None])
    products = np.einsum("gkq,hkq->kgh", with_place, with_place)[None]
    yield BatchSums(products, batches, WITH_PLACE, GROUP, 1.0, 1.0, known=squares)
