"""Targets: a density known up to a constant, seen through its score.

Three ways in: a JAX log density (`Target`), a score function of the host (`Target.from_score`),
and the closed form of a Gaussian (`Gaussian`).
"""

from steinwise.target.autodiff import Target, as_target
from steinwise.target.base import AbstractTarget
from steinwise.target.gaussian import Gaussian
from steinwise.target.host import HostTarget

__all__ = ["AbstractTarget", "Gaussian", "HostTarget", "Target", "as_target"]
