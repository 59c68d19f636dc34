"""KCC-SD: Stein discrepancies of the complete conditionals, one coordinate or block at a time."""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from steinwise import functional
from steinwise._internal.memory import chunks
from steinwise._internal.random import stream
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import choose_coordinates, require_whole
from steinwise.calibration.batches import MIN_BATCHES, BatchPlan
from steinwise.calibration.pvalues import Calibration
from steinwise.conditionals import AbstractConditional, Histogram, TrainingData
from steinwise.conditionals.marginal import marginal_losses
from steinwise.draws.samples import Samples, part_sizes
from steinwise.errors import InputError, TooFewDraws
from steinwise.kernels import RBF, AbstractKernel
from steinwise.kernels.per_coordinate import as_kernels, require_kernels
from steinwise.methods.base import AbstractMethod
from steinwise.methods.statistics import AbstractStatistic, Mean
from steinwise.results.check import DEPENDENCE_NOTE, Findings, Learning, Learnt
from steinwise.target import AbstractTarget

ROWS_PER_CALL = 256


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
        one that is learnt (Algorithm 2). The paper's histogram by default.
    kernel
        A univariate kernel, or a list with one per coordinate (per block, with `blocks`). A vector
        as bandwidth gives one per coordinate.
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

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.multivariate_normal(np.zeros(3), 0.2 * np.eye(3) + 0.8, size=1000)
    >>> result = sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)), method="kccsd")
    >>> result.rejected, result.findings.learning.train, result.learnt[0].model
    (True, 200, 'Histogram(20 bins)')
    """

    conditional: AbstractConditional = Histogram()
    kernel: AbstractKernel | Sequence[AbstractKernel] = RBF(1.0)
    blocks: Sequence[Sequence[int | str]] | None = None
    variant: Literal["norm", "unit-ball"] = "norm"
    split: tuple[float, float, float] = (0.2, 0.1, 0.7)
    splits: int = 1
    coordinates: Sequence[int] | Sequence[str] | None = None
    learning: Learning | None = None  # what `prepare` learnt

    name: ClassVar[str] = "kccsd"
    flag_note: ClassVar[str] = DEPENDENCE_NOTE

    def __check_init__(self) -> None:
        if not isinstance(self.conditional, AbstractConditional):
            raise InputError(
                f"conditional is of type {type(self.conditional).__name__}: expected a stand-in "
                "for q(x_j | x_-j) such as sw.conditionals.Histogram()."
            )
        require_kernels(self.kernel)
        if self.variant not in ("norm", "unit-ball"):
            raise InputError(f"variant is {self.variant!r}: expected 'norm' or 'unit-ball'.")
        _check_split(self.split)
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
        stand_in = self.conditional.describe()
        return f"KCC-SD ({stand_in}, {type(kernel).__name__} kernel, {self.variant}{blocks})"

    def labels(self, samples: Samples) -> tuple[str, ...]:
        if self.blocks is None:
            return tuple(samples.names[j] for j in self._tested(samples))
        names = [[samples.names[j] for j in block] for block in self._partition(samples)]
        return tuple(", ".join(b[:3]) + (", ..." if len(b) > 3 else "") for b in names)

    def restricted(self, coordinates: tuple[int, ...]) -> "KCCSD":
        return replace(self, coordinates=coordinates)

    def evaluations(
        self,
        samples: Samples,  # noqa: ARG002
        target: AbstractTarget,  # noqa: ARG002
    ) -> int:
        raise InputError(
            f"evaluations= came with the method {self.name!r}, which evaluates the density at "
            "every atom of its stand-in, as many as it learns. Thin the draws (draws[:, ::10]), or "
            "test some coordinates only (coordinates=)."
        )

    def _tested(self, samples: Samples) -> Int[np.ndarray, " c"]:
        if self.coordinates is None:
            return np.arange(samples.dim)
        return np.array(choose_coordinates(self.coordinates, samples.names))

    def prepare(
        self, samples: Samples, target: AbstractTarget, run: RunOptions
    ) -> "Iterator[tuple[KCCSD, Samples]]":
        """For every split, the method with its conditional learnt, and the draws to test."""
        if self.learning is not None or not self.conditional.learns:
            yield self, samples
            return
        for number in range(self.splits):
            order = _order(samples, self.split, run.seed, number, self.splits)
            train, validation, tested = samples.in_order(order).split(*self.split)
            self._require_enough(samples, train, validation, tested)
            data = TrainingData(
                train.rows,
                validation.rows,
                tuple(self._partition(samples)),
                replace(self, coordinates=None).labels(samples),
                target,
                run,
            )
            fitted = self.conditional.fit(data)
            learning = _learning(fitted, data, self.labels(samples), tested.n, self.splits)
            yield replace(self, conditional=fitted, learning=learning), tested

    def findings(
        self,
        samples: Samples,
        statistic: AbstractStatistic,
        plan: BatchPlan,
        verdict: Calibration,
        alpha: float,
    ) -> Findings:
        found = super().findings(samples, statistic, plan, verdict, alpha)
        if self.learning is None:
            return found
        return replace(found, learning=self.learning, notes=self.learning.notes())

    def _require_enough(self, samples: Samples, *parts: Samples) -> None:
        least = self.conditional.least_train, self.conditional.least_validation, MIN_BATCHES
        if all(part.n >= count for part, count in zip(parts, least, strict=True)):
            return
        needed = next(
            samples.n_chains * n
            for n in itertools.count(samples.n_draws)
            if (samples.n_chains * np.array(part_sizes(self.split, n)) >= least).all()
        )
        counts = " / ".join(str(part.n) for part in parts)
        raise TooFewDraws(
            f"{samples.n} draws split into {counts} to learn from, to validate on and to test: "
            f"{self.conditional.describe()} needs at least {least[0]} / {least[1]} / {least[2]}, "
            f"which is {needed} draws in all with split={self.split}."
        )

    def statistic(self, samples: Samples, target: AbstractTarget, run: RunOptions) -> Mean:
        return Mean(self.contributions(samples, target, run))

    def contributions(
        self, samples: Samples, target: AbstractTarget, run: RunOptions
    ) -> Float[np.ndarray, "n k"]:
        """H: one row per draw, one column per coordinate or block."""
        x = samples.rows
        groups = self._groups(samples, run.seed)
        scores = target.score(x, memory=run.memory)
        out = np.empty((samples.n, len(self.labels(samples))))
        parts = list(chunks(samples.n, self.conditional.rows_per_call(samples.dim)))
        for part in run.bar(parts, len(parts), "KCC-SD"):
            atoms = self.conditional.atoms(x[part], run.seed, part.start)
            for columns, index, kernel in groups:
                if self.blocks is None:
                    points, weights = atoms.points[:, index], atoms.weights[:, index]
                    found = target.line_scores(
                        x[part], index, points, memory=run.memory, first_row=part.start
                    )
                    function = _coordinates
                else:
                    points = np.moveaxis(atoms.points[:, index], 1, 2)
                    weights = atoms.weights[:, index[0]]
                    found = target.block_scores(
                        x[part], index, points, memory=run.memory, first_row=part.start
                    )
                    function = _block
                out[part, columns] = self._evaluate(
                    function(self.variant),
                    kernel,
                    (x[part][:, index], scores[part][:, index], points, found, weights),
                    run.memory,
                )
        return out

    def witness(
        self, samples: Samples, target: AbstractTarget, run: RunOptions
    ) -> Callable[..., np.ndarray]:
        r"""The best test function as a callable.

        ``f(x)`` gives f*_j(x_ij; x_i,-j) as (n, d). ``f(x, points)`` with points (n, d, p) follows
        each line of each row instead, and gives (n, d, p).
        """
        if self.blocks is not None:
            raise InputError("the witness is a function of one coordinate: drop blocks=.")
        groups = replace(self, coordinates=None)._groups(samples, run.seed)

        def at(x: np.ndarray, points: np.ndarray | None = None) -> np.ndarray:
            x = np.asarray(x, dtype=np.float64)
            lines = x[..., None] if points is None else np.asarray(points, dtype=np.float64)
            if x.ndim != 2 or x.shape[1] != samples.dim or lines.shape[:2] != x.shape:
                raise InputError(
                    f"x has shape {x.shape} and points {lines.shape}: expected (n, "
                    f"{samples.dim}) and (n, {samples.dim}, p)."
                )
            out = np.empty(lines.shape)
            for part in chunks(len(x), self.conditional.rows_per_call(samples.dim)):
                atoms = self.conditional.atoms(x[part], run.seed, part.start)
                for _, index, kernel in groups:
                    y, weights = atoms.points[:, index], atoms.weights[:, index]
                    scores = target.line_scores(
                        x[part], index, y, memory=run.memory, first_row=part.start
                    )
                    with jax.enable_x64(True):
                        out[part, index] = _witness(
                            kernel, lines[part][:, index], y, scores, weights
                        )
            return out[..., 0] if points is None else out

        return at

    def _groups(
        self, samples: Samples, seed: object
    ) -> list[tuple[slice, np.ndarray, AbstractKernel]]:
        """Columns of H, the coordinates behind them, and their kernel, evaluated together."""
        x = samples.rows
        if self.blocks is not None:
            blocks = self._partition(samples)
            kernels = as_kernels(self.kernel, len(blocks)) or [self.kernel] * len(blocks)
            return [
                (slice(b, b + 1), index, _resolved(kernel, x[:, index], seed, False))
                for b, (index, kernel) in enumerate(zip(blocks, kernels, strict=True))
            ]
        tested = self._tested(samples)
        kernels = as_kernels(self.kernel, samples.dim)
        if kernels is None:
            whole = _resolved(self.kernel, x, seed, True)
            return [(slice(None), tested, _of_coordinates(whole, tested, samples.dim))]
        return [
            (slice(k, k + 1), np.array([j]), _resolved(kernels[j], x[:, [j]], seed, True))
            for k, j in enumerate(tested)
        ]

    def _partition(self, samples: Samples) -> list[np.ndarray]:
        if self.blocks is None:
            return [np.array([j]) for j in range(samples.dim)]
        position = {name: j for j, name in enumerate(samples.names)}
        position |= {j: j for j in range(samples.dim)}  # type: ignore[misc]
        try:
            blocks = [np.array([position[j] for j in block], dtype=int) for block in self.blocks]
        except (KeyError, TypeError) as error:
            raise InputError(
                f"blocks is {self.blocks!r}: expected lists of coordinate indices below "
                f"{samples.dim} or of names."
            ) from error
        found = np.sort(np.concatenate([*blocks, np.empty(0, int)]))
        if not all(len(block) for block in blocks) or not np.array_equal(
            found, np.arange(samples.dim)
        ):
            raise InputError(
                f"blocks hold the coordinates {found.tolist()[:20]}: expected a partition, every "
                f"one of the {samples.dim} coordinates in exactly one block, no block empty."
            )
        return blocks

    def _evaluate(
        self, function: Callable, kernel: AbstractKernel, arrays: tuple, memory: int
    ) -> np.ndarray:
        """Run a compiled function over chunks of rows of one shape."""
        n, atoms = len(arrays[0]), arrays[2].size / len(arrays[0])
        if self.variant == "unit-ball":
            atoms *= arrays[4].shape[-1]
        rows = int(np.clip(memory // (8 * 16 * atoms), 1, ROWS_PER_CALL))
        pieces = []
        with jax.enable_x64(True):
            for part in chunks(n, rows):
                size = part.stop - part.start
                padded = [np.resize(array[part], (rows, *array.shape[1:])) for array in arrays]
                pieces.append(np.asarray(function(kernel, *padded))[:size])
        out = np.concatenate(pieces)
        return out if out.ndim == 2 else out[:, None]


def _check_split(split: object) -> None:
    numbers = isinstance(split, (tuple, list)) and all(
        isinstance(share, (int, float, np.number)) and not isinstance(share, bool)
        for share in split
    )
    if not numbers or len(split) != 3 or min(split) <= 0 or abs(sum(split) - 1) > 1e-6:  # type: ignore[arg-type]
        raise InputError(
            f"split is {split!r}: expected three positive shares that sum to 1, to learn from, to "
            "validate on and to test, such as (0.2, 0.1, 0.7)."
        )


def _order(
    samples: Samples, split: tuple[float, float, float], seed: object, number: int, splits: int
) -> Int[np.ndarray, " draw"]:
    """The draws of a chain in the order train, validation, test.

    Independent draws are shuffled. Chains are not: what is learnt from is one stretch of every
    chain, for split k of K the k-th of K evenly spaced ones.
    """
    if samples.independent:
        return stream(seed, "split", number).permutation(samples.n_draws)
    held_out = round((split[0] + split[1]) * samples.n_draws)
    start = round(number / splits * (samples.n_draws - held_out))
    every = np.arange(samples.n_draws)
    stretch = slice(start, start + held_out)
    return np.concatenate([every[stretch], every[:start], every[start + held_out :]])


def _learning(
    fitted: AbstractConditional,
    data: TrainingData,
    labels: tuple[str, ...],
    tested: int,
    splits: int,
) -> Learning:
    """What was learnt of what is tested, beside the law of each coordinate alone."""
    log_density = fitted.log_density(data.validation)
    marginal = marginal_losses(data)
    losses = [None] * len(data.labels) if log_density is None else -log_density.mean(axis=0)
    models = fitted.chosen(len(data.labels))
    rows, wanted = zip(data.labels, models, losses, marginal, strict=True), set(labels)
    return Learning(
        train=len(data.train),
        validation=len(data.validation),
        tested=tested,
        splits=splits,
        rows=tuple(
            Learnt(name, model, None if loss is None else float(loss), float(alone))
            for name, model, loss, alone in rows
            if name in wanted
        ),
    )


@functools.cache
def _coordinates(variant: str) -> Callable:
    return jax.jit(functools.partial(functional.kccsd_contributions, variant=variant))


@functools.cache
def _block(variant: str) -> Callable:
    return jax.jit(functools.partial(functional.block_contributions, variant=variant))


_witness = jax.jit(functional.witness)


def _of_coordinates(kernel: AbstractKernel, tested: np.ndarray, d: int) -> AbstractKernel:
    """The kernel of some coordinates: parameters that differ by coordinate are taken from them."""
    return jax.tree.map(lambda a: a[tested] if np.shape(a) == (d,) else a, kernel)


def _resolved(
    kernel: object, rows: np.ndarray, seed: object, per_coordinate: bool
) -> AbstractKernel:
    assert isinstance(kernel, AbstractKernel)
    resolved = kernel.resolve(rows, seed, per_coordinate=per_coordinate)
    return eqx.tree_at(lambda k: jax.tree.leaves(k), resolved, replace_fn=np.asarray)
