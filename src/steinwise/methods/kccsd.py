"""KCC-SD: Stein discrepancies of the complete conditionals, one coordinate or block at a time."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import jax
import numpy as np
from jaxtyping import Float, Int

from steinwise import functional
from steinwise._internal.compiled import call_in_chunks, precision, rows_of
from steinwise._internal.coordinates import choose_coordinates
from steinwise._internal.memory import chunks
from steinwise._internal.notes import Note
from steinwise._internal.run_options import RunOptions
from steinwise._internal.spread import spreads
from steinwise._internal.validation import require_choice, require_flag, require_whole
from steinwise.calibration.batch_plan import BatchPlan
from steinwise.calibration.pvalues import Calibration
from steinwise.conditionals import (
    AbstractConditional,
    AbstractFittedConditional,
    Histogram,
    TrainingData,
)
from steinwise.conditionals.base import require_fitted
from steinwise.draws.samples import Samples
from steinwise.draws.scales import coordinate_labels
from steinwise.errors import InputError
from steinwise.kernels import RBF, AbstractKernel
from steinwise.kernels.per_coordinate import require_kernels
from steinwise.methods.bandwidth_notes import bandwidth_notes, coordinate_bandwidth_notes
from steinwise.methods.base import AbstractFitted, AbstractMethod, Cost, Evidence
from steinwise.methods.kccsd_groups import (
    KernelGroup,
    block_coordinates,
    block_groups,
    block_labels,
    coordinate_groups,
)
from steinwise.methods.kccsd_split import (
    check_split,
    order_of_split,
    require_enough,
    what_was_learned,
)
from steinwise.methods.statistics import AbstractStatistic, Mean
from steinwise.results.findings import Findings
from steinwise.results.learning import Learning
from steinwise.target import AbstractTarget

ROWS_PER_CALL = 256  # of a compiled call; more do not make it faster


class KCCSD(AbstractMethod):
    r"""The kernelized complete conditional Stein discrepancy.

    .. math::
        w_j^2 = E_{x_{-j}} E_{x_j, y_j \sim q(\cdot | x_{-j})} k_{cc}^j(x_j, y_j; x_{-j}),
        \qquad \mathrm{KCCSD} = \sum_j w_j^2

    The test takes h(x_i) = sum_j mean_k k_cc^j(x_ij, y_ijk; x_i,-j), its mean as the statistic and
    signs per batch of draws for its null. The p-value is (1 + #)/(1 + L), where the paper takes the
    plain share #/L: a p-value of 0 cannot come out.

    Parameters
    ----------
    conditional
        The stand-in for `q(x_j | x_-j)`: `sw.conditionals.Sampler` for q's own (Algorithm 1), or
        one that is learned (Algorithm 2). The paper's histogram by default.
    kernel
        A univariate kernel, or a list with one per coordinate (per block, with `blocks`). A vector
        as bandwidth gives one per coordinate. RBF with bandwidth 1 by default, as in the paper.
    blocks
        A partition of the coordinates into lists of indices or names; each block then has one
        kernel on R^|I|.
    variant
        "norm" for the paper's discrepancy, "unit-ball" for sum_j E sqrt(E k_cc).
    split
        Shares of the draws to learn a conditional from, to choose among its epochs and settings,
        and to test: contiguous parts of every chain, random ones of independent draws. A
        conditional that does not learn has all draws tested.
    splits
        How many splits to average over. Each is tested as a single one is; the normal scores of
        their p-values are averaged, and judged as one score: valid at any dependence between the
        splits that leaves the scores jointly normal, and conservative.
    coordinates
        Numbers or names of the coordinates that are tested, all by default: the target is evaluated
        along their lines only.
    standardise
        Divide each coordinate by its spread first, the distance between its quartiles as a multiple
        of a standard normal's. Bandwidths are then in units of the spread, and no result depends on
        the units of the draws. The spread is taken from the draws that are learned from; where
        nothing is learned, from those that are tested. With False, as in the paper and in
        `sw.kccsd`, bandwidths are in the units of the draws: right for draws of order 1.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.multivariate_normal(np.zeros(3), 0.2 * np.eye(3) + 0.8, size=1000)
    >>> result = sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)), method="kccsd")
    >>> result.rejected, result.findings.learning.train, result.learned[0].model
    (True, 200, 'Histogram(20 bins)')
    """

    conditional: AbstractConditional = Histogram()
    kernel: AbstractKernel | Sequence[AbstractKernel] = RBF(1.0)
    blocks: Sequence[Sequence[int | str]] | None = None
    variant: Literal["norm", "unit-ball"] = "norm"
    split: tuple[float, float, float] = (0.2, 0.1, 0.7)
    splits: int = 1
    coordinates: Sequence[int] | Sequence[str] | None = None
    standardise: bool = True

    name: ClassVar[str] = "kccsd"
    flag_meaning: ClassVar[str] = "conditional"
    float64_because: ClassVar[str] = "its contributions cancel, which needs the digits"

    def __check_init__(self) -> None:
        if not isinstance(self.conditional, AbstractConditional):
            raise InputError(
                f"conditional is of type {type(self.conditional).__name__}: expected a stand-in "
                "for q(x_j | x_-j) such as sw.conditionals.Histogram()."
            )
        if not self.conditional.learns:
            require_fitted(self.conditional, self.conditional)
        require_kernels(self.kernel)
        require_choice("variant", self.variant, ("norm", "unit-ball"))
        check_split(self.split)
        require_flag("standardise", self.standardise)
        require_whole("splits", self.splits, least=1)
        if self.blocks is not None and self.coordinates is not None:
            raise InputError("coordinates= came with blocks=, which name the coordinates already.")
        if self.splits > 1 and not self.conditional.learns:
            raise InputError(
                f"splits is {self.splits}, but {type(self.conditional).__name__} learns nothing "
                "from the draws: all of them are tested at once. Drop splits=."
            )

    def describe(self) -> str:
        kernel = self.kernel if isinstance(self.kernel, AbstractKernel) else self.kernel[0]
        blocks = "" if self.blocks is None else f", {len(self.blocks)} blocks"
        units = ", standardised" if self.standardise else ""
        details = f"{type(kernel).__name__} kernel, {self.variant}{blocks}{units}"
        return f"KCC-SD ({self.conditional.describe()}, {details})"

    def restricted(self, coordinates: tuple[int, ...]) -> "KCCSD":
        return replace(self, coordinates=coordinates)

    def evaluations(
        self,
        samples: Samples,  # noqa: ARG002
        target: AbstractTarget,  # noqa: ARG002
        budget: float,  # noqa: ARG002
    ) -> Cost:
        raise InputError(
            f"evaluations= came with the method {self.name!r}, which evaluates the density at "
            "every atom of its stand-in, as many as it learns. Thin the draws (draws[:, ::10]), or "
            "test some coordinates only (coordinates=)."
        )

    @property
    def elsewhere(self) -> str:
        return "evaluates the score at the atoms of its stand-in"

    def prepare(
        self, samples: Samples, target: AbstractTarget | None, run: RunOptions
    ) -> "Iterator[FittedKCCSD]":
        """For every split, the conditional learned from a part of the draws, and those to test.

        The target may be None where the conditional does not look at it.
        """
        partition = self.partition(samples)
        if not self.conditional.learns:
            fitted = require_fitted(self.conditional, self.conditional)
            yield FittedKCCSD(self, samples, fitted, None, self._scale(samples.rows))
            return
        for number in range(self.splits):
            order = order_of_split(samples, self.split, run.seed, number, self.splits)
            train, validation, tested = samples.reordered(order).split(*self.split)
            require_enough(self.conditional, self.split, samples, (train, validation, tested))
            data = TrainingData(
                train.rows,
                validation.rows,
                tuple(partition),
                self.labels_of(samples, range(samples.dim)),
                target,
                run,
            )
            fitted = require_fitted(self.conditional, self.conditional.fit(data))
            labels = self.labels_of(samples, self.tested_coordinates(samples))
            learning = what_was_learned(fitted, data, labels, tested.n, self.splits)
            yield FittedKCCSD(self, tested, fitted, learning, self._scale(train.rows))

    def _scale(self, rows: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " d"]:
        """What every coordinate is divided by."""
        return spreads(rows) if self.standardise else np.ones(rows.shape[1])

    def tested_coordinates(self, samples: Samples) -> Int[np.ndarray, " c"]:
        """The numbers of the coordinates that get a verdict."""
        if self.coordinates is None:
            return np.arange(samples.dim)
        labels = partial(coordinate_labels, samples)
        return np.array(choose_coordinates(self.coordinates, samples.names, labels=labels))

    def labels_of(self, samples: Samples, coordinates: Iterable[int]) -> tuple[str, ...]:
        """The names of some coordinates, or of all blocks."""
        if self.blocks is None:
            return tuple(samples.names[j] for j in coordinates)
        return block_labels(self.partition(samples), samples.names)

    def partition(self, samples: Samples) -> list[np.ndarray]:
        """The coordinates of each block; without blocks, each coordinate by itself."""
        alone = [[j] for j in range(samples.dim)]
        return block_coordinates(alone if self.blocks is None else self.blocks, samples.names)


@dataclass(frozen=True, eq=False)
class FittedKCCSD(AbstractFitted[KCCSD]):
    """KCC-SD with its stand-in for the conditionals of the draws, and the draws that it tests."""

    conditional: AbstractFittedConditional
    learning: Learning | None  # None where the stand-in learned nothing
    scale: Float[np.ndarray, " d"]  # that draws are divided by, and scores multiplied

    @property
    def kernel(self) -> AbstractKernel | Sequence[AbstractKernel]:
        return self.method.kernel

    @property
    def labels(self) -> tuple[str, ...]:
        return self.method.labels_of(self.samples, self.method.tested_coordinates(self.samples))

    def statistic(self, target: AbstractTarget, run: RunOptions) -> Mean:
        return Mean(self.contributions(target, run))

    def contributions_by(self, statistic: AbstractStatistic) -> Callable[[], np.ndarray] | None:
        assert isinstance(statistic, Mean)
        return statistic.each_draw

    def findings(
        self,
        statistic: AbstractStatistic,
        evidence: Evidence,
        calibration: Calibration,
        plan: BatchPlan,
        alpha: float,
    ) -> Findings:
        findings = super().findings(statistic, evidence, calibration, plan, alpha)
        return replace(findings, learning=self.learning)

    def notes(self) -> tuple[Note, ...]:
        learned = () if self.learning is None else self.learning.notes()
        return (*learned, *self._bandwidth_notes())

    def _bandwidth_notes(self) -> tuple[Note, ...]:
        x, kernel, samples = self.samples.rows / self.scale, self.method.kernel, self.samples
        several = not isinstance(kernel, AbstractKernel)
        if self.method.blocks is None:
            kernels = list(kernel) if several else [kernel]
            return coordinate_bandwidth_notes(kernels, x, samples.names)
        blocks = self.method.partition(samples)
        kernels = list(kernel) if several else [kernel] * len(blocks)
        each = (bandwidth_notes(k, x[:, b]) for k, b in zip(kernels, blocks, strict=True))
        return next((notes for notes in each if notes), ())

    def contributions(self, target: AbstractTarget, run: RunOptions) -> Float[np.ndarray, "n k"]:
        """H: one row per draw, one column per coordinate or block."""
        x, n, d = self.samples.rows, self.samples.n, self.samples.dim
        groups = self._groups(self.method.tested_coordinates(self.samples), run.seed)
        scores = self.scores(target, run)
        out = np.empty((n, len(self.labels)))
        parts = list(chunks(n, self.conditional.rows_per_call(d)))
        for part in run.bar(parts, len(parts), "comparing conditionals"):
            atoms = self.conditional.atoms(x[part].copy(), run.seed, part.start)  # may write there
            for columns, index, kernel in groups:
                if self.method.blocks is None:
                    points, weights = atoms.points[:, index], atoms.weights[:, index]
                    scores_there = target.line_scores(
                        x[part], index, points, memory=run.memory, first_row=part.start
                    )
                    function = _coordinates(self.method.variant)
                else:
                    points = np.moveaxis(atoms.points[:, index], 1, 2)
                    weights = atoms.weights[:, index[0]]
                    scores_there = target.block_scores(
                        x[part], index, points, memory=run.memory, first_row=part.start
                    )
                    function = _block(self.method.variant)
                # block atoms are (row, atom, coordinate), the others (row, coordinate, atom)
                scale = self.scale[index]
                along = scale if self.method.blocks is not None else scale[:, None]
                arrays = (
                    x[part][:, index] / scale,
                    scores[part][:, index] * scale,
                    points / along,
                    scores_there * along,
                    weights,
                )
                out[part, columns] = self._evaluate(function, kernel, arrays, run.memory)
        return out

    def _evaluate(
        self, function: Callable, kernel: AbstractKernel, arrays: tuple, memory: int
    ) -> Float[np.ndarray, "n k"]:
        """The contributions of some draws, within a memory budget."""
        n, atoms = len(arrays[0]), arrays[2].size / len(arrays[0])
        if self.method.variant == "unit-ball":
            atoms *= arrays[4].shape[-1]
        size = int(np.clip(memory // (8 * 16 * atoms), 1, ROWS_PER_CALL))
        out = call_in_chunks(functools.partial(function, kernel), rows_of(*arrays), n, size)
        return out if out.ndim == 2 else out[:, None]

    def witness(self, target: AbstractTarget, run: RunOptions) -> Callable[..., np.ndarray]:
        r"""The best test function as a callable.

        ``f(x)`` gives f*_j(x_ij; x_i,-j) as (n, d). ``f(x, points)`` with points (n, d, p) follows
        each line of each row instead, and gives (n, d, p). Of standardised coordinates it is the
        test function of these.
        """
        if self.method.blocks is not None:
            raise InputError("the witness is a function of one coordinate: drop blocks=.")
        d = self.samples.dim
        groups = self._groups(np.arange(d), run.seed)

        def at(x: np.ndarray, points: np.ndarray | None = None) -> np.ndarray:
            x = np.asarray(x, dtype=np.float64)
            lines = x[..., None] if points is None else np.asarray(points, dtype=np.float64)
            if x.ndim != 2 or x.shape[1] != d or lines.shape[:2] != x.shape:
                raise InputError(
                    f"x has shape {x.shape} and points {lines.shape}: expected (n, "
                    f"{d}) and (n, {d}, p)."
                )
            out = np.empty(lines.shape)
            for part in chunks(len(x), self.conditional.rows_per_call(d)):
                atoms = self.conditional.atoms(x[part].copy(), run.seed, part.start)
                for _, index, kernel in groups:
                    y, weights = atoms.points[:, index], atoms.weights[:, index]
                    scores = target.line_scores(
                        x[part], index, y, memory=run.memory, first_row=part.start
                    )
                    scale = self.scale[index, None]
                    places = lines[part][:, index] / scale, y / scale
                    with precision():
                        out[part, index] = _witness(kernel, *places, scores * scale, weights)
            return out[..., 0] if points is None else out

        return at

    def _groups(self, tested: Int[np.ndarray, " c"], seed: object) -> list[KernelGroup]:
        """What is evaluated together: the tested coordinates, or each block."""
        x, method = self.samples.rows / self.scale, self.method
        if method.blocks is None:
            return coordinate_groups(method.kernel, x, tested, seed)
        return block_groups(method.kernel, x, method.partition(self.samples), seed)


@functools.cache
def _coordinates(variant: str) -> Callable:
    return jax.jit(functools.partial(functional.kccsd_contributions, variant=variant))


@functools.cache
def _block(variant: str) -> Callable:
    return jax.jit(functools.partial(functional.block_contributions, variant=variant))


_witness = jax.jit(functional.witness)
