"""Options that a function does not have: which one was meant, or where it belongs."""

import inspect
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

# options of what makes draws and densities, which people pass to the function that takes these
ELSEWHERE = {
    "params": "from_numpyro",
    "args": "from_numpyro",
    "kwargs": "from_numpyro",
    "n_draws": "from_numpyro",
    "space": "from_numpyro",
    "group": "from_pymc",
    "var_names": "from_arviz",
    "coords": "from_arviz",
    "discard": "from_emcee",
    "thin": "from_emcee",
    "axes": "from_blackjax",
    "support": "Target",
    "lines": "Target",
}

# what is asked for in another way than by an option
OTHERWISE = {
    ("check", "scores"): "Scores at the draws are a target: sw.check(draws, "
    'sw.Target.at_draws(scores), method="scores").',
    ("summary", "coordinates"): "All coordinates have a row; that of one is "
    'sw.summary(draws, target)["name"].',
    ("compare", "names"): "Names come with the sets, as data frames or as "
    "sw.Samples.of(draws, names=...).",
}

# options of a method, and what they are set to in an example
OF_METHODS = {"modes": ("Transported", "False"), "starts": ("Transported", "...")}

# what other libraries call an option
SAME = {"num_samples": "n_draws", "n_samples": "n_draws", "size": "n_draws"}


def known_options(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Answer an option that a function does not have with the one that it has."""
    known = list(inspect.signature(function).parameters)

    @wraps(function)
    def with_known(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        unknown = [name for name in kwargs if name not in known]
        if unknown:
            raise TypeError(about_option(function.__name__, unknown[0], known))
        return function(*args, **kwargs)

    return with_known


def about_option(function: str, option: str, known: Sequence[str]) -> str:
    """What to do about an option that a function does not have.

    >>> about_option("check", "params", ["draws", "target", "n_bootstrap"])
    "sw.check has no option 'params'. It is one of sw.from_numpyro:
    sw.check(*sw.from_numpyro(..., params=...))."
    >>> print(about_option("check", "modes", ["draws", "target", "method"]))
    sw.check has no option 'modes'. It is one of sw.methods.Transported:
    sw.check(..., method=sw.methods.Transported(modes=False)).
    >>> about_option("check", "bootstraps", ["draws", "target", "n_bootstrap"])
    "sw.check has no option 'bootstraps'. Did you mean n_bootstrap?"
    >>> print(about_option("summary", "coordinates", ["draws", "target"]))
    sw.summary has no option 'coordinates'. All coordinates have a row; that of one is
    sw.summary(draws, target)["name"].
    >>> print(about_option("compare", "params", ["draws", "target"]))
    sw.compare has no option 'params'. It is one of sw.from_numpyro:
    sw.compare({"name": sw.from_numpyro(..., params=...), ...}).
    >>> about_option("from_numpyro", "num_samples", ["mcmc_or_svi", "params", "n_draws"])
    "sw.from_numpyro has no option 'num_samples'. Did you mean n_draws?"
    """
    said = f"sw.{function} has no option {option!r}."
    owner = None if function.startswith("from_") else ELSEWHERE.get(option)
    if owner == "Target":
        call = f"sw.{function}(draws, sw.Target(log_density, {option}=...))"
        return f"{said} It is one of sw.Target: {call}."
    if (function, option) in OTHERWISE:
        return f"{said} {OTHERWISE[function, option]}"
    if owner is not None:
        made = f"sw.{owner}(..., {option}=...)"
        call = f'{{"name": {made}, ...}}' if function == "compare" else f"*{made}"
        return f"{said} It is one of sw.{owner}: sw.{function}({call})."
    if option in OF_METHODS and "method" in known:
        method, value = OF_METHODS[option]
        call = f"method=sw.methods.{method}({option}={value})"
        return f"{said} It is one of sw.methods.{method}: sw.{function}(..., {call})."
    near = [SAME[option]] if SAME.get(option) in known else get_close_matches(option, known, 1)
    return f"{said} Did you mean {near[0]}?" if near else f"{said} It has {', '.join(known)}."
