"""Tests of posterior samplers by simulated data: Geweke's joint chain, and calibration by ranks."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from steinwise._internal.random import seed_words, stream
from steinwise._internal.validation import (
    as_numbers,
    require_flag,
    require_function,
    require_share,
    require_whole,
)
from steinwise.errors import InputError
from steinwise.results.invariance import InvarianceResult
from steinwise.testing.invariance import CHAINS, FALSE_ALARM, STEPS, asserted, repeatable
from steinwise.testing.judging import MIN_CHAINS, Points, judge
from steinwise.testing.prior_data import SimulatedModel, require_model
from steinwise.testing.ranked_functions import RankedFunctions
from steinwise.testing.tracing import called


def check_posterior_step(
    step: Callable[[Any, Any, Any], Any],
    model: SimulatedModel,
    *,
    balanced: bool = False,
    new_data: bool = True,
    steps: int = STEPS,
    chains: int = CHAINS,
    false_alarm: float = FALSE_ALARM,
    seed: Any = 0,
) -> InvarianceResult:
    """Test a step of a posterior sampler without exact draws of the posterior.

    (theta, y) from prior and likelihood is an exact draw. A step of theta given y leaves the joint
    distribution invariant if it leaves every posterior invariant, and so does drawing y anew given
    theta. Geweke (2004) compares long chains of the two with the prior, by eye; here ranks decide,
    as in `check_invariance`: of the functions of theta, their scores given y among them.

    Parameters
    ----------
    step
        ``step(key, theta, data) -> theta``, a JAX function.
    model
        What is simulated.
    balanced
        Whether the step is in detailed balance for every data: chains are then run both ways.
    new_data
        Draw the data anew before every step. Chains then reach all of the prior, and errors of the
        step add up; without it each chain stays with its data.
    steps, chains, false_alarm, seed
        As in `check_invariance`.

    Returns
    -------
    InvarianceResult
        On the parameters, and on the log density of parameters and data together.

    Examples
    --------
    The variance of this posterior is 1/4, and the sampler takes it to be 1/3:

    >>> import jax, jax.numpy as jnp, steinwise as sw
    >>> model = sw.testing.SimulatedModel(
    ...     "normal mean",
    ...     ("mu",),
    ...     prior=lambda key: jax.random.normal(key, (1,)),
    ...     simulate=lambda key, theta: theta + jax.random.normal(key, (3,)),
    ...     log_density=lambda theta, y: -0.5 * theta[0] ** 2 - 0.5 * jnp.sum((y - theta) ** 2),
    ... )
    >>> def step(key, theta, y):
    ...     return jnp.sum(y) / 4 + jax.random.normal(key, (1,)) / jnp.sqrt(3)
    >>> sw.testing.check_posterior_step(step, model).passed
    False
    """
    require_model(model)
    require_function("step", step, "a function step(key, theta, data)")
    require_flag("balanced", balanced)
    require_flag("new_data", new_data)

    def with_step(key: Any, x: Any) -> Any:
        theta, data = model.split(x)
        moved = called("step(key, theta, data)", step, key, theta, data)
        shape = getattr(moved, "shape", type(moved).__name__)
        if shape != theta.shape:
            raise InputError(
                f"step(key, theta, data) has shape {shape}: expected {theta.shape}, the parameters "
                "alone."
            )
        return jnp.concatenate([moved, data])

    def with_new_data(key: Any, x: Any) -> Any:
        theta, _ = model.split(x)
        return jnp.concatenate([theta, model.simulate(key, theta)])

    # The step comes last: new data after it would fit any parameters, also those of a step that
    # does not look at the data.
    def forwards(key: Any, x: Any) -> Any:
        first, second = jax.random.split(key)
        return with_step(second, with_new_data(first, x)) if new_data else with_step(second, x)

    def backwards(key: Any, x: Any) -> Any:
        first, second = jax.random.split(key)
        return with_new_data(second, with_step(first, x)) if new_data else with_step(first, x)

    seed_words(seed)
    return repeatable(
        forwards,
        model.joint,
        reverse=backwards if balanced else None,
        steps=steps,
        chains=chains,
        false_alarm=false_alarm,
        leading=len(model.names),
    )(seed)


def assert_posterior_step(
    step: Callable[[Any, Any, Any], Any], model: SimulatedModel, **options: Any
) -> InvarianceResult:
    """Raise AssertionError if a step of a posterior sampler is wrong, saying what it changes.

    Parameters
    ----------
    step, model
        As in `check_posterior_step`.
    options
        Those of `check_posterior_step`.

    Returns
    -------
    InvarianceResult
    """
    return asserted(check_posterior_step(step, model, **options))


def assert_calibrated(
    sampler: Callable[[np.random.Generator, np.ndarray], Any], model: SimulatedModel, **options: Any
) -> InvarianceResult:
    """Raise AssertionError if a posterior sampler is not calibrated, saying what is off.

    Parameters
    ----------
    sampler, model
        As in `check_calibration`.
    options
        Those of `check_calibration`.

    Returns
    -------
    InvarianceResult
    """
    return asserted(check_calibration(sampler, model, **options))


def check_calibration(
    sampler: Callable[[np.random.Generator, np.ndarray], Any],
    model: SimulatedModel,
    *,
    repetitions: int = 100,
    false_alarm: float = 1e-3,
    seed: Any = 0,
) -> InvarianceResult:
    """Simulation-based calibration: rank the parameters among posterior draws given their data.

    For (theta, y) from prior and likelihood, theta and independent draws of the posterior given y
    are exchangeable: the ranks of their coordinates, squares, products and log densities are
    uniform. For a whole sampler, such as one of another library, that can only be run as it is.

    The p-values are exact for independent draws. Draws of one chain must be thinned until they are
    nearly so: a rank among autocorrelated draws is too often at the ends.

    Parameters
    ----------
    sampler
        ``sampler(rng, data)``: posterior draws (k, d) given the data (m,), the same number k every
        time; 9 to 99 are enough. `rng` is a NumPy Generator, for a seed.
    model
        What is simulated.
    repetitions
        Data sets in the first stage. Where they look suspicious, up to six stages with four times
        as many decide.
    false_alarm
        The probability with which a right sampler fails.
    seed
        An integer or a JAX key.

    Returns
    -------
    InvarianceResult
        Its `chains` are data sets, and its `steps` the draws for each.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, numpy as np, steinwise as sw
    >>> model = sw.testing.SimulatedModel(
    ...     "normal mean",
    ...     ("mu",),
    ...     prior=lambda key: jax.random.normal(key, (1,)),
    ...     simulate=lambda key, theta: theta + jax.random.normal(key, (3,)),
    ...     log_density=lambda theta, y: -0.5 * theta[0] ** 2 - 0.5 * jnp.sum((y - theta) ** 2),
    ... )
    >>> def sampler(rng, y):
    ...     return y.sum() / 4 + rng.normal(size=(19, 1)) / 2
    >>> sw.testing.check_calibration(sampler, model).passed
    True
    """
    require_model(model)
    require_function("sampler", sampler, "a function sampler(rng, data)")
    require_whole("repetitions", repetitions, least=MIN_CHAINS)
    require_share("false_alarm", false_alarm)
    seed_words(seed)
    joint, d = model.joint, len(model.names)
    drawn = set()

    def run(stage: int, block: int) -> Points:
        rng = stream(seed, "calibration", stage, block)
        pairs = joint.drawn(rng, repetitions)
        call = "sampler(rng, data)"
        draws = [_posterior_draws(called(call, sampler, rng, pair[d:].copy()), d) for pair in pairs]
        drawn.update(len(one) for one in draws)
        if len(drawn) > 1:
            raise InputError(
                f"sampler(rng, data) returned {sorted(drawn)} draws: expected the same number for "
                "all data."
            )
        # each draw with the data that it was made from
        data = np.repeat(pairs[:, None, d:], len(draws[0]), axis=1)
        return Points(np.concatenate([np.stack(draws), data], axis=2), pairs[:, None])

    result = judge(
        run,
        RankedFunctions(joint, None, host=False, leading=d),
        target=joint,
        false_alarm=false_alarm,
        chains=repetitions,
        steps=1,
        both_ways=False,
        seed=seed,
        subject="posterior draws",
    )
    return replace(result, steps=drawn.pop())


def _posterior_draws(given: Any, d: int) -> np.ndarray:
    draws = as_numbers(given)
    if draws is None:
        raise InputError(
            f"sampler(rng, data) returned a {type(given).__name__}: expected numbers (k, {d})."
        )
    if draws.ndim != 2 or draws.shape[1] != d or not len(draws):
        raise InputError(
            f"sampler(rng, data) returned draws of shape {draws.shape}: expected (k, {d})."
        )
    return draws
