r"""A smooth map per line that makes the draws' places on it roughly normal.

.. math:: z = (\gamma + \delta \operatorname{arsinh}((x - \xi) / \lambda) - c) / w,

Johnson's SU family, fitted to four quantiles in closed form (Slifker and Shapiro 1980) and put on
median 0 and the spread of N(0, 1). Any smooth map leaves Stein's identity intact, if the score is
mapped along with it; this one takes the skewness out of the scores. A map through the ranks would
follow the draws so closely that the identity fails (rejection rates of 0.5 to 0.8).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from steinwise._internal.quantiles import quantiles_of_sorted

# The quantiles are those of N(0, 1) at -3, -1, 1 and 3 times this. At 0.45 the outer ones leave a
# tenth of the draws on either side: stable from 50 draws on, far enough out to see skewness.
STEP = 0.45
# The least product of the outer gaps in units of the inner one. Below 1 tails are lighter than
# normal and no map of the family fits; at 1.02 it is close to a straight line.
LEAST_GAPS = 1.02
LEAST_INNER_GAP = 1e-3  # of the range of the quantiles: ties may leave none
LARGEST_SQUARED = 1e150  # in units of the scale: its square is a float
OUTER, OUTER_NORMAL = (0.1, 0.5, 0.9), 2.5631  # quantiles of z, and their distance for N(0, 1)


class NormalMap(NamedTuple):
    """The map of every line."""

    centre: Float[np.ndarray, " c"]  # xi
    scale: Float[np.ndarray, " c"]  # lambda
    bend: Float[np.ndarray, " c"]  # delta: large where the map is close to a straight line
    offset: Float[np.ndarray, " c"]  # c - gamma
    width: Float[np.ndarray, " c"]  # w

    @classmethod
    def of(cls, positions: Float[np.ndarray, "m c"]) -> "NormalMap":
        """The map under which these draws look normal.

        >>> rng = np.random.default_rng(0)
        >>> skewed = np.log(rng.gamma(0.5, size=(2000, 1)))
        >>> z, _ = NormalMap.of(skewed).place(skewed, np.zeros_like(skewed))
        >>> skewness = ((z - z.mean()) ** 3).mean() / z.std() ** 3
        >>> bool(abs(skewness) < 0.2)
        True
        """
        return cls.of_sorted(np.sort(positions.T, axis=1))

    @classmethod
    def of_sorted(cls, positions: Float[np.ndarray, "c m"]) -> "NormalMap":
        """The same, of the positions on each line in increasing order."""
        shares = ndtr(STEP * np.array([-3.0, -1.0, 1.0, 3.0]))
        quantiles = quantiles_of_sorted(positions, shares)
        gaps = np.diff(quantiles, axis=0)
        width = quantiles[-1] - quantiles[0]
        constant = width == 0
        inner = np.where(constant, 1.0, np.maximum(gaps[1], LEAST_INNER_GAP * width))
        lower, upper = (
            np.where(constant, 1.0, np.maximum(gap / inner, LEAST_INNER_GAP))
            for gap in (gaps[0], gaps[2])
        )
        longer = np.sqrt(np.maximum(1.0, LEAST_GAPS / (lower * upper)))
        lower, upper = lower * longer, upper * longer
        both, product = lower + upper, np.sqrt(lower * upper - 1)
        bend = 2 * STEP / np.arccosh(both / 2)
        offset = -bend * np.arcsinh((lower - upper) / (2 * product))
        scale = 2 * inner * product / ((both - 2) * np.sqrt(both + 2))
        centre = (quantiles[1] + quantiles[2]) / 2 + inner * (lower - upper) / (2 * (both - 2))
        fitted = cls(centre, scale, bend, offset, np.ones_like(scale))
        outer = fitted._straight(quantiles_of_sorted(positions, np.array(OUTER)))
        low, middle, high = fitted._bent(outer)
        width = (high - low) / OUTER_NORMAL
        return fitted._replace(offset=offset + middle, width=np.where(width > 0, width, 1.0))

    def part(self, lines: slice) -> "NormalMap":
        return NormalMap(*(array[lines] for array in self))

    def joined(self, other: "NormalMap") -> "NormalMap":
        return NormalMap(*(np.concatenate(both) for both in zip(self, other, strict=True)))

    def place(
        self, positions: Float[np.ndarray, "n c"], scores: Float[np.ndarray, "n c"]
    ) -> tuple[Float[np.ndarray, "n c"], Float[np.ndarray, "n c"]]:
        """z, and the derivative of the log density of z: the score of the mapped density."""
        y = self._straight(positions)
        root = np.sqrt(1 + y**2)
        unit = self.width / self.bend
        mapped_scores = unit * (scores * self.scale * root + y / root)
        return self._bent(y) / self.width, mapped_scores

    def _straight(self, positions: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "n c"]:
        return np.clip((positions - self.centre) / self.scale, -LARGEST_SQUARED, LARGEST_SQUARED)

    def _bent(self, straight: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "n c"]:
        return self.bend * np.arcsinh(straight) - self.offset
