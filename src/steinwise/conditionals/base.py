"""The contract of a stand-in: settings, what `fit` learns with them, and the atoms that it gives.

KCC-SD needs a second value from q(x_j | x_-j), the distribution of a coordinate given the others
*among the draws*, which the draws alone do not give. A *stand-in* is a model r_j(y | x_-j) of it.
"""

import abc
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Float32, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.run_options import RunOptions
from steinwise.errors import InputError
from steinwise.target import AbstractTarget

ENTRIES_PER_CALL = 2**21  # 16 MiB of points, and as much of weights
FARTHEST_INPUT = 1e6  # standard deviations; networks are flat long before
USUAL_ATOMS = 64  # the most that the stand-ins of this package have with their default settings


@dataclass(frozen=True, eq=False)
class Atoms:
    """Points and weights of a discrete distribution per row and coordinate; weights sum to 1.

    The entries of a block of coordinates at one atom are one joint point, with one weight.
    """

    points: Float[np.ndarray, "n d m"]
    weights: Float[np.ndarray, "n d m"]


@dataclass(frozen=True, eq=False)
class Standardisation:
    """Shifts and scales draws to mean 0 and standard deviation 1."""

    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]

    def apply(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return (x - self.mean) / self.sd

    def for_networks(self, x: Float[np.ndarray, "n d"]) -> Float32[np.ndarray, "n d"]:
        """In 32 bit, at most `FARTHEST_INPUT` out: infinite inputs have no prediction."""
        return np.clip(self.apply(x), -FARTHEST_INPUT, FARTHEST_INPUT).astype(np.float32)


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Draws to learn from, none of which is tested.

    `target` is None where several models share one stand-in.
    """

    train: Float[np.ndarray, "n d"]
    validation: Float[np.ndarray, "v d"]
    blocks: tuple[Int[np.ndarray, " _"], ...]  # one coordinate each, unless blocks= was given
    labels: tuple[str, ...]  # names of the blocks
    target: AbstractTarget | None
    run: RunOptions

    @property
    def dim(self) -> int:
        return self.train.shape[1]

    @property
    def blockwise(self) -> bool:
        """Whether some block has several coordinates."""
        return len(self.blocks) < self.dim

    def at_most(self, rows: int) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "v d"]]:
        """At most `rows` evenly spaced training draws, and half as many validation draws."""
        train = evenly_spaced_indices(len(self.train), rows)
        validation = evenly_spaced_indices(len(self.validation), rows // 2)
        return self.train[train], self.validation[validation]

    @cached_property
    def scale(self) -> Standardisation:
        """The mean and standard deviation of the training draws."""
        sd = self.train.std(axis=0)
        if not sd.all():
            label = next(
                label
                for label, block in zip(self.labels, self.blocks, strict=True)
                if not sd[block].all()
            )
            raise InputError(
                f"{label} has the same value in all {len(self.train)} training draws: nothing can "
                "be learned about its distribution. Is the chain stuck, or the parameter fixed?"
            )
        return Standardisation(self.train.mean(axis=0), sd)


class AbstractFittedConditional(abc.ABC):
    """What a stand-in learned: a distribution `r_j(y | x_-j)` per coordinate, as weighted atoms."""

    def describe(self) -> str:
        """The model, as the report names it."""
        return type(self).__name__

    @abc.abstractmethod
    def atoms(self, x: Float[np.ndarray, "n d"], seed: object, first_row: int) -> Atoms:
        """Atoms for these rows; the first row is draw number `first_row`."""

    def log_density(
        self,
        x: Float[np.ndarray, "n d"],  # noqa: ARG002
    ) -> Float[np.ndarray, "n k"] | None:
        """log r_j(x_ij | x_i,-j) per row and coordinate or block; None where it is not known."""
        return None

    def chosen(self, count: int) -> tuple[str, ...]:
        """The model of each of the `count` coordinates or blocks, as the report names it."""
        return (self.describe(),) * count

    def rows_per_call(self, d: int) -> int:
        """How many rows `atoms` gets at a time.

        The number depends on the shape alone, not on the memory budget, so that random atoms are
        the same whatever the budget.
        """
        return max(1, min(1024, ENTRIES_PER_CALL // (USUAL_ATOMS * d)))


class AbstractConditional(abc.ABC):
    """Settings of a stand-in for `q(x_j | x_-j)`; `fit` learns the stand-in with them.

    A frozen dataclass. A stand-in with nothing to learn, such as `Sampler`, has `learns = False`
    and is its own `AbstractFittedConditional`.
    """

    learns: ClassVar[bool] = True  # whether `fit` needs draws of its own, which are not tested
    least_train: ClassVar[int] = 2
    least_validation: ClassVar[int] = 2

    @property
    def uses_target(self) -> bool:
        """Whether `fit` uses the target; then several models cannot share the stand-in."""
        return False

    def describe(self) -> str:
        """The model, as the report names it."""
        return type(self).__name__

    @abc.abstractmethod
    def fit(self, data: TrainingData) -> AbstractFittedConditional:
        """Learn the stand-in from the training and validation draws."""


def require_fitted(conditional: AbstractConditional, fitted: object) -> AbstractFittedConditional:
    """What `fit` returned, or a stand-in with nothing to learn itself, refused if it is neither."""
    if isinstance(fitted, AbstractFittedConditional):
        return fitted
    name = type(conditional).__name__
    what = f"{name}.fit returned" if conditional.learns else f"{name} learns nothing, and is"
    raise InputError(
        f"{what} an object of type {type(fitted).__name__}: expected an "
        "sw.conditionals.AbstractFittedConditional, which has the method atoms(x, seed, "
        f"first_row). If {name} keeps what it learned in a copy of itself, or learns nothing, "
        "derive it from both sw.conditionals.AbstractConditional and "
        "sw.conditionals.AbstractFittedConditional."
    )


def refuse_blocks(conditional: AbstractConditional, data: TrainingData) -> None:
    """For models of one coordinate at a time."""
    if data.blockwise:
        raise InputError(
            f"{conditional.describe()} models one coordinate at a time, but blocks of several "
            "coordinates were given. Use sw.conditionals.Linear() or "
            "sw.conditionals.MixtureDensity()."
        )


def refuse_target(conditional: AbstractConditional) -> None:
    """Where several models share one stand-in, which must then be learned from the draws alone."""
    if conditional.uses_target:
        raise _needs_target(conditional)


def require_target(conditional: AbstractConditional, data: TrainingData) -> AbstractTarget:
    """For stand-ins that use the target."""
    if data.target is None:
        raise _needs_target(conditional)
    return data.target


def _needs_target(conditional: AbstractConditional) -> InputError:
    return InputError(
        f"{conditional.describe()} is built from the model's own conditionals, but here all models "
        "share one stand-in, which must be learned from the draws alone. Use "
        "sw.conditionals.Linear(), or sw.conditionals.Auto([sw.conditionals.Linear(), "
        "sw.conditionals.KDE()])."
    )
