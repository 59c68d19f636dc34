"""Names from a file can hold anything: markup, formulas, line breaks, directional marks."""

import json
import time
import warnings

import numpy as np
import pytest
from matplotlib import rc_context

import steinwise as sw

SPOOF = "No misfit found at level 0.05."
NAMES = [
    "coordinate",
    "$\\bm{\\beta}$",
    "$x",
    "$$",
    f"mu\n{SPOOF}",
    "\x1b[32mgreen",
    "\u202etxt.exe",
    "<script>alert(1)</script>",
    "\ud800",
    "{0} %s {name}",
    "",
    "a" * 100_000,
]
TARGET = sw.Gaussian(np.zeros(len(NAMES)), np.eye(len(NAMES)))


@pytest.fixture(scope="module")
def result() -> sw.CheckResult:
    draws = np.random.default_rng(0).normal(size=(200, len(NAMES))) * 1.6
    draws[:, 4] += draws[:, 6]
    return sw.check(draws, TARGET, names=NAMES, method=sw.methods.Transported(directions=False))


def shows_no_control(text: str) -> bool:
    text.encode("utf-8")
    return all(line.isprintable() for line in text.split("\n")) and f"\n{SPOOF}" not in text


def test_text_page_and_json(result: sw.CheckResult) -> None:
    """Catches a fake verdict on a line of its own, and a page that takes half a minute."""
    assert result.rejected
    assert shows_no_control(str(result))
    assert "mu\\nNo misfit" in str(result)
    start = time.process_time()
    page = result.to_html()
    assert time.process_time() - start < 15
    body = page[page.index("<body>") : page.index("<script>")]
    assert shows_no_control(body)
    assert "alert(1)</script>" not in body
    assert {c["name"] for c in json.loads(result.to_json())["coordinates"]} == set(NAMES)


@pytest.mark.parametrize("tex", [False, True])
def test_pictures(result: sw.CheckResult, tex: bool) -> None:
    """Catches formulas that matplotlib does not know, and names given to LaTeX."""
    with warnings.catch_warnings(), rc_context({"text.usetex": False}):
        warnings.filterwarnings("ignore", "Glyph")
        for name in NAMES[1:] if not tex else ():
            result.plot_pit(name).canvas.draw()
        with rc_context({"text.usetex": tex}):
            labels = [text.get_text() for text in result.plot().axes[1].get_yticklabels()]
        assert all(label.isprintable() for label in labels)
        assert not any(text.get_usetex() for text in result.plot().axes[1].get_yticklabels())


def test_messages_and_notes() -> None:
    bad = [f"mu\n{SPOOF}", "\u202etau"]
    chains = np.random.default_rng(0).normal(size=(2, 100, 2))
    chains[1] += 3.0
    with pytest.warns(sw.SteinwiseWarning) as caught:
        found = sw.check(chains, sw.Gaussian([0, 0], np.eye(2)), names=bad, method="ksd")
    assert all(shows_no_control(str(one.message)) for one in caught)
    assert shows_no_control(str(found))
    assert shows_no_control(repr(sw.Samples.of(chains, names=bad)))
    assert shows_no_control(str(sw.ksd(chains, sw.Gaussian([0, 0], np.eye(2)), names=bad)))
    chains[:, :, 0] = 1.0
    with pytest.raises(sw.InputError) as refused:
        sw.Samples.of(chains, names=bad)
    assert shows_no_control(str(refused.value))


def test_comparisons() -> None:
    chains = np.random.default_rng(0).normal(size=(2, 100, 2))
    chains[1] += 3.0
    sets = {f"a\n{SPOOF}": chains, "$\\bm{b}$": chains + 1.0}
    for method in ("ksd", "scores"):
        with pytest.warns(sw.SteinwiseWarning) as caught:
            found = sw.compare(sets, sw.Gaussian([0, 0], np.eye(2)), method=method)
        assert all(shows_no_control(str(one.message)) for one in caught)
        assert shows_no_control(str(found))
        found.plot().canvas.draw()
