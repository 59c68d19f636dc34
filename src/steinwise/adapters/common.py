"""What the adapters share: labels of coordinates, flat draws, checks of parameters."""

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steinwise.draws.samples import ConstrainedScale, Samples
from steinwise.errors import InputError
from steinwise.target import AbstractTarget, Target
from steinwise.target.support import real

NAMES_SHOWN = 5  # in an error message


@dataclass(frozen=True, eq=False)
class Variable:
    """The draws of one parameter as the library returns them: constrained, in their shape."""

    values: np.ndarray  # (chain, draw, ...)
    index: tuple[tuple[str, ...], ...]  # the labels along each axis after (chain, draw)

    @classmethod
    def of(cls, values: Any) -> "Variable":
        """Draws (chain, draw, ...) whose entries are labelled by their position."""
        array = np.asarray(values)
        if array.ndim < 2:
            raise InputError(
                f"the draws of a parameter have shape {array.shape}: expected (chain, draw, ...). "
                "For one chain pass array[None]."
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
        """The block of a parameter, labelled like it if the transform is elementwise.

        That is, if coordinate i determines entry i of the parameter and nothing else.
        """
        array = np.asarray(values)
        if elementwise and array.shape == variable.values.shape:
            return cls(array, labels(name, variable.index))
        # labelled by position; the unconstrained form of a scalar gets an index too
        shape = array.shape[2:] or (1,)
        positions = tuple(tuple(map(str, range(size))) for size in shape)
        return cls(array, labels(f"{name}.unconstrained", positions))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one unconstrained draw."""
        return self.values.shape[2:]


def labels(name: str, index: Sequence[Sequence[str]]) -> list[str]:
    """The name of every entry, the last axis varying fastest, as in `az.summary`.

    >>> labels("theta", [("0", "1"), ("a", "b")])
    ['theta[0, a]', 'theta[0, b]', 'theta[1, a]', 'theta[1, b]']
    >>> labels("mu", [])
    ['mu']
    """
    if not index:
        return [name]
    return [f"{name}[{', '.join(entry)}]" for entry in itertools.product(*index)]


def samples_of(
    blocks: Iterable[Block], independent: bool | None, discrete: Collection[int] = ()
) -> Samples:
    """The coordinates of all parameters as one Samples; discrete ones may be constant."""
    blocks = list(blocks)
    names = [label for block in blocks for label in block.labels]
    return Samples.entered(
        flat_entries([block.values for block in blocks]),
        names=names,
        independent=independent,
        discrete=lambda _: discrete,
    )


def with_models_scale(
    samples: Samples,
    names: Sequence[str],
    values: np.ndarray,
    constrain: Callable[[np.ndarray], np.ndarray],
) -> Samples:
    """The same draws, which know their parameters on the scale of the model (tau, not log tau).

    Parameters
    ----------
    samples
        Unconstrained draws.
    names, values
        The entries of all parameters, and their draws (chain, draw, entry). An entry that is a
        coordinate as it stands, or that never changes, as in a corner of a matrix, is left out.
    constrain
        From unconstrained draws (n, d) to all entries, (n, entry).
    """
    entries = values.reshape(-1, len(names))
    coordinates = dict(zip(samples.names, samples.rows.T, strict=True))

    def differs(name: str, entry: np.ndarray) -> bool:
        return name not in coordinates or not np.array_equal(coordinates[name], entry)

    vary = np.ptp(entries, axis=0) > 0
    chosen = [k for k, name in enumerate(names) if vary[k] and differs(name, entries[:, k])]
    if not chosen:
        return samples
    scale = ConstrainedScale(tuple(names[k] for k in chosen), lambda x: constrain(x)[:, chosen])
    return replace(samples, constrained=scale)


def flat_entries(parameters: Sequence[np.ndarray]) -> np.ndarray:
    """Draws (chain, draw, ...) of several parameters as (chain, draw, entry)."""
    flat = [values.reshape(*values.shape[:2], -1).astype(np.float64) for values in parameters]
    return np.concatenate(flat, axis=2)


def split(x: Any, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """A flat vector (NumPy or JAX) cut into arrays of these shapes."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    starts = [0, *ends[:-1]]
    return [
        x[start:end].reshape(shape) for start, end, shape in zip(starts, ends, shapes, strict=True)
    ]


def split_rows(x: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """Draws (n, d) cut into arrays of n times these shapes."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    parts = np.split(x, ends[:-1], axis=1)
    return [part.reshape(len(x), *shape) for part, shape in zip(parts, shapes, strict=True)]


def host_target(
    evaluate: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], support: Any = real
) -> AbstractTarget:
    """A target from a function (n, d) -> log densities (n,) and scores (n, d).

    A target asks for both at the same points in turn, so the last result is kept.
    """
    last_points: np.ndarray | None = None
    last_result: Any = None

    def values_and_scores(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nonlocal last_points, last_result
        if last_points is None or not np.array_equal(last_points, x):
            last_points, last_result = x.copy(), evaluate(x)
        return last_result

    return Target.from_score(
        lambda x: values_and_scores(x)[1], lambda x: values_and_scores(x)[0], support=support
    )


def by_rows(
    of_one_draw: Callable[[np.ndarray], tuple[float, np.ndarray]],
    failures: tuple[type[Exception], ...],
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """A function of a batch from one of a single draw.

    Where it raises one of `failures`, as far out on a line, the density is taken as 0.
    """

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, scores = np.full(len(x), -np.inf), np.full(x.shape, np.nan)
        for i, row in enumerate(x):
            try:
                values[i], scores[i] = of_one_draw(row)
            except failures:
                continue
        return values, scores

    return evaluate


def require_parameters(
    draws: Mapping[str, Variable], shapes: Mapping[str, tuple[int, ...]], run: str = ""
) -> None:
    """Refuse draws that lack a parameter of the model, or entries of one.

    `run` says what else makes a model that of the draws.
    """
    missing = [name for name in shapes if name not in draws]
    if missing:
        absent = ", ".join(missing[:NAMES_SHOWN])
        raise InputError(
            f"the draws have no {absent}, which the model samples; they have "
            f"{', '.join(sorted(draws)[:NAMES_SHOWN])}. Is this the model that the "
            f"draws come from{run}? If it is, and {absent} was left out (by var_names, say): the "
            "density is the joint density of all parameters. Pass all of them, and look at the "
            "rows you want: "
            f"result.to_dataframe().filter(like={next(iter(draws), 'theta')!r}, axis=0)."
        )
    sizes = {name: draws[name].values.shape[:2] for name in shapes}
    if len(set(sizes.values())) > 1:
        raise InputError(f"the parameters differ in their numbers of chains and draws: {sizes}.")
    for name, shape in shapes.items():
        if draws[name].shape != tuple(shape):
            raise InputError(
                f"the draws of {name} have shape {draws[name].shape}, and the model has {name} of "
                f"shape {tuple(shape)}. Coords that leave out entries of a parameter leave no "
                "density to test against; coords of chain and draw are fine. Or was the model "
                "built on other data than the draws?"
            )
