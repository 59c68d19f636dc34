"""Taylor series of a log density along coordinates and directions, planned once."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import jax
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
from steinwise.target.series.passes import coordinate_block, direction_block
from steinwise.target.series.program import Program, trace
from steinwise.target.series.tracking import find_dependence, find_movement

BYTES_PER_CALL = 2**27  # of the results of one call
# One pass for coordinates and directions alike takes longer to run than a pass for each group of
# coordinates, and half as long to compile. It is taken where it runs at most so long for a draw, in
# multiplications, or 0.2 ms: at most 0.4 seconds more for 4000 draws, and one to five less to
# compile, with the models of `benchmarks.numpyro_models`.
MOST_WORK_OF_ONE_PASS = 2**19
MOST_LINES_OF_ONE_PASS = 16  # which it has for directions too, of which there are 10 or fewer


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
    one_pass
        Whether coordinates are directions like any others, in the same compiled functions; else
        each group of them has a pass of its own.
    """

    program: Program
    d: int
    order: int
    wide: bool
    supported: np.ndarray
    unsupported: dict[str, np.ndarray]
    cost: float
    one_pass: bool
    _groups: Callable[[], list[Group]] = field(repr=False)
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
        mask = np.full(self.d, self.uses_lapack)
        for group in self._without_lapack if self.uses_lapack else ():
            mask[group.coordinates] = False
        return mask

    @cached_property
    def _without_lapack(self) -> list[Group]:
        return [
            group
            for group in self._groups()
            if LAPACK.isdisjoint(
                equation.name for equation in displaced_equations(self.program, group.moving)
            )
        ]

    def coordinate_series(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d order"]:
        """c_k = (d/dt)^k log p(x + t e_j) / k! at t = 0, for k from 0 to the order.

        NaN along the coordinates that are not supported.
        """
        if self.one_pass:
            return self.direction_series(x, np.eye(self.d))
        return self._call(self._along_coordinates, x, self.d)

    def direction_series(
        self, x: Float[np.ndarray, "n d"], directions: Float[np.ndarray, "c d"]
    ) -> Float[np.ndarray, "n c order"]:
        """c_k = (d/dt)^k log p(x + t v) / k! at t = 0, for every row v of `directions`.

        Every direction may move everything. Raises `Unsupported` unless all coordinates are
        supported.
        """
        filled = self._filled_up(directions)
        along, _ = self._directions(len(filled))
        found = self._call(lambda *rows: along(*rows, filled), x, len(filled))
        return found[:, : len(directions)]

    def direction_cost(self, n_directions: int) -> float:
        """The time for the series along so many directions, as `cost`."""
        if self.one_pass and n_directions <= self.d:
            return self.cost * n_directions / self.d
        return self._directions(n_directions)[1]

    def _filled_up(self, lines: np.ndarray) -> np.ndarray:
        """As many lines as there are coordinates, for a pass that both share."""
        if not self.one_pass or len(lines) >= self.d:
            return lines
        return lines[np.minimum(np.arange(self.d), len(lines) - 1)]

    def coordinate_values(
        self, x: Float[np.ndarray, "n d"], steps: Float[np.ndarray, "n d point"]
    ) -> Float[np.ndarray, "n d point"]:
        """log p(x + t e_j) at the steps t; NaN along the coordinates in `moves_lapack`."""
        if self.one_pass and not self.uses_lapack:
            return self.direction_values(x, np.eye(self.d), steps)
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
        filled = self._filled_up(directions)
        key = len(filled), steps.shape[2]
        if key not in self._values:
            with precision(self.wide):
                self._values[key] = compile_line_values(self.program, key[1], key[0])
        steps_of_lines = self._filled_up(steps.swapaxes(0, 1)).swapaxes(0, 1)
        return self._values[key](x, steps_of_lines, filled)[:, : len(directions)]

    def _directions(self, n_directions: int) -> tuple[Callable[..., Array], float]:
        if n_directions not in self._along_directions:
            self._along_directions[n_directions] = self._compile_directions(n_directions)
        return self._along_directions[n_directions]

    def _compile_directions(self, n_directions: int) -> tuple[Callable[..., Array], float]:
        if self.one_pass and n_directions == self.d:
            return compile_blocks(self._block), self.cost
        with precision(self.wide):
            block = direction_block(self.program, n_directions, self.order)
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


def plan_series(
    log_density: Callable[[Array], Array],
    d: int,
    order: int,
    most_work: float = MOST_WORK_OF_ONE_PASS,
) -> SeriesPlan:
    """Trace a log density in the current precision, and find out what each coordinate moves.

    One pass for all coordinates if it is at most `most_work` for a draw, in multiplications.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np
    >>> plan = plan_series(lambda x: jnp.sum(jnp.exp(x)), 2, 3)
    >>> print(plan.coordinate_series(np.zeros((1, 2)))[0, 0])
    [2.         1.         0.5        0.16666667]
    """
    dtype = jax.dtypes.canonicalize_dtype(np.float64)
    program = trace(log_density, jax.ShapeDtypeStruct((d,), dtype))
    plain = trace(jax.vmap(log_density), jax.ShapeDtypeStruct((DRAWS_PER_BLOCK, d), dtype))
    wide = dtype == np.float64

    @functools.cache
    def groups() -> list[Group]:
        with precision(wide):
            movement = find_movement(program, d)
            return find_groups(program, movement, find_dependence(program, d, movement))

    supported = np.ones(d, dtype=bool)
    unsupported: dict[str, np.ndarray] = {}
    block = _small_pass(program, order, most_work)
    one_pass = block is not None
    if block is None:
        block, refused = coordinate_block(program, groups(), order)
        for name, group in refused:
            supported[group.coordinates] = False
            before = unsupported.get(name, np.empty(0, dtype=int))
            unsupported[name] = np.sort(np.concatenate([before, group.coordinates]))
    return SeriesPlan(
        program,
        d,
        order,
        wide,
        supported,
        unsupported,
        work(block) / work(plain),
        one_pass,
        groups,
        block,
        work(plain),
    )


def _small_pass(program: Program, order: int, most_work: float) -> Program | None:
    """One pass along as many directions as there are coordinates, or None if it is no small one."""
    (d,) = program.types[program.inputs[0]].shape
    if d > MOST_LINES_OF_ONE_PASS:
        return None
    try:
        block = direction_block(program, d, order)
    except Unsupported:
        return None
    return block if work(block) <= most_work * DRAWS_PER_BLOCK else None
