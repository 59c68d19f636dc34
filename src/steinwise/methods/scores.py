r"""Complete conditionals by the scores at the draws alone.

For coordinate j and any function f of it, s_j f + f' has mean zero given all other coordinates when
the draws come from p (Stein), with s_j the score. Functions of that kind take the place of the
functions of u that the default method finds by following lines; all else is the same.
"""

from collections.abc import Sequence
from typing import ClassVar

from steinwise.methods.complete_conditionals.line_method import (
    SCORE_BASES,
    AbstractLineMethod,
    require_some,
)
from steinwise.methods.complete_conditionals.statistic import Follow


class Scores(AbstractLineMethod):
    """Stein terms of every coordinate from the scores at the draws: n gradients, and no more.

    What a sampler has computed anyway is enough. It finds shifts, widths, shapes and dependence,
    and names coordinates as the default method does, but it is nearly blind to tails and to faults
    that are small against a marginal and large against a narrow conditional: lines see these.

    Each coordinate is taken to a scale on which its draws look normal, so that skewed scores keep
    the level (see the page on methods).

    Parameters
    ----------
    bases
        Some of "shift", "spread" and "shape".
    contexts
        How a departure may vary with the other coordinates, as in `Transported`.
    directions
        Whether directions are looked at as well as the coordinates.
    coordinates
        The numbers of the coordinates that are tested, as in `Transported`.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(3).normal(size=(400, 3)) * [1.0, 1.0, 1.5]
    >>> result = sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)), method="scores")
    >>> result["x[2]"].verdict
    'draws are too wide (sd 1.5, about 1.0 expected)'
    """

    bases: Sequence[str] = SCORE_BASES

    name: ClassVar[str] = "scores"
    takes_noisy_scores: ClassVar[bool] = True  # the terms are linear in the scores

    def __check_init__(self) -> None:
        require_some("bases", self.bases, SCORE_BASES)

    @property
    def elsewhere(self) -> str:
        return ""

    @property
    def follow(self) -> Follow:
        return "none"

    @property
    def line_bases(self) -> Sequence[str]:
        return ()

    @property
    def score_bases(self) -> Sequence[str]:
        return self.bases

    def describe(self) -> str:
        return "complete conditionals by scores at the draws"
