"""Memory budgets, and chunks of rows that stay within them."""

import re
from collections.abc import Iterator

from steinwise.errors import InputError

SMALLEST_BUDGET = 2**20  # less would cut large problems into single rows
LARGEST_BUDGET = 2.0**63 - 2**10  # sizes are 64-bit integers
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def budget_bytes(memory: str | int | float) -> int:
    """A budget in bytes.

    >>> budget_bytes("1GiB")
    1073741824
    >>> budget_bytes("1.5 MB")
    1500000
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?(?:[eE][0-9]+)?)\s*([A-Za-z]*)\s*", str(memory))
    if match is None or match[2].upper() not in _UNITS:
        raise InputError(
            f"memory is {memory!r}: expected a number of bytes or a string such as '1GiB' or "
            "'500MB'."
        )
    size = float(match[1]) * _UNITS[match[2].upper()]
    if size < SMALLEST_BUDGET:
        raise InputError(f"memory is {memory!r}, {size:g} bytes: at least 1MiB is needed.")
    if size > LARGEST_BUDGET:
        raise InputError(f"memory is {memory!r}, {size:g} bytes: no machine has 2^63 bytes.")
    return int(size)


def even_size(n: int, most: int) -> int:
    """The size of chunks of n rows that are as few as with `most` rows in each, and equally long.

    >>> even_size(10, 7), even_size(10, 4), even_size(10, 20)
    (5, 4, 10)
    """
    return -(-n // -(-n // most))


def chunks(n: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `size` rows that together cover n rows."""
    size = max(1, size)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
