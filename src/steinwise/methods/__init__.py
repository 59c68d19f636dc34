"""Stein discrepancies as tests: each says how to make its batch sums, and no more."""

from steinwise.methods.abstract import AbstractMethod
from steinwise.methods.aggregated import KSDAgg
from steinwise.methods.complete_conditional import KCCSD
from steinwise.methods.finite_set import FSSD
from steinwise.methods.graphical import GraphicalKSD
from steinwise.methods.kernelized import KSD
from steinwise.methods.nystrom import NystromKSD
from steinwise.methods.random_feature import RFSD
from steinwise.methods.sliced import SlicedKSD
from steinwise.methods.transported import Transported

BY_NAME: dict[str, type[AbstractMethod]] = {
    method.name: method
    for method in (
        FSSD,
        GraphicalKSD,
        KCCSD,
        KSD,
        KSDAgg,
        NystromKSD,
        RFSD,
        SlicedKSD,
        Transported,
    )
}

__all__ = [
    "BY_NAME",
    "FSSD",
    "KCCSD",
    "KSD",
    "RFSD",
    "AbstractMethod",
    "GraphicalKSD",
    "KSDAgg",
    "NystromKSD",
    "SlicedKSD",
    "Transported",
]
