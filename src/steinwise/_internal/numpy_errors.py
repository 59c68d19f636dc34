"""What NumPy does on underflow and overflow: our own settings in our code, the user's in theirs.

Sums over draws underflow by design (a far draw counts nothing), which `np.errstate(all="raise")`
around a check would turn into an error. A function of the user's, called from inside, still runs
with what the user has set.
"""

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_users: ContextVar[Any] = ContextVar("numpy_errors_of_the_user", default=None)


def own_numpy_errors(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Run a function with NumPy's default settings."""

    @wraps(function)
    def with_defaults(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        token = _users.set(_users.get() or np.geterr())  # a function of ours may call another
        try:
            with np.errstate(divide="warn", over="warn", invalid="warn", under="ignore"):
                return function(*args, **kwargs)
        finally:
            _users.reset(token)

    return with_defaults


def users_numpy_errors() -> np.errstate:
    """The settings with which the user called us, for functions of the user's."""
    return np.errstate(**(_users.get() or {}))
