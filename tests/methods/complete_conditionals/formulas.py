"""The statistic of the default check for N(0, I), written out pair by pair."""

import numpy as np
from scipy import stats
from scipy.special import ndtri

from steinwise.orbits.quantiles import MIDPOINTS


def stein_side(x: float) -> np.ndarray:
    """Integrals of cosines against k_cc(x, F^-1(v)), RBF of width 1, for N(0, 1)."""
    y = ndtri(MIDPOINTS)
    step = x - y
    k = np.exp(-(step**2) / 2)
    dk_dx, dk_dy, d2k = -step * k, step * k, (1 - step**2) * k
    k_cc = (-x) * (-y) * k + (-x) * dk_dy + (-y) * dk_dx + d2k
    waves = [np.sqrt(2) * np.cos(b * np.pi * MIDPOINTS) for b in range(1, 9)]
    return np.array([np.mean(wave * k_cc) for wave in waves])


def place_product(base: str, x: float, y: float) -> float:
    """<m(x), o(F(y))>."""
    u, v = stats.norm.cdf([x, y])
    if base == "shape":
        waves = [np.sqrt(2) * np.cos(b * np.pi * v) for b in range(1, 9)]
        return float(stein_side(x) @ waves)
    if base == "shift":
        waves = [2 * np.cos(b * np.pi * u) * np.cos(b * np.pi * v) / b**2 for b in range(1, 7)]
        return float(np.sum(waves))
    hermite = np.polynomial.hermite_e
    factorials = [1, 2, 6, 24]
    polynomials = [
        hermite.hermeval(x, np.eye(5)[b]) * hermite.hermeval(y, np.eye(5)[b]) / factorials[b - 1]
        for b in range(1, 5)
    ]
    return float(np.sum(polynomials))


def kappa(context: str, z: np.ndarray, w: np.ndarray) -> float:
    if context == "alone":
        return 1.0
    if context == "dependence":
        return float(z @ w)
    if context == "dependence on size":
        return float((z**2 - 1) @ (w**2 - 1))
    return float((z @ w) ** 2 - (z**2) @ (w**2)) / 2
