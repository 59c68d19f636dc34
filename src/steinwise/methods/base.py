"""The contract of a method.

A method is its options. `prepare` gives what it learned from a part of the draws, as an object of
another type, together with the draws that are left to test. That object makes a statistic, tests
it on batches of draws, and says what the numbers mean.
"""

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic, NamedTuple, TypeVar

import equinox as eqx
import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.notes import Note, note
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batch_plan import BatchPlan
from steinwise.calibration.batches import Batches
from steinwise.calibration.families import calibrate
from steinwise.calibration.pvalues import Calibration
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.methods.statistics import AbstractStatistic
from steinwise.results.coordinate import CoordinateResult
from steinwise.results.findings import Findings
from steinwise.results.misfit import Misfit
from steinwise.target import AbstractTarget

_Method = TypeVar("_Method", bound="AbstractMethod", covariant=True)


class Cost(NamedTuple):
    """Evaluations of the target: for each draw, and those that it took to estimate this."""

    each: float
    spent: float = 0.0


class AbstractMethod(eqx.Module):
    """A discrepancy between draws and a target that reduces to batch sums: its options."""

    name: ClassVar[str]
    flag_meaning: ClassVar[str] = ""  # of a flagged coordinate, a key of `wording.FLAG_MEANINGS`
    bootstrap_share: ClassVar[float] = 1.0  # of the level; the rest is for exact p-values
    reads_by_chunk: ClassVar[bool] = False  # so that the draws need not fit into memory
    float64_because: ClassVar[str] = ""  # why dtype="float32" has no effect, where it has none
    takes_noisy_scores: ClassVar[bool] = False  # keeps its level if they are unbiased at each draw
    takes: ClassVar[tuple[str, ...]] = ("real",)  # kinds of coordinates; see `target.support`
    needs_scores: ClassVar[bool] = True  # values of the log density are not enough

    @abc.abstractmethod
    def describe(self) -> str:
        """The method and its settings, for the report."""

    @abc.abstractmethod
    def prepare(
        self, samples: Samples, target: AbstractTarget, run: RunOptions
    ) -> "Iterator[AbstractFitted]":
        """The method with all that it learned, and the draws that are left to test.

        One for each split of the draws, whose verdicts are averaged.
        """

    @property
    def elsewhere(self) -> str:
        """Why the target is evaluated at points that are no draws; "" if it is not.

        A method that needs only the scores at the draws says so by "": it then takes
        `sw.Target.at_draws`.
        """
        return "may evaluate the density anywhere"

    def restricted(self, coordinates: tuple[int, ...]) -> "AbstractMethod":  # noqa: ARG002
        """The same method with verdicts on some coordinates only, at their cost."""
        raise InputError(
            f"coordinates= came with the method {self.name!r}, which sees all coordinates at once: "
            "expected 'transported' or 'kccsd', which go coordinate by coordinate."
        )

    def at_effort(self, effort: str) -> "AbstractMethod":
        """The same method at less or more effort than "standard", as far as it has a choice."""
        if effort == "standard":
            return self
        raise InputError(
            f"effort={effort!r} came with the method {self.name!r}, which has one effort only: "
            "leave effort= out, or take the default method."
        )

    def within_budget(self) -> "AbstractMethod":
        """The same method without what it costs besides a number of evaluations per draw."""
        return self

    def evaluations(
        self,
        samples: Samples,
        target: AbstractTarget,  # noqa: ARG002
        budget: float,  # noqa: ARG002
    ) -> Cost:
        """Evaluations of the target per draw: its score, unless it is known or more is needed."""
        return Cost(1.0 if samples.scores is None else 0.0)

    def precision_notes(self, dtype: str) -> tuple[Note, ...]:
        """A note where a precision was asked for that the method does not compute in."""
        if dtype == "float64" or not self.float64_because:
            return ()
        return (note("precision unused", dtype=dtype, method=self.name, why=self.float64_because),)


class AbstractFixedMethod(AbstractMethod):
    """A method that learns nothing from the draws: all of them are tested."""

    @abc.abstractmethod
    def fitted(self, samples: Samples) -> "AbstractFitted":
        """The method with these draws to test."""

    def prepare(
        self,
        samples: Samples,
        target: AbstractTarget,  # noqa: ARG002
        run: RunOptions,  # noqa: ARG002
    ) -> "Iterator[AbstractFitted]":
        yield self.fitted(samples)


def scores_of(
    samples: Samples,
    target: AbstractTarget,
    run: RunOptions,
    index: Int[np.ndarray, " m"] | None = None,
) -> Float[np.ndarray, "m d"]:
    """The scores of all draws, or of some rows, evaluated only where they are not known already."""
    return samples.scores_by(partial(target.score, memory=run.memory), index)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What testing a statistic gave: p-values, and the batches of draws behind them."""

    calibration: Calibration
    batches: Batches  # all of them, or those reached before an interruption


@dataclass(frozen=True, eq=False)
class AbstractFitted(abc.ABC, Generic[_Method]):
    """A method with all that it learned, and the draws that it tests."""

    method: _Method
    samples: Samples

    @property
    @abc.abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The names of the coordinates or blocks that get a verdict of their own; may be none."""

    @abc.abstractmethod
    def statistic(self, target: AbstractTarget, run: RunOptions) -> AbstractStatistic:
        """What is averaged over draws, or over pairs of draws."""

    def scores(self, target: AbstractTarget, run: RunOptions) -> Float[np.ndarray, "n d"]:
        """The scores of the tested draws, evaluated only where they are not known already."""
        return scores_of(self.samples, target, run)

    def describe(self) -> str:
        """The method, its settings, and what can be said of what it learned."""
        return self.method.describe()

    def notes(self) -> tuple[Note, ...]:
        """What a user should know of how the method was set up for these draws."""
        return ()

    def contributions_by(
        self,
        statistic: AbstractStatistic,  # noqa: ARG002
    ) -> Callable[[], np.ndarray] | None:
        """Gives what each draw adds, as (n, k); None where the method does not say."""
        return None

    @property
    def null_columns(self) -> int:
        """How many null distributions a test holds, each a number per bootstrap."""
        return 2 + len(self.labels)

    def test(
        self, statistic: AbstractStatistic, batches: Batches, n_bootstrap: int, seed: object
    ) -> Evidence:
        """p-values by a sign per batch, unless the method has a null of its own."""
        return Evidence(calibrate(statistic.batch_sums(batches), n_bootstrap, seed), batches)

    def findings(
        self,
        statistic: AbstractStatistic,
        evidence: Evidence,  # noqa: ARG002
        calibration: Calibration,
        plan: BatchPlan,  # noqa: ARG002
        alpha: float,
    ) -> Findings:
        """What the numbers mean: a verdict on each coordinate, and what else the method tells.

        `calibration` is that of the evidence, or the average over several splits.
        """
        return Findings(
            coordinates=tuple(
                CoordinateResult(
                    name=name,
                    value=float(calibration.values[k]),
                    pvalue=float(calibration.coordinate_pvalues[k]),
                    adjusted_pvalue=float(calibration.adjusted_pvalues[k]),
                    effect=None,
                    misfit=Misfit() if calibration.adjusted_pvalues[k] <= alpha else None,
                )
                for k, name in enumerate(self.labels)
            ),
            flag_meaning=self.method.flag_meaning,
            x=self.samples.rows,
            x_names=self.samples.names,
            contributions_by=self.contributions_by(statistic),
            draw_index=self.samples.draw_index,
            notes=self.notes(),
        )
