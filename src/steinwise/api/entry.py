"""The one entrance: draws, a target, a method and options come in, checked and prepared.

Every verb goes through these functions, so that what is wrong with a call is answered in one place
and in the same words, before anything is computed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from steinwise._internal.memory import budget_bytes
from steinwise._internal.random import seed_words
from steinwise._internal.run_options import RunOptions
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.methods.base import AbstractMethod
from steinwise.target import AbstractTarget, as_target

PRECISIONS = ("float64", "float32")
_Method = TypeVar("_Method", bound=AbstractMethod)


def run_options(
    *,
    seed: Any = 0,
    memory: str | int = "1GiB",
    dtype: str = "float64",
    progress: bool | None = None,
) -> RunOptions:
    """How a computation is to be carried out."""
    seed_words(seed)
    if dtype not in PRECISIONS:
        raise InputError(f"dtype is {dtype!r}: expected one of {PRECISIONS}.")
    return RunOptions(seed, budget_bytes(memory), dtype, progress)


def enter_draws(
    draws: Any,
    run: RunOptions,
    *,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    held_by: str = "",
) -> Samples:
    """The user's draws; in memory, if something (`held_by`) needs to hold all of them."""
    samples = Samples.of(draws, names=names, independent=independent)
    return samples.loaded(run.memory, held_by) if held_by else samples


def enter_places(draws: Any, names: Sequence[str] | None = None) -> Samples:
    """Draws that are only places to look at: nothing is asked about their dependence."""
    given = draws.independent if isinstance(draws, Samples) else True
    return Samples.of(draws, names=names, independent=given)


def enter_target(target: Any, d: int) -> AbstractTarget:
    """The user's density, which takes draws of d coordinates."""
    density = as_target(target)
    density.prepare(d)
    return density


def enter_method(
    method: Any,
    named: Mapping[str, Callable[[], _Method]],
    accepted: type[_Method] | tuple[type[_Method], ...],
    expected: str,
) -> _Method:
    """A method from its name or from an object; `expected` says what may come."""
    if isinstance(method, str) and method in named:
        return named[method]()
    if isinstance(method, accepted):
        return method
    raise InputError(f"method is {method!r}: expected {expected}")
