"""Columns of a table that say which draw a row is: its chain, and its place in that."""

from collections.abc import Sequence

import numpy as np

from steinwise._internal.escaping import printable
from steinwise.errors import InputError

CHAIN_COLUMNS = ("chain", ".chain", "chain__")  # the names that Stan, posterior and ArviZ use
DRAW_COLUMNS = ("draw", ".draw", "draw__", ".iteration")


def is_index(name: str) -> bool:
    """Whether a column of this name says which draw a row is, and is no coordinate."""
    return name.lower() in CHAIN_COLUMNS + DRAW_COLUMNS


def by_chain(shown: str, rows: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Rows as (chain, draw, d) if a column gives the chain, else as (n, d)."""
    lower = [name.lower() for name in names]
    chain = next((k for k, name in enumerate(lower) if name in CHAIN_COLUMNS), None)
    order = next((k for k, name in enumerate(lower) if name in DRAW_COLUMNS), None)
    kept = [k for k, name in enumerate(lower) if not is_index(name)]
    labels = [names[k] for k in kept]
    index = [k for k in (chain, order) if k is not None]
    for k in index:
        if not (rows[:, k] == np.round(rows[:, k])).all():
            raise InputError(f"column {printable(names[k])} of {shown} must have whole numbers.")
    if order is not None:
        _refuse_repeated(shown, rows[:, index], [names[k] for k in index])
        rows = rows[np.argsort(rows[:, order], kind="stable")]
    if chain is None:
        return rows[:, kept], labels
    numbers = np.unique(rows[:, chain])
    chains = [rows[rows[:, chain] == number] for number in numbers]
    if len({len(one_chain) for one_chain in chains}) > 1:
        sizes = {f"{number:g}": len(rows) for number, rows in zip(numbers, chains, strict=True)}
        raise InputError(f"the chains of {shown} differ in length: {sizes}.")
    return np.stack(chains)[:, :, kept], labels


def _refuse_repeated(shown: str, index: np.ndarray, names: Sequence[str]) -> None:
    """Refuse two rows for one draw: a file that was written twice, or chains without numbers."""
    found, counts = np.unique(index, axis=0, return_counts=True)
    if (counts > 1).any():
        first = found[counts > 1][0]
        draw = ", ".join(f"{name} {value:g}" for name, value in zip(names, first, strict=True))
        hint = "" if len(names) > 1 else " Several chains need a column 'chain'."
        raise InputError(f"more than one row of {shown} is {draw}.{hint}")
