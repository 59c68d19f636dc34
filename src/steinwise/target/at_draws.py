"""A target of which only the scores at the draws are known."""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from steinwise._internal.validation import require_flag
from steinwise.errors import InputError, TargetError
from steinwise.target.base import AbstractTarget, check_dimension
from steinwise.target.support import require_support, undeclared


@dataclass(frozen=True, eq=False)
class ScoresAtDraws(AbstractTarget):
    """Scores in the shape of the draws; see `Target.at_draws`.

    Whoever computes with draws gives them these scores first (`Samples.with_scores`), and takes
    them from there ever after, so that both are thinned, split and read together.
    """

    scores: Any
    noisy: bool = False
    support: Any = undeclared

    def __post_init__(self) -> None:
        require_flag("noisy", self.noisy)
        require_support(self.support)
        if self._shape() is None:
            raise InputError(
                f"scores is of type {type(self.scores).__name__}: expected an array of floats in "
                "the shape of the draws, (n, d) or (chain, draw, d). A function that computes the "
                "score of draws goes into sw.Target.from_score."
            )

    def _shape(self) -> tuple[int, ...] | None:
        """The shape of the scores, which may be stored anywhere; None if they cannot be any."""
        given = getattr(self.scores, "values", self.scores)  # of a Samples or a data frame
        try:
            array = given if hasattr(given, "shape") else np.asarray(given)
        except ValueError:  # rows of unequal length
            return None
        floats = str(array.dtype).rpartition(".")[-1] in ("float32", "float64")
        return tuple(array.shape) if floats and array.ndim in (2, 3) else None

    def prepare(self, d: int) -> str:
        shape = self._shape()
        assert shape is not None
        check_dimension(int(shape[-1]), d)
        single = str(getattr(self.scores, "dtype", "")).endswith("float32")
        return "float32" if single else "float64"

    def _refuse(self, *arguments: Any, **options: Any) -> NoReturn:  # noqa: ARG002
        raise TargetError(
            "only the scores at the draws are known, sw.Target.at_draws(scores): the density "
            "cannot be evaluated at any point. sw.check and the discrepancies give the scores to "
            "the draws; Samples.with_scores(scores, target) does it by hand."
        )

    score = line_scores = line_values = direction_values = block_scores = _refuse
