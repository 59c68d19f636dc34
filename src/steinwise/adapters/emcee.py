"""emcee: the walkers of an ensemble as chains, and its log probability without a gradient."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from steinwise._internal.escaping import clause_of
from steinwise._internal.options import known_options
from steinwise._internal.validation import require_whole
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.target import AbstractTarget, Target
from steinwise.target.support import undeclared


@known_options
def from_emcee(
    sampler: Any,
    *,
    discard: int = 0,
    thin: int = 1,
    names: Sequence[str] | None = None,
    support: Any = undeclared,
) -> tuple[Samples, AbstractTarget]:
    """Draws and density of an `emcee.EnsembleSampler` that has run.

    Each walker is a chain. The log probability has no gradient: the default method follows its
    values along lines.

    Parameters
    ----------
    sampler
        The sampler; its chain, and the function that it was made with.
    discard
        As in `sampler.get_chain`: how many steps to leave out at the start.
    thin
        As in `sampler.get_chain`: of how many steps to keep one.
    names
        One name per parameter; those that the sampler was given, by default.
    support
        Where the parameters live, as in `sw.Target`: of a parameter whose prior is 0 below 0, say
        `sw.support.positive`.

    Examples
    --------
    >>> import emcee, numpy as np, steinwise as sw
    >>> sampler = emcee.EnsembleSampler(8, 2, lambda x: -0.5 * np.sum(x**2))
    >>> sampler.random_state = np.random.RandomState(0).get_state()  # emcee's seed
    >>> _ = sampler.run_mcmc(np.random.default_rng(0).normal(size=(8, 2)), 2000)
    >>> sw.check(*sw.from_emcee(sampler, discard=200)).rejected
    False
    """
    for part in ("get_chain", "log_prob_fn"):
        if not hasattr(sampler, part):
            raise InputError(
                f"sampler is of type {type(sampler).__name__}, without {part!r}: expected an "
                "emcee.EnsembleSampler that has run."
            )
    require_whole("discard", discard, least=0)
    require_whole("thin", thin, least=1)
    try:
        chain = np.asarray(sampler.get_chain(discard=discard, thin=thin), np.float64)
    except AttributeError as error:  # what emcee raises
        raise InputError(
            f"the sampler has no chain: {clause_of(error)}. Call sampler.run_mcmc(...) first, "
            "and let it store its steps (store=True, the default)."
        ) from error
    if chain.ndim != 3:
        raise InputError(
            f"sampler.get_chain() has shape {chain.shape}: expected (step, walker, parameter)."
        )
    named = _names_of(sampler)
    samples = Samples.of(np.swapaxes(chain, 0, 1), names=names if names is not None else named)
    return samples, Target.from_log_density(_values_of(sampler), support=support)


def _names_of(sampler: Any) -> list[str] | None:
    """The names of single parameters, where the sampler was given some."""
    if not getattr(sampler, "params_are_named", False):
        return None
    by_index: dict[int, str] = {}
    for name, index in sampler.parameter_names.items():
        numbers = np.atleast_1d(index)
        for k, number in enumerate(numbers):
            by_index[int(number)] = name if len(numbers) == 1 else f"{name}[{k}]"
    return [by_index[number] for number in sorted(by_index)]


def _values_of(sampler: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The log probabilities of rows, without what a function may return besides (blobs)."""
    function = sampler.log_prob_fn

    def first(returned: Any) -> float:
        return float(np.ravel(np.asarray(returned, dtype=object))[0])

    def values(x: np.ndarray) -> np.ndarray:
        if getattr(sampler, "params_are_named", False):
            named = sampler.parameter_names.items()
            rows: Any = [{name: row[index] for name, index in named} for row in x]
        else:
            rows = x
        if getattr(sampler, "vectorize", False):
            return np.array([first(returned) for returned in function(rows)])
        return np.array([first(function(row)) for row in rows])

    return values
