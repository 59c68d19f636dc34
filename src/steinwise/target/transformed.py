"""A target with bounded coordinates as one on R^d: see `unconstrained`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinwise.target.autodiff import Target
from steinwise.target.base import AbstractTarget
from steinwise.target.gaussian import Gaussian
from steinwise.target.unconstrained import Unconstrained


def on_real_line(target: AbstractTarget, space: Unconstrained) -> AbstractTarget:
    """The same density with its bounded coordinates taken to the real line."""
    if space.changes_nothing:
        return target
    if isinstance(target, Gaussian):
        target = target.as_log_density()
    differentiable = target.has_scores(len(space.low))
    if isinstance(target, Target) and target.lines is None and differentiable:
        return target.composed(space)  # whose lines can be followed by series
    return TransformedTarget(target, space)


@dataclass(frozen=True, eq=False)
class TransformedTarget(AbstractTarget):
    """The density of y, where x(y) has the density `inner`: values and slopes by the chain rule.

    How `inner` is to be evaluated (memory, the number of the first row) is passed on as it comes.
    """

    inner: AbstractTarget
    space: Unconstrained

    @property
    def noisy(self) -> bool:  # type: ignore[override]
        return self.inner.noisy

    def prepare(self, d: int) -> str:
        return self.inner.prepare(d)

    def has_scores(self, d: int) -> bool:
        return self.inner.has_scores(d)

    def on_own_scale(self, x: np.ndarray) -> np.ndarray:
        return self.space.from_line(x)

    def line_limits(self) -> tuple[np.ndarray, np.ndarray]:
        return self.space.limits

    def score(self, x: np.ndarray, **options: Any) -> np.ndarray:
        scores = self.inner.score(self.space.from_line(x), **options)
        return self.space.slopes(x, scores)

    def log_values(self, x: np.ndarray, **options: Any) -> np.ndarray | None:
        values = self.inner.log_values(self.space.from_line(x), **options)
        return None if values is None else values + self.space.log_jacobian(x).sum(axis=1)

    def values_and_scores(
        self, x: np.ndarray, **options: Any
    ) -> tuple[np.ndarray, np.ndarray] | None:
        found = self.inner.values_and_scores(self.space.from_line(x), **options)
        if found is None:
            return None
        values, scores = found
        return values + self.space.log_jacobian(x).sum(axis=1), self.space.slopes(x, scores)

    def line_scores(
        self, x: np.ndarray, coordinates: np.ndarray, y: np.ndarray, **options: Any
    ) -> np.ndarray:
        along = self.space.along(coordinates)
        given = self.space.from_line(x), coordinates, along.from_line(y)
        return along.slopes(y, self.inner.line_scores(*given, **options))

    def line_values(
        self, x: np.ndarray, coordinates: np.ndarray, y: np.ndarray, **options: Any
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        along = self.space.along(coordinates)
        given = self.space.from_line(x), coordinates, along.from_line(y)
        values, slopes = self.inner.line_values(*given, **options)
        values = None if values is None else values + along.log_jacobian(y)
        return values, None if slopes is None else along.slopes(y, slopes)

    def direction_values(
        self, x: np.ndarray, directions: np.ndarray, steps: np.ndarray, **options: Any
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        # straight lines here are bent where `inner` lives: a tangent of its own at every point
        d = x.shape[1]
        each = directions if directions.ndim == 3 else directions[None]
        points = (x[:, None, None] + steps[..., None] * each[:, :, None]).reshape(-1, d)
        tangents = np.broadcast_to(each[:, :, None], (*steps.shape, d)).reshape(-1, d)
        log_jacobian = self.space.log_jacobian(points)
        values, slopes = self.inner.direction_values(
            self.space.from_line(points),
            (tangents * np.exp(log_jacobian))[:, None],
            np.zeros((len(points), 1, 1)),
            **options,
        )
        if slopes is not None:
            bend = (self.space.slopes(points, np.zeros_like(points)) * tangents).sum(axis=1)
            slopes = (slopes[:, 0, 0] + bend).reshape(steps.shape)
        if values is not None:
            values = (values[:, 0, 0] + log_jacobian.sum(axis=1)).reshape(steps.shape)
        return values, slopes

    def block_scores(
        self, x: np.ndarray, block: np.ndarray, y: np.ndarray, **options: Any
    ) -> np.ndarray:
        along = self.space.along(block)
        part = Unconstrained(
            along.low[:, 0], along.high[:, 0], along.nearest[..., 0], along.discrete[:, 0]
        )
        given = self.space.from_line(x), block, part.from_line(y)
        return part.slopes(y, self.inner.block_scores(*given, **options))
