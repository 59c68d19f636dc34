"""What a stand-in for q(x_j | x_-j) gives: weighted atoms, for every draw and coordinate."""

import abc
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.run_options import RunOptions
from steinwise.errors import InputError
from steinwise.target import AbstractTarget

ENTRIES_PER_CALL = 2**21  # atoms in all
_Learnt = TypeVar("_Learnt")


@dataclass(frozen=True, eq=False)
class Atoms:
    """Points and weights of a discrete law per row and coordinate; weights sum to 1.

    The entries of a block of coordinates at one atom are one joint point, with one weight.
    """

    points: Float[np.ndarray, "n d m"]
    weights: Float[np.ndarray, "n d m"]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Draws to learn from, apart from those that are tested."""

    train: Float[np.ndarray, "n d"]
    validation: Float[np.ndarray, "v d"]
    blocks: tuple[Int[np.ndarray, " _"], ...]  # of one coordinate each, unless asked otherwise
    labels: tuple[str, ...]  # of the blocks
    target: AbstractTarget
    run: RunOptions

    @property
    def dim(self) -> int:
        return self.train.shape[1]

    @property
    def blockwise(self) -> bool:
        """Whether some conditional is that of several coordinates together."""
        return len(self.blocks) < self.dim

    def at_most(self, rows: int) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "v d"]]:
        """Evenly spread training draws, no more than these, and half as many to validate on."""
        half = rows // 2
        train, validation = self.train, self.validation
        return train[evenly_spaced_indices(len(train), rows)], validation[
            evenly_spaced_indices(len(validation), half)
        ]

    @cached_property
    def scale(self) -> "Scale":
        """Mean and standard deviation of the training draws."""
        sd = self.train.std(axis=0)
        if not sd.all():
            label = next(
                label
                for label, block in zip(self.labels, self.blocks, strict=True)
                if not sd[block].all()
            )
            raise InputError(
                f"{label} has the same value in all {len(self.train)} training draws: nothing can "
                "be learnt of its law. Is the chain stuck, or the parameter fixed?"
            )
        return Scale(self.train.mean(axis=0), sd)


@dataclass(frozen=True, eq=False)
class Scale:
    """What takes draws to mean 0 and standard deviation 1."""

    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]

    def apply(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return (x - self.mean) / self.sd


class AbstractConditional(abc.ABC):
    """A law `r_j(y | x_-j)` for every coordinate j, seen through weighted atoms.

    A frozen dataclass with settings; `fit` gives it again with what it learnt.
    """

    learns: ClassVar[bool] = True  # whether `fit` needs draws of its own, which are not tested
    least_train: ClassVar[int] = 2
    least_validation: ClassVar[int] = 2

    @property
    def uses_target(self) -> bool:
        """Whether `fit` looks at the target: then it is not one stand-in for several of them."""
        return False

    def describe(self) -> str:
        """The model, for the report."""
        return type(self).__name__

    def fit(self, data: TrainingData) -> "AbstractConditional":  # noqa: ARG002
        """This stand-in, made ready; itself where there is nothing to learn."""
        return self

    @abc.abstractmethod
    def atoms(self, x: Float[np.ndarray, "n d"], seed: object, first_row: int) -> Atoms:
        """Atoms for these rows, the first of which is draw number `first_row`."""

    def log_density(
        self,
        x: Float[np.ndarray, "n d"],  # noqa: ARG002
    ) -> Float[np.ndarray, "n k"] | None:
        """log r_j(x_ij | x_i,-j) per row and coordinate or block; None where it is not known."""
        return None

    def chosen(self, count: int) -> tuple[str, ...]:
        """The model that stands in for each of this many coordinates or blocks."""
        return (self.describe(),) * count

    def rows_per_call(self, d: int) -> int:
        """How many rows `atoms` is given at a time.

        It depends on the shape alone, never on the memory budget, so that random atoms are the
        same whatever the budget.
        """
        return max(1, min(1024, ENTRIES_PER_CALL // (64 * d)))


def refuse_blocks(conditional: AbstractConditional, data: TrainingData) -> None:
    """For models of one coordinate at a time."""
    if data.blockwise:
        raise InputError(
            f"{conditional.describe()} is a model of one coordinate at a time, and blocks of "
            "several came. Use sw.conditionals.Linear() or sw.conditionals.MixtureDensity()."
        )


def refuse_target(conditional: AbstractConditional) -> None:
    """Where several targets share one stand-in."""
    if conditional.uses_target:
        raise InputError(
            f"{conditional.describe()} is made from the model's own conditionals, and here one "
            "stand-in serves all models: it must be learnt from the draws alone. Use "
            "sw.conditionals.Linear(), or sw.conditionals.Auto([sw.conditionals.Linear(), "
            "sw.conditionals.KDE()])."
        )


def learnt_by(conditional: AbstractConditional, learnt: _Learnt | None) -> _Learnt:
    """What `fit` has put into a conditional."""
    if learnt is None:
        raise InputError(
            f"{conditional.describe()} has not learnt anything yet: call fit(data), or pass it to "
            "sw.check(..., method=sw.methods.KCCSD(conditional)), which does."
        )
    return learnt
