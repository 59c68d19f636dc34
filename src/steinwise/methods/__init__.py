"""Stein discrepancies as tests: each says how to make its batch sums, and no more."""

from steinwise.methods.abstract import AbstractMethod, Work
from steinwise.methods.aggregated import KSDAgg
from steinwise.methods.complete_conditional import KCCSD
from steinwise.methods.kernelized import KSD
from steinwise.methods.transported import Transported

BY_NAME: dict[str, type[AbstractMethod]] = {
    method.name: method for method in (KSD, KSDAgg, Transported)
}

__all__ = ["BY_NAME", "KCCSD", "KSD", "AbstractMethod", "KSDAgg", "Transported", "Work"]
