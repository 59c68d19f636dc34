"""The command line: what is printed where, and with which exit status."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest

from steinwise import cli, methods
from steinwise.cli import run

TARGET = """
import jax.numpy as jnp
import numpy as np

import steinwise as sw


def log_density(x):
    return -0.5 * jnp.sum(x**2)


def make():
    return sw.Gaussian(np.zeros(2), np.eye(2))


normal = make()


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
    names = [line.split()[0] for line in lines if line.strip().startswith(("right", "wrong"))]
    assert names == ["right", "wrong"]
    assert run(["compare", *sets, "--target", target, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ranking"][0]["name"] == "right"


def test_info_demo_and_help(tmp_path: Path, capsys) -> None:
    assert run(["info"]) == 0
    assert "steinwise" in capsys.readouterr().out
    assert run(["demo", str(tmp_path)]) == 0
    assert (tmp_path / "demo.png").exists()
    assert run(["--help"]) == 0
    assert "Exit status: 0 when the draws fit" in capsys.readouterr().out


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
    table = lines.index(next(line for line in lines if line.split()[-2:] == ["p", "verdict"]))
    coloured = [number for number, line in enumerate(lines) if "\x1b" in line]
    assert coloured
    assert max(coloured) < table
    colour = "\x1b[31m" if outlier else "\x1b[32m"
    assert all(lines[number].startswith(colour) for number in coloured)
    assert all(any(name in line for line in lines[table:]) for name in names)
    assert any(line.startswith(names[0]) for line in lines) == (
        bool(outlier) and "a" * 40 in names[0]
    )


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
    (option,) = (o for o in cli.check.params if o.name == "method")
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
