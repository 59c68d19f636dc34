"""What the adapters share: labels of coordinates, flat draws, and errors for what is missing."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.target import AbstractTarget, Target

SOME = 5  # names shown in a message


@dataclass(frozen=True, eq=False)
class Variable:
    """The draws of one parameter as its library gives them: constrained, in its own shape."""

    values: np.ndarray  # (chain, draw, ...)
    index: tuple[tuple[str, ...], ...]  # the labels along each axis after (chain, draw)

    @classmethod
    def of(cls, values: Any) -> "Variable":
        """Draws (chain, draw, ...) whose entries are called by their position."""
        array = np.asarray(values)
        if array.ndim < 2:
            raise InputError(
                f"the draws of a parameter have shape {array.shape}: expected (chain, draw, ...). "
                "One chain is array[None]."
            )
        return cls(array, tuple(tuple(map(str, range(size))) for size in array.shape[2:]))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one draw."""
        return self.values.shape[2:]


@dataclass(frozen=True, eq=False)
class Block:
    """The unconstrained draws of one parameter, and the names of their coordinates."""

    values: np.ndarray  # (chain, draw, ...)
    labels: Sequence[str]

    @classmethod
    def of(cls, name: str, values: Any, variable: Variable, *, elementwise: bool) -> "Block":
        """`elementwise` where coordinate i decides entry i of the parameter and no other."""
        array = np.asarray(values)
        if elementwise and array.shape == variable.values.shape:
            return cls(array, labels(name, variable.index))
        # a scalar in, a vector out: a coordinate always has an index there
        shape = array.shape[2:] or (1,)
        positions = tuple(tuple(map(str, range(size))) for size in shape)
        return cls(array, labels(f"{name}.unconstrained", positions))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one unconstrained draw."""
        return self.values.shape[2:]


def labels(name: str, index: Sequence[Sequence[str]]) -> list[str]:
    """The name of every entry, the last axis first, as `az.summary` spells it.

    >>> labels("theta", [("0", "1"), ("a", "b")])
    ['theta[0, a]', 'theta[0, b]', 'theta[1, a]', 'theta[1, b]']
    >>> labels("mu", [])
    ['mu']
    """
    if not index:
        return [name]
    return [f"{name}[{', '.join(entry)}]" for entry in itertools.product(*index)]


def samples_of(blocks: Iterable[Block], independent: bool | None) -> Samples:
    """All coordinates of all parameters side by side."""
    parts = list(blocks)
    flat = [part.values.reshape(*part.values.shape[:2], -1).astype(np.float64) for part in parts]
    names = [label for part in parts for label in part.labels]
    return Samples.of(np.concatenate(flat, axis=2), names=names, independent=independent)


def split(x: Any, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """The parts of a flat vector (NumPy or JAX) in their shapes."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    starts = [0, *ends[:-1]]
    return [
        x[start:end].reshape(shape) for start, end, shape in zip(starts, ends, shapes, strict=True)
    ]


def host_target(evaluate: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]) -> AbstractTarget:
    """A target from a function (n, d) -> log densities (n,) and scores (n, d).

    The target asks for both at the same points, one after the other; they are computed once.
    """
    last: list[Any] = [None, None]

    def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if last[0] is None or not np.array_equal(last[0], x):
            last[:] = x.copy(), evaluate(x)
        return last[1]

    return Target.from_score(lambda x: at(x)[1], lambda x: at(x)[0])


def by_rows(
    one: Callable[[np.ndarray], tuple[float, np.ndarray]], failures: tuple[type[Exception], ...]
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """A function of one draw for a batch; where it fails, far out on a line, the density is 0."""

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, scores = np.full(len(x), -np.inf), np.full(x.shape, np.nan)
        for i, row in enumerate(x):
            try:
                values[i], scores[i] = one(row)
            except failures:
                continue
        return values, scores

    return evaluate


def require_parameters(
    draws: Mapping[str, Variable], shapes: Mapping[str, tuple[int, ...]], what: str
) -> None:
    """Refuse draws that lack a parameter of the model, or entries of one."""
    missing = [name for name in shapes if name not in draws]
    if missing:
        raise InputError(
            f"the draws have no {', '.join(missing[:SOME])}, which {what} samples; they have "
            f"{', '.join(sorted(draws)[:SOME])}. The density is that of all parameters together, "
            "so none can be left out by var_names, and the model's arguments must be those of the "
            "run. Pass all, and look at the rows you want: "
            f"result.to_dataframe().filter(like={next(iter(draws), 'theta')!r}, axis=0)."
        )
    sizes = {name: draws[name].values.shape[:2] for name in shapes}
    if len(set(sizes.values())) > 1:
        raise InputError(f"parameters differ in their numbers of chains and draws: {sizes}.")
    for name, shape in shapes.items():
        if draws[name].shape != tuple(shape):
            raise InputError(
                f"the draws of {name} have shape {draws[name].shape}, and {what} has {name} of "
                f"shape {tuple(shape)}. Coords that leave out entries of a parameter leave no "
                "density to test against; coords of chain and draw are fine. Or is the model built "
                "on other data than the draws?"
            )


def refuse_discrete(names: Sequence[str]) -> None:
    """Refuse a model with discrete parameters, by name."""
    if names:
        raise InputError(
            f"discrete parameters cannot be checked: {', '.join(names[:SOME])}. Stein's identity "
            "needs a density on the real line. Sum them out of the model, or fix them."
        )
