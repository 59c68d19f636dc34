"""A traced function as one flat list of equations.

JAX's own form, the jaxpr, nests calls (`jit`, `custom_jvp_call`, `remat`, ...) and repeats what the
user wrote twice. Here calls are inlined, equal equations appear once, and equations that nothing
uses are gone, so that ``X @ w`` written twice is one value, which moves in one way.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jaxtyping import Array

# where calls keep what they call
CALLED = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}

# constant from one point to the next, but for jumps: their results do not move
PIECEWISE_CONSTANT = frozenset(
    [
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "eq_to",
        "lt_to",
        "le_to",
        "sign",
        "floor",
        "ceil",
        "round",
        "is_finite",
        "stop_gradient",
        "argmax",
        "argmin",
        "not",
        "and",
        "or",
        "xor",
        "nextafter",
        "reduce_and",
        "reduce_or",
        "population_count",
        "clz",
    ]
)


@dataclass(frozen=True, eq=False)
class Equation:
    """``outputs = primitive(*inputs, **params)``; values are known by their numbers."""

    primitive: core.Primitive
    params: dict[str, Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.primitive.name

    def bind(self, *operands: Any) -> list[Array]:
        """The outputs, computed or traced by JAX."""
        results = self.primitive.bind(*operands, **self.params)
        return list(results) if self.primitive.multiple_results else [results]

    def filling(self, value: float) -> "Equation":
        """The same with another value for entries out of bounds, if it is a gather."""
        if "fill_value" not in self.params:
            return self
        return replace(self, params={**self.params, "fill_value": value})


@dataclass(frozen=True, eq=False)
class Program:
    """Equations in order, the numbers of their inputs and outputs, and the shape of every value.

    `constants` are the arrays that the function closed over, by number; `literals` are scalars.
    """

    equations: tuple[Equation, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    types: tuple[jax.ShapeDtypeStruct, ...]
    constants: dict[int, Array]
    literals: dict[int, Any]

    @cached_property
    def varying(self) -> frozenset[int]:
        """The values that depend on an input."""
        return self.reached_from(self.inputs)

    @cached_property
    def sensitive(self) -> frozenset[int]:
        """The values whose movement reaches an output, rather than only a comparison or a step."""
        sensitive = {i for i in self.outputs if self.can_move(i)}
        for equation in reversed(self.equations):
            if equation.name not in PIECEWISE_CONSTANT and not sensitive.isdisjoint(
                equation.outputs
            ):
                sensitive.update(i for i in equation.inputs if self.can_move(i))
        return frozenset(sensitive)

    def can_move(self, value: int) -> bool:
        """Complex values too, through which no series goes: what needs them is not supported."""
        inexact = jnp.issubdtype(self.types[value].dtype, jnp.inexact)
        return bool(inexact) and self.size(value) > 0

    def is_real(self, value: int) -> bool:
        return bool(jnp.issubdtype(self.types[value].dtype, jnp.floating))

    def size(self, value: int) -> int:
        return int(np.prod(self.types[value].shape, dtype=np.int64))

    def reached_from(self, values: Iterable[int]) -> frozenset[int]:
        """`values` and all that depends on them."""
        reached = set(values)
        for equation in self.equations:
            if not reached.isdisjoint(equation.inputs):
                reached.update(equation.outputs)
        return frozenset(reached)

    def moved_from(self, values: Iterable[int]) -> frozenset[int]:
        """What moves when `values` move, as far as it matters to the outputs."""
        moved = set(values)
        for equation in self.equations:
            if equation.name not in PIECEWISE_CONSTANT and not moved.isdisjoint(equation.inputs):
                moved.update(self.sensitive.intersection(equation.outputs))
        return frozenset(moved)

    def evaluate(
        self, inputs: Sequence[Any], constants: dict[int, Any] | None = None
    ) -> dict[int, Any]:
        """All values, by number; `constants` takes the place of those that were closed over."""
        values = {**self.literals, **(self.constants if constants is None else constants)}
        values.update(zip(self.inputs, inputs, strict=True))
        return run(self.equations, values)


def run(equations: Iterable[Equation], values: dict[int, Any]) -> dict[int, Any]:
    """Add the outputs of the equations to `values`, and return it."""
    for equation in equations:
        results = equation.bind(*[values[i] for i in equation.inputs])
        values.update(zip(equation.outputs, results, strict=True))
    return values


def trace(function: Callable, *arguments: Any) -> Program:
    """The program of a function, traced on arguments or their shapes."""
    return flatten(jax.make_jaxpr(function)(*arguments))


def flatten(closed: core.ClosedJaxpr) -> Program:
    """The program of a jaxpr."""
    flattener = _Flattener()
    inputs = tuple(flattener.new(variable.aval) for variable in closed.jaxpr.invars)
    outputs = flattener.inline(closed.jaxpr, closed.consts, inputs)
    return flattener.program(inputs, tuple(outputs))


class _Flattener:
    def __init__(self) -> None:
        self.types: list[jax.ShapeDtypeStruct] = []
        self.equations: list[Equation] = []
        self.constants: dict[int, Array] = {}
        self.literals: dict[int, Any] = {}
        self._kept_alive: list[Any] = []  # so that no other constant gets the same id
        self._numbers: dict[Any, Any] = {}  # of constants and of the outputs of equations

    def new(self, aval: Any) -> int:
        self.types.append(jax.ShapeDtypeStruct(aval.shape, aval.dtype))
        return len(self.types) - 1

    def program(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Program:
        used, equations = set(outputs), []
        for equation in reversed(self.equations):
            if not used.isdisjoint(equation.outputs):
                used.update(equation.inputs)
                equations.append(equation)
        return Program(
            tuple(reversed(equations)),
            inputs,
            outputs,
            tuple(self.types),
            {i: value for i, value in self.constants.items() if i in used},
            {i: value for i, value in self.literals.items() if i in used},
        )

    def inline(self, jaxpr: core.Jaxpr, constants: Sequence, inputs: Sequence[int]) -> list[int]:
        numbers = dict(zip(jaxpr.constvars, map(self._constant, constants), strict=True))
        numbers.update(zip(jaxpr.invars, inputs, strict=True))

        def read(atom: Any) -> int:
            return self._literal(atom) if isinstance(atom, core.Literal) else numbers[atom]

        for equation in jaxpr.eqns:
            operands = [read(atom) for atom in equation.invars]
            called = _called(equation, operands)
            if called is None:
                outputs = self._append(equation, tuple(operands))
            else:
                inner, own = called
                outputs = self.inline(
                    getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), own
                )
            numbers.update(zip(equation.outvars, outputs, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _append(self, equation: core.JaxprEqn, operands: tuple[int, ...]) -> Sequence[int]:
        key = (equation.primitive.name, _hashable(equation.params), operands)
        if key not in self._numbers:
            outputs = tuple(self.new(variable.aval) for variable in equation.outvars)
            self.equations.append(
                Equation(equation.primitive, dict(equation.params), operands, outputs)
            )
            self._numbers[key] = outputs
        return self._numbers[key]

    def _constant(self, value: Any) -> int:
        key = ("constant", id(value))
        if key not in self._numbers:
            self._numbers[key] = self.new(jax.typeof(value))
            self._kept_alive.append(value)
            # JAX 0.8 wraps NumPy arrays in a type of its own, which has no arithmetic
            array: Any = value if isinstance(value, jax.Array) else np.asarray(value)
            self.constants[self._numbers[key]] = array
        return self._numbers[key]

    def _literal(self, literal: core.Literal) -> int:
        aval: Any = literal.aval
        key = ("literal", str(aval.dtype), repr(literal.val))
        if key not in self._numbers:
            self._numbers[key] = self.new(aval)
            self.literals[self._numbers[key]] = np.asarray(literal.val, aval.dtype)
        return self._numbers[key]


def _called(equation: core.JaxprEqn, operands: list[int]) -> tuple[Any, list[int]] | None:
    """The jaxpr that an equation calls and the operands of the call, or None."""
    name, params = equation.primitive.name, equation.params
    if name in CALLED:
        return params[CALLED[name]], operands
    if name == "cond" and params.get("branches_platforms"):
        # one implementation per platform, of the same function
        platforms = params["branches_platforms"]
        here = jax.default_backend()
        chosen = next(i for i, named in enumerate(platforms) if named is None or here in named)
        return params["branches"][chosen], operands[1:]
    return None


def _hashable(params: dict[str, Any]) -> tuple:
    key = []
    for name, value in params.items():
        try:
            hash(value)
        except TypeError:
            value = repr(value)
        key.append((name, value))
    return tuple(key)
