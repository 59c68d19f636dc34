"""The border for draws: everything that can be wrong with the user's array is answered here."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float64, Int

from steinwise.chains import row_autocorrelation
from steinwise.errors import InputError

FARTHEST = 1e100  # in absolute value


@dataclass(frozen=True, eq=False)
class Places:
    """Where rows stand among the draws that were given."""

    draws: Int[np.ndarray, " draw"]  # the same in every chain

    def of(self, row: int) -> tuple[int, int]:
        """The chain and the number of the draw."""
        chain, position = divmod(row, len(self.draws))
        return chain, int(self.draws[position])


@dataclass(frozen=True, eq=False)
class Samples:
    """Draws of shape (chain, draw, d) with the names of their coordinates.

    Build one with `Samples.of`, which checks what it is given.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(size=(4, 250, 2))
    >>> sw.Samples.of(draws, names=["mu", "log_sigma"])
    Samples(4 chains x 250 draws, 2 coordinates: mu, log_sigma)
    """

    values: Float64[np.ndarray, "chain draw d"]
    names: tuple[str, ...]
    independent: bool
    numbers: Int[np.ndarray, " draw"] | None = None  # of the draws, where they are a part of all

    @classmethod
    def of(
        cls,
        draws: Any,
        *,
        names: Sequence[str] | None = None,
        independent: bool | None = None,
    ) -> "Samples":
        """Check the user's draws and give them their shape.

        Parameters
        ----------
        draws
            (n, d) for independent draws, (chain, draw, d) for MCMC, a data frame with a column
            per coordinate, or a Samples.
        names
            One name per coordinate; x[0], x[1], ... otherwise.
        independent
            Whether the draws are independent. By default (n, d) is, unless its rows are visibly
            autocorrelated, which is refused; (chain, draw, d) is not.
        """
        if isinstance(draws, Samples):
            given = draws if names is None else replace(draws, names=_names(names, draws.dim))
            return given if independent is None else replace(given, independent=bool(independent))
        if names is None and hasattr(draws, "columns") and hasattr(draws, "to_numpy"):
            names = [str(column) for column in draws.columns]
        array = _to_array(draws)
        _check_axes(array)
        labels = _names(names, array.shape[-1])
        _check_values(array, labels)
        if array.ndim == 2 and independent is None:
            _refuse_autocorrelated(array, labels)
        chains = array if array.ndim == 3 else array[None]
        return cls(chains, labels, array.ndim == 2 if independent is None else bool(independent))

    @property
    def n_chains(self) -> int:
        return self.values.shape[0]

    @property
    def n_draws(self) -> int:
        """Draws per chain."""
        return self.values.shape[1]

    @property
    def n(self) -> int:
        """Draws in all."""
        return self.n_chains * self.n_draws

    @property
    def dim(self) -> int:
        return self.values.shape[2]

    @property
    def rows(self) -> Float64[np.ndarray, "n d"]:
        """All draws, one chain after the other."""
        return self.values.reshape(-1, self.dim)

    @property
    def places(self) -> Places:
        """Which of the draws that were given these are."""
        return Places(np.arange(self.n_draws) if self.numbers is None else self.numbers)

    def in_order(self, order: Int[np.ndarray, " draw"]) -> "Samples":
        """The draws of every chain in another order."""
        return replace(self, values=self.values[:, order], numbers=self.places.draws[order])

    def split(self, *fractions: float) -> tuple["Samples", ...]:
        """Consecutive parts of every chain with these shares of its draws; the last takes the rest.

        >>> import numpy as np, steinwise as sw
        >>> draws = np.random.default_rng(0).normal(size=(2, 10, 1))
        >>> [part.n_draws for part in sw.Samples.of(draws).split(0.2, 0.1, 0.7)]
        [2, 1, 7]
        """
        ends = np.cumsum(part_sizes(fractions, self.n_draws))[:-1]
        parts = np.split(self.values, ends, axis=1)
        numbers = np.split(self.places.draws, ends)
        both = zip(parts, numbers, strict=True)
        return tuple(replace(self, values=part, numbers=which) for part, which in both)

    def __repr__(self) -> str:
        draws = f"{self.n} independent draws"
        if not self.independent:
            s = "" if self.n_chains == 1 else "s"
            draws = f"{self.n_chains} chain{s} x {self.n_draws} draws"
        shown = ", ".join(self.names[:5]) + (", ..." if self.dim > 5 else "")
        return f"Samples({draws}, {self.dim} coordinate{'s' * (self.dim > 1)}: {shown})"


def part_sizes(fractions: Sequence[float], n: int) -> list[int]:
    """How many of n draws each share comes to; the last takes the rest.

    >>> part_sizes((0.2, 0.1, 0.7), 28)
    [6, 2, 20]
    """
    ends = np.round(np.cumsum(fractions)[:-1] * n).astype(int)
    return np.diff([0, *ends, n]).tolist()


def _to_array(draws: Any) -> np.ndarray:
    from jax.core import Tracer

    if isinstance(draws, Tracer):
        raise InputError(
            "draws is a JAX tracer: this function runs on the host and cannot be called inside "
            "jit, vmap or grad. Use the pure functions of sw.functional there."
        )
    if isinstance(draws, dict):
        raise InputError(
            f"draws is a dict with {sorted(map(str, draws))[:5]}: expected one array whose last "
            "axis is the coordinate. Concatenate the unconstrained parameters along the last axis "
            "(jax.flatten_util.ravel_pytree does it for one draw)."
        )
    if np.ma.is_masked(draws):
        raise InputError(
            f"draws is a masked array with {np.ma.count_masked(draws)} masked entries: expected "
            "every entry of every draw. np.ma.compress_rows(draws) drops the rows that have any."
        )
    try:
        array = np.asarray(draws)
    except Exception as error:
        raise InputError(
            f"draws of type {type(draws).__name__} cannot become a NumPy array: {error}"
        ) from error
    if array.dtype.kind in "iub":
        raise InputError(
            f"draws have dtype {array.dtype}: expected floats. Stein's identity needs continuous "
            "parameters; discrete ones cannot be checked. If these are real numbers that happen "
            "to be whole, pass draws.astype(float)."
        )
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise InputError(
            f"draws have dtype {array.dtype}: expected float32 or float64. "
            + (
                "Rows of unequal length or mixed types make an object array."
                if array.dtype.kind == "O"
                else "Convert them yourself, so that nothing is cast down unseen."
            )
        )
    return array.astype(np.float64)


def _check_axes(array: np.ndarray) -> None:
    if array.ndim not in (2, 3):
        hint = "For one coordinate pass draws[:, None]." if array.ndim == 1 else ""
        raise InputError(
            f"draws have shape {array.shape}, {array.ndim} axes: expected (n, d) for independent "
            f"draws or (chain, draw, d) for MCMC. {hint}".rstrip()
        )
    if 0 in array.shape:
        raise InputError(f"draws have shape {array.shape}: there is nothing to check.")
    if array.ndim == 3 and array.shape[0] > array.shape[1]:
        raise InputError(
            f"draws have shape {array.shape}: {array.shape[0]} chains with {array.shape[1]} draws "
            "each. The order of the axes is (chain, draw, d); if these are (draw, chain, d), pass "
            "np.swapaxes(draws, 0, 1). For many short independent runs pass their last draws as "
            "(n, d)."
        )
    if array.shape[-2] < 2:
        raise InputError(
            f"draws have shape {array.shape}: at least 2 draws are needed"
            + (" in each chain." if array.ndim == 3 else ". Is this (d, n)? Pass draws.T then.")
        )


def _names(names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x[{j}]" for j in range(d))
    labels = tuple(names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in labels):
        raise InputError(f"names is {names!r}: expected a sequence of strings.")
    if len(labels) != d:
        raise InputError(f"{len(labels)} names came for {d} coordinates: {labels[:5]}...")
    if len(set(labels)) != d:
        twice = next(name for name in labels if labels.count(name) > 1)
        raise InputError(f"the name {twice!r} stands for more than one coordinate.")
    return labels


def _check_values(array: np.ndarray, names: tuple[str, ...]) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        first = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise InputError(
            f"{int((~finite).sum())} of {array.size} draws are NaN or infinite; the first is "
            f"{array[first]} at index {first} ({names[first[-1]]}). Did the sampler diverge, or is "
            "a bounded parameter at its bound, which the transform sends to infinity?"
        )
    if np.abs(array).max() > FARTHEST:
        first = tuple(int(i) for i in np.argwhere(np.abs(array) > FARTHEST)[0])
        raise InputError(
            f"a draw has the value {array[first]:.3g} at index {first} ({names[first[-1]]}), "
            f"beyond {FARTHEST:g}: its square overflows. Did the sampler diverge?"
        )
    flat = array.reshape(-1, array.shape[-1])
    constant = np.flatnonzero(flat.min(axis=0) == flat.max(axis=0))
    if constant.size:
        shown = ", ".join(f"{names[j]} = {flat[0, j]:.6g}" for j in constant[:5])
        raise InputError(
            f"{constant.size} of {len(names)} coordinates never change: {shown}. Drop them from "
            "the draws and fix them in the density, or look why the sampler never moved them."
        )


def _refuse_autocorrelated(array: np.ndarray, names: tuple[str, ...]) -> None:
    found = row_autocorrelation(array)
    if found is None:
        return
    raise InputError(
        f"draws have shape {array.shape}, which stands for independent draws, but their rows are "
        f"autocorrelated: {found.value:.2f} at lag {found.lag} in {names[found.coordinate]} "
        f"({found.how}). One MCMC chain has this shape; taken as independent it can be rejected "
        "whatever its law. The fix is draws[None] for one chain, or the shape (chain, draw, d) for "
        "several; pass independent=True if the draws are independent and the order of the rows "
        "means nothing (a sorted data set: shuffle it)."
    )
