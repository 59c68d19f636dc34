"""Every run of the command line ends in 0, 1, 2 or 3, with a message and never a traceback.

Each case is a process of its own, as only a process has streams to close and signals to receive.
"""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinwise

TARGET = """
import atexit, os, time
import numpy as np
import steinwise as sw

normal = sw.Gaussian(np.zeros(2), np.eye(2))


def talkative():
    atexit.register(print, "printed at the end")
    print("printed by Python")
    os.write(1, b"printed by compiled code\\n")
    return normal


def slow():
    os.write(2, b"ready\\n")
    time.sleep(60)
"""
MISFIT = "Misfit: the draws do not fit"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile")
    (path / "target.py").write_text(TARGET)
    draws = np.random.default_rng(0).normal(size=(200, 2))
    names = ["β", "$\\bm{\\beta}$\nNo misfit found at level 0.05."]
    np.savez(path / "right.npz", draws=draws, names=names)
    np.savez(path / "wrong.npz", draws=draws + 1.0, names=names)
    return path


def start(folder: Path, *arguments: str, closed: str = "", **options) -> subprocess.Popen:
    """A run that writes to pipes, unless the options say otherwise; a shell closes streams."""
    source = str(Path(steinwise.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": source} | options.pop("environment", {})
    streams: dict[str, Any] = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "stdin": subprocess.DEVNULL,
    }
    return subprocess.Popen(
        ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "steinwise", *arguments],
        env=environment,
        cwd=folder,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
        **(streams | options),
    )


def check(folder: Path, draws: str, *arguments: str, target: str = "normal", **options):
    """A check by the method that starts fastest."""
    file = f"target.py:{target}"
    return start(folder, "check", draws, "--target", file, "--method", "ksd", *arguments, **options)


def test_streams_that_are_closed_or_full(folder: Path) -> None:
    """Catches an exit status that looks like a verdict, or denies one, because of the reader."""
    gone, pipe = os.pipe()
    os.close(gone)
    with open("/dev/full", "w") as full:
        runs = {
            "nobody reads": (check(folder, "right.npz", stdout=pipe), 0),
            "no stdout": (check(folder, "wrong.npz", closed=">&-"), 1),
            "no streams": (check(folder, "missing.npz", closed="<&- >&- 2>&-"), 2),
            "a full stdout": (check(folder, "wrong.npz", stdout=full), 3),
            "a full stderr": (check(folder, "missing.npz", stderr=full), 2),
            "help for nobody": (start(folder, "--help", stdout=pipe), 0),
            "a full disk for help": (start(folder, "--help", stdout=full), 3),
            "versions for nobody": (start(folder, "info", stdout=pipe), 0),
        }
        os.close(pipe)
        for name, (process, status) in runs.items():
            _, said = process.communicate(timeout=300)
            assert process.returncode == status, (name, said)
            assert "Traceback" not in (said or ""), name
            assert "Exception ignored" not in (said or ""), name
            if name == "a full stdout":  # the verdict is not lost
                assert MISFIT in said
                assert "could not be printed to stdout: [Errno 28]" in said


def test_outputs_that_cannot_be_written(folder: Path) -> None:
    read_only = Path("/proc/out.html")  # nobody, not even an administrator, writes there
    runs = {
        "read-only": (check(folder, "right.npz", "--report", str(read_only)), 2),
        "full": (check(folder, "wrong.npz", "--report", "/dev/full"), 3),
    }
    for name, (process, status) in runs.items():
        printed, said = process.communicate(timeout=300)
        assert process.returncode == status, (name, said)
        assert "--report" in said
        assert "Traceback" not in said
        assert (MISFIT in printed) == (name == "full")


def test_encodings_and_what_the_target_prints(folder: Path) -> None:
    """Catches names that an encoding lacks, and JSON with the target's words in it."""
    latin = {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0", "LC_ALL": "C"}
    page = ("--report", "out.html", "--plot", "out.svg")
    text = check(folder, "wrong.npz", *page, environment=latin)
    plain = check(folder, "wrong.npz", "--json", target="talkative")
    printed, said = text.communicate(timeout=300)
    assert text.returncode == 1, said
    assert said == "wrote out.html\nwrote out.svg\n"
    assert MISFIT in printed
    assert (folder / "out.html").read_text("utf-8").endswith("</html>\n")
    assert (folder / "out.svg").read_text("utf-8").endswith("</svg>\n")
    printed, said = plain.communicate(timeout=300)
    assert plain.returncode == 1
    assert json.loads(printed)["rejected"]
    for words in ("by Python", "by compiled code", "at the end"):
        assert f"printed {words}" in said


def test_a_terminal_too_narrow_for_anything(folder: Path) -> None:
    terminal, end = pty.openpty()
    process = start(
        folder,
        *("check", "wrong.npz", "--target", "target.py:normal"),
        environment={"COLUMNS": "3"},
        stdout=end,
    )
    os.close(end)
    printed = b""
    try:
        while part := os.read(terminal, 4096):
            printed += part
    except OSError:  # the other end was closed
        pass
    os.close(terminal)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1, said
    assert MISFIT.encode() in printed


def test_signals_are_no_verdict(folder: Path) -> None:
    """Catches a traceback, and a death by signal that a script takes for something else."""
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    # what nohup, or a shell in the background, ignores is ignored by its children too
    numbers = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    runs = [(number, check(folder, "right.npz", target="slow")) for number in numbers]
    for number, process in runs:
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        process.send_signal(signal.SIGPIPE)  # which Python ignores
        process.send_signal(number)
    for number, process in runs:
        printed, said = process.communicate(timeout=300)
        assert process.returncode == 3, number
        assert said == "interrupted\n"
        assert printed == ""
