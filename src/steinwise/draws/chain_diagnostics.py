"""Signs of dependence between draws: autocorrelation times, R-hat, drift, hidden chains."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.memory import chunks
from steinwise.draws.normal_scores import RankedRows, rank_rows

# Diagnostics use at most this many columns, evenly spaced: this bounds their cost in high
# dimensions, at the price that a slow column between two of them is missed.
MOST_COLUMNS = 256
COLUMNS_AT_ONCE = 64  # of a few thousand draws: 2 MB, which stay in the cache; changes no number
# Draws that really are independent are refused with this probability: small enough that few users
# meet it, large enough to find a chain with autocorrelation 0.1 in 1000 draws of 10 coordinates.
HIDDEN_CHAIN_LEVEL = 0.004
# The least standard deviation of a coordinate's normal scores for it to be searched: scores of a
# discrete one that takes a value in nine draws of ten are too skewed for the tails used here.
LEAST_SPREAD = 0.5
HIDDEN_CHAIN_LAGS = 10  # finds up to ten chains that were interleaved draw by draw
HIDDEN_CHAIN_ENTRIES = 2_000_000  # numbers that are ranked: one to three seconds of work
FEWEST_DRAWS = 4  # of a chain, to speak of its autocorrelation
BLOM = 0.375  # the offset of ranks in R-hat, as Vehtari et al. take it
NO_SPREAD = 1e-12  # a variance of normal scores that is rounding error
DRIFT_LEVEL = 1e-4  # of a false note about warm-up; a start that matters is many sds away
# Times as far out as the furthest later window: at 3, chains of Cauchy draws give a false note less
# than once in a hundred times.
DRIFT_EXCESS = 3.0


class Autocorrelation(NamedTuple):
    """The strongest sign of autocorrelation between rows that should be independent."""

    value: float
    lag: int
    coordinate: int
    signal: str  # "positions" or "distances from the median"


def autocorrelation_times(columns: Float[np.ndarray, "chain draw q"]) -> np.ndarray:
    """The integrated autocorrelation time of each column, by Geyer's initial sequence.

    Sums of two neighbouring autocorrelations, as long as they are positive, and none larger than
    the one before it. The same as arviz-stats gives, for all columns at once: one by one they take
    five times as long. Each chain is centred by itself: differences between chains are the business
    of R-hat, and would otherwise pass for autocorrelation within chains.
    """
    n, q = columns.shape[1:]
    if n < FEWEST_DRAWS:
        return np.full(q, np.nan)
    parts = [_times(columns[..., some]) for some in chunks(q, COLUMNS_AT_ONCE)]
    return np.concatenate(parts)


def _times(columns: Float[np.ndarray, "chain draw q"]) -> np.ndarray:
    chains, n, q = columns.shape
    by_column = np.ascontiguousarray(np.moveaxis(columns, 2, 0), float)
    centred = by_column - by_column.mean(axis=2, keepdims=True)
    spread = np.abs(centred).max(axis=(1, 2))
    moves = spread > 0
    centred /= np.where(moves, spread, 1.0)[:, None, None]
    rho = _autocorrelations(centred)
    pairs = rho[:, : n - n % 2].reshape(q, -1, 2).sum(axis=2)
    last = -(-(n - 4) // 2)  # the pair at which the longest sequence ends
    positive = np.logical_and.accumulate(pairs[:, 1 : last + 1] > 0, axis=1)
    end = np.minimum(1 + positive.sum(axis=1), last)
    summed = np.where(np.arange(pairs.shape[1]) < end[:, None], pairs, 0.0)
    total = np.minimum.accumulate(summed, axis=1).sum(axis=1)
    # of the pair that ends it, the first one if that is positive
    rest = np.maximum(np.take_along_axis(rho, 2 * end[:, None], axis=1)[:, 0], 0.0)
    times = np.maximum(2 * total - 1 + rest, 1 / np.log10(chains * n))
    return np.where(moves, times, 1.0)


def _autocorrelations(centred: Float[np.ndarray, "q chain draw"]) -> Float[np.ndarray, "q draw"]:
    """Of all lags, over all chains; that of lag 0 is 1."""
    from scipy.fft import next_fast_len

    n = centred.shape[2]
    length = next_fast_len(2 * n, real=True)
    power = np.abs(np.fft.rfft(centred, length, axis=2)) ** 2
    covariances = np.fft.irfft(power.mean(axis=1), length, axis=1)[:, :n] / n
    variance = covariances[:, :1]
    shift = variance / (n - 1)  # the variance of draws is by n - 1, that of lags by n
    rho = 1 - (variance + shift - covariances) / np.where(variance > 0, variance, 1.0)
    rho[:, 0] = 1.0
    return rho


def rhat(values: Float[np.ndarray, "chain draw d"]) -> np.ndarray:
    """Rank-normalised split R-hat of every coordinate (of an even subset if there are many).

    The larger of two, of the draws and of their distances from the median (Vehtari, Gelman,
    Simpson, Carpenter and Buerkner 2021); the same as arviz-stats gives, for all coordinates at
    once: one by one they take three times as long. A single chain is cut into two, whose quarters
    are then compared with each other.
    """
    subset = values[..., evenly_spaced_indices(values.shape[-1], MOST_COLUMNS)]
    if len(subset) == 1:
        half = subset.shape[1] // 2
        subset = np.concatenate([subset[:, :half], subset[:, -half:]])
    half = subset.shape[1] // 2
    if half < 2:
        return np.full(subset.shape[2], np.inf)  # nothing to compare
    halves = np.concatenate([subset[:, :half], subset[:, -half:]])
    rows = halves.reshape(-1, halves.shape[2]).T
    found = []
    for some in chunks(len(rows), COLUMNS_AT_ONCE):
        ranked = rank_rows(rows[some], BLOM)
        both = _rhat_of_ranks(ranked, half), _rhat_of_ranks(ranked.by_distance(BLOM), half)
        found.append(np.maximum(*both))
    return np.concatenate(found)


def _rhat_of_ranks(ranked: RankedRows, n_draws: int) -> np.ndarray:
    """sqrt(1 + (B / W - 1) / n) of normal scores of ranks; infinite if no chain ever moves."""
    d, entries = ranked.scores.shape
    n_chains = entries // n_draws
    chain = (ranked.order // n_draws + n_chains * np.arange(d)[:, None]).ravel()
    z = ranked.scores.ravel()
    means, squares = (
        np.bincount(chain, power, d * n_chains).reshape(d, n_chains) / n_draws
        for power in (z, z**2)
    )
    within = ((squares - means**2) * n_draws / (n_draws - 1)).mean(axis=1)
    between = n_draws * means.var(axis=1, ddof=1)
    ratio = np.divide(between, within, out=np.full(d, np.inf), where=within > NO_SPREAD)
    return np.sqrt((ratio + n_draws - 1) / n_draws)


def drift(columns: Float[np.ndarray, "chain draw q"], length: int) -> float | None:
    """How far the first `length` draws of a chain are from later ones, if beyond chance.

    The mean of the first window is compared with the means of all windows of that length after
    the first quarter of the chain. It must be further out than a normal distribution allows, and
    three times as far out as any of those windows: where tails are heavy or windows short, some of
    them are far out too. Returns the distance in standard deviations of a window mean, for the
    chain and column where it is largest; None if chance explains it, or if there are too few
    windows to tell.
    """
    from scipy import stats

    chains, draws, q = columns.shape
    windows = draws // length
    if windows < 4:
        return None
    means = columns[:, : windows * length].reshape(chains, windows, length, q).mean(axis=2)
    late = means[:, -(-windows // 4) :]
    deviations = late - late.mean(axis=1, keepdims=True)
    freedom = chains * (late.shape[1] - 1)
    sd = np.sqrt((deviations**2).sum(axis=(0, 1)) / freedom * (1 + 1 / late.shape[1]))
    sd = np.where(sd > 0, sd, np.inf)
    first = (np.abs(means[:, 0] - late.mean(axis=1)) / sd).max(axis=0)
    bound = stats.t.isf(DRIFT_LEVEL / (2 * chains * q), freedom)
    moved = first > np.maximum(bound, DRIFT_EXCESS * (np.abs(deviations) / sd).max(axis=(0, 1)))
    return float(first[moved].max()) if moved.any() else None


def hidden_chain_window(d: int) -> int:
    """How many rows of d coordinates are searched for a hidden chain."""
    return max(2000, HIDDEN_CHAIN_ENTRIES // d)


def row_autocorrelation(rows: Float[np.ndarray, "n d"]) -> Autocorrelation | None:
    r"""Significant autocorrelation along rows that are said to be independent, or None.

    Uses the normal scores of the ranks of x_j and of |x_j - median|, so that the distribution of
    the coordinates does not matter. For independent rows, r_j(lag) = mean_t z_tj z_{t+lag,j} has
    variance 1/n, and covariance corr(z_j, z_k)^2 / n between coordinates; so the sum over
    coordinates and the maximum both have known tails. The level, 0.004 in all, is divided: half
    goes to the sum at lag 1 (the strongest sign of a chain), a quarter to the other sums, a
    quarter to the maxima. Lags up to 10 find chains that were interleaved.
    """
    from scipy import stats

    window = hidden_chain_window(rows.shape[1])
    subset = evenly_spaced_indices(
        rows.shape[1], max(1, HIDDEN_CHAIN_ENTRIES // min(len(rows), window))
    )
    x = rows[:window][:, subset]
    n, d = x.shape
    lags = min(HIDDEN_CHAIN_LAGS, n // 5)
    if lags < 1:
        return None
    signals = {"positions": x, "distances from the median": np.abs(x - np.median(x, axis=0))}
    strongest: tuple[float, Autocorrelation] | None = None
    for kind, signal in signals.items():
        z = rank_rows(signal.T).in_place().T
        spread = z.std(axis=0)
        varied = np.flatnonzero(spread > LEAST_SPREAD)
        if not varied.size:
            continue
        z = ((z - z.mean(axis=0)) / np.where(spread > 0, spread, 1.0))[:, varied]
        sum_scale = np.linalg.norm(z.T @ z / n)  # root of the sum of squared correlations
        for lag in range(1, lags + 1):
            products = np.einsum("tj,tj->j", z[:-lag], z[lag:])
            unit = np.sqrt(n - lag)
            standardised = (products + (n - lag) / (n - 1)) / unit
            first = kind == "positions" and lag == 1
            others = len(signals) * lags - 1
            share = 1 / 2 if first else 1 / (4 * max(1, others))
            j = int(np.argmax(standardised))
            coordinate = int(subset[varied[j]])
            largest = Autocorrelation(float(products[j] / n), lag, coordinate, kind)
            for statistic, level in (
                (standardised.sum() / sum_scale, share * HIDDEN_CHAIN_LEVEL),
                (standardised[j], HIDDEN_CHAIN_LEVEL / (4 * len(signals) * lags * d)),
            ):
                excess = float(statistic - stats.norm.isf(level))
                if excess > 0 and (strongest is None or excess > strongest[0]):
                    strongest = (excess, largest)
    return None if strongest is None else strongest[1]
