"""Several sets of draws against one target: which is nearest, and which cannot be told apart.

Every set gets the same discrepancy with the same settings: one kernel, its bandwidth from all sets
together. Its error comes from batches, by the jackknife. Sets of one shape are cut into the same
batches, and the error of a difference is that of the batchwise differences: right for runs that
have nothing to do with each other, and smaller where they share their random numbers, as one
sampler at two step sizes with one seed does. Sets of different shapes are taken as independent.
"""

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float

import steinwise
from steinwise.batches import Batches, BatchPlan, cut_evenly, plan_batches
from steinwise.calibration import jackknife_error, leave_one_out
from steinwise.chains import evenly
from steinwise.errors import InputError, SteinwiseWarning, TooFewDraws
from steinwise.kernels import IMQ
from steinwise.memory import budget_bytes
from steinwise.methods import KSD, Work
from steinwise.optional import require
from steinwise.results import SCHEMA_VERSION, aligned, plain_seed
from steinwise.samples import Samples
from steinwise.statistics import Gram
from steinwise.target import AbstractTarget, as_target

if TYPE_CHECKING:
    import pandas as pd

Estimator = Literal["u", "v"]
FEWEST_BATCHES = 10  # for a standard error; t quantiles allow for so few
POOLED_ROWS = 1000  # of each set, for the bandwidth
BEST, WORSE = "best", "worse than the best"
NOT_TOLD_APART = "not told apart from the best"
TOO_FEW = "too few independent draws to tell"


class Difference(NamedTuple):
    """How much farther from the target one set is than another."""

    value: float
    standard_error: float | None  # None where either set has none
    paired: bool  # from the differences of batches


@dataclass(frozen=True)
class RankedSet:
    """One set of draws in a comparison."""

    name: str
    value: float  # the squared discrepancy; an unbiased estimate can be negative near 0
    standard_error: float | None  # None where the draws make too few batches
    difference: float  # to the best
    difference_error: float | None
    verdict: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """The answer of `sw.compare`: sets of draws, the nearest to the target first."""

    sets: tuple[RankedSet, ...]
    description: str
    alpha: float
    notes: tuple[str, ...]
    seed: Any
    version: str
    without: Mapping[str, Float[np.ndarray, " batch"] | None] = field(repr=False)
    cuts: Mapping[str, Batches] = field(repr=False)

    def difference(self, name: str, other: str) -> Difference:
        """How much farther the set `name` is from the target than the set `other`."""
        values = {ranked.name: ranked.value for ranked in self.sets}
        for given in (name, other):
            if given not in values:
                raise InputError(f"there is no set {given!r}: expected one of {list(values)}.")
        return _difference(name, other, values, self.without, self.cuts)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain Python objects."""
        return {
            "schema_version": SCHEMA_VERSION,
            "description": self.description,
            "alpha": float(self.alpha),
            "notes": list(self.notes),
            "seed": plain_seed(self.seed),
            "version": self.version,
            "sets": [asdict(ranked) for ranked in self.sets],
        }

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per set, the best first, indexed by its name. Needs pandas."""
        pandas = require("pandas", "io", "to_dataframe")
        return pandas.DataFrame([asdict(ranked) for ranked in self.sets]).set_index("name")

    def __str__(self) -> str:
        rows = [("draws", "value", "se", "difference", "se", "verdict")]
        for s in self.sets:
            first = s.verdict == BEST
            rows.append(
                (
                    s.name,
                    f"{s.value:.4g}",
                    _number(s.standard_error),
                    "" if first else f"{s.difference:.4g}",
                    "" if first else _number(s.difference_error),
                    s.verdict,
                )
            )
        lines = ["steinwise comparison", f"  {self.description}", ""]
        lines += ["  " + line for line in aligned(rows)]
        lines += [f"\nNote: {note}" for note in self.notes]
        lines.append(
            f"\nVerdicts hold together at level {self.alpha}, for the best as it turned out."
        )
        return "\n".join(lines)


def compare(
    draws: Mapping[str, Any],
    target: Any,
    *,
    method: str | KSD = "ksd",
    estimator: Estimator = "u",
    alpha: float = 0.05,
    seed: Any = 0,
    independent: bool | None = None,
    memory: str | int = "1GiB",
) -> Comparison:
    """Rank sets of draws by their distance from one density.

    Parameters
    ----------
    draws
        The sets by name, each as in `sw.check`: several samplers, or one at several settings.
    target
        The density, as in `sw.check`.
    method
        "ksd", the kernelized Stein discrepancy with an IMQ kernel (draws that run off to infinity
        can look near to an RBF kernel), or `sw.methods.KSD(kernel)`. A bandwidth "median" is
        that of all sets together, each with the same weight.
    estimator
        "u" asks which *law* is nearer: what a set would come to with ever more draws. "v" asks
        which *draws* are nearer, as they are: few draws and slow chains count against a set, as
        for a step size at a given budget.
    alpha
        The level at which sets are told apart, for all pairs together.
    seed
        For the rows of the median heuristic.
    independent, memory
        As in `sw.check`.

    Returns
    -------
    Comparison
        Prints as a table; `.sets`, `.difference(name, other)`, `.to_dict()`, `.to_dataframe()`.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> z = np.random.default_rng(0).normal(size=(500, 2))
    >>> sets = {"exact": z, "a little wide": 1.1 * z, "shifted": z + 0.5}
    >>> found = sw.compare(sets, sw.Gaussian([0, 0], np.eye(2)))
    >>> [ranked.name for ranked in found.sets]
    ['exact', 'a little wide', 'shifted']
    >>> found.sets[2].verdict
    'worse than the best'
    """
    chosen = _method(method)
    if estimator not in get_args(Estimator):
        raise InputError(f"estimator is {estimator!r}: expected 'u' or 'v'.")
    if not isinstance(alpha, (int, float, np.floating)) or not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha!r}: expected a level between 0 and 1, such as 0.05.")
    sets = _sets(draws, independent)
    density = as_target(target)
    density.prepare(next(iter(sets.values())).dim)
    work = Work(seed, budget_bytes(memory))

    grams = _grams(chosen, sets, density, work)
    plans = _plans(sets, grams)
    cuts = _cuts(sets, plans)
    values: dict[str, float] = {}
    without: dict[str, np.ndarray | None] = {}
    for name, gram in grams.items():
        (sums,) = gram.batch_sums(cuts[name])
        pairs = cuts[name].allowed if estimator == "u" else np.ones_like(cuts[name].allowed)
        values[name], replicates = leave_one_out(sums.values[0, 0], cuts[name], pairs)
        without[name] = None if plans[name] is None else replicates
    notes = [f"{name}: {note}" for name, plan in plans.items() if plan for note in plan.notes]
    for note in notes:
        warnings.warn(note, SteinwiseWarning, stacklevel=2)
    return Comparison(
        sets=_ranked(values, without, cuts, alpha),
        description=f"{chosen.describe()}, {estimator.upper()}-statistic, one kernel for all sets",
        alpha=alpha,
        notes=tuple(notes),
        seed=seed,
        version=steinwise.__version__,
        without=without,
        cuts=cuts,
    )


def _method(method: Any) -> KSD:
    if isinstance(method, str) and method == "ksd":
        return KSD(IMQ("median"))
    if isinstance(method, KSD) and not method.linear and method.bootstrap == "batches":
        return method
    raise InputError(
        f"method is {method!r}: expected 'ksd' or sw.methods.KSD(kernel). The other methods learn "
        "from the draws or weigh several statistics: their numbers judge one set, and do not "
        "compare two."
    )


def _sets(draws: Any, independent: bool | None) -> dict[str, Samples]:
    if not isinstance(draws, Mapping) or len(draws) < 2:
        raise InputError(
            f"draws is of type {type(draws).__name__}: expected a dict of at least two sets, such "
            'as {"step 0.1": draws, "step 0.2": other_draws}.'
        )
    sets = {}
    for name, given in draws.items():
        try:
            sets[str(name)] = Samples.of(given, independent=independent)
        except InputError as error:
            raise InputError(f"{name}: {error}") from error
    dims = {name: samples.dim for name, samples in sets.items()}
    if len(set(dims.values())) > 1:
        raise InputError(f"the sets have different numbers of coordinates: {dims}.")
    return sets


def _grams(
    method: KSD, sets: dict[str, Samples], target: AbstractTarget, work: Work
) -> dict[str, Gram]:
    """The pairs of each set, under one kernel."""
    pooled = np.concatenate([s.rows[evenly(s.n, POOLED_ROWS)] for s in sets.values()])
    kernel = method.kernel.resolve(pooled, work.seed, per_coordinate=False)
    common = KSD(kernel)
    return {
        name: common.gram(samples, target.score(samples.rows, memory=work.memory), work)
        for name, samples in sets.items()
    }


def _plans(sets: dict[str, Samples], grams: dict[str, Gram]) -> dict[str, BatchPlan | None]:
    """How each set wants to be cut; None where that leaves too few batches for an error."""
    plans: dict[str, BatchPlan | None] = {}
    for name, samples in sets.items():
        gram = grams[name]
        try:
            plans[name] = plan_batches(
                samples, gram.averaged, most=gram.most_batches, least=FEWEST_BATCHES
            )
        except TooFewDraws:
            plans[name] = None
    return plans


def _cuts(sets: dict[str, Samples], plans: dict[str, BatchPlan | None]) -> dict[str, Batches]:
    """The batches of each set: for all sets of one shape, those of the slowest among them."""
    coarsest: dict[tuple, Batches] = {}
    for name, plan in plans.items():
        shape = _shape(sets[name])
        if plan and (shape not in coarsest or plan.batches.count < coarsest[shape].count):
            coarsest[shape] = plan.batches
    return {
        name: coarsest[_shape(samples)]
        if plans[name]
        else cut_evenly(samples, -(-FEWEST_BATCHES // samples.n_chains))
        for name, samples in sets.items()
    }


def _shape(samples: Samples) -> tuple[int, int, bool]:
    return samples.n_chains, samples.n_draws, samples.independent


def _ranked(
    values: dict[str, float],
    without: dict[str, np.ndarray | None],
    cuts: dict[str, Batches],
    alpha: float,
) -> tuple[RankedSet, ...]:
    from scipy import stats

    order = sorted(values, key=values.__getitem__)
    best = order[0]
    pairs = len(order) * (len(order) - 1) / 2  # the best is chosen by the data: allow for any pair
    ranked = []
    for name in order:
        error = without[name]
        apart = _difference(name, best, values, without, cuts)
        verdict = BEST if name == best else TOO_FEW
        if name != best and apart.standard_error is not None:
            freedom = min(cuts[name].count, cuts[best].count) - 1
            bound = stats.t.isf(alpha / (2 * pairs), freedom) * apart.standard_error
            verdict = WORSE if apart.value > bound else NOT_TOLD_APART
        ranked.append(
            RankedSet(
                name=name,
                value=values[name],
                standard_error=None if error is None else jackknife_error(error),
                difference=apart.value,
                difference_error=apart.standard_error,
                verdict=verdict,
            )
        )
    return tuple(ranked)


def _difference(
    name: str,
    other: str,
    values: Mapping[str, float],
    without: Mapping[str, np.ndarray | None],
    cuts: Mapping[str, Batches],
) -> Difference:
    value = values[name] - values[other]
    one, two = without[name], without[other]
    paired = np.array_equal(cuts[name].bounds, cuts[other].bounds)
    if name == other:
        return Difference(0.0, 0.0, True)
    if one is None or two is None:
        return Difference(value, None, paired)
    if paired:
        return Difference(value, jackknife_error(one - two), True)
    return Difference(value, float(np.hypot(jackknife_error(one), jackknife_error(two))), False)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"
