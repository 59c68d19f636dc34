"""What a method learned from a part of the draws, before it tested the others."""

from dataclasses import asdict, dataclass
from typing import Any

from steinwise._internal.notes import Note, note

NAMES_SHOWN = 5


@dataclass(frozen=True)
class LearnedConditional:
    """The model of one coordinate's (or block's) conditional, and how well it predicts.

    Losses are minus the mean log density of the validation draws: under the model, and under the
    coordinate's marginal distribution, which knows nothing of the other coordinates.
    """

    name: str
    model: str
    validation_loss: float | None  # None where the model has no density
    marginal_loss: float


@dataclass(frozen=True)
class Learning:
    """How the draws were split, and what was learned."""

    train: int
    validation: int
    tested: int
    splits: int
    rows: tuple[LearnedConditional, ...]  # of the first split

    def no_better(self) -> list[str]:
        """The names of the coordinates that their marginal distribution predicts as well."""
        return [
            row.name
            for row in self.rows
            if row.validation_loss is not None and row.validation_loss >= row.marginal_loss
        ]

    def notes(self) -> tuple[Note, ...]:
        names = self.no_better()
        if not names:
            return ()
        shown = ", ".join(names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")
        counts = {"count": len(names), "of": len(self.rows), "train": self.train}
        return (note("nothing learned", names=shown, **counts),)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python objects."""
        return asdict(self) | {"rows": [asdict(row) for row in self.rows]}
