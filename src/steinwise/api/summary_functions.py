"""What `sw.summary` summarises besides coordinates: parameters on a model's scale, functions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from steinwise._internal.escaping import printable
from steinwise._internal.validation import require_function
from steinwise.api.entry import named
from steinwise.draws.samples import ConstrainedScale, Samples
from steinwise.errors import InputError

Function = Callable[[np.ndarray], Any]


class NamedDraws(np.ndarray):
    """Draws (n, k) whose columns can be asked for by name: `x["tau"]`, or all of `x["theta"]`.

    What is taken out of them, by names or by numbers, is a plain array.

    >>> x = NamedDraws.of(np.array([[1.0, 2.0, 3.0]]), ("tau", "theta[0]", "theta[1]"))
    >>> x["tau"], x["theta"], x[:, 1]
    (array([1.]), array([[2., 3.]]), array([2.]))
    """

    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Float[np.ndarray, "n k"], names: tuple[str, ...]) -> "NamedDraws":
        draws = values.view(cls)
        draws.names = names
        return draws

    def __getitem__(self, key: Any) -> Any:
        plain = np.asarray(self)
        if not isinstance(key, str):
            return plain[key]
        if key in self.names:
            return plain[:, self.names.index(key)]
        entries = [k for k, name in enumerate(self.names) if name.startswith(f"{key}[")]
        if not entries:
            raise InputError(f"x has no column {key!r}: expected one of {list(self.names)[:20]}.")
        return plain[:, entries]


@dataclass(frozen=True, eq=False)
class Functions:
    """The functions of users, and parameters that an adapter knows on the scale of their model."""

    of_users: dict[str, Function]
    coordinates: tuple[str, ...]
    constrained: ConstrainedScale | None

    @property
    def own(self) -> tuple[str, ...]:
        """The parameters that are on another scale than the coordinates."""
        return () if self.constrained is None else self.constrained.names

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.own, *self.of_users)

    def at(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n f"]:
        """Their values at draws, of which functions get those on the scale of the model."""
        own = np.empty((len(x), 0)) if self.constrained is None else self.constrained.values(x)
        if not self.of_users:
            return own
        columns = dict(zip(self.coordinates, x.T, strict=True)) | dict(
            zip(self.own, own.T, strict=True)
        )
        values = np.stack(list(columns.values()), axis=1)
        found = (
            _values(name, function, NamedDraws.of(values.copy(), tuple(columns)))[:, None]
            for name, function in self.of_users.items()
        )
        return np.concatenate([own, *found], axis=1)


def enter_functions(functions: Any, samples: Samples) -> Functions:
    """The user's functions, tried on a few draws."""
    if functions is None:
        return Functions({}, samples.names, samples.constrained)
    if not isinstance(functions, Mapping):
        raise InputError(
            f"functions is of type {type(functions).__name__}: expected a dict from names to "
            "functions, such as {'ratio': lambda x: x[:, 0] / x[:, 1]}."
        )
    entered = Functions(named(functions, "functions"), samples.names, samples.constrained)
    for name, function in entered.of_users.items():
        require_function(f"functions[{printable(name)!r}]", function)
        if name in (*samples.names, *entered.own):
            raise InputError(
                f"functions has {printable(name)!r}, which is the name of a coordinate: expected "
                "another name."
            )
    entered.at(samples.take(np.arange(min(samples.n, samples.dim + 2))))
    return entered


def _values(name: str, function: Function, x: NamedDraws) -> np.ndarray:
    """A user's function at some draws."""
    try:
        values = np.asarray(function(x))
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"functions[{printable(name)!r}] failed with {type(error).__name__}: "
            f"{printable(str(error))}. It is called with an array of draws, one per row, of shape "
            f"{x.shape}, and returns one number for each: the first coordinate is x[:, 0]."
        ) from error
    if values.shape != (len(x),) or values.dtype.kind not in "fiub":
        raise InputError(
            f"functions[{printable(name)!r}] returned {values.dtype} of shape {values.shape} for "
            f"draws of shape {x.shape}: expected one real number per draw, shape ({len(x)},). It "
            "is called with an array of draws, one per row: the first coordinate is x[:, 0]."
        )
    values = values.astype(float)
    if not np.isfinite(values).all():
        first = int(np.argmin(np.isfinite(values)))
        raise InputError(
            f"functions[{printable(name)!r}] is {values[first]} where x = {x[first].tolist()}: "
            "expected a finite number at every draw."
        )
    return values
