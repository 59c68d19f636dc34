r"""How far the means and standard deviations of draws are from the target's.

For coordinate a, x_a and x_a^2 are regressed on Stein functions (`regression`). With the score s,
and as Sigma_a the coefficients of the scores in a first regression of x_a, these are

.. math:: s_k, \qquad x_a s_k + [a = k], \qquad
    x_a^m \, \Sigma_a s + m \, x_a^{m - 1} \Sigma_{aa}, \quad m = 1, 2, 3.

All of them have mean 0 under the target. For a normal target, whatever its correlations, x_a and
x_a^2 are combinations of the first kind and of the last with m = 1: both moments are exact. All
else is for other targets: the second kind is taken with the scores k that x_a depends on most, and
where it may cost more, products of pairs and functions from a kernel (`kernel_terms`) are added.
"""

from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.memory import chunks
from steinwise._internal.threads import one_blas_thread
from steinwise.calibration.batches import Batches
from steinwise.calibration.jackknife import jackknife_errors
from steinwise.draws.repeats import row_keys
from steinwise.errors import TooFewDraws
from steinwise.estimates.kernel_terms import kernel_terms
from steinwise.estimates.regression import NEGLIGIBLE, Basis

DRAWS_PER_TERM = 3  # at least: a fit to fewer follows the draws' noise
# Terms of a coordinate and the scores it depends on most: more of them cost more than they explain.
MOST_PARTNERS, MOST_PAIRS = 32, 16
# The part of a function's variance that a regression may leave unexplained for its constant to be
# told. With it, intervals of summaries covered the truth in 0.97 of the repetitions, and targets
# that are not nearly normal were refused.
MOST_UNEXPLAINED = 0.05
# The same without functions from a kernel. These explain anything where there are draws, and say
# nothing of where there are none: on a banana, with 0.3 and more left to them, intervals covered
# 0.8 only.
MOST_UNEXPLAINED_BY_POLYNOMIALS = 0.2
COLUMNS_AT_ONCE = 32  # whose products with the basis are one product of matrices
TERMS_OF_ALL = 1000  # such terms of all coordinates together, where it may not cost more


@dataclass(frozen=True, eq=False)
class MomentErrors:
    """Means and standard deviations of draws next to the target's, for every coordinate.

    Fields that end in `without` have a row per batch: the same number without it, from which
    `jackknife_errors` makes standard errors. The largest deviations of all columns together make
    simultaneous intervals.
    """

    mean: Float[np.ndarray, " d"]  # of the draws
    sd: Float[np.ndarray, " d"]
    corrected_mean: Float[np.ndarray, " d"]  # the target's, as estimated
    corrected_sd: Float[np.ndarray, " d"]  # NaN where the estimated variance is not positive
    mean_error: Float[np.ndarray, " d"]  # (mean - corrected mean) / corrected sd
    sd_ratio: Float[np.ndarray, " d"]  # sd / corrected sd
    mean_without: Float[np.ndarray, "batch d"]
    sd_without: Float[np.ndarray, "batch d"]
    corrected_mean_without: Float[np.ndarray, "batch d"]
    corrected_sd_without: Float[np.ndarray, "batch d"]
    # 1 - R^2 of x and of (x - mean)^2. A small one is no proof: it is that of the draws'
    # distribution, and may be larger under the target.
    mean_unexplained: Float[np.ndarray, " d"]
    sd_unexplained: Float[np.ndarray, " d"]
    # how far `mean_error` and `sd_ratio` may be off as more Stein functions would explain more
    mean_doubt: Float[np.ndarray, " d"]
    sd_doubt: Float[np.ndarray, " d"]

    def first(self, count: int) -> "MomentErrors":
        """Of the first few."""
        return MomentErrors(*(getattr(self, f.name)[..., :count] for f in fields(self)))

    @property
    def mean_error_without(self) -> Float[np.ndarray, "batch d"]:
        """The error of each mean without each batch: of the draws' distribution, not of these."""
        return (self.mean_without - self.corrected_mean_without) / self.corrected_sd_without

    @property
    def sd_ratio_without(self) -> Float[np.ndarray, "batch d"]:
        """The ratio of sds without each batch: of the draws' distribution, not of these."""
        return self.sd_without / self.corrected_sd_without

    @property
    def mean_error_se(self) -> Float[np.ndarray, " d"]:
        """Standard errors of `mean_error`; two of them include what is in doubt."""
        return np.hypot(jackknife_errors(self.mean_error_without), self.mean_doubt / 2)

    @property
    def sd_ratio_se(self) -> Float[np.ndarray, " d"]:
        """Standard errors of `sd_ratio`; two of them include what is in doubt."""
        return np.hypot(jackknife_errors(self.sd_ratio_without), self.sd_doubt / 2)

    def moved(self, plain: "MomentErrors", rich: "MomentErrors") -> "MomentErrors":
        """With what more Stein functions change in estimates from some of the draws.

        The change is made in full, and is the measure of what is still in doubt. What more
        functions explain counts where few of them leave little enough.
        """
        change = rich.corrected_mean - plain.corrected_mean
        factor = rich.corrected_sd / plain.corrected_sd
        corrected_mean, corrected_sd = self.corrected_mean + change, self.corrected_sd * factor
        sd_ratio = self.sd / corrected_sd
        return replace(
            self,
            corrected_mean=corrected_mean,
            corrected_sd=corrected_sd,
            mean_error=(self.mean - corrected_mean) / corrected_sd,
            sd_ratio=sd_ratio,
            corrected_mean_without=self.corrected_mean_without + change,
            corrected_sd_without=self.corrected_sd_without * factor,
            mean_unexplained=_left_by_more(self.mean_unexplained, rich.mean_unexplained),
            sd_unexplained=_left_by_more(self.sd_unexplained, rich.sd_unexplained),
            mean_doubt=np.abs(change) / corrected_sd,
            sd_doubt=np.abs(sd_ratio - self.sd_ratio),
        )


def _left_by_more(
    few: Float[np.ndarray, " d"], many: Float[np.ndarray, " d"]
) -> Float[np.ndarray, " d"]:
    """The part of the variance that is unexplained, where more functions may be trusted."""
    return np.where(few <= MOST_UNEXPLAINED_BY_POLYNOMIALS, np.minimum(few, many), few)


@one_blas_thread
def moment_errors(
    x: Float[np.ndarray, "n d"],
    scores: Float[np.ndarray, "n d"],
    batches: Batches,
    *,
    directions: Float[np.ndarray, "d k"] | None = None,
    rich: bool = False,
) -> MomentErrors:
    """Compare the first two moments of every coordinate with the target's.

    Parameters
    ----------
    x, scores
        The draws and grad log p at them.
    batches
        Of the same draws, long enough that neighbours are nearly independent: `plan_batches`.
    directions
        Weights of the coordinates in linear combinations of them, one per column, that come after
        the coordinates.
    rich
        Whether products of pairs and functions from a kernel are among the Stein functions.

    Examples
    --------
    >>> from steinwise.calibration.batches import even_batches
    >>> rng = np.random.default_rng(0)
    >>> precision = np.linalg.inv([[1.0, 0.9], [0.9, 1.0]])
    >>> x = rng.normal(size=(1000, 2)) / np.sqrt(np.diag(precision))  # mean-field
    >>> found = moment_errors(x, -x @ precision, even_batches(1, 1000, 50, independent=True))
    >>> found.corrected_sd.round(10), found.sd_ratio.round(2)
    (array([1., 1.]), array([0.44, 0.43]))
    """
    d = x.shape[1]
    n = count_distinct(x)  # a draw that comes again says nothing new
    if not is_determined(n, d):
        raise TooFewDraws(
            f"{n} distinct draws of {d} coordinates do not determine a regression on all of their "
            f"scores, which needs at least {fewest_draws(d)} draws."
        )
    centre, scale = x.mean(axis=0), x.std(axis=0)
    z, s = (x - centre) / scale, scores * scale
    weights, means, spread, combined = np.eye(d), centre, scale, z
    if directions is not None:
        along = z @ (scale[:, None] * directions)
        lengths = along.std(axis=0)
        spread, means = np.append(scale, lengths), np.append(centre, centre @ directions)
        weights = np.concatenate([weights, scale[:, None] * directions / lengths], axis=1)
        combined = np.concatenate([z, along / lengths], axis=1)  # what is compared: of sd 1
    m = combined.shape[1]
    basis = Basis.of(s)
    room = n // DRAWS_PER_TERM - _fewest_terms(d) + 1
    if rich:
        kernel = kernel_terms(z, s)[:, : room // 3]
        basis, room = basis.extended(kernel), room - kernel.shape[1]
    towards = scores_to_coordinates(z, s)
    towards = np.concatenate([towards, weights[:, d:].T @ towards])
    strength = np.abs(towards) * np.sqrt((s**2).mean(axis=0))
    affordable = max(1, room // 2) if rich else min(room, max(1, TERMS_OF_ALL // d))
    count = min(d, MOST_PARTNERS, affordable)
    partners = np.argsort(-strength, axis=1, kind="stable")[:, :count]

    of_lines = _Lines(combined.T.copy(), weights.T, towards, (s @ towards.T).T.copy(), partners)
    by_coordinate = z.T.copy(), s.T.copy()
    values, without = np.empty((2, m)), np.empty((2, batches.count, m))
    unexplained = np.empty((2, m))
    for block in chunks(m, max(1, COLUMNS_AT_ONCE // count)):
        some = of_lines.part(block)
        own = some.terms(*by_coordinate, pairs=rich)
        powers = np.stack([some.own, some.own**2], axis=1)
        fit = basis.fit_extended(own, powers, batches)
        values[:, block], unexplained[:, block] = fit.values.T, fit.unexplained.T
        by_batch = _without(fit.values, fit.contributions, batches)
        without[..., block] = np.moveaxis(by_batch, 2, 0)
    return _compared(combined, means, spread, values, without, unexplained, batches)


class _Lines(NamedTuple):
    """Combinations a = weights @ z of coordinates, and what their Stein functions are made of."""

    own: Float[np.ndarray, "m n"]  # a
    weights: Float[np.ndarray, "m d"]
    towards: Float[np.ndarray, "m d"]  # Sigma_a
    along: Float[np.ndarray, "m n"]  # Sigma_a s
    partners: Int[np.ndarray, "m k"]  # the scores that it depends on, the strongest first

    def part(self, block: slice) -> "_Lines":
        return _Lines(*(array[block] for array in self))

    def terms(
        self, z: Float[np.ndarray, "d n"], s: Float[np.ndarray, "d n"], *, pairs: bool
    ) -> Float[np.ndarray, "m q n"]:
        """The Stein functions of each."""
        slope = np.einsum("md,md->m", self.weights, self.towards)[:, None]
        own, of_first = self.own, self.own * self.along
        powers = [of_first + slope, own * (of_first + 2 * slope), own**2 * (of_first + 3 * slope)]
        columns = [np.stack(powers, axis=1)]
        ahead = np.take_along_axis(self.weights, self.partners, axis=1)[..., None]
        columns.append(own[:, None] * s[self.partners] + ahead)
        if pairs:
            some = slice(min(self.partners.shape[1], MOST_PAIRS + 1))
            other = ahead[:, some] < 1 - 1e-9  # else the second power is there
            other &= np.cumsum(other, axis=1) <= MOST_PAIRS
            towards = np.take_along_axis(self.towards, self.partners, axis=1)[:, some, None]
            of_pairs = (of_first + slope)[:, None] * z[self.partners[:, some]]
            columns.append(np.where(other, of_pairs + own[:, None] * towards, 0.0))
        return np.concatenate(columns, axis=1)


@one_blas_thread
def function_errors(
    functions: Float[np.ndarray, "n f"],
    x: Float[np.ndarray, "n d"],
    scores: Float[np.ndarray, "n d"],
    batches: Batches,
    *,
    rich: bool = False,
) -> MomentErrors:
    """As `moment_errors`, of any functions of the draws: one column each.

    They are regressed on the scores, on all terms of second order, or the strongest of them where
    the draws are too few for all, and, if `rich`, on functions from a kernel.
    """
    n, d = x.shape
    z, s = (x - x.mean(axis=0)) / x.std(axis=0), scores * x.std(axis=0)
    kernel = kernel_terms(z, s) if rich else np.empty((n, 0))
    room = n // DRAWS_PER_TERM - d - 1 - kernel.shape[1]
    first = scores_to_coordinates(z, s)
    j, k = np.triu_indices(d)
    strongest = np.argsort(-np.abs(first + first.T)[j, k], kind="stable")[: max(1, room // 2)]
    j, k = j[strongest], k[strongest]
    second = np.where(j == k, 0.5, 1.0) * (z[:, j] * s[:, k] + z[:, k] * s[:, j]) + (j == k)
    basis = Basis.of(s).extended(np.concatenate([second, kernel], axis=1))
    centre, scale = functions.mean(axis=0), functions.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    h = (functions - centre) / scale
    fit = basis.fit(np.concatenate([h, h**2], axis=1), batches)
    without = _without(fit.values, fit.contributions, batches)
    parts = fit.values.reshape(2, -1), fit.unexplained.reshape(2, -1)
    by_batch = np.moveaxis(without.reshape(batches.count, 2, -1), 1, 0)
    return _compared(h, centre, scale, parts[0], by_batch, parts[1], batches)


def is_determined(n: int, d: int) -> bool:
    """Whether n draws are enough for the regressions of d coordinates."""
    return n >= fewest_draws(d)


def count_distinct(x: Float[np.ndarray, "n d"]) -> int:
    """How many of the draws differ."""
    return len(np.unique(row_keys(x)))


def bytes_per_draw(d: int, lines: int) -> int:
    """That the regressions of coordinates and directions hold at their peak.

    The draws and scores, standardised and by column, the basis and its products (8 d); the lines
    and their slopes (3 for each); and the functions of a block of lines, several times over.
    """
    return 8 * (8 * d + 3 * lines + 8 * (COLUMNS_AT_ONCE + 5))


def fewest_draws(d: int) -> int:
    """That determine the regressions of d coordinates."""
    return DRAWS_PER_TERM * _fewest_terms(d)


def _fewest_terms(d: int) -> int:
    """A constant, the scores, three powers of a coordinate, and one term of its own."""
    return d + 5


def scores_to_coordinates(
    z: Float[np.ndarray, "n d"], s: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "d d"]:
    """The coefficients of the scores in regressions of the coordinates, one row each.

    For a normal target they are -Sigma, its covariance, whatever the draws.
    """
    centred = s - s.mean(axis=0)
    size = np.sqrt((centred**2).mean(axis=0))
    size = np.where(size > 0, size, 1.0)
    products = centred.T @ np.concatenate([centred, z], axis=1) / len(s)
    squares, with_z = np.split(products / size[:, None], 2, axis=1)
    values, vectors = np.linalg.eigh(squares / size)
    kept = values > NEGLIGIBLE * max(1.0, float(values[-1]))
    some = vectors[:, kept]
    return ((some / values[kept]) @ (some.T @ with_z) / size[:, None]).T


def _without(
    values: Float[np.ndarray, "*b f"],
    contributions: Float[np.ndarray, "batch *b f"],
    batches: Batches,
) -> Float[np.ndarray, "batch *b f"]:
    """Values without each batch in turn, to first order; exact for a mean."""
    n = batches.lengths.sum()
    more = n / (n - batches.lengths)
    return values - contributions * more.reshape(-1, *[1] * values.ndim)


def _compared(
    z: Float[np.ndarray, "n d"],
    centre: Float[np.ndarray, " d"],
    scale: Float[np.ndarray, " d"],
    values: Float[np.ndarray, "2 d"],
    without: Float[np.ndarray, "2 batch d"],
    unexplained: Float[np.ndarray, "2 d"],
    batches: Batches,
) -> MomentErrors:
    """In the units of the draws; z has mean 0 and sd 1."""
    sums = np.stack([batches.sums(z), batches.sums(z**2)])
    _, (mean_without, sd_without) = moments_without(sums, batches)
    corrected_mean, corrected_sd = _mean_and_sd(values)
    corrected_mean_without, corrected_sd_without = _mean_and_sd(without)
    return MomentErrors(
        mean=centre,
        sd=scale,
        corrected_mean=centre + scale * corrected_mean,
        corrected_sd=scale * corrected_sd,
        mean_error=-corrected_mean / corrected_sd,
        sd_ratio=1 / corrected_sd,
        mean_without=centre + scale * mean_without,
        sd_without=scale * sd_without,
        corrected_mean_without=centre + scale * corrected_mean_without,
        corrected_sd_without=scale * corrected_sd_without,
        mean_unexplained=unexplained[0],
        sd_unexplained=unexplained[1],
        mean_doubt=np.zeros(z.shape[1]),
        sd_doubt=np.zeros(z.shape[1]),
    )


def moments_without(
    sums: Float[np.ndarray, "2 batch d"], batches: Batches
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Means and sds, of all and without each batch, from sums of draws and of their squares."""
    total, n = sums.sum(axis=1), batches.lengths.sum()
    without = (total[:, None] - sums) / (n - batches.lengths)[:, None]
    return _mean_and_sd(total / n), _mean_and_sd(without)


def _mean_and_sd(moments: Float[np.ndarray, "2 *shape"]) -> tuple[np.ndarray, np.ndarray]:
    variance = moments[1] - moments[0] ** 2
    return moments[0], np.sqrt(np.where(variance > 0, variance, np.nan))
