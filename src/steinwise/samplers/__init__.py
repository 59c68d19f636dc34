"""Samplers with known faults, which the experiments need and no library has in this form."""

from steinwise.samplers.base import AbstractSampler
from steinwise.samplers.gibbs import Gibbs
from steinwise.samplers.langevin import SGLD, Minibatch
from steinwise.samplers.metropolis import MetropolisWithinGibbs

__all__ = ["SGLD", "AbstractSampler", "Gibbs", "MetropolisWithinGibbs", "Minibatch"]
