"""Does a step leave a target invariant? An exact test by ranks, as a result or as an assertion."""

from collections.abc import Callable, Mapping
from typing import Any

from steinwise._internal.random import seed_words, stream
from steinwise._internal.validation import (
    require_flag,
    require_function,
    require_share,
    require_whole,
)
from steinwise.results.invariance import InvarianceResult
from steinwise.testing.chains import HostChains, JaxChains, Kernel
from steinwise.testing.exact_target import ExactTarget, require_exact_target
from steinwise.testing.judging import MIN_CHAINS, Points, judge
from steinwise.testing.ranked_functions import RankedFunctions

# Exact draws that the end of a chain is ranked among. The variances of ranks are 1.1 times those
# among infinitely many.
FRESH = 9
STEPS, CHAINS, FALSE_ALARM = 10, 4000, 1e-5  # unless a caller says otherwise


def check_invariance(
    step: Callable[[Any, Any], Any],
    target: ExactTarget,
    *,
    reverse: Callable[[Any, Any], Any] | None = None,
    init: Callable[[Any, Any], Any] | None = None,
    position: Callable[[Any], Any] | None = None,
    functions: Mapping[str, Callable[[Any], Any]] | None = None,
    steps: int = STEPS,
    chains: int = CHAINS,
    false_alarm: float = FALSE_ALARM,
    seed: Any = 0,
    host: bool = False,
) -> InvarianceResult:
    """Test whether a step leaves a target invariant: X ~ p implies step(X) ~ p.

    Many short chains start at exact draws. Ranks of functions of the draws are uniform if the step
    is right, however slowly it mixes, and their p-values are exact: no warm-up, no effective sample
    size, no tolerance. The functions are each coordinate, its square around the mean, products of
    neighbouring coordinates, the log density, and yours; and, as in a check, the score s along each
    coordinate x, s^2 and x s, which show what a coordinate does given the others.

    - Without `reverse`, the end of each chain is ranked among 9 fresh exact draws. This is right
      for every step that leaves the target invariant, such as a systematic Gibbs sweep.
    - With `reverse`, the exact draw has a random place in the chain: the steps before it are
      taken backwards from it, and it is ranked among the other points (Gandy and Scott, 2020). For
      a step in detailed balance (most with an accept or reject decision) pass ``reverse=step``,
      and violations of detailed balance are found too.

    The test is sequential: where the first chains look suspicious, up to six stages with four times
    as many new ones decide. A right step fails with probability `false_alarm` at most.

    Parameters
    ----------
    step
        ``step(key, state) -> state``, a JAX function; with `host`, ``step(rng, state)`` with a
        NumPy Generator. It runs in the precision that JAX is set to.
    target
        One of `sw.testing.targets`, or your own `sw.testing.ExactTarget`.
    reverse
        The step backwards in time under the target; `step` itself where it is in detailed balance.
    init
        ``init(key, x)``: the state at a point, for states that are more than their position. What
        it adds (a momentum) must be drawn from its own distribution.
    position
        ``position(state)``: the point (d,) of a state.
    functions
        Further functions of a point, by name.
    steps
        In each chain. More steps add up small errors of a step; a chain that has forgotten its
        start is long enough.
    chains
        In the first stage.
    false_alarm
        The probability with which a right step fails, over seeds.
    seed
        An integer or a JAX key.
    host
        Whether step, reverse, init, position and functions are NumPy functions.

    Returns
    -------
    InvarianceResult

    Examples
    --------
    A Langevin step without its Metropolis correction:

    >>> import jax, jax.numpy as jnp, steinwise as sw
    >>> (normal,) = sw.testing.targets("normal")
    >>> def step(key, x, size=0.3):
    ...     noise = jax.random.normal(key, x.shape)
    ...     return x + size * jax.grad(normal.log_density)(x) + jnp.sqrt(2 * size) * noise
    >>> result = sw.testing.check_invariance(step, normal)
    >>> result.passed, sorted({change.kind for change in result.changes})
    (False, ['log density', 'spread'])
    """
    seed_words(seed)
    return repeatable(
        step,
        target,
        reverse=reverse,
        init=init,
        position=position,
        functions=functions,
        steps=steps,
        chains=chains,
        false_alarm=false_alarm,
        host=host,
    )(seed)


def assert_invariant(
    step: Callable[[Any, Any], Any], target: ExactTarget, **options: Any
) -> InvarianceResult:
    """Raise AssertionError if a step does not leave a target invariant, saying what it changes.

    Parameters
    ----------
    step, target
        As in `check_invariance`.
    options
        Those of `check_invariance`.

    Returns
    -------
    InvarianceResult

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> (normal,) = sw.testing.targets("normal")
    >>> def step(rng, x, memory=0.8):
    ...     return memory * x + 0.7 * rng.normal(size=2)  # the sd of the noise should be 0.6
    >>> result = sw.testing.assert_invariant(step, normal, host=True)
    Traceback (most recent call last):
    AssertionError: the steps change the distribution of normal: p = ..., after 40000 steps ...
      x[...]: spread, becomes too wide (1.1... times the spread of the target), adjusted p = ...
    """
    return asserted(check_invariance(step, target, **options))


def asserted(result: InvarianceResult) -> InvarianceResult:
    """The result of a test that has passed; otherwise an AssertionError with what it found."""
    if not result.passed:
        raise AssertionError(str(result))
    return result


def repeatable(
    step: Callable[[Any, Any], Any],
    target: ExactTarget,
    *,
    reverse: Callable[[Any, Any], Any] | None = None,
    init: Callable[[Any, Any], Any] | None = None,
    position: Callable[[Any], Any] | None = None,
    functions: Mapping[str, Callable[[Any], Any]] | None = None,
    steps: int = STEPS,
    chains: int = CHAINS,
    false_alarm: float = FALSE_ALARM,
    host: bool = False,
    leading: int | None = None,
) -> Callable[[Any], InvarianceResult]:
    """`check_invariance` as a function of the seed, which is compiled once for many seeds.

    With `leading`, only so many of the first coordinates are looked at by themselves.
    """
    require_exact_target(target)
    require_function("step", step, "a function step(key, state)")
    for name, value in (("reverse", reverse), ("init", init), ("position", position)):
        if value is not None:
            require_function(name, value)
    require_whole("steps", steps, least=1)
    require_whole("chains", chains, least=MIN_CHAINS)
    require_share("false_alarm", false_alarm)
    require_flag("host", host)
    ranked = RankedFunctions(target, functions, host=host, leading=leading)
    kernel = Kernel(step, reverse, init or _point_itself, position or _state_itself)
    run_chains = (HostChains if host else JaxChains)(kernel, steps, target.dim)

    def test(seed: Any) -> InvarianceResult:
        def run(stage: int, block: int) -> Points:
            rng = stream(seed, "invariance", stage, block)
            fresh = 1 if reverse else 1 + FRESH
            draws = target.drawn(rng, chains * fresh).reshape(chains, fresh, target.dim)
            draws = run_chains.rounded(draws)
            before = rng.integers(0, steps + 1, size=chains)
            moved = run_chains(draws[:, 0], before, rng)
            return Points(moved, draws if reverse else draws[:, 1:])

        return judge(
            run,
            ranked,
            target=target,
            false_alarm=false_alarm,
            chains=chains,
            steps=steps,
            both_ways=reverse is not None,
            seed=seed,
            precision=run_chains.precision,
        )

    return test


def _point_itself(key: Any, x: Any) -> Any:  # noqa: ARG001
    return x


def _state_itself(state: Any) -> Any:
    return state
