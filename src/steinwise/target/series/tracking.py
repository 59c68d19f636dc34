"""Which entries of every value a coordinate moves, found on the host before any computation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import sparse

from steinwise.target.series.movement import MOST, Movement, movement, union
from steinwise.target.series.program import PIECEWISE_CONSTANT, Equation, Program
from steinwise.target.series.rules import ELEMENTWISE, STRUCTURAL

# steps whose entries depend on the same entries of their operands
STEPS_BY_ENTRY = PIECEWISE_CONSTANT - {"argmax", "argmin", "reduce_and", "reduce_or"}


def find_movement(program: Program, d: int) -> dict[int, Movement]:
    """The movement of every value that a coordinate of the one input moves."""
    return _find(program, d, jumps=False)


def find_dependence(program: Program, d: int, moves: dict[int, Movement]) -> dict[int, Movement]:
    """Which entries of every value depend on a coordinate, by a comparison or a step as well.

    `moves` is what `find_movement` found.
    """
    if not any(
        equation.name in PIECEWISE_CONSTANT and not program.varying.isdisjoint(equation.inputs)
        for equation in program.equations
    ):
        return moves
    return _find(program, d, jumps=True)


def _find(program: Program, d: int, *, jumps: bool) -> dict[int, Movement]:
    finder = _Finder(program, known_values(program))
    found = {program.inputs[0]: movement(np.zeros(d, dtype=bool), sparse.eye_array(d), d)}
    for equation in program.equations:
        jump = equation.name in PIECEWISE_CONSTANT
        if (jump and not jumps) or not any(i in found for i in equation.inputs):
            continue
        wanted = [i for i in equation.outputs if jumps or i in program.sensitive]
        if wanted:
            parts = [found.get(i) for i in equation.inputs]
            results = finder.through(equation, parts)
            found.update(
                (i, m)
                for i, m in zip(equation.outputs, results, strict=True)
                if i in wanted and m.coordinates().any()
            )
    return found


def known_values(program: Program) -> dict[int, np.ndarray]:
    """The values that the movement depends on, where they are the same for all draws.

    These are numbers of entries to gather or scatter, choices between values, and the factors of
    matrix products, which may have zeros. All are evaluated in one compiled call.
    """
    needed = set()
    for equation in program.equations:
        if equation.name in STRUCTURAL | {"dot_general", "select_n", "scatter-add"}:
            needed.update(i for i in equation.inputs if i not in program.varying)
    unknown = sorted(needed - set(program.constants) - set(program.literals))
    values = {**program.literals, **program.constants}
    if unknown:
        ancestors, equations = set(unknown), []
        for equation in reversed(program.equations):
            if not ancestors.isdisjoint(equation.outputs):
                ancestors.update(equation.inputs)
                equations.append(equation)
        given = {i: value for i, value in program.constants.items() if i in ancestors}

        def evaluate(constants: dict[int, Any]) -> list[Any]:
            known = {**program.literals, **constants}
            for equation in reversed(equations):
                results = equation.bind(*[known[i] for i in equation.inputs])
                known.update(zip(equation.outputs, results, strict=True))
            return [known[i] for i in unknown]

        values.update(zip(unknown, jax.jit(evaluate)(given), strict=True))
    return {i: np.asarray(values[i]) for i in needed}


@dataclass(frozen=True, eq=False)
class _Finder:
    program: Program
    known: dict[int, np.ndarray]

    def through(self, equation: Equation, parts: Sequence[Movement | None]) -> list[Movement]:
        sizes = [self.program.size(i) for i in equation.outputs]
        special: dict[str, Callable] = {
            "reduce_sum": self._reduce_sum,
            "dot_general": self._dot_general,
            "scatter-add": self._scatter_add,
            "select_n": self._select_n,
        }
        found = None
        if equation.name in special:
            found = special[equation.name](equation, parts)
        elif equation.name in STRUCTURAL:
            found = self._structural(equation, parts)
        elif equation.name in ELEMENTWISE or equation.name in STEPS_BY_ENTRY:
            found = [self._elementwise(equation, parts)]
        return found or [Movement(_any(parts), None, size) for size in sizes]

    def _shape(self, value: int) -> tuple[int, ...]:
        return self.program.types[value].shape

    def _elementwise(self, equation: Equation, parts: Sequence[Movement | None]) -> Movement:
        """Axes of length 1 are broadcast."""
        shape, size = self._shape(equation.outputs[0]), self.program.size(equation.outputs[0])
        broadcast = []
        for i, part in zip(equation.inputs, parts, strict=True):
            if part is not None and part.size != size:
                numbers = np.arange(part.size).reshape(self._shape(i))
                part = part.select(np.broadcast_to(numbers, shape))
            if part is not None:
                broadcast.append(part)
        return union(broadcast, size)

    def _structural(
        self, equation: Equation, parts: Sequence[Movement | None]
    ) -> list[Movement] | None:
        """Numbers of entries go through the primitive, and say where each output comes from."""
        moved = [part for part in parts if part is not None]
        if all(part.some is None for part in moved) or self._moves_choices(equation, parts):
            return None
        if len(moved) == 1:  # what moves everywhere still does
            return self._rearranged(equation, parts, [moved[0]])
        none = np.zeros_like(moved[0].everywhere)
        return self._rearranged(
            equation, parts, [Movement(none, part.rows(), part.size) for part in moved]
        )

    def _moves_choices(self, equation: Equation, parts: Sequence[Movement | None]) -> bool:
        """Whether numbers of entries depend on a coordinate, or masks next to other operands."""
        moved = [i for i, part in zip(equation.inputs, parts, strict=True) if part is not None]
        alone = len(equation.inputs) == 1
        return not alone and not all(map(self.program.is_real, moved))

    def _rearranged(
        self,
        equation: Equation,
        parts: Sequence[Movement | None],
        moved: Sequence[Movement],
    ) -> list[Movement] | None:
        first, operands = 0, []
        for i, part in zip(equation.inputs, parts, strict=True):
            shape = self._shape(i)
            if part is not None:
                numbers = np.arange(first, first + part.size, dtype=np.int32).reshape(shape)
                first += part.size
                operands.append(numbers)
            elif self.program.is_real(i):
                operands.append(np.full(shape, -1, np.int32))
            elif i in self.known:
                operands.append(self.known[i])
            else:
                return None
        rows = sparse.vstack([part.some for part in moved], format="csr")
        joined = Movement(moved[0].everywhere, rows, first)
        with jax.ensure_compile_time_eval():
            sources = equation.filling(-1).bind(*map(jnp.asarray, operands))
        return [joined.select(np.asarray(source)) for source in sources]

    def _select_n(
        self, equation: Equation, parts: Sequence[Movement | None]
    ) -> list[Movement] | None:
        size = self.program.size(equation.outputs[0])
        which = self.known.get(equation.inputs[0])
        cases = parts[1:]
        if which is None or which.size not in (1, size):
            return [self._elementwise(equation, parts)]
        chosen = np.broadcast_to(which.astype(int).ravel(), size)
        entries = np.arange(size)
        kept = [
            case.select(np.where(chosen == k, entries if case.size > 1 else 0, -1))
            for k, case in enumerate(cases)
            if case is not None
        ]
        return [union(kept, size)]

    def _reduce_sum(
        self, equation: Equation, parts: Sequence[Movement | None]
    ) -> list[Movement] | None:
        (part,) = parts
        assert part is not None
        return [self._reduced(part, self._shape(equation.inputs[0]), equation.params["axes"])]

    def _reduced(self, part: Movement, shape: tuple[int, ...], axes: Sequence[int]) -> Movement:
        kept = tuple(1 if axis in axes else n for axis, n in enumerate(shape))
        size = int(np.prod(kept, dtype=np.int64))
        into = np.broadcast_to(np.arange(size).reshape(kept), shape)
        return part.summed(into, size)

    def _dot_general(
        self, equation: Equation, parts: Sequence[Movement | None]
    ) -> list[Movement] | None:
        """An output entry depends on the entries that it sums over, unless their factor is 0."""
        if all(part is None or part.some is None for part in parts):
            return None
        size = self.program.size(equation.outputs[0])
        contracting, batch = equation.params["dimension_numbers"]
        shapes = [self._shape(i) for i in equation.inputs]
        found = []
        for side, part in enumerate(parts):
            if part is None:
                continue
            other = self.known.get(equation.inputs[1 - side])
            free = [
                [a for a in range(len(shapes[k])) if a not in (*contracting[k], *batch[k])]
                for k in (0, 1)
            ]
            if len(shapes[side]) == 1 and other is not None and other.ndim == 2:
                rows = other if contracting[1 - side][0] == 1 else other.T
                found.append(_multiplied(rows != 0, part))
                continue
            reduced = self._reduced(part, shapes[side], contracting[side])
            remaining = [a for a in range(len(shapes[side])) if a not in contracting[side]]
            numbers = np.arange(reduced.size).reshape([shapes[side][a] for a in remaining])
            order = [remaining.index(a) for a in (*batch[side], *free[side])]
            numbers = numbers.transpose(*order) if order else numbers
            n_batch, n_other = len(batch[side]), len(free[1 - side])
            if side == 0:
                numbers = numbers.reshape((*numbers.shape, *[1] * n_other))
            else:
                numbers = numbers.reshape(
                    (*numbers.shape[:n_batch], *[1] * n_other, *numbers.shape[n_batch:])
                )
            out_shape = self._shape(equation.outputs[0])
            found.append(reduced.select(np.broadcast_to(numbers, out_shape)))
        return [union(found, size)]

    def _scatter_add(
        self, equation: Equation, parts: Sequence[Movement | None]
    ) -> list[Movement] | None:
        """Where each update lands is found by sending numbers back through the scatter."""
        operand, of_indices, updates = parts
        if of_indices is not None:
            return None
        out = equation.outputs[0]
        size, indices = self.program.size(out), self.known.get(equation.inputs[1])
        found = [] if operand is None else [operand]
        if updates is not None:
            if indices is None or updates.some is None:
                return None
            shape = self._shape(equation.inputs[2])

            def scatter(values: Any) -> Any:
                return equation.bind(jnp.zeros(self._shape(out)), jnp.asarray(indices), values)[0]

            with jax.ensure_compile_time_eval():
                back = jax.linear_transpose(scatter, jnp.zeros(shape))
                numbers = jnp.arange(1.0, size + 1).reshape(self._shape(out))
                lands = np.rint(np.asarray(back(numbers)[0])).astype(int).ravel() - 1
            kept = updates.select(np.where(lands >= 0, np.arange(updates.size), -1))
            found.append(kept.summed(np.maximum(lands, 0), size))
        return [union(found, size)]


def _multiplied(factors: np.ndarray, part: Movement) -> Movement:
    """The movement of a matrix times a vector."""
    if part.some is None or np.count_nonzero(factors) > MOST * factors.size:
        return Movement(part.coordinates(), None, len(factors))
    counts = sparse.csr_array(factors).astype(np.int32) @ part.some
    return movement(part.everywhere, counts, len(factors))


def _any(parts: Sequence[Movement | None]) -> np.ndarray:
    return np.any([part.coordinates() for part in parts if part is not None], axis=0)
