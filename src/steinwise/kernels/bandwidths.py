"""Kernels of (x - y) / bandwidth: the bandwidth is given, or comes from the median heuristic."""

from typing import ClassVar, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from steinwise.errors import InputError
from steinwise.kernels.base import AbstractKernel
from steinwise.kernels.median import median_distance
from steinwise.kernels.parameters import positive_parameter, require_parameter_shape

_number_or_vector = positive_parameter("bandwidth", ', or "median" for the median heuristic')


def _bandwidth(value: object) -> np.ndarray | str:
    return value if isinstance(value, str) and value == "median" else _number_or_vector(value)


class AbstractScaled(AbstractKernel):
    """A kernel of (x - y) / bandwidth; the bandwidth is a number, a vector or "median"."""

    bandwidth: np.ndarray | str = eqx.field(converter=_bandwidth, default=1.0)  # type: ignore[assignment]
    translation_invariant: ClassVar[bool] = True

    def resolve(self, rows: np.ndarray, seed: object, *, per_coordinate: bool) -> Self:
        if not isinstance(self.bandwidth, str):
            require_parameter_shape(self.bandwidth, rows.shape[1])
            return self
        bandwidth = median_distance(rows, seed, per_coordinate=per_coordinate)
        return eqx.tree_at(lambda kernel: kernel.bandwidth, self, bandwidth)

    def _scale(self) -> Array:
        if isinstance(self.bandwidth, str):
            raise InputError(
                'bandwidth="median" depends on the draws: call kernel.resolve(draws, seed, '
                "per_coordinate=False) first. sw.check, sw.ksd and sw.kccsd do so themselves."
            )
        return jnp.asarray(self.bandwidth)
