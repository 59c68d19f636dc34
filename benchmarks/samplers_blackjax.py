"""Samplers of BlackJAX, with its defaults where it has them, as single steps.

NUTS and its kin have the step size and mass matrix of BlackJAX's window adaptation, and MCLMC those
of its own. The others have no adaptation there: their step size is tuned here to a usual acceptance
rate, before the chains that are looked at, and then fixed.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.long_chains import Sampler, chain_runner
from benchmarks.survey_recipe import ADAPTATION, DRAWS, Recipe
from steinwise.testing import ExactTarget

TUNING_CHAINS, TUNING_STEPS, TUNING_ROUNDS = 100, 20, 12


def of_algorithm(algorithm: Any, keyed: bool = False) -> Sampler:
    """The step of a BlackJAX algorithm; `keyed` if its states begin with random numbers."""
    return Sampler(
        lambda key, state: algorithm.step(key, state)[0],
        (lambda key, x: algorithm.init(x, key)) if keyed else (lambda _, x: algorithm.init(x)),
        lambda state: state.position,
    )


@cache
def window_adapted(target: ExactTarget) -> dict[str, Any]:
    """Step size and diagonal mass matrix for NUTS."""
    adaptation: Any = blackjax.window_adaptation(blackjax.nuts, target.log_density)
    start = jnp.asarray(target.draw(2, 1)[0])
    (_, parameters), _ = adaptation.run(jax.random.key(2), start, ADAPTATION)
    return parameters


def tuned(
    target: ExactTarget, make: Callable[[Any], Any], wanted: float, keyed: bool = False
) -> float:
    """The step size with this mean acceptance rate over short chains from exact draws."""
    start = jnp.asarray(target.draw(3, TUNING_CHAINS))

    @jax.jit
    def rate(log_size: Any) -> Any:
        algorithm = make(jnp.exp(log_size))
        sampler = of_algorithm(algorithm, keyed)
        assert sampler.init is not None
        init = sampler.init

        def chain(key: Any, x: Any) -> Any:
            keys = jax.random.split(key, TUNING_STEPS + 1)
            steps = jax.lax.scan(lambda s, k: algorithm.step(k, s), init(keys[0], x), keys[1:])
            return steps[1].acceptance_rate.mean()

        keys = jax.random.split(jax.random.key(3), TUNING_CHAINS)
        return jax.vmap(chain)(keys, start).mean()

    low, high = np.log(1e-3), np.log(1e2)
    for _ in range(TUNING_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if rate(middle) > wanted else (low, middle)
    return float(np.exp((low + high) / 2))


def _nuts(target: ExactTarget) -> tuple[Sampler, str]:
    parameters = window_adapted(target)
    return of_algorithm(blackjax.nuts(target.log_density, **parameters)), "window adaptation"


def _hmc(target: ExactTarget) -> tuple[Sampler, str]:
    parameters = window_adapted(target)
    algorithm = blackjax.hmc(target.log_density, num_integration_steps=10, **parameters)
    return of_algorithm(algorithm), "10 leapfrog steps, adaptation of NUTS"


def _multinomial_hmc(target: ExactTarget) -> tuple[Sampler, str]:
    parameters = window_adapted(target)
    algorithm = blackjax.multinomial_hmc(target.log_density, num_integration_steps=10, **parameters)
    return of_algorithm(algorithm), "10 leapfrog steps, adaptation of NUTS"


def _dynamic_hmc(target: ExactTarget) -> tuple[Sampler, str]:
    algorithm = blackjax.dynamic_hmc(target.log_density, **window_adapted(target))
    return of_algorithm(algorithm, keyed=True), "1 to 9 leapfrog steps, adaptation of NUTS"


def _tuned_recipe(
    make: Callable[[ExactTarget, Any], Any], wanted: float, keyed: bool = False
) -> Callable[[ExactTarget], tuple[Sampler, str]]:
    def recipe(target: ExactTarget) -> tuple[Sampler, str]:
        size = tuned(target, lambda size: make(target, size), wanted, keyed)
        return of_algorithm(make(target, size), keyed), f"acceptance {wanted:g}, step {size:.2g}"

    return recipe


def _elliptical(target: ExactTarget) -> tuple[Sampler, str]:
    algorithm = blackjax.elliptical_slice(
        lambda x: target.log_density(x) + 0.5 * jnp.sum(x**2),
        mean=jnp.zeros(target.dim),
        cov=jnp.eye(target.dim),
    )
    return of_algorithm(algorithm), "prior N(0, I)"


def _slice(target: ExactTarget) -> tuple[Sampler, str]:
    return of_algorithm(blackjax.slice_sampling(target.log_density)), "defaults"


def _mclmc(target: ExactTarget) -> tuple[Sampler, str]:
    start = jnp.asarray(target.draw(2, 1)[0])
    first, second = jax.random.split(jax.random.key(2))
    _, found, _ = blackjax.mclmc_find_L_and_step_size(
        mclmc_kernel=blackjax.mcmc.mclmc.build_kernel(),
        num_steps=10 * ADAPTATION,
        state=blackjax.mcmc.mclmc.init(start, target.log_density, first),
        rng_key=second,
        logdensity_fn=target.log_density,
    )
    algorithm = blackjax.mclmc(
        target.log_density,
        L=found.L,
        step_size=found.step_size,
        inverse_mass_matrix=found.inverse_mass_matrix,
    )
    sizes = f"L {float(found.L):.2g}, step {float(found.step_size):.2g}"
    return of_algorithm(algorithm, keyed=True), f"its adaptation, {sizes}"


def mclmc_of_size(target: ExactTarget, size: float) -> Sampler:
    """MCLMC in units of the coordinates' sds; L is the usual root of the dimension."""
    algorithm = blackjax.mclmc(
        target.log_density,
        L=float(np.sqrt(target.dim)),
        step_size=size,
        inverse_mass_matrix=jnp.asarray(target.sd**2),
    )
    return of_algorithm(algorithm, keyed=True)


def langevin(target: ExactTarget, size: float) -> Sampler:
    """SGLD with the whole gradient and a constant step: ULA."""
    algorithm: Any = blackjax.sgld(lambda x, _: jax.grad(target.log_density)(x))
    return Sampler(lambda key, x: algorithm.step(key, x, None, size))


def _sgld(target: ExactTarget) -> tuple[Sampler, str]:
    size = tuned(target, lambda size: blackjax.mala(target.log_density, size), 0.57)
    return langevin(target, size), f"the step of MALA, {size:.2g}, whole gradient"


def _sghmc(target: ExactTarget) -> tuple[Sampler, str]:
    size = 0.1 * tuned(target, lambda size: blackjax.mala(target.log_density, size), 0.57)
    algorithm: Any = blackjax.sghmc(lambda x, _: jax.grad(target.log_density)(x))
    sampler = Sampler(lambda key, x: algorithm.step(key, x, None, size))
    return sampler, f"defaults, step {size:.2g}, whole gradient"


def _adjusted_mclmc(target: ExactTarget, size: Any) -> Any:
    return blackjax.adjusted_mclmc(
        target.log_density,
        size,
        inverse_mass_matrix=jnp.asarray(target.sd**2),
        num_integration_steps=5,
    )


def _generalised_hmc(target: ExactTarget, size: Any) -> Any:
    return blackjax.ghmc(target.log_density, size, jnp.asarray(target.sd), alpha=0.5, delta=0.1)


def _recipe(make: Callable[[ExactTarget], tuple[Sampler, str]], **options: Any) -> Recipe:
    def prepare(target: ExactTarget) -> tuple[Callable[[int], np.ndarray], str]:
        sampler, settings = make(target)
        return chain_runner(target, sampler, DRAWS), settings

    return Recipe(prepare, **options)


RECIPES: dict[str, Recipe] = {
    "NUTS": _recipe(_nuts),
    "MALA": _recipe(_tuned_recipe(lambda t, size: blackjax.mala(t.log_density, size), 0.57)),
    "SGLD": _recipe(_sgld, biased=True),
    "MCLMC": _recipe(_mclmc, biased=True),
    "adjusted MCLMC": _recipe(_tuned_recipe(_adjusted_mclmc, 0.8)),
    "HMC": _recipe(_hmc),
    "random walk": _recipe(
        _tuned_recipe(
            lambda t, size: blackjax.normal_random_walk(t.log_density, size * jnp.asarray(t.sd)),
            0.3,
        )
    ),
    "Barker": _recipe(_tuned_recipe(lambda t, size: blackjax.barker(t.log_density, size), 0.5)),
    "generalised HMC": _recipe(_tuned_recipe(_generalised_hmc, 0.9, keyed=True)),
    "dynamic HMC": _recipe(_dynamic_hmc),
    "multinomial HMC": _recipe(_multinomial_hmc),
    "elliptical slice": _recipe(_elliptical, only=("logistic regression",)),
    "slice sampling": _recipe(_slice),
    "SGHMC": _recipe(_sghmc, biased=True),
}
