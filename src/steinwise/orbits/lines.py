"""The target's conditionals along lines through the draws."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from steinwise.orbits.node_table import NodeTable
from steinwise.orbits.quantiles import NORMAL_QUANTILES, quantiles_of


@dataclass(frozen=True, eq=False)
class Lines:
    """Conditionals of the target along lines, one line per draw and coordinate (or direction)."""

    u: Float[np.ndarray, "n c"]  # F(x_ij)
    log_density: Float[np.ndarray, "n c"]  # log p(x_ij | x_i,-j)
    table: NodeTable = field(repr=False)
    evaluations: float  # of the log density, for all these lines
    ends: int  # lines along which the density ends

    @cached_property
    def quantiles(self) -> Float[np.ndarray, "n c k"]:
        """F^-1 at the midpoints."""
        return quantiles_of(self.table)


@dataclass(frozen=True, eq=False)
class NormalLines:
    """Conditionals that are normal: the same function on every line, in units of its sd."""

    z: Float[np.ndarray, "n c"]  # (x_ij - mean) / sd
    mean: Float[np.ndarray, "n c"]
    sd: Float[np.ndarray, " c"]

    @cached_property
    def u(self) -> Float[np.ndarray, "n c"]:
        return ndtr(self.z)

    @property
    def quantiles(self) -> Float[np.ndarray, "n c k"]:
        return self.mean[..., None] + self.sd[:, None] * NORMAL_QUANTILES

    @property
    def log_density(self) -> Float[np.ndarray, "n c"]:
        return -(self.z**2) / 2 - np.log(self.sd * np.sqrt(2 * np.pi))
