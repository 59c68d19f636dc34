"""A type checker for the import hook that looks at array shapes and dtypes only.

Every other annotation is left to pyright: the library answers a wrong option with its own message,
and a checker in front of it would answer first.
"""

import inspect
import types
from collections.abc import Callable
from typing import Any, get_args

from beartype import beartype
from jaxtyping import AbstractArray


def check_shapes(function: Callable) -> Callable:
    """beartype on the annotations that are jaxtyping's, alone or in a union or tuple."""
    if isinstance(function, type):  # a dataclass's fields reach here as functions
        return function
    function.__annotations__ = {
        name: hint if _has_shape(hint) else Any for name, hint in function.__annotations__.items()
    }
    signature = inspect.signature(function)
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[
            p.replace(annotation=function.__annotations__.get(n, inspect.Parameter.empty))
            for n, p in signature.parameters.items()
        ],
        return_annotation=function.__annotations__.get("return", inspect.Signature.empty),
    )
    return beartype(function)


def _has_shape(hint: object) -> bool:
    if isinstance(hint, type) and not isinstance(hint, types.GenericAlias):
        return issubclass(hint, AbstractArray)
    return any(_has_shape(part) for part in get_args(hint))
