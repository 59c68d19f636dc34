r"""Kernels on R^m, with the derivatives that Stein's method needs.

The author of a kernel writes one function of a pair of points, `evaluate`; the author of a
radial kernel only its profile. Gram matrices, derivatives, Stein kernels, sums and products
come with it. Closed forms replace automatic derivatives where speed or smoothness asks for it.

Examples
--------
>>> import numpy as np
>>> from steinwise.kernels import IMQ, RBF
>>> kernel = RBF(1.0) + 0.5 * IMQ(bandwidth=2.0)
>>> x = np.zeros((2, 3))
>>> print(kernel(x, x).shape)
(2, 2)
"""

import abc
from collections.abc import Callable, Sequence
from functools import cache
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, ArrayLike, Float

from steinwise.errors import InputError
from steinwise.medians import median_distance
from steinwise.options import as_positive, require_whole
from steinwise.random import stream


class Conditions(NamedTuple):
    """What the theorems of the paper ask of a kernel."""

    strictly_positive_definite: bool  # integrally: separates laws (theorems 2 and 3)
    twice_differentiable: bool  # the closed form exists (theorem 1)
    vanishes_at_infinity: bool  # the Stein operator's boundary terms are zero


class Parts(NamedTuple):
    """A kernel at a pair of points and its derivatives, one entry per coordinate."""

    value: Float[Array, ""]
    dx: Float[Array, " m"]
    dy: Float[Array, " m"]
    dxdy: Float[Array, " m"]  # d^2 k / dx_j dy_j


class AbstractKernel(eqx.Module):
    """A positive definite function of two points of R^m."""

    conditions: ClassVar[Conditions] = Conditions(False, False, False)  # nothing is claimed
    of_differences: ClassVar[bool] = False  # whether it sees x - y alone, so that both may be moved

    @abc.abstractmethod
    def evaluate(self, x: Float[Array, " m"], y: Float[Array, " m"]) -> Float[Array, ""]:
        """k(x, y) for one pair of points: all that the author of a kernel must write."""

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
        """The mean of the Stein kernel of one point with weighted others."""
        stein = jax.vmap(self.stein, in_axes=(None, 0, None, 0))
        return jnp.dot(weights, stein(x, atoms, score, atom_scores))

    def stein_norm(self, atoms: Array, atom_scores: Array, weights: Array) -> Float[Array, ""]:
        """The mean of the Stein kernel over all pairs of weighted points."""
        return weights @ self.stein_gram(atoms, atoms, atom_scores, atom_scores) @ weights

    def resolve(self, rows: np.ndarray, seed: object, *, per_coordinate: bool) -> Self:  # noqa: ARG002
        """This kernel with every bandwidth a number, the median heuristic taken on `rows`."""
        return self

    def __add__(self, other: "AbstractKernel") -> "AbstractKernel":
        return Sum(self, _as_kernel(other))

    def __mul__(self, other: "AbstractKernel | float") -> "AbstractKernel":
        return Product(self, _as_kernel(other))

    __radd__ = __add__
    __rmul__ = __mul__


def over_pairs(function: Callable) -> Callable:
    """A function of (x, y, score_x, score_y) for all pairs of rows."""
    return jax.vmap(jax.vmap(function, in_axes=(None, 0, None, 0)), in_axes=(0, None, 0, None))


def _as_kernel(value: object) -> AbstractKernel:
    if isinstance(value, AbstractKernel):
        return value
    if isinstance(value, Real) and not isinstance(value, bool) and value > 0:  # type: ignore[operator]
        return Constant(value)
    raise InputError(f"a kernel can be combined with a kernel or a positive number, not {value!r}")


def require_kernel(kernel: object) -> None:
    """One kernel, not its name."""
    if not isinstance(kernel, AbstractKernel):
        raise InputError(
            f"kernel is {kernel!r}: expected one kernel such as sw.kernels.RBF('median') or "
            "sw.kernels.IMQ(1.0), neither its name nor its class."
        )


def _positive(name: str, otherwise: str = "") -> Callable[[object], np.ndarray]:
    def convert(value: object) -> np.ndarray:
        if isinstance(value, Tracer):
            return value  # type: ignore[return-value]  # a bandwidth under the caller's own jit
        array = as_positive(value)
        if array is None:
            raise InputError(f"{name} is {value!r}: expected positive finite numbers{otherwise}.")
        return value if isinstance(value, jax.Array) else array  # type: ignore[return-value]

    return convert


_number_or_vector = _positive("bandwidth", ', or "median" for the median heuristic')


def _bandwidth(value: object) -> np.ndarray | str:
    return value if isinstance(value, str) and value == "median" else _number_or_vector(value)


def _require_one_or_each(parameter: ArrayLike, d: int) -> None:
    shape = np.shape(parameter)
    if shape not in ((), (d,)):
        raise InputError(
            f"the kernel has a vector of {shape[0]} parameters for {d} coordinates: give one "
            "number, or one per coordinate."
        )


class _Scaled(AbstractKernel):
    """A kernel of (x - y) / bandwidth; the bandwidth is a number, a vector or "median"."""

    bandwidth: np.ndarray | str = eqx.field(converter=_bandwidth, default=1.0)  # type: ignore[assignment]
    of_differences: ClassVar[bool] = True

    def resolve(self, rows: np.ndarray, seed: object, *, per_coordinate: bool) -> Self:
        if not isinstance(self.bandwidth, str):
            _require_one_or_each(self.bandwidth, rows.shape[1])
            return self
        bandwidth = median_distance(rows, seed, per_coordinate=per_coordinate)
        return eqx.tree_at(lambda kernel: kernel.bandwidth, self, bandwidth)

    def _scale(self) -> Array:
        if isinstance(self.bandwidth, str):
            raise InputError(
                'bandwidth="median" depends on the draws: call kernel.resolve(draws, seed, '
                "per_coordinate=False) first. sw.check, sw.ksd and sw.kccsd do it themselves."
            )
        return jnp.asarray(self.bandwidth)


class AbstractRadial(_Scaled):
    """`k(x, y) = profile(s)` with `s = |x - y|^2 / bandwidth^2`."""

    @abc.abstractmethod
    def profile(self, s: Array) -> Array:
        """The kernel as a function of the squared scaled distance: all that must be written."""

    def profile_derivatives(self, s: Array) -> tuple[Array, Array, Array]:
        """profile, its first and its second derivative, elementwise."""
        first = jax.grad(lambda t: self.profile(t))
        both = jnp.vectorize(lambda t: (self.profile(t), first(t), jax.grad(first)(t)))
        return both(s)

    def evaluate(self, x: Array, y: Array) -> Array:
        return self.profile(jnp.sum(((x - y) / self._scale()) ** 2))

    def parts(self, x: Array, y: Array) -> Parts:
        scale = self._scale()
        difference = (x - y) / scale**2
        k, k1, k2 = self.profile_derivatives(jnp.sum((x - y) * difference))
        dx = 2 * k1 * difference
        return Parts(k, dx, -dx, -4 * k2 * difference**2 - 2 * k1 / scale**2)

    def stein_gram(self, x: Array, y: Array, score_x: Array, score_y: Array) -> Array:
        # The same sum as `stein`, as few matrix products: what belongs to a row or a column alone
        # is one more column of a factor.
        common = np.ndim(self.bandwidth) == 0
        scale = jnp.broadcast_to(self._scale(), x.shape[-1:])
        centre = amid(x)  # else |x|^2 + |y|^2 - 2 <x, y> loses digits far from 0
        x, y = (x - centre) / scale, (y - centre) / scale
        bx, by = score_x / scale, score_y / scale
        squared = squared_distances(x, y)
        # sum_j (x_j - y_j)^2 / b_j^4, where x and y are already divided by b
        twice_scaled = (
            squared / scale[0] ** 2 if common else squared_distances(x / scale, y / scale)
        )
        along = along_difference(x, y, bx, by, jnp.sum(scale**-2))
        k, k1, k2 = self.profile_derivatives(squared)
        return k * (score_x @ score_y.T) + 2 * k1 * along - 4 * k2 * twice_scaled


def amid(x: Any) -> Any:
    """A point among the rows: the median of nine of them, which a far one does not move."""
    some = x[np.linspace(0, len(x) - 1, 9).round().astype(int)]
    return (np if isinstance(x, np.ndarray) else jnp).median(some, axis=0)


def squared_distances(x: Array, y: Array) -> Array:
    squared = _product_of_columns([-2 * x, _sums(x**2), 1.0], [y, 1.0, _sums(y**2)])
    return jnp.maximum(squared, 0.0)


def along_difference(x: Array, y: Array, bx: Array, by: Array, less: Array | float) -> Array:
    """<x - y, by - bx> - less, for all pairs of rows."""
    left = [x, bx, -_sums(bx * x) - less, 1.0]
    return _product_of_columns(left, [by, y, 1.0, -_sums(by * y)])


def _sums(rows: Array) -> Array:
    return jnp.sum(rows, axis=1, keepdims=True)


def _product_of_columns(left: list, right: list) -> Array:
    """A matrix product of columns side by side; 1.0 is a column of ones."""

    def beside(parts: list) -> Array:
        rows = parts[0]
        ones = jnp.ones((len(rows), 1), rows.dtype)
        return jnp.concatenate([ones if isinstance(part, float) else part for part in parts], 1)

    return beside(left) @ beside(right).T


class RBF(AbstractRadial):
    r"""`k(x, y) = exp(-|x - y|^2 / (2 b^2))`.

    In three and more dimensions its KSD can vanish along draws that run off to infinity; the
    IMQ's cannot.

    Parameters
    ----------
    bandwidth
        b: a number, a vector (one per coordinate), or "median" for the median heuristic.
    """

    conditions: ClassVar[Conditions] = Conditions(True, True, True)

    def profile(self, s: Array) -> Array:
        return jnp.exp(-s / 2)

    def profile_derivatives(self, s: Array) -> tuple[Array, Array, Array]:
        k = jnp.exp(-s / 2)
        return k, -k / 2, k / 4


@jax.tree_util.register_static
class _Half(float):
    """1/2, which compiled code knows: a square root takes an eighth of the time of a power."""


def _exponent(value: object) -> np.ndarray | float:
    known = isinstance(value, (int, float, np.ndarray, np.generic))
    return _Half(0.5) if known and np.array_equal(value, 0.5) else _positive("exponent")(value)


class IMQ(AbstractRadial):
    r"""`k(x, y) = (1 + |x - y|^2 / b^2)^-e`, the inverse multiquadric.

    Its KSD controls weak convergence in any dimension for 0 < e < 1 and targets that are
    distantly dissipative (Gorham and Mackey, 2017).

    Parameters
    ----------
    bandwidth
        b: a number, a vector (one per coordinate), or "median" for the median heuristic.
    exponent
        e. A plain 1/2 is a constant of compiled code; to differentiate by it give a JAX array.
    """

    exponent: np.ndarray | float = eqx.field(converter=_exponent, default=0.5)
    conditions: ClassVar[Conditions] = Conditions(True, True, True)

    def resolve(self, rows: np.ndarray, seed: object, *, per_coordinate: bool) -> Self:
        if not per_coordinate and np.ndim(self.exponent):
            raise InputError(
                f"the exponent of IMQ is a vector of {np.size(self.exponent)} numbers, which only "
                "univariate kernels can take one each of: give one number."
            )
        return super().resolve(rows, seed, per_coordinate=per_coordinate)

    def profile(self, s: Array) -> Array:
        return self.profile_derivatives(s)[0]

    def profile_derivatives(self, s: Array) -> tuple[Array, Array, Array]:
        inverse = 1 / (1 + s)
        if isinstance(self.exponent, _Half):
            e, k = 0.5, jnp.sqrt(inverse)
        else:
            e = jnp.asarray(self.exponent)
            k = jnp.exp(e * jnp.log(inverse))  # two thirds of the time of a power
        return k, -e * k * inverse, e * (e + 1) * k * inverse**2


class Matern52(AbstractRadial):
    r"""`k(x, y) = (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)` with `r = |x - y| / b`.

    Its closed-form derivatives are smooth at r = 0, where automatic ones would not be.
    """

    conditions: ClassVar[Conditions] = Conditions(True, True, True)

    def profile(self, s: Array) -> Array:
        return self.profile_derivatives(s)[0]

    def profile_derivatives(self, s: Array) -> tuple[Array, Array, Array]:
        apart = s > 0  # the root has no derivative at 0, the kernel does, and it is 0
        r = jnp.where(apart, jnp.sqrt(5 * jnp.where(apart, s, 1.0)), 0.0)
        decay = jnp.exp(-r)
        return (1 + r + r**2 / 3) * decay, -5 / 6 * (1 + r) * decay, 25 / 12 * decay


class HyperbolicSecant(_Scaled):
    r"""`k(x, y) = prod_j sech(sqrt(pi / 2) (x_j - y_j) / b_j)`.

    The kernel of random-feature Stein discrepancies: its Fourier transform has the same form.
    """

    conditions: ClassVar[Conditions] = Conditions(True, True, True)

    def evaluate(self, x: Array, y: Array) -> Array:
        t = jnp.sqrt(jnp.pi / 2) * (x - y) / self._scale()
        return jnp.exp(jnp.sum(jnp.log(2.0) - jnp.logaddexp(t, -t)))  # cosh would overflow

    def parts(self, x: Array, y: Array) -> Parts:
        rate = jnp.sqrt(jnp.pi / 2) / self._scale()
        slope = jnp.tanh(rate * (x - y))
        k = self.evaluate(x, y)
        dx = -k * rate * slope
        return Parts(k, dx, -dx, k * rate**2 * (1 - 2 * slope**2))


class RandomFourier(_Scaled):
    r"""`k(x, y) = mean_r cos(<w_r, x - y> / b)`: R random waves in place of a radial kernel.

    The frequencies w_r are those of `exp(-|x - y|^2 / (2 b^2))`, standard normal, or of
    `(1 + |x - y|^2 / b^2)^(-1/2)`, normal with a random scale, spread evenly over their law (a
    Latin hypercube), so that k is that kernel in the mean over seeds. A Stein kernel is then a
    product of 2 R features per coordinate,

    .. math:: \xi(x) = R^{-1/2} (b_j \cos(t) - w_j \sin(t), \; b_j \sin(t) + w_j \cos(t)),
        \qquad t = \langle w_r, x \rangle,

    and its mean over pairs of m atoms the square of one sum: in KCC-SD the unit-ball variant takes
    m R steps for m^2. Few waves leave some misfits unseen, whatever n is.

    Parameters
    ----------
    bandwidth
        b: a number, a vector (one per coordinate), or "median".
    waves
        R.
    law
        "rbf" or "imq": which kernel they are the waves of.
    seed
        For the frequencies.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> x, y = np.array([[0.0], [1.0]]), np.array([[0.5]])
    >>> near = sw.kernels.RandomFourier(waves=200)(x, y) - sw.kernels.RBF()(x, y)
    >>> bool(abs(near).max() < 1e-3)
    True
    """

    waves: int = eqx.field(static=True, default=20)
    law: Literal["rbf", "imq"] = eqx.field(static=True, default="rbf")
    seed: int = eqx.field(static=True, default=0)
    conditions: ClassVar[Conditions] = Conditions(False, True, False)

    def __check_init__(self) -> None:
        require_whole("waves", self.waves, least=1)
        require_whole("seed", self.seed, least=0)
        if self.law not in ("rbf", "imq"):
            raise InputError(f"law is {self.law!r}: expected 'rbf' or 'imq'.")

    def evaluate(self, x: Array, y: Array) -> Array:
        return jnp.mean(jnp.cos(self._frequencies(x) @ (x - y)))

    def parts(self, x: Array, y: Array) -> Parts:
        w = self._frequencies(x)
        angle = w @ (x - y)
        dx = -jnp.mean(jnp.sin(angle)[:, None] * w, axis=0)
        dxdy = jnp.mean(jnp.cos(angle)[:, None] * w**2, axis=0)
        return Parts(jnp.mean(jnp.cos(angle)), dx, -dx, dxdy)

    def stein_features(self, x: Array, score: Array) -> Float[Array, " f"]:
        """Numbers whose products, summed, are the Stein kernel."""
        w = self._frequencies(x)
        angle = (w @ x)[:, None]
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        both = jnp.stack([score * cos - w * sin, score * sin + w * cos])
        return both.ravel() / np.sqrt(self.waves)

    def stein(self, x: Array, y: Array, score_x: Array, score_y: Array) -> Array:
        return jnp.dot(self.stein_features(x, score_x), self.stein_features(y, score_y))

    def stein_gram(self, x: Array, y: Array, score_x: Array, score_y: Array) -> Array:
        rows = jax.vmap(self.stein_features)
        return rows(x, score_x) @ rows(y, score_y).T

    def stein_mean(
        self, x: Array, score: Array, atoms: Array, atom_scores: Array, weights: Array
    ) -> Array:
        rows = jax.vmap(self.stein_features)(atoms, atom_scores)
        return jnp.dot(self.stein_features(x, score), weights @ rows)

    def stein_norm(self, atoms: Array, atom_scores: Array, weights: Array) -> Array:
        return jnp.sum((weights @ jax.vmap(self.stein_features)(atoms, atom_scores)) ** 2)

    def _frequencies(self, x: Array) -> Float[Array, "r m"]:
        """Divided by the bandwidth, in the precision of x."""
        standard = jnp.asarray(frequencies(self.law, self.waves, x.shape[-1], self.seed), x.dtype)
        return standard / self._scale()


@cache
def frequencies(
    law: str, count: int, dimension: int, seed: int
) -> Float[np.ndarray, "count dimension"]:
    """Of the kernel with bandwidth 1; every coordinate, and the scale, has one in each stratum."""
    from scipy.special import gammaincinv, ndtri

    rng = stream(seed, "fourier frequencies")
    strata = rng.permuted(np.tile(np.arange(count), (dimension + 1, 1)), axis=1).T
    uniform = (strata + rng.uniform(size=strata.shape)) / count
    normal = ndtri(uniform[:, 1:])
    if law == "rbf":
        return normal
    # (1 + s)^(-1/2) is the mean of exp(-g s) over a Gamma(1/2) variable g
    return np.sqrt(2 * gammaincinv(0.5, uniform[:, :1])) * normal


class Constant(AbstractKernel):
    """k(x, y) = c: a factor for other kernels, of no use alone."""

    value: np.ndarray = eqx.field(converter=_positive("value"))
    conditions: ClassVar[Conditions] = Conditions(False, True, False)
    of_differences: ClassVar[bool] = True

    def evaluate(self, x: Array, y: Array) -> Array:
        return jnp.asarray(self.value) + jnp.zeros((), jnp.result_type(x, y))

    def parts(self, x: Array, y: Array) -> Parts:
        zero = jnp.zeros_like(x)
        return Parts(self.evaluate(x, y), zero, zero, zero)


class _Pair(AbstractKernel):
    left: AbstractKernel
    right: AbstractKernel

    @property
    def of_differences(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.left.of_differences and self.right.of_differences

    def resolve(self, rows: np.ndarray, seed: object, *, per_coordinate: bool) -> Self:
        left = self.left.resolve(rows, seed, per_coordinate=per_coordinate)
        right = self.right.resolve(rows, seed, per_coordinate=per_coordinate)
        return type(self)(left, right)


class Sum(_Pair):
    """k1 + k2: strictly positive definite if either is."""

    @property
    def conditions(self) -> Conditions:  # pyright: ignore[reportIncompatibleVariableOverride]
        a, b = self.left.conditions, self.right.conditions
        return Conditions(a[0] or b[0], a[1] and b[1], a[2] and b[2])

    def evaluate(self, x: Array, y: Array) -> Array:
        return self.left.evaluate(x, y) + self.right.evaluate(x, y)

    def parts(self, x: Array, y: Array) -> Parts:
        a, b = self.left.parts(x, y), self.right.parts(x, y)
        return Parts(*(one + other for one, other in zip(a, b, strict=True)))

    def stein_gram(self, x: Array, y: Array, score_x: Array, score_y: Array) -> Array:
        both = (self.left, self.right)
        left, right = (kernel.stein_gram(x, y, score_x, score_y) for kernel in both)
        return left + right


class Product(_Pair):
    """k1 * k2: strict positive definiteness is kept where the other factor is a constant."""

    @property
    def conditions(self) -> Conditions:  # pyright: ignore[reportIncompatibleVariableOverride]
        a, b = self.left.conditions, self.right.conditions
        constant = isinstance(self.left, Constant) or isinstance(self.right, Constant)
        strict = (a[0] or b[0]) if constant else (a[0] and b[0])
        return Conditions(strict, a[1] and b[1], a[2] or b[2])

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


def in_precision_of(x: Array, kernel: AbstractKernel) -> AbstractKernel:
    """The kernel with parameters of the dtype of x: a float64 bandwidth must not widen float32."""

    def cast(leaf: Array) -> Array:
        floating = not isinstance(leaf, str) and jnp.issubdtype(jnp.result_type(leaf), jnp.floating)
        return jnp.asarray(leaf, x.dtype) if floating else leaf

    return jax.tree.map(cast, kernel)


def narrowed(kernel: AbstractKernel, dtype: str, *points: np.ndarray) -> list[np.ndarray]:
    """Points in this precision, moved together towards 0 before digits go, where that is allowed.

    >>> narrowed(RBF(), "float32", np.array([[1e9], [1e9 + 1]]))[0].tolist()
    [[0.0], [1.0]]
    """
    if np.dtype(dtype) == np.float64:
        return list(points)
    centre = amid(points[0]) if kernel.of_differences else 0.0
    return [(each - centre).astype(dtype) for each in points]


def one_per_coordinate(kernel: AbstractKernel, d: int) -> AbstractKernel:
    """The kernel as d univariate ones: every parameter becomes a vector of length d."""

    def spread(leaf: Array) -> Array:
        leaf = jnp.asarray(leaf)
        _require_one_or_each(leaf, d)
        return jnp.broadcast_to(leaf, (d,))

    return jax.tree.map(spread, kernel)


def require_kernels(kernel: object) -> None:
    """One kernel, or a sequence of them."""
    several = kernel if isinstance(kernel, Sequence) else [kernel]
    if not several or not all(isinstance(k, AbstractKernel) for k in several):
        raise InputError(
            f"kernel is {kernel!r}: expected a kernel such as sw.kernels.RBF(1.0), or a list of "
            "kernels, one per coordinate (or per block)."
        )


def as_kernels(kernel: "AbstractKernel | Sequence[AbstractKernel]", groups: int) -> list | None:
    """A sequence of kernels, one per coordinate or block; None if there is only one."""
    if isinstance(kernel, AbstractKernel):
        return None
    if len(kernel) != groups:
        raise InputError(f"{len(kernel)} kernels came for {groups} coordinates or blocks.")
    return list(kernel)
