"""Words that agree with a count."""


def by_count(count: int, one: str, many: str) -> str:
    """The word that goes with a count.

    >>> f"1 {by_count(1, 'axis', 'axes')}, 2 {by_count(2, 'axis', 'axes')}"
    '1 axis, 2 axes'
    """
    return one if count == 1 else many


def counted(count: int, one: str, many: str = "") -> str:
    """A count and its noun; by default the plural has an s.

    >>> counted(1, "chain"), counted(3, "chain"), counted(0, "axis", "axes")
    ('1 chain', '3 chains', '0 axes')
    """
    return f"{count} {by_count(count, one, many or f'{one}s')}"
