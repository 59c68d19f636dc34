"""Stand-ins for the complete conditionals q(x_j | x_-j) of the draws."""

from steinwise.conditionals.auto import Auto
from steinwise.conditionals.base import (
    AbstractConditional,
    AbstractFittedConditional,
    Atoms,
    TrainingData,
)
from steinwise.conditionals.histogram import Histogram
from steinwise.conditionals.kde import KDE
from steinwise.conditionals.linear import Linear
from steinwise.conditionals.mixture_density import MixtureDensity
from steinwise.conditionals.sampled import Sampled
from steinwise.conditionals.sampler import Sampler
from steinwise.conditionals.transported import Transported

__all__ = [
    "KDE",
    "AbstractConditional",
    "AbstractFittedConditional",
    "Atoms",
    "Auto",
    "Histogram",
    "Linear",
    "MixtureDensity",
    "Sampled",
    "Sampler",
    "TrainingData",
    "Transported",
]
