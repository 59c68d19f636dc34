"""All sentences are in one package, and every kind that the others return has one."""

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import steinwise
import steinwise as sw
from steinwise.methods import NAMES, by_name
from steinwise.methods.complete_conditionals import effects, outcome_sums
from steinwise.methods.complete_conditionals.features import CONTEXTS
from steinwise.results import wording
from steinwise.results.coordinate import CoordinateResult
from steinwise.results.misfit import Effect, Marginal, Misfit
from steinwise.results.outcomes import Outcome, OutcomeShares

SOURCE = Path(steinwise.__file__).parent
WORDING = Path(wording.__file__).parent
FEWEST_WORDS = 4  # shorter passages may be the same by chance


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path, ast.parse(path.read_text("utf-8"))


def strings(node: ast.AST) -> set[str]:
    constants = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


# -- notes -----------------------------------------------------------------------------------------


def values_of(name: str, tree: ast.Module) -> set[str]:
    """The strings that a module assigns to a variable, or lets it run through."""
    values: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(_is(target, name) for target in node.targets):
            values |= strings(node.value)
        if isinstance(node, (ast.comprehension, ast.For)) and _is(node.target, name):
            values |= strings(node.iter)
    return values


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def created_notes() -> Iterator[tuple[str, ast.Call]]:
    """The kinds of notes that any module makes, and where."""
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _is(node.func, "note"):
                kind = node.args[0]
                kinds = values_of(kind.id, tree) if isinstance(kind, ast.Name) else strings(kind)
                assert kinds, f"no kind is known for {ast.unparse(node)}"
                yield from ((kind, node) for kind in kinds)


def test_every_kind_of_note_has_a_sentence_and_every_sentence_is_used() -> None:
    """Catches a note that ends in a KeyError, and a sentence that nothing says any more."""
    assert {kind for kind, _ in created_notes()} == set(wording.NOTES)


def test_notes_have_the_numbers_that_their_sentences_need() -> None:
    """Catches a value that is renamed in one place only."""
    for kind, call in created_notes():
        fields = {field for _, field, _, _ in string.Formatter().parse(wording.NOTES[kind])}
        given = {keyword.arg for keyword in call.keywords}
        if None in given:  # more come from a dict
            assert given - {None} <= fields - {None}, kind
        else:
            assert given == fields - {None}, kind


# -- misfits ---------------------------------------------------------------------------------------


def kinds_of_misfit() -> list[str]:
    """Those that the default check tells apart: of a coordinate alone, and with others."""
    alone: set[str] = set()
    for module in (effects, outcome_sums):
        nodes = ast.walk(ast.parse(Path(str(module.__file__)).read_text("utf-8")))
        (naming,) = (n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == "misfit")
        alone = alone.union(*(strings(statement) for statement in naming.body[1:])) - {"alone"}
    return sorted(alone) + [context for context in CONTEXTS if context != "alone"]


def flagged(
    kind: str,
    spread: float,
    partners: tuple[str, ...] = ("a", "b"),
    marginal: Marginal | None = None,
) -> CoordinateResult:
    outcome = Outcome(3.0, 0.41, 0.25) if kind == "outcome" else None
    misfit = Misfit(kind, partners, outliers=2, excess_kurtosis=1.0, outcome=outcome)
    return CoordinateResult("x", 1.0, 0.01, 0.01, Effect(0.5, spread), misfit, marginal)


def marginal(mean_error: float = 0.0, sd_ratio: float = 1.0) -> Marginal:
    """Of a target with mean 2 and sd 1, with small errors."""
    return Marginal(2 + mean_error, sd_ratio, 2.0, 1.0, mean_error, 0.02, sd_ratio, 0.02)


MARGINALS = [None, marginal(), marginal(0.4), marginal(0.0, 0.7), marginal(-0.4, 1.5)]


@pytest.mark.parametrize("kind", kinds_of_misfit())
@pytest.mark.parametrize("spread", [0.5, 2.0])
@pytest.mark.parametrize("known", MARGINALS)
def test_every_kind_of_misfit_has_a_verdict_and_advice(
    kind: str, spread: float, known: Marginal | None
) -> None:
    """Catches a kind that is found and then told as a mere misfit, or without a way out."""
    found = flagged(kind, spread, marginal=known)
    assert len(found.verdict.split()) >= FEWEST_WORDS
    assert flagged(kind, spread, partners=(), marginal=known).verdict
    assert found.misfit is not None
    keys = wording.advice_keys(found.misfit, found.effect, found.marginal)
    assert keys
    for title, advice in (wording.ADVICE[key] for key in keys):
        assert title
        assert advice.endswith(".")


def test_what_is_said_of_small_errors_can_be_seen() -> None:
    """With 100,000 draws an sd of 1.03 is found: "sd 1.0, about 1.0 expected" says nothing."""
    slight = Marginal(2.0, 1.03, 2.0, 1.0, 0.0, 0.002, 1.03, 0.002)
    assert flagged("shape", 1.03, marginal=slight).verdict == (
        "draws are too wide (sd 1.03, about 1.00 expected)"
    )
    assert wording.advice_keys(Misfit("shape"), Effect(0.0, 1.03), slight) == {"wide"}
    neither = flagged("shape", 1.0, marginal=marginal()).verdict
    assert neither.startswith("mean and sd are as expected, but given the others, draws differ")


def test_a_width_that_would_have_been_found_is_never_told_as_one() -> None:
    """Catches "1 times as wide", which 100,000 draws would show to be too wide."""
    assert wording.no_misfit(0.05, (0.012, 1.0092), 3).endswith("or 1.009 times as wide.")
    assert wording.no_misfit(0.05, (0.1, 1.08), 3).endswith("or 1.1 times as wide.")


def test_every_verdict_is_another_and_all_advice_is_given() -> None:
    kinds, spreads = kinds_of_misfit(), (0.5, 2.0)
    verdicts = {flagged(kind, 0.5).verdict for kind in kinds}
    assert len(verdicts) == len(kinds) == 9
    given = set()
    for kind, spread, known in product(kinds, spreads, MARGINALS):
        given |= wording.advice_keys(Misfit(kind), Effect(0.5, spread), known)
    assert given == set(wording.ADVICE)
    assert set(wording.DEPENDENCE) == set(CONTEXTS) - {"alone"}


@pytest.mark.parametrize("kind", ["spread", "dependence", "shift", "shape"])
@pytest.mark.parametrize("conditional_spread", [0.5, 1.2])
def test_draws_that_are_too_narrow_are_never_called_too_wide(
    kind: str, conditional_spread: float
) -> None:
    """Catches a conditional that is told as if it were the coordinate by itself.

    Mean-field draws have too small an sd, and are too wide in the target's conditional.
    """
    found = flagged(kind, conditional_spread, marginal=marginal(0.0, 0.71))
    assert found.verdict.startswith("draws are too narrow (sd 0.71, about 1.0 expected)")
    assert "wide" not in found.verdict
    assert found.misfit is not None
    keys = wording.advice_keys(found.misfit, found.effect, found.marginal)
    assert "narrow" in keys
    assert "wide" not in keys


def test_a_value_that_is_drawn_too_often_or_too_rarely() -> None:
    """Catches shares in the wrong order."""
    assert flagged("outcome", 1.0).verdict == "draws take 3 too often: 0.41, 0.25 expected"
    rarely = Misfit("outcome", outcome=Outcome(-1.0, 0.012, 0.034))
    found = CoordinateResult("x", 1.0, 0.01, 0.01, Effect(0.0, 1.0), rarely)
    assert found.verdict == "draws take -1 too rarely: 0.012, 0.034 expected"


def test_what_is_known_of_a_conditional_alone_is_said_so() -> None:
    """Catches a conditional sd that reads as the sd."""
    given = "given the others, draws are too wide (1.2 times the target's conditional sd)"
    unknown = f"{given}; whether they are by themselves is not known"
    assert flagged("spread", 1.2).verdict == unknown
    uncertain = marginal(0.05)._replace(sd_ratio_se=0.2)
    unclear = f"{given}; whether they are by themselves is not clear"
    assert flagged("spread", 1.2, marginal=uncertain).verdict == unclear
    # one in ten of correct means and sds is further off than two standard errors
    for off, word in ((0.0, "as expected"), (0.05, "nearly as expected")):
        verdict = flagged("spread", 1.2, marginal=marginal(off)).verdict
        assert verdict == f"mean and sd are {word}, but {given}"


@pytest.mark.parametrize("kind", kinds_of_misfit())
@pytest.mark.parametrize("spread", [0.5, 2.0])
@pytest.mark.parametrize("known", MARGINALS)
def test_a_single_coordinate_is_not_judged_given_others(
    kind: str, spread: float, known: Marginal | None
) -> None:
    """Catches "given the others", and a wrong dependence on them, where there are none."""
    if kind in wording.DEPENDENCE:
        return
    found = flagged(kind, spread, partners=(), marginal=known)
    assert found.misfit is not None
    alone = replace(found, misfit=replace(found.misfit, has_others=False))
    assert not re.search("others|conditional|dependence", alone.verdict)
    assert alone.misfit is not None
    keys = wording.advice_keys(alone.misfit, alone.effect, alone.marginal)
    assert keys
    assert not keys & {"given the others", "dependence"}
    expected = alone.verdict.startswith("mean and sd are as expected, but ")
    assert not (expected and re.search("too wide|too narrow|shifted", alone.verdict))


def test_reports_on_a_single_coordinate_speak_of_no_others() -> None:
    """Catches sentences on neighbours and conditionals of a density of one coordinate."""
    rng = np.random.default_rng(0)
    normal, uniform = rng.normal(size=(500, 1)), rng.uniform(-1.73, 1.73, size=(500, 1))
    outlier = np.concatenate([normal, [[9.0]]])

    def two_modes(x: jnp.ndarray) -> jnp.ndarray:
        return jnp.logaddexp(-((x[0] - 4) ** 2) / 2, -((x[0] + 4) ** 2) / 2)

    apart = 1.3 * normal + rng.choice([-4.0, 4.0], size=(500, 1))
    target = sw.Gaussian([0.0], [[1.0]])
    pairs = [(normal, target), (uniform, target), (outlier, target), (apart, two_modes)]
    for draws, density in pairs:
        result = sw.check(draws, density, n_bootstrap=199)
        text = f"{result} {result.to_html()}"
        assert not re.search("given (the|all|its|their)( other|$)", " ".join(text.split()))
        assert "neighbours" not in text
    assert "One draw lies far out: draw 500 in x[0]." in str(sw.check(outlier, target))


def test_a_method_that_tells_no_kind_has_a_verdict_too() -> None:
    assert flagged("", 1.0).verdict == "misfit"
    right = CoordinateResult("x", 1.0, 0.5, 0.5, None)
    assert (right.verdict, right.kind, right.partners) == ("no misfit found", "", ())


# -- p-values --------------------------------------------------------------------------------------


def test_a_p_value_is_written_by_one_function() -> None:
    """Catches 0.000999 in one place and 0.001 in another."""
    named = re.compile(r"(^|[._])p(value)?$")
    written = [
        (str(path.relative_to(SOURCE)), ast.unparse(node.value))
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None
        if named.search(ast.unparse(node.value))
    ]
    assert set(written) == {("results/wording/verdicts.py", "p")}  # in `pvalue` itself


# -- other kinds -----------------------------------------------------------------------------------


def test_every_meaning_of_a_flag_belongs_to_a_method() -> None:
    meanings = {by_name(name).flag_meaning for name in NAMES}
    assert meanings == set(wording.FLAG_MEANINGS)


@pytest.mark.parametrize(
    ("file", "verdicts"),
    [("ranking.py", wording.COMPARISON_VERDICTS), ("set_ranking.py", wording.SET_STANDINGS)],
)
def test_every_standing_in_a_comparison_has_a_verdict(file: str, verdicts: dict) -> None:
    tree = ast.parse((SOURCE / "calibration" / file).read_text("utf-8"))
    assert values_of("standing", tree) == set(verdicts)


# -- one room --------------------------------------------------------------------------------------


def passages(tree: ast.Module) -> set[str]:
    """The strings of a module but its docstrings, as long as there are some words in a row."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    owners = (node for node in ast.walk(tree) if isinstance(node, documented))
    docstrings = {ast.get_docstring(node, clean=False) for node in owners}
    pieces = set()
    for text in strings(tree) - docstrings:
        pieces |= {" ".join(literal.split()) for literal, *_ in _literals(text)}
    return {piece for piece in pieces if len(piece.split()) >= FEWEST_WORDS}


def _literals(text: str) -> Iterator[tuple]:
    """A text without its fields."""
    try:
        yield from list(string.Formatter().parse(text))
    except ValueError:  # a brace that begins no field
        yield (text,)


def test_no_sentence_is_written_a_second_time() -> None:
    """Catches a changed word that is changed in one of two places."""
    kinds = {*wording.NOTES, *wording.ADVICE, *wording.DEPENDENCE}
    kinds |= {*wording.COMPARISON_VERDICTS, *wording.SET_STANDINGS}
    texts = {path: passages(tree) for path, tree in trees()}
    worded = {path: texts.pop(path) for path in WORDING.glob("*.py")}
    sentences = set().union(*worded.values()) - kinds
    assert len(sentences) > 50
    assert sum(len(found - kinds) for found in worded.values()) == len(sentences)
    twice = [
        (str(path.relative_to(SOURCE)), sentence)
        for path, found in texts.items()
        for sentence in sentences
        for text in found
        if sentence in text
    ]
    assert twice == []


def test_draws_that_dominate_without_lying_far_out() -> None:
    one = wording.dominating(["draw 3"], 2, far_out=False, chains=True, has_others=True)
    assert one == "One draw makes up half of the statistic: draw 3. Look there first."
    two = wording.dominating(["draw 3", "draw 5"], 2, far_out=False, chains=True, has_others=True)
    assert two.startswith("2 draws make up half of the statistic: draw 3")


def test_many_counts_are_told_by_their_range() -> None:
    assert wording.counts_fact([3, 1, 2]) == "3, 1, 2"
    assert wording.counts_fact(list(range(5, 20))) == "5 to 19"


def test_one_draw_of_a_value_is_no_departure():
    """Catches standard errors of values that next to no draws should have."""
    values, expected = np.arange(3.0), np.array([50.0, 49.999, 0.001])
    found = OutcomeShares(values, np.array([60.0, 39.0, 1.0]), expected, expected / 2)
    assert found.worst == 1


def test_the_largest_departure_of_many_values_is_no_surprise():
    """Catches a value named where all are shifted: one of a thousand counts is large by chance."""
    rng, expected = np.random.default_rng(0), np.full(2000, 0.25)
    surprises = []
    for _ in range(200):
        found = OutcomeShares(np.arange(2000.0), rng.poisson(expected) * 1.0, expected, expected)
        surprises.append(found.surprise(found.worst, float(found.counts.sum())))
    assert np.mean(np.array(surprises) > 2) < 0.05
    two = OutcomeShares(np.arange(2.0), np.array([60.0, 40.0]), np.full(2, 50.0), np.full(2, 25.0))
    assert two.surprise(two.worst, 100.0) == pytest.approx(1.8, abs=0.15)  # for two values
    assert two.surprise(two.worst, 10.0) < 0.7  # in a slow chain
    certain = OutcomeShares(np.arange(2.0), np.array([400.0, 0]), np.array([0, 400.0]), np.zeros(2))
    assert 30 < certain.surprise(certain.worst, 400.0) < 40


def test_neighbouring_values_are_shown_together():
    """Catches bars of single values with gaps between them, of which only the noise is seen."""
    values = np.arange(1000.0)
    expected = 500 * stats.norm.pdf(values, 500, 60)
    variances = expected * (1 - expected / 500)
    groups = OutcomeShares(values, expected, expected, variances).in_groups(40)
    assert 20 <= len(groups.values) <= 40
    assert np.all(np.diff(groups.values) == groups.values[1] - groups.values[0])
    assert groups.counts.sum() > 0.99 * 500
    of_groups = groups.expected * (1 - groups.expected / 500)
    np.testing.assert_allclose(groups.variances, of_groups, rtol=1e-6)
    few = OutcomeShares(np.arange(3.0), np.array([1.0, 0, 5]), np.full(3, 2.0), np.full(3, 1.0))
    np.testing.assert_array_equal(few.in_groups(40).counts, few.counts)
