"""What a stand-in for q(x_j | x_-j) gives: weighted atoms, for every draw and coordinate."""

import abc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from steinwise.samples import Samples
from steinwise.target import AbstractTarget


@dataclass(frozen=True, eq=False)
class Atoms:
    """Points and weights of a discrete law per row and coordinate; weights sum to 1."""

    points: Float[np.ndarray, "n d m"]
    weights: Float[np.ndarray, "n d m"]


class AbstractConditional(abc.ABC):
    """A law r_j(y | x_-j) for every coordinate j, seen through weighted atoms."""

    from_tested_draws: ClassVar[bool] = False  # whether `fit` looks at the draws that are tested

    def fit(
        self,
        samples: Samples,  # noqa: ARG002
        target: AbstractTarget,  # noqa: ARG002
        memory: int,  # noqa: ARG002
    ) -> "AbstractConditional":
        """This stand-in, made ready for these draws; itself where there is nothing to learn."""
        return self

    @abc.abstractmethod
    def rows_per_call(self, d: int) -> int:
        """How many rows `atoms` is given at a time.

        It depends on the shape alone, never on the memory budget, so that random atoms are the
        same whatever the budget.
        """

    @abc.abstractmethod
    def atoms(self, x: Float[np.ndarray, "n d"], seed: object, first_row: int) -> Atoms:
        """Atoms for these rows, the first of which is draw number `first_row`."""
