"""Which coordinates go through the equations together.

Coordinates that move the same values form a group: one pass carries all of them, each as a line of
its own, and what none of them moves costs nothing. If coordinates of a group share no entry of any
value until everything is summed up, they have the same *colour* and even move along one line: the
entries say which coordinate they belong to, and the last sum is taken for each of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from steinwise.target.series.movement import Movement, union
from steinwise.target.series.program import PIECEWISE_CONSTANT, Equation, Program

# After the sums, every coordinate is a line again: values must be this small there.
LARGEST_AFTER_SUMS = 16
# Lines of one group share their coefficients, so a few of them cost less than a colour does.
COORDINATES_PER_COLOUR = 4
# Groups are merged if they share this much of what they move, and if no value has more entries,
# over all lines together: then it takes less time to compile and hardly more to run. Where they
# share an equation whose series is a long one for any line, the time to run is that anyway.
LEAST_IN_COMMON = 0.5
MOST_ENTRIES = 512
MOST_ENTRIES_WITH_LONG_SERIES = 4096
LONG_SERIES = frozenset({"cholesky", "triangular_solve", "lu", "custom_linear_solve", "scan"})


@dataclass(frozen=True, eq=False)
class Colouring:
    """Coordinates of a group by colour, and where their entries are summed up."""

    coordinates: np.ndarray  # (colour, line), -1 where a colour has fewer lines
    owners: dict[int, np.ndarray]  # for every sum: (colour, entry), the line; n_lines for none
    before: tuple[Equation, ...]  # up to the sums
    sums: tuple[Equation, ...]
    after: tuple[Equation, ...]


@dataclass(frozen=True, eq=False)
class Group:
    """Coordinates that move the same values."""

    coordinates: np.ndarray
    moving: frozenset[int]
    equations: tuple[Equation, ...]  # those that move
    colouring: Colouring | None

    @property
    def lines(self) -> np.ndarray:
        """The coordinates in the order of the group's pass, -1 for a line that is not used."""
        return self.coordinates if self.colouring is None else self.colouring.coordinates.ravel()


def find_groups(
    program: Program, movement: dict[int, Movement], dependence: dict[int, Movement]
) -> list[Group]:
    """The coordinates in groups, in the order of their first ones.

    `dependence` is what a coordinate changes, `movement` what it changes without a jump.
    """
    values = sorted(movement)
    moves = np.stack([movement[i].coordinates() for i in values], axis=1)
    patterns, first, member = np.unique(moves, axis=0, return_index=True, return_inverse=True)
    groups: list[Group] = []
    for k in np.argsort(first):
        coordinates = np.flatnonzero(member.ravel() == k)
        moving = frozenset(i for i, moved in zip(values, patterns[k], strict=True) if moved)
        equations = _equations(program, moving)
        colouring = find_colouring(program, dependence, coordinates, moving, equations)
        group = Group(coordinates, moving, equations, colouring)
        partner = next((other for other in groups if _are_alike(program, group, other)), None)
        if partner is None:
            groups.append(group)
        else:
            groups[groups.index(partner)] = Group(
                np.concatenate([partner.coordinates, coordinates]),
                partner.moving | moving,
                _equations(program, partner.moving | moving),
                None,
            )
    return groups


def _equations(program: Program, moving: frozenset[int]) -> tuple[Equation, ...]:
    return tuple(
        equation
        for equation in program.equations
        if equation.name not in PIECEWISE_CONSTANT
        and not moving.isdisjoint(equation.inputs)
        and not moving.isdisjoint(equation.outputs)
    )


def _are_alike(program: Program, a: Group, b: Group) -> bool:
    """Whether two groups had better be one, to compile their equations once.

    It costs time to run: a product of two values that move, each for other lines, is a product of
    two series. So they must be small, and most of what they move must be the same.
    """
    if a.colouring is not None or b.colouring is not None:
        return False
    both, either = a.moving & b.moving, a.moving | b.moving
    if both.isdisjoint(program.outputs):
        return False
    entries = [sum(map(program.size, values)) for values in (both, either)]
    n_lines = len(a.coordinates) + len(b.coordinates)
    shared = {equation.name for equation in a.equations} & {e.name for e in b.equations}
    most = MOST_ENTRIES_WITH_LONG_SERIES if shared & LONG_SERIES else MOST_ENTRIES
    largest = max(map(program.size, either))
    return entries[0] >= LEAST_IN_COMMON * entries[1] and largest * n_lines <= most


def find_colouring(
    program: Program,
    dependence: dict[int, Movement],
    coordinates: np.ndarray,
    moving: frozenset[int],
    equations: Sequence[Equation],
) -> Colouring | None:
    """Colours for a group, or None where its coordinates are better moved one by one."""
    if len(coordinates) == 1 or moving.isdisjoint(program.outputs):
        return None
    parts = _split_at_sums(program, moving, equations)
    if parts is None:
        return None
    before, sums, after = parts
    if _jumps_elsewhere(program, dependence, coordinates, moving, sums):
        return None
    entries = [dependence[i] for equation in before for i in equation.outputs if i in moving]
    summands = {equation.outputs[0]: _summands(dependence, equation) for equation in sums}
    clash = sparse.csr_array((len(coordinates), len(coordinates)), dtype=np.int8)
    for part in (*entries, *summands.values()):
        if part.some is None or part.everywhere[coordinates].any():
            return None
        chosen = part.some[:, coordinates]
        clash = ((clash + chosen.T @ chosen) > 0).astype(np.int8)
    colours = _greedy_colours(clash)
    n_colours = int(colours.max()) + 1
    if n_colours > max(1, len(coordinates) // COORDINATES_PER_COLOUR):
        return None
    lines = [np.flatnonzero(colours == colour) for colour in range(n_colours)]
    n_lines = max(map(len, lines))
    by_colour = np.full((n_colours, n_lines), -1)
    line = np.empty(len(coordinates), dtype=int)
    for colour, members in enumerate(lines):
        by_colour[colour, : len(members)] = coordinates[members]
        line[members] = np.arange(len(members))
    owners = {}
    for value, part in summands.items():
        owners[value] = np.full((n_colours, part.size), n_lines, dtype=np.int32)
        entry, member = part.some[:, coordinates].nonzero()
        owners[value][colours[member], entry] = line[member]
    return Colouring(by_colour, owners, before, sums, after)


def _split_at_sums(
    program: Program, moving: frozenset[int], equations: Sequence[Equation]
) -> tuple[tuple[Equation, ...], ...] | None:
    """Equations up to the sums over all entries, the sums, and what is done with these."""
    summed: set[int] = set()
    before, sums, after = [], [], []
    for equation in equations:
        moved = {i for i in equation.inputs if i in moving}
        outputs = [i for i in equation.outputs if i in moving]
        if moved & summed:
            if not moved <= summed or any(program.size(i) > LARGEST_AFTER_SUMS for i in outputs):
                return None
            after.append(equation)
            summed.update(outputs)
        elif _is_full_sum(program, equation):
            sums.append(equation)
            summed.update(outputs)
        else:
            before.append(equation)
    if not summed.issuperset(moving.intersection(program.outputs)):
        return None
    return tuple(before), tuple(sums), tuple(after)


def _jumps_elsewhere(
    program: Program,
    dependence: dict[int, Movement],
    coordinates: np.ndarray,
    moving: frozenset[int],
    sums: Sequence[Equation],
) -> bool:
    """Whether a comparison or step of what moves has an effect that no sum takes up."""
    jumped = {
        i
        for i, part in dependence.items()
        if i not in moving and part.coordinates()[coordinates].any()
    }
    through_sums = {id(e) for e in (*needed_for(program, sums), *sums)}
    return any(
        id(equation) not in through_sums and not jumped.isdisjoint(equation.inputs)
        for equation in program.equations
    )


def needed_for(program: Program, sums: Sequence[Equation]) -> list[Equation]:
    """The equations between the point and the sums, comparisons and steps included."""
    needed = {i for equation in sums for i in equation.inputs}
    chosen = []
    for equation in reversed(program.equations):
        varies = not program.varying.isdisjoint(equation.inputs)
        if varies and not needed.isdisjoint(equation.outputs):
            needed.update(equation.inputs)
            chosen.append(equation)
    return chosen[::-1]


def _is_full_sum(program: Program, equation: Equation) -> bool:
    if program.types[equation.outputs[0]].shape != ():
        return False
    if equation.name == "dot_general":
        return len(program.types[equation.inputs[0]].shape) == 1
    return equation.name == "reduce_sum"


def _summands(dependence: dict[int, Movement], equation: Equation) -> Movement:
    parts = [dependence[i] for i in equation.inputs if i in dependence]
    return union(parts, parts[0].size)


def _greedy_colours(clash: sparse.csr_array) -> np.ndarray:
    colours = np.full(len(clash.indptr) - 1, -1)
    for k in range(len(colours)):
        neighbours = colours[clash.indices[clash.indptr[k] : clash.indptr[k + 1]]]
        taken = set(neighbours.tolist())
        colours[k] = next(c for c in range(len(colours)) if c not in taken)
    return colours
