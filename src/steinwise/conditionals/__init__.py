"""Stand-ins for the complete conditionals q(x_j | x_-j) of the draws."""

from steinwise.conditionals.abstract import AbstractConditional, Atoms
from steinwise.conditionals.sampler import Sampler
from steinwise.conditionals.transported import Transported

__all__ = ["AbstractConditional", "Atoms", "Sampler", "Transported"]
