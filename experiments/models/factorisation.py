r"""Bayesian probabilistic matrix factorisation with unit covariances, as in the paper's appendix.

.. math:: R_{ij} \sim N(U_i \cdot V_j, 1), \quad U_i \sim N(\mu_U, I), \quad V_j \sim N(\mu_V, I),
    \quad \mu_U, \mu_V \sim N(0, I)

A state is a dict of "mu_U" (K,), "mu_V" (K,), "U" (N, K) and "V" (M, K). All complete conditionals
are normal. The rows of U are independent given the rest, and so are the rows of V.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise.kernels import RBF
from steinwise.samplers import Gibbs

BLOCKS = ("mu_U", "mu_V", "U", "V")  # in the order of a sweep
State = dict[str, Array]


class Normals(NamedTuple):
    """Independent normal distributions of vectors of length K, one for each row.

    K is small and there are many rows, so the Cholesky factorisation is written out with the rows
    as the last axis. This takes a tenth of the time of a batch of LAPACK calls, which can also
    deadlock inside a compiled loop.
    """

    precision: Float[Array, "n k k"]
    factor: list[Array]  # columns of the lower Cholesky factor, each from its diagonal on: (., n)
    mean: Float[Array, "n k"]

    @classmethod
    def of(cls, precision: Float[Array, "n k k"], linear: Float[Array, "n k"]) -> "Normals":
        """The distributions with log density linear . x - x' precision x / 2."""
        factor = _cholesky(jnp.moveaxis(precision, 0, -1))
        return cls(precision, factor, _backward(factor, _forward(factor, linear.T)).T)

    def draw(self, key: Array) -> Float[Array, "n k"]:
        noise = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        return self.mean + _backward(self.factor, noise.T).T

    def score(self, x: Float[Array, "n k"]) -> Float[Array, "n k"]:
        return jnp.einsum("nkl,nl->nk", self.precision, self.mean - x)


def _cholesky(matrices: Float[Array, "k k n"]) -> list[Array]:
    columns: list[Array] = []
    for j in range(len(matrices)):
        column = matrices[j:, j]
        for i, earlier in enumerate(columns):
            column = column - earlier[j - i :] * earlier[j - i]
        columns.append(column / jnp.sqrt(column[0]))
    return columns


def _forward(columns: list[Array], right: Float[Array, "k n"]) -> Float[Array, "k n"]:
    """The solution z of L z = right."""
    z = []
    for column in columns:
        z.append(right[0] / column[0])
        right = right[1:] - column[1:] * z[-1]
    return jnp.stack(z)


def _backward(columns: list[Array], right: Float[Array, "k n"]) -> Float[Array, "k n"]:
    """The solution x of L' x = right."""
    x: list[Array] = []
    for column, value in zip(columns[::-1], right[::-1], strict=True):
        below = sum((c * x_i for c, x_i in zip(column[1:], x, strict=True)), jnp.zeros_like(value))
        x = [(value - below) / column[0], *x]
    return jnp.stack(x)


class Side(NamedTuple):
    """The ratings with the users or the movies as rows; 0 where there is no rating."""

    ratings: Any  # (n, m)
    known: Any  # (n, m), 1 where there is a rating


class Factorisation(eqx.Module):
    """The posterior given ratings."""

    users: Side
    movies: Side  # the transpose, stored so that no step has to transpose
    rank: int = eqx.field(static=True)

    @classmethod
    def of(
        cls,
        user: np.ndarray,
        movie: np.ndarray,
        rating: np.ndarray,
        size: tuple[int, int],
        rank: int,
    ) -> "Factorisation":
        """The posterior, from the user, the movie and the value of every rating."""
        side = Side(np.zeros(size), np.zeros(size))
        side.ratings[user, movie], side.known[user, movie] = rating, 1.0
        return cls(side, Side(*(np.ascontiguousarray(array.T) for array in side)), rank)

    @property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        n, m = self.users.ratings.shape
        return {
            "mu_U": (self.rank,),
            "mu_V": (self.rank,),
            "U": (n, self.rank),
            "V": (m, self.rank),
        }

    def log_density(self, x: State) -> Float[Array, ""]:
        """The log density of the posterior, up to a constant."""
        residuals = self.users.known * (self.users.ratings - x["U"] @ x["V"].T)
        standard_normals = (residuals, x["U"] - x["mu_U"], x["V"] - x["mu_V"], x["mu_U"], x["mu_V"])
        return -0.5 * jnp.sum(jnp.stack([jnp.sum(values**2) for values in standard_normals]))

    def conditional(self, block: str, x: State) -> Normals:
        """p(block | the others), a distribution for every row of the block."""
        if block in ("mu_U", "mu_V"):
            rows = x[block[-1]]
            precision = (len(rows) + 1) * jnp.eye(self.rank)
            return Normals.of(precision[None], rows.sum(axis=0)[None])
        if block == "U":
            return self._row_conditionals(self.users, x["V"], x["mu_U"])
        return self._row_conditionals(self.movies, x["U"], x["mu_V"])

    def _row_conditionals(self, side: Side, others: Array, centre: Array) -> Normals:
        left, right = np.tril_indices(self.rank)
        # as a dense product: in JAX a sixth of the time of a sum over segments
        sums = side.known @ (others[:, left] * others[:, right])
        entry = np.zeros((self.rank, self.rank), int)
        entry[left, right] = entry[right, left] = np.arange(len(left))
        return Normals.of(sums[:, entry] + jnp.eye(self.rank), side.ratings @ others + centre)

    def gibbs(self) -> Gibbs:
        """The sampler: mu_U, mu_V, then all U_i, then all V_j."""
        return Gibbs({block: _BlockDraw(self, block) for block in BLOCKS})

    def contribution(self, key: Array, x: State) -> Float[Array, ""]:
        """Block KCC-SD of one state: the sum over blocks of k_cc(x_I, y_I), y_I from p(. | x_-I).

        As y comes from the target's own conditional, the mean over y is 0 at every x.
        """
        total = jnp.zeros(())
        stein = jax.vmap(RBF(1.0).stein)
        for number, block in enumerate(BLOCKS):
            conditional = self.conditional(block, x)
            rows = jnp.atleast_2d(x[block])
            y = conditional.draw(jax.random.fold_in(key, number))
            total += jnp.sum(stein(rows, y, conditional.score(rows), conditional.score(y)))
        return total


class _BlockDraw(eqx.Module):
    """A draw of one block, as `Gibbs` takes it.

    It is a module so that the ratings are arguments of the compiled function, not constants in it.
    """

    model: Factorisation
    block: str = eqx.field(static=True)

    def __call__(self, key: Array, x: State) -> Array:
        return self.model.conditional(self.block, x).draw(key).reshape(x[self.block].shape)


def imbalance(x: State) -> tuple[Float[Array, "k k"], Float[Array, ""]]:
    r"""A Stein identity along a symmetry of the model: its matrix D and the scale of D.

    U -> U(I + eA), V -> V(I - eA), and the same for the means, with a symmetric A, leaves every
    U_i . V_j unchanged to first order. So the likelihood drops out of Stein's identity along this
    vector field:

    .. math:: E \langle D, A \rangle = 0, \quad D = S_V - S_U - (M - N) I, \quad
        S_U = (U - \mu_U)^T (U - \mu_U) + \mu_U \mu_U^T

    The identity for <D, A> times the field gives E <D, A>^2 = 2 E tr(A^2 (S_U + S_V)), and its sum
    over an orthonormal basis of the symmetric matrices is

    .. math:: E |D|_F^2 = (K + 1)\, E\, \mathrm{tr}(S_U + S_V).

    The ratio of the two sides is 1 under the posterior, whatever the data. A Gibbs sampler diffuses
    along the symmetry, so that this is what it takes longest to get right.
    """
    sums = {}
    for side in ("U", "V"):
        centre = x[f"mu_{side}"]
        deviations = x[side] - centre
        sums[side] = deviations.T @ deviations + jnp.outer(centre, centre)
    rank = len(x["mu_U"])
    d = sums["V"] - sums["U"] - (len(x["V"]) - len(x["U"])) * jnp.eye(rank)
    return d, (rank + 1) * jnp.trace(sums["U"] + sums["V"])
