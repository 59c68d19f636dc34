"""Why the survey rejects NumPyro's SA: a rank-one update of a Cholesky factor is wrong.

``python -m benchmarks.numpyro_sa`` (in `.venv-adapters`) compares `cholesky_update`, which SA's
proposals and their densities are made with, with the factor itself; and takes 2000 steps of SA
from 4000 sets of independent exact draws, with the update as it is and with the factor computed
anew. The algorithm leaves such sets independent and exact.
"""

# the users' libraries are in .venv-adapters
# pyright: reportMissingImports=false

from typing import Any

import click
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.infer.sa
from numpyro.distributions.util import cholesky_update
from numpyro.infer import SA
from scipy import stats

from steinwise.testing import ExactTarget, targets

CHAINS, STEPS = 4000, 2000


def computed_anew(factor: Any, x: Any, coef: Any = 1) -> Any:
    """The Cholesky factor of L L' + coef x x'."""
    outer = x[..., :, None] * x[..., None, :]
    return jnp.linalg.cholesky(factor @ jnp.swapaxes(factor, -1, -2) + coef * outer)


def error_of_update(dim: int) -> float:
    """The largest relative error of an entry on the diagonal of an updated factor."""
    factor = jnp.linalg.cholesky(jnp.eye(dim) + 0.5)
    exact = jnp.diagonal(computed_anew(factor, jnp.ones(dim)))
    return float(jnp.abs(jnp.diagonal(cholesky_update(factor, jnp.ones(dim))) / exact - 1).max())


def after_steps(target: ExactTarget) -> np.ndarray:
    """One draw of each chain after SA's steps from a set of exact draws."""
    kernel, size = SA(potential_fn=lambda x: -target.log_density(x)), 2 * target.dim

    def chain(key: Any, exact: Any) -> Any:
        state = kernel.init(key, 0, exact[0], (), {})
        energies = -jax.vmap(target.log_density)(exact)
        adapted = state.adapt_state._replace(zs=exact, pes=energies)
        state = state._replace(z=exact[0], potential_energy=energies[0], adapt_state=adapted)
        return jax.lax.fori_loop(0, STEPS, lambda _, s: kernel.sample(s, (), {}), state).z

    exact = jnp.asarray(target.draw(0, CHAINS * size)).reshape(CHAINS, size, target.dim)
    return np.asarray(jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(0), CHAINS), exact))


@click.command(help=__doc__)
def main() -> None:
    for dim in (1, 2, 3, 5):
        click.echo(f"cholesky_update, {dim} coordinates: off by {error_of_update(dim):.2g}")
    (target,) = targets("logistic regression")
    exact = target.draw(1, 100_000)
    for name, update in (("as it is", cholesky_update), ("computed anew", computed_anew)):
        numpyro.infer.sa.cholesky_update = update
        moved = after_steps(target)
        for j, coordinate in enumerate(target.names):
            test: Any = stats.ks_2samp(moved[:, j], exact[:, j])
            ratio = moved[:, j].std() / target.sd[j]
            click.echo(f"SA, {name}: sd of {coordinate} {ratio:.2f} times, p = {test.pvalue:.2g}")


if __name__ == "__main__":
    main()
