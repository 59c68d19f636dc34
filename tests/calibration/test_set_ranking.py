"""The order of sets of draws, from what their checks say."""

from itertools import count, permutations

import numpy as np

from steinwise.calibration.set_ranking import exceeds, rank_sets
from steinwise.results.largest_error import ErrorEstimates, LargestError
from steinwise.results.set_evidence import SetEvidence

DRAWS = count(100)  # other numbers of draws for every set: none have the same batches


def evidence(
    misfit: bool,
    size: float | None,
    low: float = 0.0,
    high: float | None = None,
    conditional: float = 0.0,
) -> SetEvidence:
    """With intervals of three standard errors, of a single error."""
    estimates = None
    if size is not None:
        se = np.full((1, 1), (size - low) / 3 if low else ((high or size) - size) / 3)
        estimates = ErrorEstimates(np.array([size]), np.zeros(1), se, 3.0, (1, next(DRAWS), 60))
    name = "" if size is None else "x[0]"
    error = LargestError(0.01, size, low, high, name, "mean", (), estimates)
    pvalue = 0.001 if misfit else 0.5
    return SetEvidence(pvalue, misfit, int(misfit), size, "x[0]", 1.0, "", error, conditional, "")


def ranked(**sets: SetEvidence | None) -> dict[str, str]:
    """The standings by name, in order: the same whatever order the sets were given in."""
    orders = {
        tuple((one.name, one.standing) for one in rank_sets({name: sets[name] for name in names}))
        for names in permutations(sets)
    }
    (order,) = orders
    return dict(order)


def test_sets_without_a_misfit_come_first_then_the_others_by_size() -> None:
    found = ranked(
        vi=evidence(True, 0.5, 0.4, 0.6),
        nuts=evidence(False, 0.04, 0.0, 0.12),
        pathfinder=evidence(True, 0.45, 0.35, 0.55),
        hmc=evidence(False, 0.05, 0.0, 0.13),
    )
    assert list(found) == ["nuts", "hmc", "pathfinder", "vi"]
    assert list(found.values()) == ["first", "indistinguishable", "worse", "worse"]


def test_a_set_is_worse_only_beyond_the_error_of_the_difference() -> None:
    """Of independent sets, half-widths of 0.1 add up to 0.14."""
    one = evidence(True, 0.5, 0.4, 0.6)
    near, beyond = evidence(True, 0.63, 0.53, 0.73), evidence(True, 0.65, 0.55, 0.75)
    assert ranked(one=one, near=near) == {"one": "first", "near": "indistinguishable"}
    assert ranked(one=one, beyond=beyond) == {"one": "first", "beyond": "worse"}


def error(errors: list[float], deviations: np.ndarray, draws: int = 100) -> LargestError:
    size = float(np.abs(errors).max())
    doubts, cut = np.zeros(len(errors)), (1, draws, len(deviations))
    estimates = ErrorEstimates(np.array(errors), doubts, deviations, 3.0, cut)
    return LargestError(0.01, size, 0.0, 9.0, "x[0]", "mean", (), estimates)


def test_what_sets_share_cancels_where_they_have_the_same_batches() -> None:
    """Catches errors of differences that take sets with one seed as independent."""
    shared = 0.02 * np.random.default_rng(0).normal(size=(60, 1))
    one, other = error([0.3], shared), error([-0.5], -shared)
    assert exceeds(other, one)
    assert not exceeds(other, error([0.3], shared, draws=200))
    assert not exceeds(one, other)


def test_every_error_of_the_other_set_must_be_exceeded() -> None:
    """Catches a comparison with one of two errors that may be the largest."""
    exact, vague = 0.001 * np.eye(60)[:, :1], 0.2 * np.eye(60)[:, 1:2]
    one = error([0.5], exact)
    assert exceeds(one, error([0.3], exact, draws=200))
    assert not exceeds(one, error([0.3, 0.2], np.concatenate([exact, vague], axis=1), draws=200))


def test_few_draws_come_after_a_small_misfit() -> None:
    few, small = evidence(False, 0.3, 0.0, 0.9), evidence(True, 0.02, 0.01, 0.04, 0.03)
    assert list(ranked(few=few, small=small)) == ["small", "few"]


def test_but_not_after_one_that_may_be_as_large_or_is_of_another_kind() -> None:
    few = evidence(False, 0.3, 0.0, 0.9)
    for other in (
        evidence(True, 0.2, 0.1, 0.35),
        evidence(True, 0.02, 0.0, 0.04, conditional=0.8),  # a wrong dependence
        evidence(True, 0.02, 0.0, None),  # some errors are not known
        evidence(True, None),
    ):
        assert next(iter(ranked(few=few, other=other))) == "few"


def test_unknown_errors_come_after_known_ones_and_no_check_comes_last() -> None:
    found = ranked(
        tiny=None,
        lost=evidence(True, None),
        vi=evidence(True, 0.5, 0.4, 0.6),
        unknown=evidence(False, None),
        nuts=evidence(False, 0.04, 0.0, 0.12),
    )
    assert list(found) == ["nuts", "unknown", "vi", "lost", "tiny"]
    assert list(found.values()) == ["first", "unknown", "worse", "unknown", "no check"]


def test_a_known_part_can_be_too_much() -> None:
    """An error without an upper end can be worse than another, and none is worse than it."""
    partly, known = evidence(True, 0.9, 0.8, None), evidence(True, 0.3, 0.2, 0.4)
    assert ranked(partly=partly, known=known) == {"known": "first", "partly": "worse"}
    least = evidence(True, 0.1, 0.05, None)
    assert ranked(least=least, known=known) == {"known": "first", "least": "unknown"}


def test_what_is_not_known_is_called_neither_best_nor_indistinguishable() -> None:
    """Catches a set that wins with errors that nobody knows, and a tie with it."""
    lost, partly = evidence(True, None), evidence(True, 0.1, 0.05, None)
    assert ranked(lost=lost, partly=partly) == {"partly": "unknown", "lost": "unknown"}
    fits, known = evidence(False, 0.1, 0.0, None), evidence(True, 0.3, 0.2, 0.4)
    assert ranked(fits=fits, known=known) == {"fits": "first", "known": "not compared"}
