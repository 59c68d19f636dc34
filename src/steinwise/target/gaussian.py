"""The Gaussian target, in closed form: a score along a line costs one multiplication."""

import reprlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from jaxtyping import Float

from steinwise._internal.validation import as_numbers, as_symmetric
from steinwise.errors import InputError
from steinwise.target.autodiff import Target
from steinwise.target.base import DEFAULT_MEMORY, AbstractTarget, check_dimension
from steinwise.target.support import require_support, undeclared


@dataclass(frozen=True, eq=False, init=False)
class Gaussian(AbstractTarget):
    """N(mean, covariance), with score -P (x - mean), P the inverse of the covariance.

    Parameters
    ----------
    mean
        (d,).
    covariance
        (d, d), symmetric and positive definite.
    support
        Where its coordinates live (see `sw.support`): a normal density cut off at bounds, or
        restricted to separate values. Real by default.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> target = sw.Gaussian([0.0, 1.0], [[1.0, 0.5], [0.5, 1.0]])
    >>> print(target.score(np.array([[0.0, 1.0]])))
    [[0. 0.]]
    """

    mean: Float[np.ndarray, " d"]
    covariance: Float[np.ndarray, "d d"]
    precision: Float[np.ndarray, "d d"]
    support: Any

    def __init__(self, mean: object, covariance: object, *, support: Any = undeclared) -> None:
        require_support(support)
        mean_array, covariance_array = _real("mean", mean), _real("covariance", covariance)
        d = mean_array.size
        if mean_array.ndim != 1 or covariance_array.shape != (d, d):
            raise InputError(
                f"mean has shape {mean_array.shape} and covariance {covariance_array.shape}: "
                "expected (d,) and (d, d). For independent coordinates use np.diag(variances)."
            )
        if not (np.isfinite(mean_array).all() and np.isfinite(covariance_array).all()):
            raise InputError("mean or covariance has entries that are not finite.")
        covariance_array = as_symmetric("the covariance", covariance_array)
        try:
            factor = scipy.linalg.cho_factor(covariance_array, lower=True)
        except np.linalg.LinAlgError as error:
            smallest = np.linalg.eigvalsh(covariance_array)[0]
            raise InputError(
                f"the covariance is not positive definite: its smallest eigenvalue is "
                f"{smallest:.3g}. Is it a precision or a correlation matrix by mistake?"
            ) from error
        precision = scipy.linalg.cho_solve(factor, np.eye(d))
        object.__setattr__(self, "support", support)
        object.__setattr__(self, "mean", mean_array)
        object.__setattr__(self, "covariance", covariance_array)
        object.__setattr__(self, "precision", (precision + precision.T) / 2)

    def as_log_density(self) -> Target:
        """The same density without its closed form, which bounds take away."""
        mean, precision = self.mean, self.precision
        return Target(lambda x: -0.5 * (x - mean) @ precision @ (x - mean), support=self.support)

    def prepare(self, d: int) -> str:
        check_dimension(self.mean.size, d)
        return "float64"

    def score(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray:  # noqa: ARG002
        return (self.mean - x) @ self.precision

    def log_values(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray:  # noqa: ARG002
        return np.einsum("nd,nd->n", self.score(x), x - self.mean) / 2

    def line_scores(
        self,
        x: np.ndarray,
        coordinates: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,  # noqa: ARG002
        first_row: int = 0,  # noqa: ARG002
    ) -> np.ndarray:
        at_x = (self.mean - x) @ self.precision[:, coordinates]
        curvature = self.precision[coordinates, coordinates]
        return (at_x + curvature * x[:, coordinates])[..., None] - curvature[:, None] * y

    def line_values(
        self,
        x: np.ndarray,
        coordinates: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,  # noqa: ARG002
    ) -> tuple[np.ndarray | None, np.ndarray]:
        return self._values(x, coordinates, y - x[:, coordinates, None])

    def direction_values(
        self,
        x: np.ndarray,
        directions: np.ndarray,
        steps: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,  # noqa: ARG002
    ) -> tuple[np.ndarray | None, np.ndarray]:
        return self._values(x, directions, steps)

    def _values(
        self, x: np.ndarray, directions: np.ndarray, steps: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        to_mean, sd = self.normal_along(x, directions)
        z = (steps - to_mean[..., None]) / sd[:, None]
        return -0.5 * z**2, -z / sd[:, None]

    def normal_along(self, x: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if directions.ndim == 1:
            columns = self.precision[:, directions]
            variance = 1 / self.precision[directions, directions]
        else:
            columns = self.precision @ directions.T
            variance = 1 / np.einsum("cd,dc->c", directions, columns)
        return ((self.mean - x) @ columns) * variance, np.sqrt(variance)

    def block_scores(
        self,
        x: np.ndarray,
        block: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,  # noqa: ARG002
        first_row: int = 0,  # noqa: ARG002
    ) -> np.ndarray:
        at_x = (self.mean - x) @ self.precision[:, block]
        return at_x[:, None] - (y - x[:, None, block]) @ self.precision[np.ix_(block, block)]

    def __repr__(self) -> str:
        return f"Gaussian(d={self.mean.size})"


def _real(name: str, value: object) -> Float[np.ndarray, "..."]:
    """An array of real numbers, in 64 bit."""
    array = as_numbers(value)
    if array is None:
        raise InputError(
            f"{name} is {reprlib.repr(value)}: expected an array of real numbers, without masked "
            "entries and with rows of one length."
        )
    return array
