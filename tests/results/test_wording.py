"""All sentences are in one module, and every kind that the others return has one."""

import ast
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import steinwise
from steinwise.methods import NAMES, by_name
from steinwise.methods.transported import effects
from steinwise.methods.transported.features import CONTEXTS
from steinwise.results import wording
from steinwise.results.coordinate import CoordinateResult, Effect, Misfit

SOURCE = Path(steinwise.__file__).parent
WORDING = Path(wording.__file__)
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
    functions = ast.parse(Path(effects.__file__).read_text("utf-8")).body
    (naming,) = (
        f for f in functions if isinstance(f, ast.FunctionDef) and f.name == "kind_of_misfit"
    )
    alone = set().union(*(strings(statement) for statement in naming.body[1:])) - {"alone"}
    return sorted(alone) + [context for context in CONTEXTS if context != "alone"]


def flagged(kind: str, spread: float, partners: tuple[str, ...] = ("a", "b")) -> CoordinateResult:
    misfit = Misfit(kind, partners, outliers=2, excess_kurtosis=1.0)
    return CoordinateResult("x", 1.0, 0.01, 0.01, Effect(0.5, spread), misfit)


@pytest.mark.parametrize("kind", kinds_of_misfit())
@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_every_kind_of_misfit_has_a_verdict_and_advice(kind: str, spread: float) -> None:
    """Catches a kind that is found and then told as a mere misfit, or without a way out."""
    verdict = flagged(kind, spread).verdict
    assert len(verdict.split()) >= FEWEST_WORDS
    assert flagged(kind, spread, partners=()).verdict
    title, advice = wording.ADVICE[wording.advice_key(kind, spread)]
    assert title
    assert advice.endswith(".")


def test_every_verdict_is_another_and_all_advice_is_given() -> None:
    kinds, spreads = kinds_of_misfit(), (0.5, 2.0)
    verdicts = {flagged(kind, 0.5).verdict for kind in kinds}
    assert len(verdicts) == len(kinds) == 8
    given = {wording.advice_key(kind, spread) for kind in kinds for spread in spreads}
    assert given == set(wording.ADVICE)
    assert set(wording.DEPENDENCE) == set(CONTEXTS) - {"alone"}


def test_a_method_that_tells_no_kind_has_a_verdict_too() -> None:
    assert flagged("", 1.0).verdict == "misfit"
    right = CoordinateResult("x", 1.0, 0.5, 0.5, None)
    assert (right.verdict, right.kind, right.partners) == ("no misfit found", "", ())


# -- other kinds -----------------------------------------------------------------------------------


def test_every_meaning_of_a_flag_belongs_to_a_method() -> None:
    meanings = {by_name(name).flag_meaning for name in NAMES}
    assert meanings == set(wording.FLAG_MEANINGS)


def test_every_standing_in_a_comparison_has_a_verdict() -> None:
    tree = ast.parse((SOURCE / "calibration" / "ranking.py").read_text("utf-8"))
    assert values_of("standing", tree) == set(wording.COMPARISON_VERDICTS)


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
    kinds = {*wording.NOTES, *wording.ADVICE, *wording.DEPENDENCE, *wording.COMPARISON_VERDICTS}
    sentences = passages(ast.parse(WORDING.read_text("utf-8"))) - kinds
    assert len(sentences) > 50
    elsewhere = {path: passages(tree) for path, tree in trees() if path != WORDING}
    twice = [
        (str(path.relative_to(SOURCE)), sentence)
        for path, texts in elsewhere.items()
        for sentence in sentences
        for text in texts
        if sentence in text
    ]
    assert twice == []


def test_draws_that_dominate_without_lying_far_out() -> None:
    one = wording.dominating(["draw 3"], 2, far_out=False)
    assert one == "One draw makes up half of the statistic: draw 3. Look there first."
    two = wording.dominating(["draw 3", "draw 5"], 2, far_out=False)
    assert two.startswith("2 draws make up half of the statistic: draw 3")


def test_many_counts_are_told_by_their_range() -> None:
    assert wording.counts_fact([3, 1, 2]) == "3, 1, 2"
    assert wording.counts_fact(list(range(5, 20))) == "5 to 19"
