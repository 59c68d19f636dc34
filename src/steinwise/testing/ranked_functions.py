"""The functions of a draw whose ranks are looked at."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.validation import as_numbers
from steinwise.errors import InputError
from steinwise.target import Target
from steinwise.target.support import discrete_among
from steinwise.testing.exact_target import ExactTarget
from steinwise.testing.tracing import IN_JAX, IN_NUMPY, called, require_one_number, traced

SCORE_KINDS = ("score", "squared score", "value times score")


class RankedFunction(NamedTuple):
    """What a function of a draw is.

    Of coordinates a "value", "square", "product", or one of `SCORE_KINDS`; the "log density"; or an
    "own" function of the user's.
    """

    kind: str
    name: str

    def __str__(self) -> str:
        return self.name if self.kind in ("log density", "own") else f"{self.kind} of {self.name}"


class RankedFunctions:
    """Functions of a draw: of its coordinates, of its scores, its log density, and the user's.

    Of each coordinate x, in units of its sd around its mean, and the score s along it: x, x^2, the
    product with the next coordinate, s, s^2 and x s. The first terms of a check are made of s and
    x s; they see what a coordinate does given the others, where its marginal hides it.
    """

    def __init__(
        self,
        target: ExactTarget,
        own: Mapping[str, Callable] | None,
        *,
        host: bool,
        leading: int | None = None,
    ) -> None:
        """`leading` is how many of the first coordinates are ranked by themselves, None for all."""
        _require_functions(own, target.names)
        own = own or {}
        point = jnp.zeros(target.dim)
        require_one_number("log_density(x)", traced("log_density(x)", target.log_density, point))
        for name, function in () if host else own.items():
            call = f"functions[{name!r}](x)"
            require_one_number(call, traced(call, function, point, hint=IN_NUMPY))
        self._target = target
        names = target.names[:leading]
        self._looked_at = len(names)
        self._density = target.as_target()
        self._scored = _with_scores(target, self._density, len(names))
        self.listed = (
            *(RankedFunction("value", name) for name in names),
            *(RankedFunction("square", name) for name in names),
            *(RankedFunction("product", f"{a} and {b}") for a, b in pairwise(names)),
            *(RankedFunction(kind, names[j]) for kind in SCORE_KINDS for j in self._scored),
            RankedFunction("log density", "log density"),
            *(RankedFunction("own", name) for name in own),
        )
        in_jax = [target.log_density, *(() if host else own.values())]
        self._own = list(own)
        self._on_host = list(own.items()) if host else []
        # one compiled function; every value must be a number
        self._compiled = jax.jit(
            jax.vmap(lambda x: jnp.stack([jnp.reshape(f(x), ()) for f in in_jax]))
        )

    def rounding(self, precision: float) -> Float[np.ndarray, " f"]:
        """The relative precision of each quantity at points of this one; 0 stays 0.

        Coordinates lose digits where they are far from 0 in units of their sd. The log density and
        functions in JAX have no more digits than JAX is set to.
        """
        if not precision:
            return np.zeros(len(self.listed))
        in_jax = max(precision, float(jnp.finfo(jnp.zeros(()).dtype).eps))
        at = 1 + np.abs(self._target.mean / self._target.sd)[: self._looked_at]
        own = len(self.listed) - 2 * len(at) - (len(at) - 1) - 3 * len(self._scored) - 1
        return np.concatenate(
            [
                precision * at,
                precision * at,
                precision * np.maximum(at[:-1], at[1:]),
                precision * np.tile(at[self._scored], len(SCORE_KINDS)),
                [in_jax],
                np.full(own, precision if self._on_host else in_jax),
            ]
        )

    def __call__(self, points: Float[np.ndarray, "n k d"]) -> Float[np.ndarray, "n k f"]:
        """The values of all functions at these points.

        Points that are equal have equal values, to the last bit: each is evaluated once. Otherwise
        rounding, not chance, would decide between a point and the same point after a rejection.
        """
        flat = points.reshape(-1, points.shape[-1])
        distinct, which = np.unique(flat, axis=0, return_inverse=True)
        count = len(distinct)
        # as many as there are points, for a compiled function
        distinct = np.concatenate([distinct, flat[: len(flat) - count]])
        scaled = ((distinct - self._target.mean) / self._target.sd)[:, : self._looked_at]
        columns = [scaled, scaled**2, scaled[:, :-1] * scaled[:, 1:]]
        if self._scored.size:
            scores = self._scores(distinct)
            columns += [scores, scores**2, scaled[:, self._scored] * scores]
        columns.append(self._compiled(distinct))
        for name, function in self._on_host:
            own = [_host_value(name, function, x) for x in distinct[:count]]
            columns.append(np.resize(own, (len(distinct), 1)))
        values = np.concatenate([np.asarray(c, np.float64) for c in columns], axis=1)
        self._require_numbers(values)
        values[np.isnan(values)] = -np.inf  # has a rank too
        return values[which.reshape(-1)].reshape(*points.shape[:2], -1)

    def _require_numbers(self, values: Float[np.ndarray, "n f"]) -> None:
        """Refuse a log density, or a function of the user's, that is NaN at all points."""
        calls = ["log_density(x)", *(f"functions[{name!r}](x)" for name in self._own)]
        nowhere = np.isnan(values[:, -len(calls) :]).all(axis=0)
        if nowhere.any():
            raise InputError(
                f"{calls[int(nowhere.argmax())]} is NaN at all {len(values)} points, exact draws "
                "among them: expected a number. Ranks of NaN would say nothing."
            )

    def _scores(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n c"]:
        """Derivatives of the log density, in units of the coordinates' sds; not always finite."""
        at_draws = x[:, self._scored, None]
        slopes = self._density.line_values(x, self._scored, at_draws)[1]
        assert slopes is not None
        return slopes[..., 0] * self._target.sd[self._scored]


def _with_scores(target: ExactTarget, density: Target, looked_at: int) -> Int[np.ndarray, " c"]:
    """The coordinates along which the log density has a derivative."""
    if not density.has_scores(target.dim):
        return np.arange(0)
    discrete = discrete_among(target.support, target.names)
    return np.setdiff1d(np.arange(looked_at), discrete)


def _host_value(name: str, function: Callable, x: Float[np.ndarray, " d"]) -> float:
    call = f"functions[{name!r}](x)"
    value = as_numbers(called(call, function, x, hint=IN_JAX))
    if value is None or value.size != 1:
        came = "no number" if value is None else f"shape {value.shape}"
        raise InputError(f"{call} gave {came}: expected one number.")
    return float(value.reshape(()))


def _require_functions(own: Any, names: Sequence[str]) -> None:
    if own is None:
        return
    if not isinstance(own, Mapping) or not all(
        isinstance(name, str) and callable(function) for name, function in own.items()
    ):
        raise InputError(
            f"functions is {own!r}: expected a dict from names to functions of one point (d,) with "
            "a number as value."
        )
    for name in own:
        if name in (*names, "log density"):
            what = "a coordinate" if name in names else "the log density, which is looked at anyway"
            raise InputError(f"functions has the name {name!r}, that of {what}: choose another.")
