"""Small pieces of sentences: counts, lists, numbers."""

import math

LARGEST_WHOLE = 1e16  # about where floats skip whole numbers
MOST_DIGITS = 6
UNKNOWN = "?"  # in place of a number that cannot be estimated from these draws


def more_rows(count: int, shown: int) -> list[str]:
    """A line on the rows that a table does not show."""
    return [f"... and {count - shown} more"] if count > shown else []


def two_digits(number: float) -> str:
    """
    >>> [two_digits(number) for number in (1.0, 0.714, 12.3, 1234.5)]
    ['1.0', '0.71', '12', '1.2e+03']
    """
    return _to_digits(number, 2)


def to_distinct_digits(one: float, other: float) -> tuple[str, str]:
    """Two positive numbers to two digits, or as many as show that they differ.

    >>> to_distinct_digits(0.714, 1.0), to_distinct_digits(1.03, 1.0)
    (('0.71', '1.0'), ('1.03', '1.00'))
    >>> to_distinct_digits(1234.5, 823.0)
    ('1.2e+03', '8.2e+02')
    """
    apart = abs(one - other) / max(one, other)
    digits = 2 if apart == 0 else min(MOST_DIGITS, max(2, 1 - math.floor(math.log10(apart))))
    return _to_digits(one, digits), _to_digits(other, digits)


def _to_digits(number: float, digits: int) -> str:
    return f"{number:#.{digits}g}".replace(".e", "e").rstrip(".")


def value_text(value: float) -> str:
    """A value of a coordinate; a whole number with all of its digits.

    >>> value_text(1003641.0), value_text(-1.0), value_text(0.25)
    ('1003641', '-1', '0.25')
    """
    whole = value == round(value) and abs(value) < LARGEST_WHOLE
    return f"{value:.0f}" if whole else f"{value:g}"
