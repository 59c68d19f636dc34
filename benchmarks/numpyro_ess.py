"""Whether NumPyro's ESS is wrong where the survey rejects it: from exact draws it stays exact.

``python -m benchmarks.numpyro_ess`` (in `.venv-adapters`) takes 200 steps of ESS from each of 1000
sets of independent exact draws, and checks one walker of each set. The chains of the survey are
rows of one set, which ESS permutes in every step: they show no autocorrelation and have one.
"""

# the users' libraries are in .venv-adapters
# pyright: reportMissingImports=false

from typing import Any

import click
import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import ESS

import steinwise as sw
from benchmarks.long_chains import WALKERS
from steinwise.testing import ExactTarget, targets

SETS, STEPS, AT_ONCE = 1000, 200, 50
REJECTED = {  # in the survey
    "funnel": (ESS.RandomMove,),
    "correlated normal": (ESS.RandomMove,),
    "hierarchical model": (ESS.DifferentialMove, ESS.KDEMove),
}


def after_steps(target: ExactTarget, move: Any) -> np.ndarray:
    """One walker of each set after steps from exact draws."""
    kernel = ESS(potential_fn=lambda x: -target.log_density(x), moves={move(): 1.0})

    def walker(given: tuple[Any, Any]) -> Any:
        key, exact = given
        state = kernel.init(jax.random.split(key, WALKERS), 0, exact, (), {})
        return jax.lax.fori_loop(0, STEPS, lambda _, s: kernel.sample(s, (), {}), state).z[0]

    exact = jnp.asarray(target.draw(0, SETS * WALKERS)).reshape(SETS, WALKERS, target.dim)
    keys = jax.random.split(jax.random.key(0), SETS)
    run = jax.jit(lambda given: jax.lax.map(walker, given, batch_size=AT_ONCE))
    return np.asarray(run((keys, exact)))


@click.command(help=__doc__)
def main() -> None:
    for name, moves in REJECTED.items():
        (target,) = targets(name)
        for move in moves:
            with jax.enable_x64(True):
                draws = after_steps(target, move)
            found = sw.check(draws, target.as_target(), independent=True, progress=False)
            verdict = "rejected" if found.rejected else "fits"
            click.echo(f"{name}, {move.__name__}: {verdict}, p = {found.pvalue:.2g}")


if __name__ == "__main__":
    main()
