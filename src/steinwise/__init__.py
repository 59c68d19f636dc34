"""Do these draws come from this density, and if not, which coordinates are wrong?

Every public name loads on first use, so that ``import steinwise`` stays cheap.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from steinwise import conditionals as conditionals
    from steinwise import functional as functional
    from steinwise import graphs as graphs
    from steinwise import kernels as kernels
    from steinwise import methods as methods
    from steinwise import samplers as samplers
    from steinwise.adapters.arviz import from_arviz as from_arviz
    from steinwise.adapters.blackjax import from_blackjax as from_blackjax
    from steinwise.adapters.numpyro import from_numpyro as from_numpyro
    from steinwise.adapters.pymc import from_pymc as from_pymc
    from steinwise.adapters.stan import from_stan as from_stan
    from steinwise.adapters.torch import from_torch as from_torch
    from steinwise.assertions import assert_fits as assert_fits
    from steinwise.checks import check as check
    from steinwise.comparisons import compare as compare
    from steinwise.discrepancies import fssd as fssd
    from steinwise.discrepancies import kccsd as kccsd
    from steinwise.discrepancies import ksd as ksd
    from steinwise.discrepancies import rfsd as rfsd
    from steinwise.discrepancies import sksd as sksd
    from steinwise.errors import InputError as InputError
    from steinwise.errors import SteinwiseWarning as SteinwiseWarning
    from steinwise.errors import TargetError as TargetError
    from steinwise.errors import TooFewDraws as TooFewDraws
    from steinwise.estimates import ParameterFit as ParameterFit
    from steinwise.fitting import fit_parameters as fit_parameters
    from steinwise.model_comparisons import compare_models as compare_models
    from steinwise.pointsets import PointSet as PointSet
    from steinwise.pointsets import Thinned as Thinned
    from steinwise.ranking import Comparison as Comparison
    from steinwise.results import CheckResult as CheckResult
    from steinwise.results import Discrepancy as Discrepancy
    from steinwise.samples import Samples as Samples
    from steinwise.stein_points import points as points
    from steinwise.target import Gaussian as Gaussian
    from steinwise.target import Target as Target
    from steinwise.thinning import thin as thin

_HOME = {
    "CheckResult": "results",
    "Comparison": "ranking",
    "Discrepancy": "results",
    "Gaussian": "target",
    "InputError": "errors",
    "ParameterFit": "estimates",
    "PointSet": "pointsets",
    "Samples": "samples",
    "SteinwiseWarning": "errors",
    "Target": "target",
    "TargetError": "errors",
    "Thinned": "pointsets",
    "TooFewDraws": "errors",
    "assert_fits": "assertions",
    "check": "checks",
    "compare": "comparisons",
    "compare_models": "model_comparisons",
    "conditionals": None,
    "fit_parameters": "fitting",
    "from_arviz": "adapters.arviz",
    "from_blackjax": "adapters.blackjax",
    "from_numpyro": "adapters.numpyro",
    "from_pymc": "adapters.pymc",
    "from_stan": "adapters.stan",
    "from_torch": "adapters.torch",
    "fssd": "discrepancies",
    "functional": None,
    "graphs": None,
    "kccsd": "discrepancies",
    "kernels": None,
    "ksd": "discrepancies",
    "methods": None,
    "points": "stein_points",
    "rfsd": "discrepancies",
    "samplers": None,
    "sksd": "discrepancies",
    "thin": "thinning",
}  # the module a name lives in; None where the name is a module itself

__all__ = [
    "CheckResult",
    "Comparison",
    "Discrepancy",
    "Gaussian",
    "InputError",
    "ParameterFit",
    "PointSet",
    "Samples",
    "SteinwiseWarning",
    "Target",
    "TargetError",
    "Thinned",
    "TooFewDraws",
    "__version__",
    "assert_fits",
    "check",
    "compare",
    "compare_models",
    "conditionals",
    "fit_parameters",
    "from_arviz",
    "from_blackjax",
    "from_numpyro",
    "from_pymc",
    "from_stan",
    "from_torch",
    "fssd",
    "functional",
    "graphs",
    "kccsd",
    "kernels",
    "ksd",
    "methods",
    "points",
    "rfsd",
    "samplers",
    "sksd",
    "thin",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'steinwise' has no attribute {name!r}")
    from importlib import import_module

    home = _HOME[name]
    if home is None:
        value = import_module(f"steinwise.{name}")
    else:
        value = getattr(import_module(f"steinwise.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
