"""The answer of a check as numbers and kinds; it knows nothing of the forms it is shown in."""

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
from jaxtyping import Float

from steinwise._internal.random import plain_seed
from steinwise._internal.validation import require_level, require_whole
from steinwise.errors import InputError
from steinwise.results.coordinate import CoordinateResult
from steinwise.results.findings import DrawsSummary, Findings
from steinwise.results.influence import InfluentialDraw, handful, ranked_draws, surprise
from steinwise.results.largest_error import LargestError
from steinwise.results.learning import LearnedConditional
from steinwise.results.modes import ModesFound
from steinwise.results.tolerance import ToleranceAnswer

SCHEMA_VERSION = 3


@dataclass(frozen=True, eq=False)
class CheckRecord:
    """What a check found, and how."""

    statistic: float
    pvalue: float
    alpha: float
    method: str
    description: str
    findings: Findings = field(repr=False)
    draws: DrawsSummary
    n_bootstrap: int
    seed: Any
    dtype: str
    normal_pvalue: float | None
    notes: tuple[str, ...]
    version: str
    discrepancy: float | None = field(repr=False)
    null: Float[np.ndarray, " l"] = field(repr=False)

    @property
    def coordinates(self) -> tuple[CoordinateResult, ...]:
        """The verdict on each coordinate and direction, by p-values, the smallest first."""
        key = lambda c: (c.adjusted_pvalue, c.pvalue, -c.value)  # noqa: E731
        return tuple(sorted(self.findings.coordinates, key=key))

    @property
    def flagged(self) -> tuple[CoordinateResult, ...]:
        """The coordinates whose adjusted p-value is at most alpha, the worst first."""
        return tuple(c for c in self.coordinates if c.adjusted_pvalue <= self.alpha)

    @property
    def threshold(self) -> float:
        """What `statistic` must exceed to be significant at level alpha, by the bootstrap."""
        return float(np.quantile(self.null, 1 - self.alpha))

    @property
    def direction_names(self) -> frozenset[str]:
        """The names of rows that are directions, weighted sums of coordinates."""
        directions = self.findings.directions
        count = 0 if directions is None else directions.shape[1]
        return frozenset(
            c.name for c in self.findings.coordinates[len(self.findings.coordinates) - count :]
        )

    @property
    def learned(self) -> tuple[LearnedConditional, ...]:
        """The model of each coordinate's conditional with its validation loss, where learned."""
        return () if self.findings.learning is None else self.findings.learning.rows

    @property
    def tolerance(self) -> ToleranceAnswer | None:
        """Whether means and sds are further off than `tolerance=`; None where none was given."""
        return self.findings.tolerance

    @property
    def modes(self) -> ModesFound | None:
        """The modes of the density that were found; None where they were not looked for."""
        return self.findings.modes

    @property
    def rejected(self) -> bool:
        """Whether the p-value is at most alpha."""
        return bool(self.pvalue <= self.alpha)

    @property
    def acceptable(self) -> bool:
        """Whether nothing was found that matters to the user.

        With `tolerance=`, that every mean and sd is within it. Where that is not known, or no
        tolerance was given, that there is no misfit.
        """
        answer = "" if self.tolerance is None else self.tolerance.answer
        return answer == "within" or (answer != "beyond" and not self.rejected)

    def largest_error(self, alpha: float = 0.05) -> LargestError:
        """The largest error of a mean or an sd, with an interval of confidence 1 - alpha.

        Of the distribution that the draws come from: chance in these draws is in the interval. Not
        known where a mode has a wrong share of the draws: scores tell of the modes that were
        visited, and not of the means and sds that the others would give.
        """
        require_level(alpha)
        if self.findings.largest_error_at is not None:
            return self.findings.largest_error_at(alpha)
        names = tuple(c.name for c in self.findings.coordinates[: self.draws.dim])
        return LargestError(alpha, None, 0.0, None, "", "mean", names)

    def influential(
        self, k: int = 10, coordinate: str | None = None
    ) -> tuple[InfluentialDraw, ...]:
        """The k draws that add most to the misfit, of all coordinates or of one.

        For KCC-SD what a draw adds is its contribution, for KSD its mean over pairs with other
        draws. For the default check it is how far out it lies where it lies farthest: -log10 of
        the probability to do so, in the target's conditional.
        """
        findings = self.findings
        contributions, pit = findings.draw_contributions, findings.pit
        if contributions is None and pit is not None:
            contributions = surprise(pit)
        if contributions is None or findings.draw_index is None:
            raise InputError(
                f"the method {self.method!r} does not say what single draws add; the default "
                "check, 'kccsd' and 'ksd' do."
            )
        names = [c.name for c in self.findings.coordinates][: contributions.shape[1]]
        index = findings.draw_index
        coordinate = None if coordinate is None else findings.name_of(coordinate)
        return ranked_draws(contributions, names, index, k, coordinate, summed=pit is None)

    @property
    def dominating(self) -> tuple[InfluentialDraw, ...]:
        """The draws without which little of a misfit would remain, if they are a handful.

        For the default check those that lie so far out that each is a misfit by itself. Otherwise
        as few as make up half of the sum over all draws.
        """
        findings = self.findings
        if not self.rejected or findings.draw_index is None:
            return ()
        most = handful(self.draws.n_chains * len(findings.draw_index.draws))
        if findings.draw_contributions is not None:
            ranked = self.influential(most)
            enough = np.cumsum([draw.share or 0.0 for draw in ranked]) >= 0.5
            return ranked[: int(np.argmax(enough)) + 1] if enough.any() else ()
        if findings.pit is None or findings.outlier_bound is None:
            return ()
        ranked = self.influential(most + 1)
        outlying = tuple(draw for draw in ranked if draw.value >= findings.outlier_bound)
        return outlying if len(outlying) <= most else ()

    def to_dict(self) -> dict[str, Any]:
        """All of the result but the bootstrap values, as plain Python objects."""
        plain = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in ("null", "findings", "draws")
        }
        plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in plain.items()}
        plain |= {"seed": plain_seed(self.seed), "notes": list(self.notes)}
        findings = self.findings
        detectable, learning = findings.detectable, findings.learning
        return {
            "schema_version": SCHEMA_VERSION,
            **plain,
            "threshold": self.threshold,
            "rejected": self.rejected,
            "draws": asdict(self.draws),
            "tolerance": None if self.tolerance is None else self.tolerance.to_dict(),
            "detectable": None if detectable is None else detectable._asdict(),
            "evaluations": findings.evaluations,
            "effort": None if findings.effort is None else findings.effort._asdict(),
            "modes": None if self.modes is None else self.modes.to_dict(),
            "learning": None if learning is None else learning.to_dict(),
            "coordinates": [c.to_dict() for c in self.coordinates],
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """`to_dict` as JSON; a number that JSON does not have (an infinite R-hat) as a string."""
        if indent is not None:
            require_whole("indent", indent, least=0)
        return json_text(self.to_dict(), indent)


def json_text(plain: dict[str, Any], indent: int | None = 2) -> str:
    """Plain Python objects as JSON; a number that JSON does not have as a string."""
    return json.dumps(_json_ready(plain), indent=indent, allow_nan=False)


def _json_ready(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_ready(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value
