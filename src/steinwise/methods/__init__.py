"""Stein discrepancies as tests: each says how to make its batch sums, and no more."""

from steinwise.methods.base import AbstractMethod
from steinwise.methods.fssd import FSSD
from steinwise.methods.graphical import GraphicalKSD
from steinwise.methods.kccsd import KCCSD
from steinwise.methods.ksd import KSD
from steinwise.methods.ksdagg import KSDAgg
from steinwise.methods.nystrom import NystromKSD
from steinwise.methods.rfsd import RFSD
from steinwise.methods.sksd import SlicedKSD
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
