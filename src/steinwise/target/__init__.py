"""Targets: densities known up to a constant, used through their scores or their values.

A target comes from a JAX log density (`Target`), from a score function in NumPy
(`Target.from_score`), from values alone (`Target.from_log_density`), from the closed form of a
Gaussian (`Gaussian`), or is known only through its scores at the draws (`Target.at_draws`).
"""

from steinwise.target.at_draws import ScoresAtDraws
from steinwise.target.autodiff import Target
from steinwise.target.base import AbstractTarget
from steinwise.target.conversion import as_target
from steinwise.target.gaussian import Gaussian
from steinwise.target.host import HostTarget
from steinwise.target.transformed import on_real_line
from steinwise.target.unconstrained import Unconstrained

__all__ = [
    "AbstractTarget",
    "Gaussian",
    "HostTarget",
    "ScoresAtDraws",
    "Target",
    "Unconstrained",
    "as_target",
    "on_real_line",
]
