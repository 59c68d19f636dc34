"""Warnings that point at the user's line, however many of our functions are in between."""

import sys
import warnings

from steinwise.errors import SteinwiseWarning

PACKAGE = __name__.partition(".")[0]


def warn_user(sentence: str) -> None:
    """Warn of something at the line that called this library from outside.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("this density is flat")
    >>> caught[0].category is SteinwiseWarning, caught[0].filename == __file__
    (True, False)
    """
    warnings.warn(sentence, SteinwiseWarning, stacklevel=_level_of_user() + 1)


def _level_of_user() -> int:
    """How many frames lie between the caller of this function and the user's, which counts too."""
    frame, level, ours = sys._getframe(1), 0, 0
    while frame is not None:
        level += 1
        if str(frame.f_globals.get("__name__")).partition(".")[0] == PACKAGE:
            ours = level
        frame = frame.f_back
    return ours
