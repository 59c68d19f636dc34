"""KSD as it is usually written in NumPy: one Gram matrix, one product for all bootstraps."""

import numpy as np


def plain_ksd(
    x: np.ndarray, scores: np.ndarray, n_bootstrap: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """KSD squared (RBF, median heuristic) and its wild bootstrap p-value."""
    n, d = x.shape
    rng = np.random.default_rng(seed)
    norms = (x**2).sum(axis=1)
    squared = np.maximum(norms[:, None] + norms[None, :] - 2 * (x @ x.T), 0)
    subset = rng.choice(n, min(n, 1000), replace=False)
    width = np.median(squared[np.ix_(subset, subset)][np.triu_indices(len(subset), 1)])
    own = (scores * x).sum(axis=1)
    cross = scores @ x.T
    mixed = own[:, None] - cross - cross.T + own[None, :]  # <b_x - b_y, x - y>
    gram = np.exp(-squared / (2 * width))
    gram *= scores @ scores.T + mixed / width + d / width - squared / width**2
    np.fill_diagonal(gram, 0)
    signs = (2 * rng.integers(0, 2, size=(n_bootstrap, n)) - 1).astype(x.dtype)
    null = ((signs @ gram) * signs).sum(axis=1)
    observed = gram.sum()
    pvalue = (1 + (null >= observed).sum()) / (1 + n_bootstrap)
    return float(observed) / (n * (n - 1)), float(pvalue)
