"""Targets: densities known up to a constant, used through their scores.

A target comes from a JAX log density (`Target`), from a score function in NumPy
(`Target.from_score`), or from the closed form of a Gaussian (`Gaussian`).
"""

from steinwise.target.autodiff import Target
from steinwise.target.base import AbstractTarget
from steinwise.target.conversion import as_target
from steinwise.target.gaussian import Gaussian
from steinwise.target.host import HostTarget

__all__ = ["AbstractTarget", "Gaussian", "HostTarget", "Target", "as_target"]
