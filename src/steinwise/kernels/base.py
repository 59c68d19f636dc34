"""A kernel on R^m with the derivatives that Stein's method needs; sums and products of kernels.

A new kernel needs one function of a pair of points, `evaluate`. Gram matrices, derivatives, Stein
kernels, sums and products come with it. Closed forms override automatic derivatives where they are
faster, or where automatic ones are wrong at equal points.
"""

import abc
from collections.abc import Callable
from numbers import Real
from typing import ClassVar, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from steinwise.errors import InputError
from steinwise.kernels.parameters import positive_parameter


class Parts(NamedTuple):
    """A kernel at a pair of points and its derivatives, one entry per coordinate."""

    value: Float[Array, ""]
    dx: Float[Array, " m"]
    dy: Float[Array, " m"]
    dxdy: Float[Array, " m"]  # d^2 k / dx_j dy_j


class AbstractKernel(eqx.Module):
    """A positive definite function of two points of R^m."""

    # Whether the kernel depends on x - y alone, so that all points may be moved together.
    translation_invariant: ClassVar[bool] = False

    @abc.abstractmethod
    def evaluate(self, x: Float[Array, " m"], y: Float[Array, " m"]) -> Float[Array, ""]:
        """k(x, y) for one pair of points: all that a new kernel must define."""

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Float[Array, "a b"]:
        """The Gram matrix of the rows of x (a, m) and of y (b, m)."""
        x, y = jnp.asarray(x), jnp.asarray(y)
        if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
            raise InputError(
                f"a kernel takes two arrays (rows, m) with the same m, not {x.shape} and "
                f"{y.shape}. For univariate points use x[:, None]."
            )
        return jax.vmap(jax.vmap(self.evaluate, in_axes=(None, 0)), in_axes=(0, None))(x, y)

    def parts(self, x: Float[Array, " m"], y: Float[Array, " m"]) -> Parts:
        """The kernel and its derivatives at one pair, by automatic differentiation."""
        value, dx = jax.value_and_grad(self.evaluate, 0)(x, y)
        dy = jax.grad(self.evaluate, 1)(x, y)
        mixed = jax.jacfwd(jax.grad(self.evaluate, 0), 1)(x, y)
        return Parts(value, dx, dy, jnp.diagonal(mixed))

    def stein(self, x: Array, y: Array, score_x: Array, score_y: Array) -> Float[Array, ""]:
        r"""The Stein kernel <b_x, b_y> k + <b_x, dk/dy> + <b_y, dk/dx> + sum_j d2k/dx_j dy_j."""
        k = self.parts(x, y)
        return (
            jnp.dot(score_x, score_y) * k.value
            + jnp.dot(score_x, k.dy)
            + jnp.dot(score_y, k.dx)
            + jnp.sum(k.dxdy)
        )

    def stein_gram(self, x: Array, y: Array, score_x: Array, score_y: Array) -> Array:
        """The Stein kernel for all pairs of rows, a by b."""
        return over_pairs(self.stein)(x, y, score_x, score_y)

    def stein_mean(
        self, x: Array, score: Array, atoms: Array, atom_scores: Array, weights: Array
    ) -> Float[Array, ""]:
        """The weighted mean of the Stein kernel between one point and the atoms."""
        stein = jax.vmap(self.stein, in_axes=(None, 0, None, 0))
        return jnp.dot(weights, stein(x, atoms, score, atom_scores))

    def stein_norm(self, atoms: Array, atom_scores: Array, weights: Array) -> Float[Array, ""]:
        """The weighted mean of the Stein kernel over all pairs of atoms."""
        return weights @ self.stein_gram(atoms, atoms, atom_scores, atom_scores) @ weights

    def resolve(self, rows: np.ndarray, seed: object, *, per_coordinate: bool) -> Self:  # noqa: ARG002
        """This kernel with every "median" replaced by the median heuristic on `rows`."""
        return self

    def __add__(self, other: "AbstractKernel") -> "AbstractKernel":
        return Sum(self, _as_kernel(other))

    def __mul__(self, other: "AbstractKernel | float | np.floating") -> "AbstractKernel":
        return Product(self, _as_kernel(other))

    __radd__ = __add__
    __rmul__ = __mul__


def over_pairs(function: Callable) -> Callable:
    """Apply a function of (x, y, score_x, score_y) to all pairs of rows."""
    return jax.vmap(jax.vmap(function, in_axes=(None, 0, None, 0)), in_axes=(0, None, 0, None))


def _as_kernel(value: object) -> AbstractKernel:
    if isinstance(value, AbstractKernel):
        return value
    if isinstance(value, Real) and not isinstance(value, bool) and value > 0:  # type: ignore[operator]
        return Constant(value)
    raise InputError(f"a kernel can be combined with a kernel or a positive number, not {value!r}")


def require_kernel(kernel: object, name: str = "kernel") -> None:
    """Require one kernel; not its name, its class or a list."""
    if not isinstance(kernel, AbstractKernel):
        raise InputError(
            f"{name} is {kernel!r}: expected one kernel such as sw.kernels.RBF('median') or "
            "sw.kernels.IMQ(1.0), neither its name nor its class."
        )


class Constant(AbstractKernel):
    """k(x, y) = c: a factor for other kernels, useless by itself."""

    value: np.ndarray = eqx.field(converter=positive_parameter("value"))
    translation_invariant: ClassVar[bool] = True

    def evaluate(self, x: Array, y: Array) -> Array:
        return jnp.asarray(self.value) + jnp.zeros((), jnp.result_type(x, y))

    def parts(self, x: Array, y: Array) -> Parts:
        zero = jnp.zeros_like(x)
        return Parts(self.evaluate(x, y), zero, zero, zero)


class _Pair(AbstractKernel):
    left: AbstractKernel
    right: AbstractKernel

    def __check_init__(self) -> None:
        require_kernel(self.left, "left")
        require_kernel(self.right, "right")

    @property
    def translation_invariant(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.left.translation_invariant and self.right.translation_invariant

    def resolve(self, rows: np.ndarray, seed: object, *, per_coordinate: bool) -> Self:
        left = self.left.resolve(rows, seed, per_coordinate=per_coordinate)
        right = self.right.resolve(rows, seed, per_coordinate=per_coordinate)
        return type(self)(left, right)


class Sum(_Pair):
    """k1 + k2: strictly positive definite if either is."""

    def evaluate(self, x: Array, y: Array) -> Array:
        return self.left.evaluate(x, y) + self.right.evaluate(x, y)

    def parts(self, x: Array, y: Array) -> Parts:
        summands = zip(self.left.parts(x, y), self.right.parts(x, y), strict=True)
        return Parts(*(left + right for left, right in summands))

    def stein_gram(self, x: Array, y: Array, score_x: Array, score_y: Array) -> Array:
        both = (self.left, self.right)
        left, right = (kernel.stein_gram(x, y, score_x, score_y) for kernel in both)
        return left + right


class Product(_Pair):
    """k1 * k2: strictly positive definite if one factor is and the other is a constant."""

    def evaluate(self, x: Array, y: Array) -> Array:
        return self.left.evaluate(x, y) * self.right.evaluate(x, y)

    def parts(self, x: Array, y: Array) -> Parts:
        a, b = self.left.parts(x, y), self.right.parts(x, y)
        return Parts(
            a.value * b.value,
            a.dx * b.value + a.value * b.dx,
            a.dy * b.value + a.value * b.dy,
            a.dxdy * b.value + a.dx * b.dy + a.dy * b.dx + a.value * b.dxdy,
        )
