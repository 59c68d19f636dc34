"""Ridge regression of every coordinate on the others, all of them in one solve."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.threads import one_blas_thread
from steinwise._internal.validation import require_whole
from steinwise.conditionals.base import (
    AbstractConditional,
    AbstractFittedConditional,
    Atoms,
    Standardisation,
    TrainingData,
)
from steinwise.conditionals.marginal_density import log_sum_exp, scott_bandwidth

# Relative to the variance of a coordinate: from hardly any shrinkage to hardly any regression.
PENALTIES = 10.0 ** np.arange(-3, 3)
MAX_RESIDUALS = 1000  # more change their quantiles little


@dataclass(frozen=True, eq=False)
class Linear(AbstractConditional):
    r"""Linear regression with the residuals' own distribution.

    .. math:: y = \beta_j^\top x_{-j} + e, \qquad e \in \{\text{quantiles of the residuals of } j\}

    The coefficients of all ridge regressions are in one matrix P = (C + penalty I)^-1 of the
    standardised draws: beta_j = -P_j,-j / P_jj. All coordinates share one penalty, the one with the
    lowest validation loss. The residuals are those of the training draws, narrower than those of
    new draws by what the error of the coefficients adds: over training sets, the stand-in is then
    as wide as q's conditional. (Residuals of draws left out count that error twice, and a stand-in
    that is too wide takes the power: 0.3 instead of 1.0 for Laplace noise in 30 coordinates.) The
    residuals of a block are kept together.

    Parameters
    ----------
    n_atoms
        Number of quantiles of the residuals, or, for a block of several coordinates, of residuals
        evenly spaced over the training draws.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.multivariate_normal(np.zeros(2), [[1, 0.7], [0.7, 1]], size=600)
    >>> method = sw.methods.KCCSD(sw.conditionals.Linear())
    >>> sw.check(draws, sw.Gaussian(np.zeros(2), np.eye(2)), method=method).rejected
    True
    """

    n_atoms: int = 32

    least_train = 4
    least_validation = 2

    def __post_init__(self) -> None:
        require_whole("n_atoms", self.n_atoms, least=1)

    @one_blas_thread
    def fit(self, data: TrainingData) -> "FittedLinear":
        covariance, unseen = (
            _second_moments(rows, data.scale) for rows in (data.train, data.validation)
        )
        candidates = [_inverse(covariance, penalty) for penalty in PENALTIES]
        precision = min(candidates, key=lambda candidate: _loss(candidate, unseen))
        rows = data.train[evenly_spaced_indices(len(data.train), MAX_RESIDUALS)]
        residuals = _residuals(data.scale.apply(rows), precision, data.blocks)
        atoms = _quantiles(residuals, self.n_atoms)
        for block in data.blocks:
            if len(block) > 1:  # whole rows of residuals, repeated where there are too few
                atoms[:, block] = np.resize(
                    residuals[evenly_spaced_indices(len(rows), self.n_atoms)][:, block],
                    (self.n_atoms, len(block)),
                )
        return FittedLinear(self, data.scale, data.blocks, precision, atoms, len(rows))


@dataclass(frozen=True, eq=False)
class FittedLinear(AbstractFittedConditional):
    """The coefficients of all regressions and the distribution of their residuals."""

    settings: Linear
    scale: Standardisation
    blocks: tuple[Int[np.ndarray, " _"], ...]
    precision: Float[np.ndarray, "d d"]  # of the penalised covariance, standardised
    residuals: Float[np.ndarray, "m d"]  # the atoms: quantiles; of a block, rows of residuals
    n_residuals: int  # that they were taken from

    def describe(self) -> str:
        return self.settings.describe()

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:  # noqa: ARG002
        z = self.scale.apply(x)
        centres = z - _residuals(z, self.precision, self.blocks)
        points = centres[..., None] + self.residuals.T
        points *= self.scale.sd[:, None]
        points += self.scale.mean[:, None]
        return Atoms(points, np.full(points.shape, 1.0 / self.settings.n_atoms))

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """With a normal kernel around every residual."""
        residuals = _residuals(self.scale.apply(x), self.precision, self.blocks)
        columns = []
        for block in self.blocks:
            atoms = self.residuals[:, block]
            bandwidth = atoms.std(axis=0) * scott_bandwidth(self.n_residuals, len(block))
            squared = (((residuals[:, None, block] - atoms) / bandwidth) ** 2).sum(axis=-1)
            log_constant = np.log(bandwidth * np.sqrt(2 * np.pi) * self.scale.sd[block]).sum()
            mean = log_sum_exp(-squared / 2) - np.log(self.settings.n_atoms)
            columns.append(mean - log_constant)
        return np.stack(columns, axis=1)


def _quantiles(values: Float[np.ndarray, "t d"], count: int) -> Float[np.ndarray, "m d"]:
    """At the probabilities (k + 1/2) / count, interpolated linearly; one sort for all columns."""
    ordered = np.sort(values.T, axis=1).T
    position = (np.arange(count) + 0.5) / count * (len(values) - 1)
    below = np.minimum(position.astype(int), len(values) - 2)
    share = (position - below)[:, None]
    return ordered[below] * (1 - share) + ordered[below + 1] * share


def _second_moments(
    x: Float[np.ndarray, "n d"], scale: Standardisation
) -> Float[np.ndarray, "d d"]:
    """Of standardised draws."""
    centred = x - scale.mean
    return centred.T @ centred / (len(x) * np.outer(scale.sd, scale.sd))


def _inverse(covariance: Float[np.ndarray, "d d"], penalty: float) -> Float[np.ndarray, "d d"]:
    """(C + penalty I)^-1 by Cholesky."""
    from scipy.linalg import cho_factor, cho_solve

    identity = np.eye(len(covariance))
    return cho_solve(cho_factor(covariance + penalty * identity, lower=True), identity)


def _loss(precision: Float[np.ndarray, "d d"], unseen: Float[np.ndarray, "d d"]) -> float:
    """Log variances of the residuals of unseen draws, from the second moments of these draws."""
    variance = ((precision @ unseen) * precision).sum(axis=1) / precision.diagonal() ** 2
    return float(np.log(variance).sum())


def _residuals(
    z: Float[np.ndarray, "n d"],
    precision: Float[np.ndarray, "d d"],
    blocks: tuple[Int[np.ndarray, " _"], ...],
) -> Float[np.ndarray, "n d"]:
    """x_I - E[x_I | x_-I] = P_II^-1 (P x)_I for every block I."""
    products = z @ precision
    if len(blocks) == z.shape[1]:
        return products / precision.diagonal()
    for block in blocks:
        products[:, block] = np.linalg.solve(
            precision[np.ix_(block, block)], products[:, block].T
        ).T
    return products
