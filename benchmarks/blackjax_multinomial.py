"""Why the survey rejects BlackJAX's multinomial HMC: its trajectories only go forwards.

``python -m benchmarks.blackjax_multinomial`` (in `.venv-adapters`) looks at single steps by the
exact test of `sw.testing.check_invariance`: those of `blackjax.multinomial_hmc`, and those of the
same algorithm written out, whose trajectories start at the current point or have it at a random
place (Betancourt 2018, A.2). A draw from the points of a trajectory, with weights exp(-H), leaves
the target invariant only in the latter case: each point must be as likely to have made the same
trajectory as any other.
"""

# the users' libraries are in .venv-adapters
# pyright: reportMissingImports=false

from typing import Any

import blackjax
import click
import jax
import jax.numpy as jnp

from benchmarks.long_chains import Sampler
from benchmarks.samplers_blackjax import of_algorithm, window_adapted
from steinwise.testing import ExactTarget, check_invariance, targets

LEAPS, CHAINS = 10, 20_000


def written_out(target: ExactTarget, size: Any, variance: Any, placed: bool) -> Sampler:
    """Multinomial HMC with a diagonal mass matrix; `placed` at random in its trajectory or not."""
    slope = jax.grad(target.log_density)

    def leap(point: Any, step: Any) -> Any:
        x, p = point
        p = p + 0.5 * step * slope(x)
        x = x + step * variance * p
        return x, p + 0.5 * step * slope(x)

    def log_weight(point: Any) -> Any:
        x, p = point
        value = target.log_density(x) - 0.5 * jnp.sum(variance * p**2)
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)

    def step(key: Any, x: Any) -> Any:
        momentum, place, choice = jax.random.split(key, 3)
        start = x, jax.random.normal(momentum, x.shape) / jnp.sqrt(variance)
        back = jax.random.randint(place, (), 0, LEAPS + 1) if placed else 0
        first = jax.lax.fori_loop(0, back, lambda _, point: leap(point, -size), start)

        def move(point: Any, _: Any) -> tuple[Any, Any]:
            return leap(point, size), (point[0], log_weight(point))

        _, (xs, weights) = jax.lax.scan(move, first, length=LEAPS + 1)
        return xs[jax.random.categorical(choice, weights)]

    return Sampler(step)


@click.command(help=__doc__)
def main() -> None:
    (target,) = targets("hierarchical model")
    adapted = window_adapted(target)
    given = adapted["step_size"], adapted["inverse_mass_matrix"]
    algorithm = blackjax.multinomial_hmc(target.log_density, *given, num_integration_steps=LEAPS)
    for name, sampler in (
        (f"BlackJAX {blackjax.__version__}", of_algorithm(algorithm)),
        ("written out, forwards only", written_out(target, *given, placed=False)),
        ("written out, at a random place", written_out(target, *given, placed=True)),
    ):
        click.echo(f"multinomial HMC, {name}:")
        ways = {"init": sampler.init, "position": sampler.position}
        click.echo(check_invariance(sampler.step, target, **ways, chains=CHAINS))


if __name__ == "__main__":
    main()
