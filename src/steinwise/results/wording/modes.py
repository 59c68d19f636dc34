"""What is said of the modes of a density."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from steinwise._internal.counting import counted
from steinwise._internal.escaping import listed, printable
from steinwise.results.modes import ModeResult, ModesFound, ModeSplit
from steinwise.results.wording.phrases import MOST_DIGITS

COORDINATES_NAMED = 3  # in the place of a mode
MODES_NAMED = 3
ENOUGH_DIGITS, SMALL_SHARE = 3, 0.01  # of the mass; more digits only below this share
COPIES_NAMED = 4  # shares of the draws in copies
NEARLY_ALL = 0.9  # of the draws
MANY_FLAT = 4  # maxima, from which on they are more than a few ends of climbs


def mode_place(mode: ModeResult, label: Callable[[str], str] = str) -> str:
    """Where a mode is; `label` gives the names of coordinates as they are printed.

    >>> mass = dict(copies=1, mass=0.5, mass_low=0.4, mass_high=0.6)
    >>> draws = dict(draws=0, share=0.0, expected=498.3, information=40.0)
    >>> judged = dict(pvalue=0.001, adjusted_pvalue=0.001, kind="unvisited")
    >>> mode = ModeResult({"theta": 3.14, "mu": -2.0}, **mass, **draws, **judged)
    >>> mode_place(mode)
    'near (theta = 3.1, mu = -2.0)'
    """
    return place_of({label(name): value for name, value in mode.where.items()})


def place_of(where: Mapping[str, float]) -> str:
    """A peak by the first of its coordinates."""
    nothing = 1e-3 * max(map(abs, where.values()))  # a climb ends near a peak, not at it
    named = [(name, value if abs(value) > nothing else 0.0) for name, value in where.items()]
    named = named[:COORDINATES_NAMED]
    places = [f"{printable(name)} = {value:#.2g}".rstrip(".") for name, value in named]
    more = ", ..." if len(where) > COORDINATES_NAMED else ""
    return f"near ({', '.join(places)}{more})"


def _mass(mode: ModeResult) -> str:
    if np.isnan(mode.mass):
        return "a part of the mass that is not known"
    return f"{_share_of_mass(mode.mass, mode.mass_low, mode.mass_high)} of the mass"


def _share_of_mass(mass: float, low: float, high: float) -> str:
    """A share and its interval, in as many digits as tell the ends of the interval apart.

    An interval whose ends agree in three digits tells no more than the share, unless that is small.

    >>> _share_of_mass(0.5, 0.4, 0.6), _share_of_mass(0.5, 0.4981, 0.5021)
    ('about 0.50 (0.40 to 0.60)', 'about 0.500 (0.498 to 0.502)')
    >>> _share_of_mass(0.2, 0.199999, 0.200001), _share_of_mass(1.0, 1.0, 1.0)
    ('about 0.20', 'about 1.00')
    >>> _share_of_mass(0.0012, 0.00118, 0.00122)
    'about 0.00120 (0.00118 to 0.00122)'
    """
    most = MOST_DIGITS if min(mass, 1 - mass) < SMALL_SHARE else ENOUGH_DIGITS
    for digits in range(2, most + 1):
        ends = f"{low:.{digits}f}", f"{high:.{digits}f}"
        if ends[0] != ends[1]:
            return f"about {mass:.{digits}f} ({ends[0]} to {ends[1]})"
    return f"about {mass:.2f}"


def mode_verdict(mode: ModeResult, found: ModesFound, label: Callable[[str], str] = str) -> str:
    """What the density has in a mode, and what the draws have.

    Shares of the mass are shares of the modes that were looked at. Where there are others, numbers
    of the draws that are nearest to a mode are compared, some of which may belong to none of these;
    where shares would contradict the verdict, numbers of draws as well.
    """
    subject = f"A mode {mode_place(mode, label)}"
    draws = f"the {found.tested} draws that were not used to look for modes"
    if mode.copies > 1:
        subject += f", with its {mode.copies - 1} symmetric copies,"
    if found.left_out:
        return (
            f"{subject} is the nearest, of those that were looked at, to "
            f"{mode.draws or 'none'} of {draws}; by the density at the same places of all of them, "
            f"these should be about {mode.expected:.0f}."
        )
    if _shares_contradict(mode):
        has = f"{mode.draws or 'none'} of {draws}"
        should = f"it should have about {mode.expected:.0f}"
        return f"{subject} has {has}; by the density at the same places of all modes, {should}."
    if mode.kind == "unvisited":
        return f"{subject} that holds {_mass(mode)} has none of {draws}."
    return f"{subject} holds {_mass(mode)} and {mode.share:.2f} of the draws."


def _shares_contradict(mode: ModeResult) -> bool:
    too_few, too_many = mode.kind == "too few draws", mode.kind == "too many draws"
    return (too_few and mode.share > mode.mass) or (too_many and mode.share < mode.mass)


def modes_sentences(
    found: ModesFound, alpha: float, label: Callable[[str], str] = str
) -> Iterator[str]:
    """What a report says of the modes; nothing where there is one mode and nothing to say."""
    flagged = found.flagged(alpha)
    lacking = [mode for mode in flagged if mode.kind != "too many draws"] or list(flagged)
    for mode in lacking[:MODES_NAMED]:
        yield mode_verdict(mode, found, label)
    if len(lacking) > MODES_NAMED:
        others = counted(len(lacking) - MODES_NAMED, "other mode")
        yield f"The same goes for {others}: see result.modes."
    if flagged:
        yield (
            "What is said of single coordinates holds near the draws, whatever their split between "
            "modes. The errors of means and sds depend on that split, and are not known."
        )
    if len(found.modes) > 1:
        yield _count(found, bool(flagged))
    if found.copies:
        yield (
            f"{found.copies} modes are copies of each other with exchangeable coordinates in "
            "another order, as by label switching. Draws may keep to one copy, and that is not a "
            "misfit here; means of single coordinates then depend on which."
        )
    if len(found.copy_shares) > 1:
        yield _copy_split(found.copy_shares)
    # nothing is unclear about a mode that has and should have all draws, or nearly all
    unjudged = sum(
        mode.kind == "cannot judge" and mode.expected < NEARLY_ALL * found.tested
        for mode in found.modes
    )
    if unjudged:
        yield (
            f"How many draws {counted(unjudged, 'mode')} should have cannot be judged: next to "
            "none is expected there, or maps from the other modes miss it."
        )
    if found.left_out:
        yield (
            f"{counted(found.left_out, 'other maximum').replace('maximums', 'maxima')} of the "
            "density came up in the search and were not examined: only the highest ones are, and "
            "there may be many more. How the whole mass is split is not known."
        )
    if found.flat >= MANY_FLAT:
        yield (
            f"{found.flat} maxima of the density are flat in some direction, as on a ring or a "
            "ridge: they are not taken for modes. Only lines can tell whether draws miss a part of "
            "it."
        )
    elif 2 * found.shoulders > found.starts:
        yield (
            f"From {found.shoulders} of {found.starts} starts the search came to a maximum without "
            "a valley between it and a higher one, as on a long ridge: it counts as a part of the "
            "higher one's mode."
        )
    if found.unbounded:
        yield (
            f"From {found.unbounded} of {found.starts} starts the density rises without end: it "
            "has no maximum there, and modes were not looked for beyond."
        )
    if 2 * found.unfinished > found.starts:
        yield (
            f"The search for further modes did not converge ({found.unfinished} of {found.starts} "
            "starts), so an unvisited mode would not have been seen."
        )


def _count(found: ModesFound, wrong: bool) -> str:
    text = f"{len(found.modes)} modes were found from {found.starts} starts"
    if wrong and not found.left_out:
        return f"{text}; shares of the mass are shares of what these modes hold together."
    if wrong or all(mode.kind == "cannot judge" for mode in found.modes):
        return f"{text}."
    return f"{text}; the draws are split between them in the right proportions."


def _copy_split(shares: tuple[float, ...]) -> str:
    """How draws are split between copies, and what sees it.

    >>> _copy_split((0.75, 0.25)).split(". If")[0]
    'The draws are split between 2 of these copies, with shares of 0.75, 0.25'
    """
    named = listed([f"{share:.2f}" for share in shares], COPIES_NAMED)
    return (
        f"The draws are split between {len(shares)} of these copies, with shares of {named}. If "
        "that is uneven, a line from one copy to another shows it as a misfit. To leave it out, "
        "give the exchangeable coordinates the same order in every draw."
    )


def split_sentence(split: ModeSplit) -> str:
    """That draws are not split between modes as the density is, and what to do about it.

    >>> split_sentence(ModeSplit({"theta": 3.14}, 0.5, 0.48, 0.52, 0.0, 0.07)).split(". ")[0]
    'a mode near (theta = 3.1) holds about 0.50 (0.48 to 0.52) of the mass and none of the draws'
    """
    if np.isnan(split.mass):
        problem = "the density has several modes, and how its mass is split is not known"
    else:
        mass = f"{_share_of_mass(split.mass, split.mass_low, split.mass_high)} of the mass"
        drawn = f"{split.drawn:.2f}" if split.drawn else "none"
        problem = f"a mode {place_of(split.where)} holds {mass} and {drawn} of the draws"
    return (
        f"{problem}. Moving draws along lines does not cure that, and no mean, sd or quantile can "
        "be estimated from them. Sample the density anew, with chains that start in every mode."
    )


def misfit_of_modes(found: ModesFound | None, alpha: float) -> str:
    """A misfit of modes in a few words; "" where there is none."""
    wrong = 0 if found is None else len(found.flagged(alpha))
    return f"{counted(wrong, 'mode')} with a wrong share of the draws" if wrong else ""
