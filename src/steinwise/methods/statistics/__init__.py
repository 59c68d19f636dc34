"""From draws to batch sums: a mean of contributions, a product of features, a Gram matrix."""

from steinwise.methods.statistics.base import AbstractStatistic
from steinwise.methods.statistics.feature_means import FeatureMeans
from steinwise.methods.statistics.feature_product import FeatureProduct
from steinwise.methods.statistics.gram import Gram, draws_and_scores
from steinwise.methods.statistics.gram_per_coordinate import GramPerCoordinate
from steinwise.methods.statistics.mean import Mean

__all__ = [
    "AbstractStatistic",
    "FeatureMeans",
    "FeatureProduct",
    "Gram",
    "GramPerCoordinate",
    "Mean",
    "draws_and_scores",
]
