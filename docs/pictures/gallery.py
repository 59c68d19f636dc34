"""The pictures of the gallery: python docs/pictures/gallery.py

Each function makes one, and its name is that of the picture.
"""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

import steinwise as sw

HERE = Path(__file__).parent
N = 600
NAMES = ["a", "b", "c"]
CORRELATED = np.array([[1.0, 0.7, 0.0], [0.7, 1.0, 0.0], [0.0, 0.0, 1.0]])


def normal(covariance=None) -> sw.Gaussian:
    return sw.Gaussian(np.zeros(3), np.eye(3) if covariance is None else covariance)


def draws() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, 3))


def right():
    """Draws that fit: the statistic is among those of correct draws, all errors are small."""
    return sw.check(draws(), normal(), names=NAMES).plot()


def shifted():
    """One coordinate is shifted: its bar says how far."""
    return sw.check(draws() + np.array([0.0, 0.3, 0.0]), normal(), names=NAMES).plot()


def narrow():
    """Too narrow: places in the conditional crowd in the middle."""
    return sw.check(draws() * np.array([1.0, 0.7, 1.0]), normal(), names=NAMES).plot_pit("b")


def heavy_tails():
    """Heavy tails, with the same sd: too many draws in the middle, and at the far ends."""
    tails = np.random.default_rng(1).standard_t(3, size=(N, 3)) / np.sqrt(3)
    return sw.check(tails, normal(), names=NAMES).plot_pit("a")


def dependence():
    """Independent draws of a correlated density: the place of a depends on b."""
    return sw.check(draws(), normal(CORRELATED), names=NAMES).plot_pair("a", "b")


def counts():
    """A discrete coordinate: how often each value was drawn, and how often it should be."""

    def poisson(x):
        return x[0] * jnp.log(3.0) - gammaln(x[0] + 1)

    target = sw.Target(poisson, support=sw.support.integers(0, None))
    drawn = np.random.default_rng(2).poisson(3.6, size=(N, 1)).astype(float)
    return sw.check(drawn, target, names=["count"]).plot_pit("count")


PICTURES = (right, shifted, narrow, heavy_tails, dependence, counts)

if __name__ == "__main__":
    for picture in PICTURES:
        picture().savefig(HERE / f"{picture.__name__}.png", dpi=70)
