"""Frozen results: numbers, tables, pictures, and a text worth reading."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.random import plain_seed
from steinwise.draws.samples import DrawIndex
from steinwise.errors import InputError
from steinwise.results.text import ROWS_SHOWN, aligned, left_out, report, worst_first

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure

    from steinwise.results.influence import InfluentialDraw

SCHEMA_VERSION = 1
NO_MISFIT = "no misfit found"
DEPENDENCE_NOTE = (
    "A coordinate is flagged when its law given all others is not the target's. Where the target's "
    "coordinates depend on each other, one wrong coordinate makes its neighbours' conditionals "
    "wrong too, so neighbours of a wrong coordinate can be flagged with it."
)


class Effect(NamedTuple):
    """How far a coordinate is off, given all others, in terms of the target's conditional."""

    shift: float  # of the mean, in conditional standard deviations
    spread: float  # standard deviation, as a multiple of the conditional one
    # of a draw that is farther out than 5 conditional standard deviations only that is counted


@dataclass(frozen=True)
class CoordinateResult:
    """The verdict on one coordinate (or block, or direction)."""

    name: str
    value: float
    pvalue: float
    adjusted_pvalue: float  # over all coordinates, step-down: controls the family-wise error
    effect: Effect | None  # None where the method has no size that a person can read
    verdict: str
    # of a flagged coordinate: "shift", "spread", "tails", "shape" or "outliers" of its own,
    # "dependence", "dependence on size" or "interaction" with others
    kind: str = ""
    partners: tuple[str, ...] = ()  # the coordinates it depends on, where they stand out


@dataclass(frozen=True)
class Learnt:
    """The stand-in for one coordinate's (or block's) conditional law, and how well it predicts.

    Losses are minus the mean log density of the validation draws: of the stand-in, and of the
    coordinate's marginal law, which knows nothing of the others.
    """

    name: str
    model: str
    validation_loss: float | None  # None where the stand-in has no density
    marginal_loss: float


@dataclass(frozen=True)
class Learning:
    """How the draws were split, and what was learnt."""

    train: int
    validation: int
    tested: int
    splits: int
    rows: tuple[Learnt, ...]  # of the first split

    def no_better(self) -> list[str]:
        """The names of what the marginal law predicts as well."""
        return [
            row.name
            for row in self.rows
            if row.validation_loss is not None and row.validation_loss >= row.marginal_loss
        ]

    def notes(self) -> tuple[str, ...]:
        names = self.no_better()
        if not names:
            return ()
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        return (
            f"for {len(names)} of {len(self.rows)} coordinates ({shown}) the learnt conditional "
            "predicts the validation draws no better than the coordinate's own marginal law does. "
            f"They hardly depend on the others, or {self.train} draws are too few to learn how.",
        )


class HasParts:
    """What each draw adds to a statistic, made when it is first asked for."""

    parts_by: Callable[[], np.ndarray] | None

    @cached_property
    def parts(self) -> Float[np.ndarray, "n k"] | None:
        return None if self.parts_by is None else self.parts_by()


@dataclass(frozen=True, eq=False)
class Findings(HasParts):
    """What a method makes of its calibrated statistic."""

    coordinates: tuple[CoordinateResult, ...]
    detectable: Effect | None = None  # in one coordinate, with power 0.8
    evaluations: int | None = None  # of the target, on the line through a draw
    pit: Float[np.ndarray, "n c"] | None = None  # F_ij(x_ij), uniform when the draws fit
    direction_pit: Float[np.ndarray, "t k"] | None = None  # along directions, of the draws tested
    x: Float[np.ndarray, "n d"] | None = None  # the draws, or evenly spaced ones, for pictures
    x_names: tuple[str, ...] = ()  # of all their coordinates
    parts_by: Callable[[], np.ndarray] | None = None  # gives `parts`
    places: DrawIndex | None = None  # which draws these are
    notes: tuple[str, ...] = ()  # what must be said before the verdict
    flag_note: str = ""  # what it means that a coordinate is flagged
    learning: Learning | None = None  # None where nothing was learnt


@dataclass(frozen=True)
class DrawsSummary:
    """What the draws were, and how they were cut for calibration."""

    n_chains: int
    n_draws: int
    dim: int
    independent: bool
    batch_length: int
    n_batches: int
    autocorrelation_time: float
    effective_draws: float
    rhat: float | None
    held_out: int = 0  # draws that the method learnt from, before the tested ones in every chain


@dataclass(frozen=True, eq=False)
class CheckResult:
    """The answer of `sw.check`."""

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
    observed: float = field(repr=False)
    null: Float[np.ndarray, " l"] = field(repr=False)

    @property
    def coordinates(self) -> tuple[CoordinateResult, ...]:
        """The verdict on each coordinate; directions, where followed, come last."""
        return self.findings.coordinates

    @property
    def flagged(self) -> tuple[CoordinateResult, ...]:
        """The coordinates whose adjusted p-value is at most alpha, the worst first."""
        return tuple(c for c in worst_first(self) if c.adjusted_pvalue <= self.alpha)

    @property
    def learnt(self) -> tuple[Learnt, ...]:
        """The model of each coordinate's conditional with its validation loss, where learnt."""
        return () if self.findings.learning is None else self.findings.learning.rows

    @property
    def rejected(self) -> bool:
        """Whether the p-value is at most alpha."""
        return bool(self.pvalue <= self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """All of the result but the bootstrap values, as plain Python objects."""
        plain = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in ("null", "findings", "draws")
        }
        plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in plain.items()}
        plain["seed"] = plain_seed(self.seed)
        plain["notes"] = list(self.notes)
        return {
            "schema_version": SCHEMA_VERSION,
            **plain,
            "rejected": self.rejected,
            "draws": asdict(self.draws),
            "detectable": _plain_effect(self.findings.detectable),
            "evaluations": self.findings.evaluations,
            "learning": _plain_learning(self.findings.learning),
            "coordinates": [_plain_coordinate(c) for c in self.coordinates],
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """`to_dict` as JSON; a number that JSON does not have (an infinite R-hat) as a string."""
        return json.dumps(_json_ready(self.to_dict()), indent=indent, allow_nan=False)

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per coordinate, indexed by its name. Needs pandas."""
        from steinwise.results.tables import dataframe_of

        return dataframe_of(self)

    def to_dataset(self) -> "xr.Dataset":
        """The same as an xarray Dataset, with version, method, seed and p-value as attributes.

        It fits beside the draws in the user's own file or container, as a group of its own::

            found = result.to_dataset()
            found.to_netcdf("run.nc", mode="a", group="stein", engine="h5netcdf")
            found.to_zarr("run.zarr", mode="w", group="stein", consolidated=False)
            zarr.consolidate_metadata("run.zarr")    # if the file has consolidated metadata
            idata.add_groups(stein=found)            # InferenceData
            tree["stein"] = xarray.DataTree(found)   # DataTree
        """
        from steinwise.results.tables import dataset_of

        return dataset_of(self)

    def to_html(self) -> str:
        """A report as one self-contained HTML page. Needs matplotlib."""
        from steinwise.results.html import html

        return html(self)

    def plot(self) -> "Figure":
        """The statistic against its null, and the coordinates sorted by their contribution."""
        from steinwise.results.plots import plot_check

        return plot_check(self)

    def plot_pit(self, coordinate: str) -> "Figure":
        """Where the draws of a coordinate, or direction, fall in the target's conditional."""
        from steinwise.results.plots import plot_pit

        return plot_pit(self, coordinate)

    def influential(
        self, k: int = 10, coordinate: str | None = None
    ) -> "tuple[InfluentialDraw, ...]":
        """The k draws that add most to the misfit, of all coordinates or of one.

        For KCC-SD what a draw adds is its contribution, for KSD its mean over pairs with other
        draws. For the default check it is how far out it lies where it lies farthest: -log10 of
        the probability to do so, in the target's conditional.
        """
        from steinwise.results.influence import ranked_draws, surprise

        parts, pit, places = self.findings.parts, self.findings.pit, self.findings.places
        if parts is None and pit is not None:
            parts = surprise(pit)
        if parts is None or places is None:
            raise InputError(
                f"the method {self.method!r} does not say what single draws add; the default "
                "check, 'kccsd' and 'ksd' do."
            )
        names = [c.name for c in self.coordinates][: parts.shape[1]]
        return ranked_draws(parts, names, places, k, coordinate, summed=pit is None)

    def plot_witness(self, coordinate: str, other: str | None = None) -> "Figure":
        """Where among the draws the misfit lies: along a coordinate, or over a pair of them."""
        from steinwise.results.plots import plot_witness

        return plot_witness(self, coordinate, other)

    def plot_pair(self, coordinate: str, other: str) -> "Figure":
        """A coordinate's place in its conditional against another coordinate."""
        from steinwise.results.plots import plot_pair

        return plot_pair(self, coordinate, other)

    def __str__(self) -> str:
        return "\n".join(report(self))


@dataclass(frozen=True, eq=False)
class Discrepancy(HasParts):
    """The value of a discrepancy.

    `standard_error` is None where the draws are too few, or too dependent, to have one;
    `per_coordinate`, `contributions` and `witness` are None where the discrepancy has none.
    """

    value: float
    standard_error: float | None
    per_coordinate: Float[np.ndarray, " k"] | None
    contributions: Float[np.ndarray, "n k"] | None
    names: tuple[str, ...]
    description: str
    witness: Callable[..., np.ndarray] | None = field(default=None, repr=False)
    parts_by: Callable[[], np.ndarray] | None = field(default=None, repr=False)
    places: DrawIndex | None = field(default=None, repr=False)  # which draws these are

    def influential(
        self, k: int = 10, coordinate: str | None = None
    ) -> "tuple[InfluentialDraw, ...]":
        """The k draws that add most to the value, of all coordinates or of one."""
        from steinwise.results.influence import ranked_draws

        if self.parts is None or self.places is None:
            raise InputError("this discrepancy does not say what single draws add.")
        names = self.names if self.parts.shape[1] == len(self.names) else ()
        return ranked_draws(self.parts, names, self.places, k, coordinate)

    def __str__(self) -> str:
        error = "" if self.standard_error is None else f" +- {self.standard_error:.3g}"
        lines = [f"{self.description}: {self.value:.6g}{error}"]
        if self.per_coordinate is not None:
            order = np.argsort(-self.per_coordinate)[:ROWS_SHOWN]
            rows = [(self.names[j], f"{self.per_coordinate[j]:.6g}") for j in order]
            lines += ["", *aligned([("coordinate", "value"), *rows])]
            lines += left_out(len(self.names))
        return "\n".join(lines)


def _plain_learning(learning: Learning | None) -> dict[str, Any] | None:
    if learning is None:
        return None
    return asdict(learning) | {"rows": [asdict(row) for row in learning.rows]}


def _plain_coordinate(coordinate: CoordinateResult) -> dict[str, Any]:
    effect, partners = _plain_effect(coordinate.effect), list(coordinate.partners)
    return asdict(coordinate) | {"effect": effect, "partners": partners}


def _plain_effect(effect: Effect | None) -> dict[str, float] | None:
    return None if effect is None else effect._asdict()


def _json_ready(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_ready(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value
