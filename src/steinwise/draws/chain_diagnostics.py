"""What dependence between draws means: autocorrelation times, R-hat, drift, hidden chains."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.indices import evenly_spaced_indices

MOST_COLUMNS = 256  # diagnostics look at no more than this many columns, evenly spaced
HIDDEN_CHAIN_LEVEL = 0.004
HIDDEN_CHAIN_LAGS = 10
HIDDEN_CHAIN_ENTRIES = 2_000_000
DRIFT_LEVEL = 1e-4
DRIFT_EXCESS = 3.0  # times the furthest of the later windows


class Autocorrelation(NamedTuple):
    """The strongest sign of autocorrelation between rows that should be independent."""

    value: float
    lag: int
    coordinate: int
    how: str


def autocorrelation_times(columns: Float[np.ndarray, "chain draw q"]) -> np.ndarray:
    """The integrated autocorrelation time of each column, by Geyer's initial sequence.

    Chains are centred one by one: a difference between chains is R-hat's to tell, and would
    otherwise pass for autocorrelation within them.
    """
    from arviz_stats.base.array import array_stats

    centred = columns - columns.mean(axis=1, keepdims=True)
    spread = np.abs(centred).max(axis=(0, 1))
    centred = centred / np.where(spread > 0, spread, 1.0)  # arviz takes tiny ranges for constants
    effective = array_stats.ess(centred, chain_axis=0, draw_axis=1, method="identity")
    return columns.shape[0] * columns.shape[1] / np.asarray(effective, dtype=float)


def rhat(values: Float[np.ndarray, "chain draw d"]) -> np.ndarray:
    """Rank-normalised split R-hat of every coordinate (of an even subset if there are many).

    A single chain is taken as two, so that it is compared with itself in quarters.
    """
    from arviz_stats.base.array import array_stats

    subset = values[..., evenly_spaced_indices(values.shape[-1], MOST_COLUMNS)]
    if len(subset) == 1:
        half = subset.shape[1] // 2
        subset = np.concatenate([subset[:, :half], subset[:, -half:]])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.asarray(array_stats.rhat(subset, chain_axis=0, draw_axis=1), dtype=float)
    return np.where(np.isnan(found), np.inf, found)  # a chain that never moved


def drift(columns: Float[np.ndarray, "chain draw q"], length: int) -> float | None:
    """How far the first `length` draws of a chain are from later ones, if more than chance allows.

    Their mean is compared with the means of all windows of that length after the first quarter.
    It must be further out than a normal law allows, and three times as far as any of those
    windows: where tails are heavy or windows short, some of them are far out too. Returns the
    distance in standard deviations of a window, for the chain and column where it is largest;
    None where it is explained by chance, or where windows are too few to tell.
    """
    from scipy import stats

    chains, draws, q = columns.shape
    windows = draws // length
    if windows < 4:
        return None
    means = columns[:, : windows * length].reshape(chains, windows, length, q).mean(axis=2)
    late = means[:, -(-windows // 4) :]
    away = late - late.mean(axis=1, keepdims=True)
    freedom = chains * (late.shape[1] - 1)
    unit = np.sqrt((away**2).sum(axis=(0, 1)) / freedom * (1 + 1 / late.shape[1]))
    unit = np.where(unit > 0, unit, np.inf)
    first = (np.abs(means[:, 0] - late.mean(axis=1)) / unit).max(axis=0)
    bound = stats.t.isf(DRIFT_LEVEL / (2 * chains * q), freedom)
    moved = first > np.maximum(bound, DRIFT_EXCESS * (np.abs(away) / unit).max(axis=(0, 1)))
    return float(first[moved].max()) if moved.any() else None


def hidden_chain_window(d: int) -> int:
    """How many rows are looked at for a hidden chain."""
    return max(2000, HIDDEN_CHAIN_ENTRIES // d)


def row_autocorrelation(rows: Float[np.ndarray, "n d"]) -> Autocorrelation | None:
    r"""Significant autocorrelation along rows that are said to be independent, or None.

    Works on normal scores of the ranks of x_j and of |x_j - median|, so that no law of the
    coordinates matters. For independent rows, r_j(lag) = mean_t z_tj z_{t+lag,j} has variance
    1/n, and covariance corr(z_j, z_k)^2 / n between coordinates; so the sum over coordinates and
    the maximum both have known tails. The level, 0.004 in all, goes half to the sum at lag 1 (the
    strongest sign of a chain), a quarter to the other sums, a quarter to the maxima. Lags up to
    10 are there for chains that were interleaved.
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
    worst: tuple[float, Autocorrelation] | None = None
    for kind, signal in signals.items():
        z = stats.norm.ppf((stats.rankdata(signal, axis=0) - 0.5) / n)
        spread = z.std(axis=0)
        z = (z - z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        sum_scale = np.linalg.norm(z.T @ z / n)  # root of the sum of squared correlations
        for lag in range(1, lags + 1):
            products = np.einsum("tj,tj->j", z[:-lag], z[lag:])
            unit = np.sqrt(n - lag)
            each = (products + (n - lag) / (n - 1)) / unit
            first = kind == "positions" and lag == 1
            others = len(signals) * lags - 1
            share = 1 / 2 if first else 1 / (4 * max(1, others))
            most = int(np.argmax(each))
            found = Autocorrelation(float(products[most] / n), lag, int(subset[most]), kind)
            for statistic, level in (
                (each.sum() / sum_scale, share * HIDDEN_CHAIN_LEVEL),
                (each[most], HIDDEN_CHAIN_LEVEL / (4 * len(signals) * lags * d)),
            ):
                excess = float(statistic - stats.norm.isf(level))
                if excess > 0 and (worst is None or excess > worst[0]):
                    worst = (excess, found)
    return None if worst is None else worst[1]
