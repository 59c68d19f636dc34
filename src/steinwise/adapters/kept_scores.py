"""Scores that a sampler kept with its draws, so that they need not be evaluated again.

They are used only where they are those of the target: a sampler may have run on another density
than the one that its draws are checked against, or count its coordinates in another order.
"""

import csv
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from steinwise._internal.indices import evenly_spaced_indices
from steinwise.adapters.containers import has_group, read_group
from steinwise.draws.samples import Samples
from steinwise.target import AbstractTarget

COMPARED_DRAWS = 16  # at which kept scores must agree with the target's
# Of the size of the scores: gradients of a sampler in 32 bit differ by some 1e-5 from those in 64
# bit, and scores of another density or order by much more at some of the draws.
AGREEMENT = 1e-3


def with_kept_scores(samples: Samples, target: AbstractTarget, scores: Any) -> Samples:
    """The draws with the scores that their sampler kept, if they are the target's.

    Without them where there are none, or where they disagree with the target at a few draws.
    """
    if scores is None or np.shape(scores) != samples.values.shape or not np.isfinite(scores).all():
        return samples
    known = samples.with_scores(np.asarray(scores, dtype=np.float64), target)
    index = evenly_spaced_indices(samples.n, COMPARED_DRAWS)
    expected = target.score(samples.take(index))
    error = np.abs(known.scores_by(target.score, index) - expected)
    size = np.sqrt((expected**2).mean(axis=0))
    return known if (error <= AGREEMENT * size).all() else samples


def nutpie_scores(container: Any) -> Float[np.ndarray, "chain draw d"] | None:
    """What nutpie keeps with ``store_gradient=True``, in the group of sample statistics."""
    if not has_group(container, "sample_stats"):
        return None
    statistics = read_group(container, "sample_stats")
    if "gradient" not in statistics.data_vars:
        return None
    gradient = statistics["gradient"]
    if not {"chain", "draw"} <= set(gradient.dims):
        return None
    return gradient.transpose("chain", "draw", ...).values


def cmdstan_scores(fit: Any, draws: int) -> Float[np.ndarray, "chain draw d"] | None:
    """The columns g_... of CmdStan's diagnostic files, which `save_latent_dynamics=True` writes.

    They are derivatives of the potential energy, the negative log density. Warm-up comes first.
    """
    files = getattr(getattr(fit, "runset", None), "diagnostic_files", ())
    chains = [_potential_gradients(Path(file))[-draws:] for file in files if Path(file).is_file()]
    if not chains or len({chain.shape for chain in chains}) > 1:
        return None
    return -np.stack(chains)


def _potential_gradients(path: Path) -> Float[np.ndarray, "draw d"]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(line for line in file if line.strip() and not line.startswith("#"))
        header = next(rows, [])
        columns = [k for k, name in enumerate(header) if name.startswith("g_")]
        return np.array([[float(row[k]) for k in columns] for row in rows])
