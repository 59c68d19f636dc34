"""The HTML report: complete, escaped, bounded, and alone."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import steinwise as sw
from steinwise.results.wording import MARGINAL_UNKNOWN, SUMMARY_MAY_HELP

VOID = {"meta", "input", "br", "link", "img"}


class Page(HTMLParser):
    """Checks that tags are closed in order, and gathers what they say."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.text: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.text.append(data)

    def count(self, tag: str) -> int:
        return sum(found == tag for found, _ in self.tags)


def check(d: int, shift, names=None, **options) -> sw.CheckResult:
    draws = np.random.default_rng(0).normal(size=(200, d)) + shift
    target = sw.Gaussian(np.zeros(d), np.eye(d))
    return sw.check(draws, target, names=names, n_bootstrap=199, **options)


@pytest.fixture(scope="module")
def wrong() -> sw.CheckResult:
    return check(3, [0.0, 1.0, 0.0], ["mu", "<script>alert(1)</script>", 'a"b & c'])


def test_the_verdict_the_table_and_what_to_do_next(wrong: sw.CheckResult) -> None:
    page = Page(wrong.to_html())
    text = " ".join(page.text)
    assert "Misfit." in text
    assert "flagged: <script>alert(1)</script>" in text  # as text
    assert "The mean is off." in text
    assert "How the result was obtained" in text
    assert wrong.description in text
    assert page.count("tr") == 1 + len(wrong.coordinates)


def test_a_summary_is_part_of_the_page() -> None:
    """Answers as drawn and corrected, the worst first; both tables by names of their own."""
    draws = 0.5 * np.random.default_rng(0).normal(size=(300, 2)) * [1.0, 1.8]
    target, names = sw.Gaussian([0, 0], np.eye(2)), ["mu", "tau"]
    result = sw.check(draws, target, names=names, n_bootstrap=199)
    answers = sw.summary(draws, target, names=names, sweeps=1)
    text = result.to_html(answers)
    page = Page(text)
    assert page.count("table") == 2
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    own = [one for one in ids if one.startswith(("search", "shown", "coordinates", "answers"))]
    assert len(own) == len(set(own)) == 6
    assert page.count("h1") == 1
    shown = " ".join(page.text)
    assert "How far off are the answers?" in shown
    assert f"sd too small: {draws[:, 0].std():.3g} instead of 1" in shown
    table = text[text.index('<table id="answers"') : text.index('<table id="coordinates"')]
    assert table.index(">mu<") < table.index(">tau<")
    assert "1 (exact)" in table
    assert result.to_html() != text
    unknown = tuple(replace(c, marginal=None) for c in result.coordinates)
    partly = replace(result, findings=replace(result.findings, coordinates=unknown))
    assert SUMMARY_MAY_HELP in partly.to_html()
    assert SUMMARY_MAY_HELP not in partly.to_html(answers)  # nobody is sent to what is there


def test_a_summary_of_other_draws_is_refused(wrong: sw.CheckResult) -> None:
    other = sw.summary(
        np.random.default_rng(0).normal(size=(100, 2)), sw.Gaussian([0, 0], np.eye(2)), sweeps=1
    )
    with pytest.raises(sw.InputError, match="the summary has no mu"):
        wrong.to_html(other)
    with pytest.raises(sw.InputError, match=r"page.html': expected .*to_html returns .*write_text"):
        wrong.to_html("page.html")  # type: ignore[arg-type]
    with pytest.raises(sw.InputError, match=r"of type dict: expected what sw.summary"):
        wrong.to_html({})  # type: ignore[arg-type]


def test_columns_that_are_conditional_are_not_taken_for_more(wrong: sw.CheckResult) -> None:
    """Where mean and sd by themselves are not known, the report says what the columns are."""
    unknown = tuple(replace(c, marginal=None) for c in wrong.coordinates)
    result = replace(wrong, findings=replace(wrong.findings, coordinates=unknown))
    for text in (" ".join(str(result).split()), result.to_html()):
        assert "are those of a coordinate given all others" in text
    for text in (" ".join(str(wrong).split()), wrong.to_html()):
        assert "of each coordinate by itself" in text
        assert MARGINAL_UNKNOWN not in text
    some = (*wrong.coordinates[:1], *unknown[1:])
    partly = replace(wrong, findings=replace(wrong.findings, coordinates=some))
    for text in (" ".join(str(partly).split()), partly.to_html(), partly._repr_html_()):
        assert MARGINAL_UNKNOWN in text  # catches a notebook that shows a ? without its footnote
    assert "is no contradiction" in wrong.to_html()  # of sd ratio and conditional spread
    assert "is no contradiction" not in result.to_html()


def test_a_narrow_page_keeps_the_errors_of_means_and_sds(wrong: sw.CheckResult) -> None:
    """Catches columns that disappear on a phone and are what people look for; see test-browser."""
    text = wrong.to_html()
    for title, shown in (("mean error", True), ("sd ratio", True), ("conditional spread", False)):
        head = next(part for part in text.split("<th ") if f">{title}<" in part)
        assert ("optional" not in head.split(">")[0]) == shown


def test_advice_is_on_the_misfit_and_not_on_a_word_of_a_name() -> None:
    """Catches advice by what the verdict says, which has the names of coordinates in it."""
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], size=300)
    names = ["tails", "shifted"]
    result = sw.check(draws, sw.Gaussian([0, 0], np.eye(2)), names=names, n_bootstrap=199)
    assert {c.kind for c in result.flagged} >= {"dependence"}
    text = " ".join(Page(result.to_html()).text)
    assert "their dependence is wrong" in text
    assert "extremes are not" not in text
    assert "The mean is off" not in text


def test_names_stay_text(wrong: sw.CheckResult) -> None:
    """Catches a coordinate that becomes a tag, or leaves its attribute."""
    text = wrong.to_html()
    assert "<script>alert" not in text
    assert 'a"b' not in text
    page = Page(text)
    assert page.count("script") == 1


def test_nothing_is_fetched(wrong: sw.CheckResult) -> None:
    for tag, attributes in Page(wrong.to_html()).tags:
        assert tag not in ("link", "img", "iframe")
        assert "src" not in attributes
        for name in ("href", "xlink:href"):
            assert attributes.get(name, "#").startswith("#")


def test_draws_that_fit() -> None:
    text = " ".join(Page(check(2, 0.0).to_html()).text)
    assert "No misfit found at level 0.05" in text
    assert "what to do next" not in text


def test_a_method_without_coordinates_and_one_without_transforms() -> None:
    assert Page(check(2, 0.0, method="ksd").to_html()).count("table") == 0
    assert Page(check(2, 0.0, method="sksd").to_html()).count("table") == 1


def test_the_same_result_gives_the_same_page(wrong: sw.CheckResult) -> None:
    assert wrong.to_html() == wrong.to_html()


def test_many_coordinates_stay_usable() -> None:
    """The worst come first, and the page keeps to a few MB."""
    from dataclasses import replace

    few = check(3, [0.0, 1.0, 0.0])
    one = few.coordinates[0]
    many = tuple(
        replace(one, name=f"theta[{k}]", adjusted_pvalue=1.0 if k else 0.001) for k in range(5000)
    )[::-1]
    text = replace(few, findings=replace(few.findings, coordinates=many, pit=None)).to_html()
    assert len(text) < 3_000_000
    page = Page(text)
    assert page.count("tr") == 1001
    assert "The 1000 worst of 5000 coordinates." in " ".join(page.text)
    assert text.index("theta[0]<") < text.index("theta[4999]<")


def test_notes_are_on_the_page() -> None:
    """Catches a page that keeps to itself what the report says about the draws."""
    result = replace(check(2, 0.0), notes=("some draws are <odd>",))
    assert "Note: some draws are <odd>" in " ".join(" ".join(Page(result.to_html()).text).split())
