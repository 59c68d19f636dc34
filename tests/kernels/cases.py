"""What several tests of kernels share: a user's own kernel, points, and sums over pairs."""

import jax
import numpy as np

from steinwise.kernels import AbstractRadial


class RationalQuadratic(AbstractRadial):
    """A radial kernel: only its profile."""

    def profile(self, s):
        return 1 / (1 + s / 4) ** 2


def points(m: int, n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, m))


def laplace_draws() -> np.ndarray:
    """200 draws of 5 coordinates with variance 1; their median distance is 2.7438..."""
    return np.random.default_rng(0).laplace(0, 1 / np.sqrt(2), (200, 5))


def stein_of_pairs(kernel, x, y, score_x, score_y):
    """The Stein kernel of all pairs of rows, one pair at a time."""
    rows = jax.vmap(kernel.stein, in_axes=(None, 0, None, 0))
    return jax.vmap(rows, in_axes=(0, None, 0, None))(x, y, score_x, score_y)
