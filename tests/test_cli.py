"""The command line: what is printed where, and with which exit status."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest

from steinwise import methods
from steinwise.cli import cli, run
from steinwise.cli.terminal import for_a_terminal
from steinwise.results.layout import WIDTH, Line

TARGET = """
import jax.numpy as jnp
import numpy as np

import steinwise as sw


def log_density(x):
    return -0.5 * jnp.sum(x**2)


def make():
    return sw.Gaussian(np.zeros(2), np.eye(2))


normal = make()


def two_modes(x):
    return jnp.sum(jnp.logaddexp(-((x - 4) ** 2) / 2, -((x + 4) ** 2) / 2))


def broken(x):
    raise KeyError("no such thing")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    (tmp_path / "target.py").write_text(TARGET)
    np.savez(tmp_path / "right.npz", draws=rng.normal(size=(200, 2)), names=["mu", "tau"])
    np.savez(
        tmp_path / "wrong.npz", draws=rng.normal([0.0, 1.0], 1.0, (200, 2)), names=["mu", "tau"]
    )
    np.save(tmp_path / "few.npy", rng.normal(size=(6, 2)))
    return tmp_path


def call(folder: Path, *arguments: str, target: str = "normal") -> int:
    paths = [str(folder / a) if a.endswith((".npz", ".npy", ".png")) else a for a in arguments]
    return run([*paths, "--target", f"{folder / 'target.py'}:{target}"])


@pytest.mark.parametrize("target", ["normal", "make", "log_density"])
def test_draws_that_fit_and_draws_that_do_not(folder: Path, capsys, target: str) -> None:
    assert call(folder, "check", "right.npz", target=target) == 0
    assert "No misfit found" in capsys.readouterr().out
    assert call(folder, "check", "wrong.npz", target=target) == 1
    printed = capsys.readouterr()
    assert "tau" in printed.out
    assert "Misfit" in printed.out
    assert printed.err == ""
    assert "\x1b" not in printed.out  # no colour in a pipe


def test_some_coordinates_and_their_names(folder: Path, capsys) -> None:
    """Catches an option that is not passed on, and a comma inside of brackets."""
    names = ("--names", "mu,theta[0, 1]")
    assert call(folder, "check", "wrong.npz", *names, "--coordinates", "theta[0, 1]") == 1
    printed = capsys.readouterr().out
    assert "theta[0, 1]" in printed
    assert "\n  mu " not in printed
    assert call(folder, "check", "wrong.npz", "--coordinates", "1", "--effort", "quick") in (0, 1)
    capsys.readouterr()
    assert call(folder, "check", "wrong.npz", "--coordinates", "nu") == 2
    assert "there is no coordinate 'nu'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--names", "a,b,c"), "3 names were given for 2 coordinates"),
        (("--names", "a,b", "--coordinates", "tau"), "there is no coordinate 'tau'"),
    ],
)
def test_names_are_read_before_the_target(folder: Path, capsys, options, message: str) -> None:
    """Catches a target, which may run a sampler, that is loaded for a call that must fail."""
    assert call(folder, "check", "right.npz", *options, target="broken") == 2
    assert message in capsys.readouterr().err


def test_the_page_says_where_its_draws_come_from(folder: Path, capsys) -> None:
    """Catches a page that nobody can tell from last week's, and a file written in silence."""
    page = folder / "out.html"
    assert call(folder, "check", "wrong.npz", "--report", str(page)) == 1
    assert capsys.readouterr().err == f"wrote {page}\n"
    text = page.read_text(encoding="utf-8")
    assert f"<dt>draws</dt><dd>{folder / 'wrong.npz'}</dd>" in text
    assert "target.py:normal</dd>" in text
    assert "<dt>date</dt><dd>20" in text
    assert f"steinwise check {folder / 'wrong.npz'} --report {page}" in text


def test_the_page_of_a_summary_says_the_same(folder: Path, capsys) -> None:
    """Catches a page without the file, the density, the date and the command."""
    page = folder / "sum.html"
    assert call(folder, "summary", "right.npz", "--report", str(page)) == 0
    text = page.read_text(encoding="utf-8")
    assert f"<dt>draws</dt><dd>{folder / 'right.npz'}</dd>" in text
    assert "target.py:normal</dd>" in text
    assert "<dt>date</dt><dd>20" in text
    assert f"steinwise summary {folder / 'right.npz'} --report {page}" in text
    assert "<dt>steinwise</dt>" in text


def test_a_density_and_its_scores_are_one_too_many(folder: Path, capsys) -> None:
    """Catches a message that asks for one of two options to someone who gave both."""
    assert call(folder, "check", "right.npz", "--scores", "right.npz") == 2
    assert "expected one of them, not both" in capsys.readouterr().err


def test_a_summary_next_to_a_check_has_the_same_names(folder: Path, capsys) -> None:
    """Catches a report that is lost because the summary went by other names than the check."""
    page = folder / "both.html"
    options = ("--names", "a,b", "--summary", "--report", str(page))
    assert call(folder, "check", "right.npz", *options) == 0
    assert page.exists()
    assert "mu" not in capsys.readouterr().out


def test_a_file_gets_lines_that_fit(folder: Path, capsys) -> None:
    """Catches verdicts that make lines of 140 characters where stdout is redirected."""
    scale = np.array([1.0, 0.4])
    draws = np.random.default_rng(0).normal(size=(500, 2)) * scale
    np.savez(folder / "narrow.npz", draws=draws, names=["a" * 20, "b" * 20])
    assert call(folder, "check", "narrow.npz") == 1
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 79


def test_messages_name_options_of_the_command_line(folder: Path, capsys) -> None:
    """Catches a message that asks for an argument of a function."""
    chain = np.cumsum(np.random.default_rng(0).normal(size=(200, 2)), axis=0)
    np.save(folder / "chain.npy", chain)
    assert call(folder, "check", "chain.npy") == 2
    message = capsys.readouterr().err
    assert "The fix is --chain for one chain" in message
    assert "pass --independent if" in message
    assert call(folder, "check", "right.npz", "--bootstraps", "5") == 2
    assert "--bootstraps is 5" in capsys.readouterr().err


def test_a_tolerance_that_cannot_be_judged_leaves_the_status_to_the_verdict(
    folder: Path, capsys
) -> None:
    """Catches a misfit that passes because nothing is known of its errors."""
    side = np.random.default_rng(1).choice([-4.0, 4.0], size=(500, 2))
    for width, status in ((1.0, 0), (1.3, 1)):
        np.save(folder / "two.npy", width * np.random.default_rng(0).normal(size=(500, 2)) + side)
        options = ("--tolerance", "0.1", "--effort", "quick", "--json")
        assert call(folder, "check", "two.npy", *options, target="two_modes") == status
        assert json.loads(capsys.readouterr().out)["tolerance"]["answer"] == "unknown"


def test_json_and_picture(folder: Path, capsys) -> None:
    assert call(folder, "check", "wrong.npz", "--json", "--plot", "out.png", "--seed", "3") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["rejected"]
    assert found["seed"] == 3
    assert (folder / "out.png").stat().st_size > 1000


def test_report(folder: Path, capsys) -> None:
    assert call(folder, "check", "wrong.npz", "--report", str(folder / "out.html")) == 1
    assert "<strong>Misfit.</strong>" in (folder / "out.html").read_text()


def test_too_few_draws_are_no_verdict(folder: Path, capsys) -> None:
    assert call(folder, "check", "few.npy") == 3
    printed = capsys.readouterr()
    assert printed.err.startswith("no verdict: 6 draws make")
    assert printed.out == ""


def test_a_failure_inside_is_no_verdict_and_shows_its_traceback_on_demand(
    folder: Path, capsys, monkeypatch
) -> None:
    def fails(*_, **__):
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr("steinwise.api.check.plan_batches", fails)
    assert call(folder, "check", "right.npz") == 3
    assert capsys.readouterr().err == "no verdict: RuntimeError: the disk is on fire\n"
    assert call(folder, "check", "right.npz", "--traceback") == 3
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "target", "message"),
    [
        (["check", "missing.npz"], "normal", "there is no file"),
        (["check", "right.npz"], "nothing", "has no 'nothing'; it has log_density, make"),
        (["check", "right.npz"], "broken", "KeyError"),
        (["check", "right.npz", "--alpha", "2"], "normal", "alpha is 2.0"),
        (["check", "right.npz", "--method", "magic"], "normal", "'magic' is not one of"),
        (["check", "right.npz", "--space", "model"], "normal", "--space goes with netCDF"),
        (["check", "right.npz", "--nonsense"], "normal", "No such option"),
        (["check", "right.npz", "--html", "a.html"], "normal", "Did you mean '--report'?"),
        (["compare", "right.npz"], "normal", "expected NAME=DRAWS"),
    ],
)
def test_wrong_usage_and_wrong_input(folder, capsys, arguments, target: str, message: str) -> None:
    assert call(folder, *arguments, target=target) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""


def test_a_target_in_another_kind_of_file_is_answered(folder: Path, capsys) -> None:
    (folder / "target.txt").write_text(TARGET)
    arguments = ["check", str(folder / "right.npz"), "--target", f"{folder / 'target.txt'}:normal"]
    assert run(arguments) == 2
    assert "is not a Python file" in capsys.readouterr().err


def test_an_interruption_is_no_verdict(folder: Path, capsys, monkeypatch) -> None:
    """Catches a traceback, and an exit status that looks like a verdict."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("steinwise.api.check.plan_batches", interrupted)
    assert call(folder, "check", "right.npz") == 3
    assert "interrupted" in capsys.readouterr().err


def test_a_target_file_that_fails_names_the_line(folder: Path, capsys) -> None:
    (folder / "target.py").write_text("x = 1\nraise OSError('no data')\n")
    assert call(folder, "check", "right.npz") == 2
    assert "raised OSError (line 2): no data" in capsys.readouterr().err
    assert run(["check", str(folder / "right.npz"), "--target", "nowhere.py:f"]) == 2
    assert "'nowhere.py' does not exist" in capsys.readouterr().err
    assert run(["check", str(folder / "right.npz"), "--target", "nowhere"]) == 2
    assert "expected FILE.py:NAME" in capsys.readouterr().err


def test_compare_ranks_the_sets(folder: Path, capsys) -> None:
    sets = [f"{name}={folder / name}.npz" for name in ("wrong", "right")]
    target = f"{folder / 'target.py'}:normal"
    assert run(["compare", *sets, "--target", target]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines if line.startswith(("  right ", "  wrong "))]
    assert names == ["right", "wrong"]
    assert run(["compare", *sets, "--target", target, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ranking"][0]["name"] == "right"


def test_compare_names_the_set_that_is_refused(folder: Path, capsys) -> None:
    """Catches a message about one of several files that does not say which."""
    slow = np.cumsum(np.random.default_rng(0).normal(size=(200, 2)), axis=0)
    np.save(folder / "slow.npy", slow)
    sets = [f"right={folder / 'right.npz'}", f"slow={folder / 'slow.npy'}"]
    assert run(["compare", *sets, "--target", f"{folder / 'target.py'}:normal"]) == 2
    assert "slow: draws" in capsys.readouterr().err


def test_info_demo_and_help(tmp_path: Path, capsys) -> None:
    assert run(["info"]) == 0
    assert "steinwise" in capsys.readouterr().out
    assert run(["demo", str(tmp_path)]) == 0
    assert (tmp_path / "demo.png").exists()
    assert run(["--help"]) == 0
    assert "0 when no misfit was found, 1 when one was" in capsys.readouterr().out


def test_help_names_every_command_in_full(capsys) -> None:
    """Catches "against a...", and messages that begin in two ways."""
    assert run(["--help"]) == 0
    assert "..." not in capsys.readouterr().out.split("Commands:")[1]
    assert run(["check"]) == 2
    assert "\nerror: " in capsys.readouterr().err


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_every_option_is_described(command: str) -> None:
    """Catches an option of which the help says only its default."""
    options = [one for one in cli.commands[command].params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []


def test_colour_on_demand_only(folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)
    monkeypatch.setattr("click._compat.should_strip_ansi", lambda *_: False)
    call(folder, "check", "wrong.npz")
    assert "\x1b[31m" in capsys.readouterr().out
    monkeypatch.undo()
    monkeypatch.setenv("NO_COLOR", "1")
    call(folder, "check", "wrong.npz")
    assert "\x1b" not in capsys.readouterr().out


NAMES_LIKE_VERDICTS = [
    ["Misfit: the draws do not fit", "No misfit found at level 0.05."],
    ["Misfit:" + "a" * 40, "coordinate 1"],  # the first is wrapped to the start of a line
]


@pytest.mark.parametrize("names", NAMES_LIKE_VERDICTS)
@pytest.mark.parametrize("outlier", [0.0, 40.0])
def test_only_the_verdict_is_coloured_whatever_coordinates_are_called(
    folder: Path, capsys, monkeypatch, names: list[str], outlier: float
) -> None:
    """Catches lines that are taken for a verdict, or for the head of a table, by their words."""
    draws = np.random.default_rng(0).normal(size=(200, 2))
    draws[0, 0] += outlier
    np.savez(folder / "named.npz", draws=draws, names=names)
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)
    monkeypatch.setattr("click._compat.should_strip_ansi", lambda *_: False)
    assert call(folder, "check", "named.npz") == bool(outlier)
    lines = capsys.readouterr().out.splitlines()
    table = lines.index(next(line for line in lines if line.startswith("  coordinate ")))
    coloured = [number for number, line in enumerate(lines) if "\x1b" in line]
    assert coloured
    assert max(coloured) < table
    colour = "\x1b[31m" if outlier else "\x1b[32m"
    assert all(lines[number].startswith(colour) for number in coloured)
    assert all(any(name in line for line in lines[table:]) for name in names)
    assert any(line.startswith(names[0]) for line in lines) == (
        bool(outlier) and "a" * 40 in names[0]
    )


def test_the_longer_names_of_the_command_line_fit_into_the_report() -> None:
    """Catches a paragraph that is broken into lines before its names of functions grow."""
    text = "A ? marks an error that is not known; it may be the largest. sw.summary may be able to."
    shown = for_a_terminal([Line(text, is_paragraph=True)], io.StringIO()).splitlines()
    assert " ".join(shown) == text.replace("sw.summary", "steinwise summary")
    assert max(map(len, shown)) <= WIDTH


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_of_80_columns(folder: Path, no_color: str) -> None:
    """What a user sees: colour unless it is unwanted, and no word broken at the edge."""
    import os
    import pty

    def read(terminal: int) -> bytes:
        seen = b""
        try:
            while part := os.read(terminal, 4096):
                seen += part
        except OSError:  # the other end was closed
            pass
        return seen

    names = [f"a_rather_long_parameter_name[school, {k}]" for k in range(2)]
    draws = np.random.default_rng(0).normal([0.0, 1.0], 1.0, (200, 2))
    np.savez(folder / "long.npz", draws=draws, names=names)
    arguments = ["check", str(folder / "long.npz"), "--target", f"{folder / 'target.py'}:normal"]
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "steinwise", *arguments],
        env=os.environ | {"COLUMNS": "80", "TERM": "xterm", "NO_COLOR": no_color},
        stdout=end,
        stderr=end,
    )
    os.close(end)
    text = read(terminal).decode()
    os.close(terminal)
    assert process.wait() == 1
    assert ("\x1b[31m" in text) == (not no_color)
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in text.split("\r\n")]
    report = lines[lines.index(next(line for line in lines if line.endswith("steinwise check"))) :]
    assert max(len(line.split("\r")[-1]) for line in report) <= 80
    assert "      draws are shifted by +1" in text


def test_help_and_parsing_load_no_jax() -> None:
    """Catches a heavy import before the arguments are known to be right."""
    script = (
        "import sys; from steinwise.cli import run;"
        "status = run(['check', 'a.npz', '--method', 'magic', '--target', 'a.py:b']);"
        "run(['--help']);"
        "sys.exit(status if 'jax' not in sys.modules and 'numpy' not in sys.modules else 9)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.returncode == 2, found.stderr
    module = [sys.executable, "-m", "steinwise", "--version"]
    found = subprocess.run(module, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("steinwise, version")


def test_every_method_can_be_chosen() -> None:
    """Catches a second list of methods, and a file that is not named as its method is."""
    (option,) = (o for o in cli.commands["check"].params if o.name == "method")
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == methods.NAMES
    assert [methods.by_name(name).name for name in methods.NAMES] == list(methods.NAMES)


def test_shell_completion() -> None:
    environment = {"_STEINWISE_COMPLETE": "bash_complete", "COMP_WORDS": "steinwise ch"}
    import os

    found = subprocess.run(
        [sys.executable, "-m", "steinwise"],
        env=os.environ | environment | {"COMP_CWORD": "1"},
        capture_output=True,
        text=True,
    )
    assert "check" in found.stdout


# -- targets that misbehave ------------------------------------------------------------------------

BAD_TARGETS = {
    "import sys\nsys.exit(0)\n": r"raised SystemExit \(line 2\): 0",
    "import sys\nsys.exit('no data')\n": r"raised SystemExit \(line 2\): no data",
    "x = 1\nraise GeneratorExit\n": r"raised GeneratorExit \(line 2\)",
    "def normal():\n    raise SystemExit(0)\n": r"raised SystemExit \(line 2\): 0",
    "def normal():\n    return 1 / 0\n": r"raised ZeroDivisionError \(line 2\)",
    "def normal():\n    return input()\n": r"raised OSError|raised EOFError",
    "class Mute(Exception):\n    __str__ = None\nraise Mute\n": r"raised Mute \(line 3\): its mess",
    "def normal(x):\n    raise SystemExit(0)\n": "target ended the run by SystemExit: 0",
    "x = (1,\n\n\ny z)\n": r"raised SyntaxError \(line 4\): invalid syntax",
    "import numpy as np\n\nnp.zeros(3).reshape(2, 2)\n": r"raised ValueError \(line 3\)",
    "def __getattr__(name):\n    raise SystemExit(0)\n": r"raised SystemExit \(line 2\)",
    "normal = None\n": "None",
}


@pytest.mark.parametrize("source", BAD_TARGETS)
def test_a_target_that_ends_the_run_is_no_fit(folder: Path, capsys, source: str) -> None:
    """Catches exit status 0, "the draws fit", without a check."""
    (folder / "target.py").write_text(source)
    assert call(folder, "check", "right.npz") == 2
    printed = capsys.readouterr()
    assert re.search(BAD_TARGETS[source], printed.err)
    assert "Traceback" not in printed.err
    assert printed.out == ""


WANDERING = """
from __future__ import annotations
import os, sys, tempfile
from dataclasses import dataclass
import numpy as np
import steinwise as sw

os.chdir(tempfile.gettempdir())
print("loading")

@dataclass
class Settings:
    scale: float = 1.0

def score(x):
    import helper
    print("called")
    return helper.score(x)

normal = sw.Target.from_score(score)
"""


def test_a_target_that_prints_wanders_off_and_imports_late(
    folder: Path, capsys, monkeypatch
) -> None:
    """Catches JSON with the target's words in it, and files sought where the target went."""
    monkeypatch.chdir(folder)
    (folder / "target.py").write_text(WANDERING)
    (folder / "helper.py").write_text("def score(x):\n    return -x\n")
    options = ["--target", "target.py:normal", "--method", "ksd", "--json", "--plot", "out.svg"]
    path = list(sys.path)
    assert run(["check", "right.npz", *options]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["method"] == "ksd"
    assert printed.err.startswith("loading\ncalled\n")
    assert (folder / "out.svg").exists()
    assert sys.path == path


# -- outputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "file", "message"),
    [
        ("--report", "missing/out.html", "there is no folder"),
        ("--report", "right.npz", "are read from"),
        ("--plot", "right.npz", "--plot ends in '.npz': expected one of"),
        ("--report", "target.py", "are read from"),
        ("--plot", "out.xyz", "--plot ends in '.xyz': expected one of ."),
        ("--plot", "out", "--plot ends in nothing"),
        ("--report", ".", "a folder"),
        ("--report", "out.pdf", "--report ends in '.pdf': expected .html."),
        ("--report", "out.png", "For a picture there is --plot."),
    ],
)
def test_outputs_are_checked_before_the_work(
    folder: Path, capsys, monkeypatch, option: str, file: str, message: str
) -> None:
    """Catches a verdict that is lost after all the work, and an input that is written over."""
    monkeypatch.setattr("steinwise.api.check.plan_batches", lambda *_, **__: 1 / 0)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert call(folder, "check", "right.npz", option, str(folder / file)) == 2
    assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_one_file_for_two_outputs_is_refused(folder: Path, capsys) -> None:
    both = str(folder / "out.svg")
    assert call(folder, "check", "right.npz", "--report", both, "--plot", both) == 2
    assert "expected two files" in capsys.readouterr().err


def test_the_verdict_is_printed_even_if_a_file_cannot_be_written(
    folder: Path, capsys, monkeypatch
) -> None:
    def fails(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("steinwise.results.html.page", fails)
    arguments = ["--report", str(folder / "out.html"), "--plot", "out.png"]
    assert call(folder, "check", "wrong.npz", *arguments) == 3
    printed = capsys.readouterr()
    assert "Misfit: the draws do not fit" in printed.out
    assert "--report could not be written" in printed.err
    assert (folder / "out.png").exists()
    assert not (folder / "out.html").exists()
    assert not list(folder.glob(".steinwise*"))


def test_a_demo_that_cannot_be_written_is_answered(folder: Path, capsys) -> None:
    assert run(["demo", str(folder / "target.py")]) == 2
    assert "cannot be made" in capsys.readouterr().err


# -- sets that are mixed up ------------------------------------------------------------------------


def test_two_sets_of_one_name_are_refused(folder: Path, capsys) -> None:
    target = f"{folder / 'target.py'}:normal"
    assert run(["compare", f"a={folder / 'right.npz'}", "--target", target]) == 2
    assert "expected NAME=DRAWS NAME=DRAWS" in capsys.readouterr().err
    sets = [f"a={folder / 'right.npz'}", f"a={folder / 'wrong.npz'}"]
    assert run(["compare", *sets, "--target", f"{folder / 'target.py'}:normal"]) == 2
    assert "the name 'a' was given to more than one set" in capsys.readouterr().err


def test_scores_at_the_draws_take_the_place_of_a_target(folder: Path, capsys) -> None:
    for name, status in (("right", 0), ("wrong", 1)):
        draws = np.load(folder / f"{name}.npz")["draws"]
        np.save(folder / "scores.npy", -draws)
        np.savez(folder / "both.npz", draws=draws, scores=-draws, names=["mu", "tau"])
        options = [str(folder / "both.npz"), "--json", "--scores"]
        printed = []
        for scores in ("scores.npy", "both.npz"):
            assert run(["check", *options, str(folder / scores)]) == status
            printed.append(json.loads(capsys.readouterr().out))
        assert printed[0] == printed[1]
        assert printed[0]["method"] == "scores"
        quick = ["--effort", "quick"]  # which looks at scores only
        assert run(["check", *options, str(folder / "scores.npy"), *quick]) == status
        assert json.loads(capsys.readouterr().out)["pvalue"] == printed[0]["pvalue"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "--target FILE.py:NAME, the density, or --scores FILE"),
        (["--target", "a.py:b", "--scores", "{}/scores.npy"], "expected one of them, not both"),
        (["--scores", "{}/missing.npy"], "there is no file"),
        (["--scores", "{}/few.npy"], r"scores have shape \(6, 2\), and the draws \(200, 2\)"),
        (["--scores", "{}/turned.csv"], "in another order than the draws"),
        (["--scores", "{}/scores.npy", "--method", "transported"], "sw.check takes method="),
        (
            ["--scores", "{}/scores.npy", "--effort", "full"],
            "With the scores alone, sw.check takes",
        ),
    ],
)
def test_scores_that_cannot_be_used(folder: Path, capsys, options, expected: str) -> None:
    draws = np.load(folder / "right.npz")["draws"]
    np.save(folder / "scores.npy", -draws)
    rows = "\n".join(f"{tau},{mu}" for mu, tau in -draws)
    (folder / "turned.csv").write_text(f"tau,mu\n{rows}\n")
    given = [option.format(folder) for option in options]
    assert run(["check", str(folder / "right.npz"), *given]) == 2
    assert re.search(expected, " ".join(capsys.readouterr().err.split()))
