r"""Kernels on R^m, with the derivatives that Stein's method needs.

A new kernel needs one function of a pair of points, `evaluate`; a radial kernel needs only its
profile. Gram matrices, derivatives, Stein kernels, sums and products come with it.

Examples
--------
>>> import numpy as np
>>> from steinwise.kernels import IMQ, RBF
>>> kernel = RBF(1.0) + 0.5 * IMQ(bandwidth=2.0)
>>> x = np.zeros((2, 3))
>>> print(kernel(x, x).shape)
(2, 2)
"""

from steinwise.kernels.base import AbstractKernel, Constant, Parts, Product, Sum
from steinwise.kernels.radial import IMQ, RBF, AbstractRadial, Matern52
from steinwise.kernels.random_fourier import RandomFourier
from steinwise.kernels.secant import HyperbolicSecant

__all__ = [
    "IMQ",
    "RBF",
    "AbstractKernel",
    "AbstractRadial",
    "Constant",
    "HyperbolicSecant",
    "Matern52",
    "Parts",
    "Product",
    "RandomFourier",
    "Sum",
]
