"""Taylor series of a log density along coordinates and directions, planned once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from steinwise._internal.compiled import precision
from steinwise.target.series.blocks import (
    DRAWS_PER_BLOCK,
    LAPACK,
    ROWS_PER_CALL,
    call_on_blocks,
    compile_blocks,
)
from steinwise.target.series.cost import work
from steinwise.target.series.displacement import displaced_equations
from steinwise.target.series.groups import Group, find_groups
from steinwise.target.series.line_values import compile_line_values, compile_single_lines
from steinwise.target.series.moving import Unsupported
from steinwise.target.series.passes import along_seeds, lines_of_group
from steinwise.target.series.program import Program, trace
from steinwise.target.series.tracking import find_dependence, find_movement

BYTES_PER_CALL = 2**27  # of the results of one call


@dataclass(frozen=True, eq=False)
class SeriesPlan:
    """How to compute t -> log p(x + t v) as a series in t, for coordinates and directions v.

    Attributes
    ----------
    supported
        The coordinates whose series is known, as a mask of shape (d,).
    unsupported
        The coordinates whose series is not known, by the name of a primitive that it would have to
        go through.
    cost
        The time for the series along all supported coordinates of one draw, in units of one
        evaluation of the log density; an estimate from the sizes of all that is computed.
    """

    program: Program
    d: int
    order: int
    wide: bool
    supported: np.ndarray
    unsupported: dict[str, np.ndarray]
    cost: float
    _groups: list[Group] = field(repr=False)
    _block: Program = field(repr=False)
    _plain_work: float = field(repr=False)
    _along_directions: dict[int, tuple[Callable, float]] = field(default_factory=dict, repr=False)
    _values: dict[tuple[int, ...], Callable] = field(default_factory=dict, repr=False)

    @cached_property
    def uses_lapack(self) -> bool:
        """Whether many values along lines at once can wait for each other forever: see `blocks`."""
        return not LAPACK.isdisjoint(equation.name for equation in self.program.equations)

    @cached_property
    def moves_lapack(self) -> np.ndarray:
        """The coordinates whose lines move a factorisation or its like, as a mask (d,).

        Values along the other lines are computed with the factorisation of the draw.
        """
        mask = np.ones(self.d, dtype=bool)
        for group in self._without_lapack:
            mask[group.coordinates] = False
        return mask

    @cached_property
    def _without_lapack(self) -> list[Group]:
        return [
            group
            for group in self._groups
            if LAPACK.isdisjoint(
                equation.name for equation in displaced_equations(self.program, group.moving)
            )
        ]

    def coordinate_series(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d order"]:
        """c_k = (d/dt)^k log p(x + t e_j) / k! at t = 0, for k from 0 to the order.

        NaN along the coordinates that are not supported.
        """
        return self._call(self._along_coordinates, x, self.d)

    def direction_series(
        self, x: Float[np.ndarray, "n d"], directions: Float[np.ndarray, "c d"]
    ) -> Float[np.ndarray, "n c order"]:
        """c_k = (d/dt)^k log p(x + t v) / k! at t = 0, for every row v of `directions`.

        Every direction may move everything. Raises `Unsupported` unless all coordinates are
        supported.
        """
        along, _ = self._directions(len(directions))
        return self._call(lambda *rows: along(*rows, directions), x, len(directions))

    def direction_cost(self, n_directions: int) -> float:
        """The time for the series along so many directions, as `cost`."""
        return self._directions(n_directions)[1]

    def coordinate_values(
        self, x: Float[np.ndarray, "n d"], steps: Float[np.ndarray, "n d point"]
    ) -> Float[np.ndarray, "n d point"]:
        """log p(x + t e_j) at the steps t; NaN along the coordinates in `moves_lapack`."""
        points = steps.shape[2]
        if (points,) not in self._values:
            with precision(self.wide):
                groups = self._without_lapack
                self._values[points,] = compile_line_values(self.program, points, groups)
        return self._values[points,](x, steps)

    def values_and_slopes(
        self,
        x: Float[np.ndarray, "n d"],
        coordinates: Int[np.ndarray, " n"],
        steps: Float[np.ndarray, "n point"],
    ) -> Float[np.ndarray, "n point 2"]:
        """log p(x + t e_j) and its slope at the steps t, along one coordinate of every draw.

        The coordinates must not be in `moves_lapack`.
        """
        return self._single_lines(x, coordinates, steps)

    @cached_property
    def _single_lines(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
        moving = frozenset[int]().union(*(group.moving for group in self._without_lapack))
        with precision(self.wide):
            return compile_single_lines(self.program, moving)

    def direction_values(
        self,
        x: Float[np.ndarray, "n d"],
        directions: Float[np.ndarray, "c d"],
        steps: Float[np.ndarray, "n c point"],
    ) -> Float[np.ndarray, "n c point"]:
        """log p(x + t v) at the steps t, for every row v of `directions`."""
        key = steps.shape[1:]
        if key not in self._values:
            with precision(self.wide):
                self._values[key] = compile_line_values(self.program, key[1], key[0])
        return self._values[key](x, steps, directions)

    def _directions(self, n_directions: int) -> tuple[Callable[..., Array], float]:
        if n_directions not in self._along_directions:
            self._along_directions[n_directions] = self._compile_directions(n_directions)
        return self._along_directions[n_directions]

    def _compile_directions(self, n_directions: int) -> tuple[Callable[..., Array], float]:
        program, order = self.program, self.order
        may_move = program.moved_from(program.inputs)

        def of_draw(x: Array, directions: Array) -> Array:
            values = program.evaluate([x])
            found = along_seeds(program, program.equations, values, directions, may_move, order, {})
            value = values[program.outputs[0]]
            return jnp.concatenate([jnp.broadcast_to(value, (n_directions, 1)), found], axis=1)

        with precision(self.wide):
            (x,) = (program.types[i] for i in program.inputs)
            block = trace(
                jax.vmap(of_draw, (0, None)),
                jax.ShapeDtypeStruct((DRAWS_PER_BLOCK, self.d), x.dtype),
                jax.ShapeDtypeStruct((n_directions, self.d), x.dtype),
            )
        return compile_blocks(block), work(block) / self._plain_work

    def _call(self, function: Callable, x: np.ndarray, n_lines: int) -> np.ndarray:
        rows = min(BYTES_PER_CALL // (8 * n_lines * (self.order + 1)), ROWS_PER_CALL)
        out = np.empty((len(x), n_lines, self.order + 1))
        with precision(self.wide):
            call_on_blocks(function, x, out, rows)
        return out

    @cached_property
    def _along_coordinates(self) -> Callable[[np.ndarray, int], Array]:
        return compile_blocks(self._block)


def plan_series(log_density: Callable[[Array], Array], d: int, order: int) -> SeriesPlan:
    """Trace a log density in the current precision, and find out what each coordinate moves.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np
    >>> plan = plan_series(lambda x: jnp.sum(jnp.exp(x)), 2, 3)
    >>> print(plan.coordinate_series(np.zeros((1, 2)))[0, 0])
    [2.         1.         0.5        0.16666667]
    """
    dtype = jax.dtypes.canonicalize_dtype(np.float64)
    program = trace(log_density, jax.ShapeDtypeStruct((d,), dtype))
    movement = find_movement(program, d)
    groups = find_groups(program, movement, find_dependence(program, d, movement))
    lines = np.concatenate([group.lines for group in groups])
    place = np.argsort(lines)[np.count_nonzero(lines < 0) :]
    refused: list[tuple[str, Group]] = []

    def of_draw(x: Array) -> Array:
        values = program.evaluate([x])
        remembered: dict = {}
        parts = []
        for group in groups:
            try:
                parts.append(lines_of_group(program, group, values, order, remembered))
            except Unsupported as error:
                refused.append((str(error), group))
                parts.append(jnp.full((len(group.lines), order), jnp.nan, x.dtype))
        value = values[program.outputs[0]]
        found = jnp.concatenate(parts)[place]
        return jnp.concatenate([jnp.broadcast_to(value, (d, 1)), found], axis=1)

    block = trace(jax.vmap(of_draw), jax.ShapeDtypeStruct((DRAWS_PER_BLOCK, d), dtype))
    supported = np.ones(d, dtype=bool)
    unsupported: dict[str, np.ndarray] = {}
    for name, group in refused:
        supported[group.coordinates] = False
        before = unsupported.get(name, np.empty(0, dtype=int))
        unsupported[name] = np.sort(np.concatenate([before, group.coordinates]))
    plain = trace(jax.vmap(log_density), jax.ShapeDtypeStruct((DRAWS_PER_BLOCK, d), dtype))
    return SeriesPlan(
        program,
        d,
        order,
        dtype == np.float64,
        supported,
        unsupported,
        work(block) / work(plain),
        groups,
        block,
        work(plain),
    )
