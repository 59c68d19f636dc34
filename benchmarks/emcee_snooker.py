"""Why the survey rejects emcee's snooker move: its acceptance ratio is not that of its proposal.

``python -m benchmarks.emcee_snooker`` (in `.venv-adapters`) runs emcee 3.1.6's move, and one with
the unit vector and the power of distances of ter Braak and Vrugt (2008), from exact draws. emcee
has corrected both since that release (its pull request 531).
"""

# the users' libraries are in .venv-adapters
# pyright: reportMissingImports=false

from typing import Any

import click
import emcee
import numpy as np
from scipy import stats

WALKERS, DIM, STEPS, THIN = 20, 2, 1000, 20


class Published(emcee.moves.DESnookerMove):
    """The walker x moves along u = (x - z) / |x - z|; the ratio is (|x' - z| / |x - z|)^(d - 1)."""

    def get_proposal(self, s: Any, c: Any, random: Any) -> tuple[np.ndarray, np.ndarray]:
        proposed, log_factors = np.empty_like(s), np.empty(len(s))
        for i, x in enumerate(s):
            z, first, second = random.permutation([one[random.randint(len(one))] for one in c])
            distance = np.linalg.norm(x - z)
            u = (x - z) / distance
            proposed[i] = x + u * self.gammas * (u @ first - u @ second)
            ratio = np.linalg.norm(proposed[i] - z) / distance
            log_factors[i] = (s.shape[1] - 1) * np.log(ratio)
        return proposed, log_factors


def draws(move: Any) -> np.ndarray:
    """Of a standard normal, from exact draws, 20 steps apart."""
    sampler = emcee.EnsembleSampler(
        WALKERS, DIM, lambda x: -0.5 * np.sum(x**2, axis=1), moves=move, vectorize=True
    )
    sampler.random_state = np.random.RandomState(0).get_state()
    sampler.run_mcmc(np.random.default_rng(0).normal(size=(WALKERS, DIM)), STEPS, thin_by=THIN)
    return sampler.get_chain(flat=True)


@click.command(help=__doc__)
def main() -> None:
    for name, move in (("3.1.6", emcee.moves.DESnookerMove()), ("published", Published())):
        found = draws(move)
        p = min(stats.kstest(column, "norm").pvalue for column in found.T)
        click.echo(f"snooker, {name}: sds {np.round(found.std(axis=0), 2)}, p = {p:.2g}")


if __name__ == "__main__":
    main()
