"""Several sets of draws and their density, as they enter `sw.compare`.

They are recognised as those of a check are, and refused unless they are on one space, with their
coordinates in one order.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from steinwise._internal.escaping import printable
from steinwise._internal.run_options import RunOptions
from steinwise.api.entry import call_named, enter_draws, named
from steinwise.api.recognition import brings_density, is_model, is_pair, recognised
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.target import AbstractTarget, ScoresAtDraws
from steinwise.target.support import real, supports_of


def enter_sets(
    draws: Any, target: Any, independent: bool | None, run: RunOptions, held_by: str
) -> tuple[dict[str, Samples], Mapping[str, Any]]:
    """The sets by name, and the density for each; in memory, if `held_by` names what needs that."""
    _refuse_swapped(draws, target)
    draws, target = _recognised_sets(draws, target, independent)
    sets = _sets(draws, independent, run, held_by)
    return sets, _targets(target, sets)


def _refuse_swapped(draws: Any, target: Any) -> None:
    if isinstance(target, Mapping) and (callable(draws) or isinstance(draws, AbstractTarget)):
        raise InputError(
            f"draws is of type {type(draws).__name__}, and target is a dict: the arguments are "
            "swapped. The sets of draws come first: sw.compare({...}, target)."
        )


def _recognised_sets(draws: Any, target: Any, independent: bool | None) -> tuple[Any, Any]:
    """Sets and their density by the adapters that take what was passed, as in `sw.check`.

    There is one density, traced and compiled once: the one that was passed, or else that of the
    first set which brings one. Scores at the draws alone are those of each set.
    """
    if not isinstance(draws, Mapping) or isinstance(target, Mapping):
        return draws, target
    given = named(draws, "draws")
    brings = brings_density if target is None else is_pair
    own = {
        name: call_named(name, recognised, one, None) for name, one in given.items() if brings(one)
    }
    first = next((density for _, density in own.values()), None)
    common = first if target is None else target
    adapted = {
        name: call_named(name, recognised, one, common, independent)
        for name, one in given.items()
        if name not in own
    }
    sets = {name: (own | adapted)[name][0] for name in given}
    if isinstance(first, ScoresAtDraws) and target is None:
        return sets, {name: (own | adapted)[name][1] for name in given}
    if adapted:
        common = next(iter(adapted.values()))[1]
    elif is_model(target):
        raise InputError(
            f"target is of type {type(target).__name__}, and every set brings its density: leave "
            "target out."
        )
    for name, (samples, density) in own.items():
        if isinstance(samples, Samples):
            call_named(name, _require_same_space, samples, density, common)
            call_named(name, _require_same_dependence, samples, independent)
    return sets, common


def _require_same_dependence(samples: Samples, independent: bool | None) -> None:
    """Refuse an option that would silently overrule what an adapter knows of a set."""
    if independent is not None and bool(independent) != samples.independent:
        raise InputError(
            f"independent is {independent}, for all sets, and these draws came with "
            f"independent={samples.independent}. Leave it out, and pass it with the sets that it "
            "is for: sw.Samples.of(draws, independent=True), or to their adapter."
        )


def _require_same_space(samples: Samples, own: Any, common: Any) -> None:
    """Refuse draws that an adapter put on another space than that of the common density."""
    supports = (supports_of(getattr(one, "support", real), samples.names) for one in (own, common))
    for name, here, there in zip(samples.names, *supports, strict=True):
        if here.kind != there.kind:
            raise InputError(
                f"{printable(name)} is {here!r} by the density that these draws came with, and "
                f"{there!r} by the density of the comparison: expected sets on one space (space= "
                "of the adapter)."
            )


def _sets(
    draws: Any, independent: bool | None, run: RunOptions, held_by: str
) -> dict[str, Samples]:
    if not isinstance(draws, Mapping) or len(draws) < 2:
        came = f"draws is of type {type(draws).__name__}"
        if isinstance(draws, Mapping):
            only = ", ".join(map(printable, draws))
            came = f"draws is a dict of one set, {only}" if draws else "draws is an empty dict"
        raise InputError(
            f'{came}: expected a dict of at least two sets, such as {{"step 0.1": draws, "step '
            '0.2": other_draws}. For one set there is sw.check(draws, target).'
        )
    sets = {}
    for name, given in named(draws, "draws").items():
        enter = partial(enter_draws, independent=independent, held_by=held_by)
        sets[name] = call_named(name, enter, given, run)
    dims = {name: samples.dim for name, samples in sets.items()}
    if len(set(dims.values())) > 1:
        raise InputError(f"the sets have different numbers of coordinates: {dims}.")
    (first, one), *others = sets.items()
    for name, other in others:
        _require_same_order(first, one.names, name, other.names)
    return sets


def _require_same_order(
    first: str, names: Sequence[str], second: str, others: Sequence[str]
) -> None:
    """Refuse sets that have a coordinate of one name at different places."""
    place = {name: j for j, name in enumerate(names)}
    for j, name in enumerate(others):
        if place.get(name, j) != j:
            raise InputError(
                f"{printable(name)} is coordinate {place[name]} of {printable(first)} and "
                f"coordinate {j} of {printable(second)}: expected one order, the density's. For a "
                "data frame, frame[columns] puts the columns in order."
            )


def _targets(target: Any, sets: dict[str, Samples]) -> Mapping[str, Any]:
    """The density for each set: one for all, unless only scores at the draws are known."""
    if not isinstance(target, Mapping):
        if isinstance(target, ScoresAtDraws):
            raise InputError(
                "target is sw.Target.at_draws(scores), the scores at the draws of one set: "
                "expected those of each, a dict of such targets with the names of the sets."
            )
        return dict.fromkeys(sets, target)
    given = named(target, "target")
    if given.keys() != sets.keys():
        raise InputError(
            f"target is of type dict with the names {sorted(given)}, and the sets are "
            f"{sorted(sets)}: expected a target for each set, all of one density."
        )
    return given
