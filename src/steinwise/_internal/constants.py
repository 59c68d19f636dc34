"""NumPy arrays inside a JAX function, in the precision of the moment.

A function that closes over NumPy arrays can be traced in 32 bit by a sampler and in 64 bit here.
JAX 0.10 converts such an array once and finds the result by the array's identity, whatever the
precision is by then. So an array that was traced in 32 bit stays float32 in a 64-bit trace, which
fails to compile, and one that was traced here would break the sampler's next run.

A view of the array has another identity and the same data. So, within `own_constants`, JAX is
given a view in place of every NumPy array.
"""

import contextlib
import functools
import importlib
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

# JAX's module that converts values, and the name of the function: not public, hence looked up
_MODULE, _FUNCTION = "jax._src.dtypes", "canonicalize_value"

_lock = threading.Lock()
_users = 0  # threads and nested contexts that rely on the replaced function at this moment


class _Found(threading.local):
    """What this thread has converted within `own_constants`, by identity and precision."""

    converted: dict[tuple[int, Any], tuple[weakref.ref, weakref.ref]] | None = None


_found = _Found()


@contextlib.contextmanager
def own_constants() -> Iterator[None]:
    """Within, NumPy arrays are converted anew, and conversions elsewhere are left as they are."""
    replacement = _replacement()
    if replacement is None:
        yield
        return
    outer, _found.converted = _found.converted, {}
    _install(replacement)
    try:
        yield
    finally:
        _uninstall(replacement)
        _found.converted = outer


@functools.cache
def constants_are_reliable() -> bool:
    """Whether the precision at the time of a trace decides about the arrays in it."""
    with own_constants():
        return not _jax_remembers()


class _Replacement:
    """JAX's function that converts values, and the one that takes its place."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.original: Callable[[Any], Any] = getattr(module, _FUNCTION)
        self.converted_type = type(self.original(np.zeros(1)))

    def __call__(self, value: Any) -> Any:
        converted = _found.converted
        if (
            converted is None  # another thread, which has nothing to do with us
            or not isinstance(value, np.ndarray)
            or isinstance(value, self.converted_type)
        ):
            return self.original(value)
        key = id(value), jax.dtypes.canonicalize_dtype(value.dtype)
        if key in converted:
            array, result = (reference() for reference in converted[key])
            if array is value and result is not None:
                return result  # one constant, however often a function uses the array
        result = self.original(value.view())
        # weakly: the rows of a batch are converted too, and are not to be kept
        converted[key] = weakref.ref(value), weakref.ref(result)
        return result


@functools.cache
def _replacement() -> _Replacement | None:
    """The replacement, if this version of JAX needs one and has the function."""
    if not _jax_remembers():
        return None
    try:
        return _Replacement(importlib.import_module(_MODULE))
    except (ImportError, AttributeError):
        return None  # `constants_are_reliable` says so


def _jax_remembers() -> bool:
    """Whether an array that was traced in 32 bit stays in 32 bit."""
    array = np.zeros(1)
    with jax.enable_x64(False):
        traced = jax.make_jaxpr(lambda x: array * x)(1.0)
    with jax.enable_x64(True):
        remembered = jnp.asarray(array).dtype == np.float32
    del traced  # until here it kept the conversion alive
    return remembered


def _install(replacement: _Replacement) -> None:
    global _users
    with _lock:
        if _users == 0:
            setattr(replacement.module, _FUNCTION, replacement)
        _users += 1


def _uninstall(replacement: _Replacement) -> None:
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            setattr(replacement.module, _FUNCTION, replacement.original)
