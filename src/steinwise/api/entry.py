"""The one entrance: draws, a target, a method and options come in, checked and prepared.

Every verb goes through these functions, so that what is wrong with a call is answered in one place
and in the same words, before anything is computed.
"""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar

import numpy as np

from steinwise._internal.counting import by_count, counted
from steinwise._internal.escaping import listed, printable
from steinwise._internal.memory import budget_bytes
from steinwise._internal.random import seed_words
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import require_choice
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, TargetError, TooFewDraws
from steinwise.methods import NAMES, by_name
from steinwise.methods.base import AbstractMethod
from steinwise.results.wording import value_text
from steinwise.target import AbstractTarget, ScoresAtDraws, as_target
from steinwise.target.agreement import require_agreement
from steinwise.target.support import AbstractSupport, discrete_among, real, supports_of

PRECISIONS = ("float64", "float32")
EFFORTS = ("quick", "standard", "full")
_Method = TypeVar("_Method", bound=AbstractMethod)
_Result = TypeVar("_Result")


def run_options(
    *,
    seed: Any = 0,
    memory: str | int = "1GiB",
    dtype: str = "float64",
    progress: bool | None = None,
) -> RunOptions:
    """How a computation is to be carried out."""
    seed_words(seed)
    require_choice("dtype", dtype, PRECISIONS)
    return RunOptions(seed, budget_bytes(memory), dtype, progress)


def enter_effort(effort: Any) -> str:
    """How much a check may cost."""
    require_choice("effort", effort, EFFORTS)
    return effort


def enter_draws(
    draws: Any,
    run: RunOptions,
    *,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    held_by: str = "",
    target: Any = None,
) -> Samples:
    """The user's draws; in memory, if something (`held_by`) needs to hold all of them.

    A `target` says which of their coordinates are discrete.
    """
    discrete = partial(discrete_among, getattr(target, "support", real))
    samples = Samples.entered(draws, names=names, independent=independent, discrete=discrete)
    return samples.loaded(run.memory, held_by) if held_by else samples


def enter_points(draws: Any, names: Sequence[str] | None = None) -> Samples:
    """Draws that serve as points only: nothing is asked about their dependence."""
    given = draws.independent if isinstance(draws, Samples) else True
    return Samples.of(draws, names=names, independent=given)


def named(things: Mapping[Any, Any], what: str) -> dict[str, Any]:
    """The entries of a user's dict by their names as text, which must differ."""
    by_name = {str(name): thing for name, thing in things.items()}
    if len(by_name) < len(things):
        raise InputError(f"{what} has keys that look the same: {list(things)[:10]}.")
    return by_name


def enter_target(
    target: Any,
    samples: Samples,
    used_by: str,
    *,
    elsewhere: str = "",
    takes_noise: bool = False,
    takes: Sequence[str] = ("real",),
    needs_scores: bool = True,
    only_real: str = "rests on Stein's identity, which holds on all of R^d",
    with_scores_alone: str = "",
) -> tuple[AbstractTarget, Samples]:
    """The user's density, if it has what is needed, and the draws with the scores it knows.

    It is tried on the first draw. `elsewhere` says why it is evaluated at points that are no draws,
    "" if it is not; `takes` the kinds of coordinates that can be used, `only_real` why no others;
    `with_scores_alone` the option with which scores at the draws are enough, if there is one.
    """
    density = as_target(target)
    supports = supports_of(density.support, samples.names)
    _refuse_kinds(supports, samples.names, f"{used_by} {only_real}", takes)
    require_inside(samples, supports)
    if density.conditionals is not None and all(one.kind != "discrete" for one in supports):
        raise InputError(
            "the target has conditionals=, which are those of discrete coordinates, and none of "
            "its coordinates is discrete. Say which are, as in "
            "support=sw.support.integers(0, 1), or leave conditionals= out."
        )
    if isinstance(density, ScoresAtDraws):
        samples = samples.with_scores(density.scores, density)
        if elsewhere:
            kinds = {support.kind for support in supports}
            able = _those(lambda method: _takes_scores(method) and kinds.issubset(method.takes))
            known = f"{used_by} {elsewhere}, and the target has scores at the draws only "
            if with_scores_alone:
                raise InputError(
                    f"{known}(sw.Target.at_draws). Pass {with_scores_alone}, for which these are "
                    "enough, or a target with a log density and scores everywhere."
                )
            raise InputError(
                f"{known}(sw.Target.at_draws). Pass a log density, or sw.Target.from_score(score). "
                f"With the scores alone, sw.check takes {able}."
            )
    if density.noisy and not takes_noise:
        raise InputError(
            f"{used_by} needs exact scores, and the target's are noisy (noisy=True): it multiplies "
            "a score with itself, or expects the same number twice. Pass the score of all data. "
            f"With noisy ones, sw.check takes {_those(_takes_noise)}."
        )
    _prepare(density, samples)
    if needs_scores and not density.has_scores(samples.dim):
        raise InputError(
            f"{used_by} needs scores, and the target has values of its log density only. sw.check "
            f"takes it with {_those(_takes_values)}. Or pass a score to sw.Target.from_score."
        )
    density.try_draw(samples.take(np.arange(1))[0])
    if density.conditionals is not None:
        require_agreement(density, samples.take(np.arange(1)), supports, samples.names)
    return density, samples.scored_by(density)


def _prepare(density: AbstractTarget, samples: Samples) -> None:
    """Try the density on the dimension of the draws; where it fails, on their other axes."""
    try:
        density.prepare(samples.dim)
    except (InputError, TargetError) as error:
        several = samples.n_chains > 1
        fixes = [(samples.n_draws, "np.swapaxes(draws, 1, 2)" if several else "draws.T")]
        if several and samples.dim > samples.n_draws:  # more coordinates than draws: (d, chain, n)
            fixes.append((samples.n_chains, "np.moveaxis(draws, 0, 2)"))
        found = next(((d, fix) for d, fix in fixes if _takes_dimension(density, d)), None)
        if found is None:
            raise
        shape = samples.values.shape if several else samples.values.shape[1:]
        raise InputError(
            f"draws have shape {shape}, {samples.n_draws} draws of {samples.dim} "
            f"coordinates, and the density takes {found[0]} coordinates: did you mean {found[1]}?"
        ) from error


def _takes_dimension(density: AbstractTarget, d: int) -> bool:
    try:
        density.prepare(d)
    except (InputError, TargetError):
        return False
    return True


def enter_target_of(
    method: AbstractMethod, target: Any, samples: Samples
) -> tuple[AbstractTarget, Samples]:
    """The user's density, if it has what a method needs, and the draws with the scores it knows."""
    if samples.refreshed and method.elsewhere:
        raise InputError(
            "draws were moved by sw.refresh along the lines of the density: what was moved last "
            f"fits by construction, whatever the draws were, and the method {method.name!r} looks "
            "along the same lines. refreshed.settled says whether draws have arrived. Check them "
            f"as they were before; {_those(_takes_scores)} can be used, but all of these are "
            "blind to the coordinate that was moved last too."
        )
    return enter_target(
        target,
        samples,
        f"the method {method.name!r}",
        elsewhere=method.elsewhere,
        takes_noise=method.takes_noisy_scores,
        takes=method.takes,
        needs_scores=method.needs_scores,
    )


def _refuse_kinds(
    supports: Sequence[AbstractSupport], names: Sequence[str], reason: str, takes: Sequence[str]
) -> None:
    """Refuse coordinates of a kind that cannot be used, by name."""
    wrong = [j for j, support in enumerate(supports) if support.kind not in takes]
    if not wrong:
        return
    if len(wrong) == 1:
        which = f"{printable(names[wrong[0]])} is not real: its support is {supports[wrong[0]]!r}"
    else:
        these = [f"{names[j]} ({supports[j]!r})" for j in wrong]
        which = f"these are not real: {listed(these)}"
    has_slopes = any(support.kind != "discrete" for support in supports)
    able = _those(
        lambda method: (
            all(supports[j].kind in method.takes for j in wrong)
            and (has_slopes or not method.needs_scores)
        )
    )
    them = by_count(len(wrong), "it", "them")
    bounded = "or take draws and density to the real line (Jacobian included)"
    raise InputError(
        f"{reason}, and {which}. sw.check takes {them} with {able}"
        f"{', ' + bounded if all(supports[j].kind == 'bounded' for j in wrong) else ''}."
    )


def require_inside(samples: Samples, supports: Sequence[AbstractSupport]) -> None:
    """Refuse draws outside of their support, by draw, coordinate and value."""
    limited = [j for j, support in enumerate(supports) if support.kind != "real"]
    if not limited:
        return
    outside = partial(_outside, supports, limited)
    wrong = [
        (span.start + i, j, x) for span, found in samples.map_slabs(outside) for i, j, x in found
    ]
    if wrong:
        row, j, value = wrong[0]
        chain, draw = divmod(row, samples.n_draws)
        number = samples.draw_index.draws[draw]
        where = f"draw {number} of chain {chain}" if samples.n_chains > 1 else f"draw {number}"
        whose = by_count(len(wrong), "its", "their")
        raise InputError(
            f"{counted(len(wrong), 'value')}, in {len({i for i, _, _ in wrong})} of {samples.n} "
            f"draws, {by_count(len(wrong), 'is', 'are')} outside of {whose} support; the first is "
            f"{value_text(value)}, {printable(samples.names[j])} of {where}: expected "
            f"{supports[j]!r}. Are the draws on another scale (a logarithm, say), or in another "
            "order than support=?"
        )


def _outside(
    supports: Sequence[AbstractSupport], limited: Sequence[int], start: int, x: np.ndarray
) -> list[tuple[int, int, float]]:
    del start
    return [
        (int(i), j, float(x[i, j]))
        for j in limited
        for i in np.nonzero(~supports[j].contains(x[:, j]))[0]
    ]


def call_named(name: str, function: Callable[..., _Result], *arguments: Any) -> _Result:
    """The function's result, or its complaint with the name of the set or model it is about."""
    try:
        return function(*arguments)
    except (InputError, TargetError, TooFewDraws) as error:
        raise type(error)(f"{printable(name)}: {error}") from error


def _takes_scores(method: AbstractMethod) -> bool:
    return not method.elsewhere


def _takes_values(method: AbstractMethod) -> bool:
    return not method.needs_scores


def _takes_noise(method: AbstractMethod) -> bool:
    return method.takes_noisy_scores


def _those(fit: Callable[[AbstractMethod], bool]) -> str:
    """The methods that fit, as an option of `sw.check`."""
    *most, last = [repr(name) for name in NAMES if fit(by_name(name)())] or ["..."]
    return f"method={', '.join(most)} or {last}" if most else f"method={last}"


def enter_method(
    method: Any,
    named: Mapping[str, Callable[[], _Method]],
    accepted: type[_Method] | tuple[type[_Method], ...],
    expected: str,
) -> _Method:
    """A method from its name or from an object; `expected` says what may come."""
    if isinstance(method, str) and method in named:
        return named[method]()
    if isinstance(method, accepted):
        return method
    misspelt = isinstance(method, str) and method not in NAMES
    near = get_close_matches(method, named, 1) if misspelt else []
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise InputError(f"method is {method!r}: expected {expected}{hint}")
