"""Taylor series of a log density along coordinates and directions."""

from steinwise.target.series.moving import Unsupported
from steinwise.target.series.plan import SeriesPlan, plan_series

__all__ = ["SeriesPlan", "Unsupported", "plan_series"]
