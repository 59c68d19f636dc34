"""The answer of `sw.testing.check_invariance` and its kin: which function of a draw is off."""

from dataclasses import asdict, dataclass
from typing import Any

from steinwise._internal.random import plain_seed
from steinwise.results import wording
from steinwise.results.record import SCHEMA_VERSION
from steinwise.results.shown import Shown


@dataclass(frozen=True)
class Change:
    """What the steps do to one function of a draw.

    `kind` is "shift", "spread", "shape" (of a coordinate), "dependence" (of two), "score", "squared
    score", "value times score" (of a coordinate, given the others), "log density", "function" (one
    of the user's) or "not finite".
    """

    name: str
    kind: str
    pvalue: float  # adjusted for the number of functions
    shift: float  # of the mean of the function, in its standard deviations under the target
    ratio: float  # of root mean squares around the target's mean; 1 where it is no square


@dataclass(frozen=True, eq=False, repr=False)
class InvarianceResult(Shown):
    """Whether steps from exact draws stay in the target's distribution, as far as ranks show."""

    subject: str  # what was tested: "steps" or "posterior draws"
    target: str
    passed: bool
    pvalue: float  # the smallest of the last stage, adjusted
    false_alarm: float
    changes: tuple[Change, ...]  # what stands out, the clearest first; empty after a pass
    functions: tuple[str, ...]  # whose ranks were looked at
    steps: int  # of one chain
    chains: int
    stages: int
    both_ways: bool
    seed: Any

    @property
    def steps_used(self) -> int:
        """In all chains and stages."""
        return self.steps * self.chains

    def to_dict(self) -> dict[str, Any]:
        """The result as plain Python objects."""
        return {
            "schema_version": SCHEMA_VERSION,
            **asdict(self),
            "functions": list(self.functions),
            "changes": [asdict(change) for change in self.changes],
            "steps_used": self.steps_used,
            "seed": plain_seed(self.seed),
        }

    def __str__(self) -> str:
        head = wording.invariance_head(
            self.subject,
            self.target,
            self.passed,
            None if any(c.kind == "not finite" for c in self.changes) else self.pvalue,
            self.false_alarm,
            self.both_ways,
        )
        head += wording.invariance_effort(self.subject, self.steps, self.chains)
        lines = [
            wording.invariance_change(c.name, c.kind, c.shift, c.ratio, c.pvalue, self.subject)
            for c in self.changes
        ]
        if self.both_ways and not self.passed and all(c.kind != "not finite" for c in self.changes):
            lines.append(wording.TRY_ONE_WAY)
        return "\n".join([head, *(f"  {line}" for line in lines)])
