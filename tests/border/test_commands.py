"""Every option of every command refuses what it cannot use: exit status 2, and a message on stderr.

As for arguments, the options are found by inspection: one that is new fails until it has its rows.
"""

import pickle
from pathlib import Path

import click
import numpy as np
import pytest

from steinwise.cli import cli, run

TARGETS = """
import jax.numpy as jnp, numpy as np, sys
import steinwise as sw

normal = sw.Gaussian(np.zeros(2), np.eye(2))
three = sw.Gaussian(np.zeros(3), np.eye(3))
number = 7
nothing = None

def raises(x): raise KeyError("mu")
def two_values(x): return -x**2
def factory_raises(): raise KeyError("mu")
def factory_leaves(): sys.exit(0)
def factory_of_nothing(): return None
def leaves(x): sys.exit(0)
"""
CHECK = ["check", "right.npy", "--target", "targets.py:normal"]
COMMANDS = {
    "check": CHECK,
    "compare": ["compare", "a=right.npy", "b=other.npy", "--target", "targets.py:normal"],
    "summary": ["summary", "right.npy", "--target", "targets.py:normal"],
    "demo": ["demo"],
    "info": ["info"],
}
X = np.random.default_rng(0).normal(size=(40, 2))

# name of the option: (what is given, words of the message), ...
NUMBER = [(given, (given,)) for given in ("x", "1e", "--1", "1,5", "0x10")]
FILES = [
    ("missing.npy", ("missing.npy",)),
    ("folder", ("folder",)),
    ("folder.npy", ("folder.npy",)),
    ("targets.py", ("targets.py", "expected one of", ".npz")),
    ("empty.npy", ("empty.npy",)),
    ("text.npy", ("text.npy",)),
    ("short.npy", ("short.npy",)),
    ("pickled.npy", ("pickled.npy", "pickled")),
    ("text.npz", ("text.npz",)),
    ("two.npz", ("two.npz", "'draws'")),
    ("vector.npy", ("draws have shape",)),
    ("nan.npy", ("NaN or infinite",)),
    ("one.npy", ("at least 2 draws",)),
    ("names.npz", ("3 names", "2 coordinates")),
    ("empty.csv", ("empty.csv",)),
    ("numbers.csv", ("numbers.csv", "header")),
    ("ragged.csv", ("ragged.csv", "3")),
    ("words.csv", ("words.csv", "'many'", "expected a number")),
    ("latin.csv", ("latin.csv",)),
    ("underscore.csv", ("underscore.csv", "'1_0'")),
    ("digits.csv", ("digits.csv", "expected a number")),
    ("twice.csv", ("'a'", "more than one coordinate")),
    ("again.csv", ("again.csv", "draw")),
]
ROWS: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    "draws": FILES,
    "sets": [
        ("right.npy", ("NAME=DRAWS",)),
        ("=right.npy", ("NAME=DRAWS",)),
        ("b=", ("NAME=DRAWS",)),
        ("a=other.npy", ("'a'", "more than one")),
        ("b=three.npy", ("different numbers of coordinates",)),
        *((f"b={name}", words) for name, words in FILES),
    ],
    "target": [
        ("targets.py", ("FILE.py:NAME",)),
        (":normal", ("target",)),
        ("targets.py:", ("FILE.py:NAME",)),
        ("targets.py:a-b", ("FILE.py:NAME",)),
        ("missing.py:normal", ("missing.py", "does not exist")),
        ("folder:normal", ("folder",)),
        ("ragged.csv:normal", ("ragged.csv",)),
        ("targets.py:missing", ("'missing'", "normal")),
        ("targets.py:number", ("target is of type int",)),
        ("targets.py:nothing", ("target is of type NoneType",)),
        ("targets.py:three", ("2 coordinates", "target has 3")),
        ("targets.py:raises", ("KeyError", "mu")),
        ("targets.py:leaves", ("SystemExit",)),
        ("targets.py:two_values", ("log density",)),
        ("targets.py:factory_raises", ("KeyError", "mu")),
        ("targets.py:factory_leaves", ("SystemExit",)),
        ("targets.py:factory_of_nothing", ("target is of type NoneType",)),
        ("broken.py:normal", ("broken.py", "SyntaxError", "line 2")),
        ("failing.py:normal", ("failing.py", "ZeroDivisionError", "line 3")),
        ("leaving.py:normal", ("leaving.py", "SystemExit")),
    ],
    "scores": [
        *(row for row in FILES if row[0] in ("missing.npy", "folder", "targets.py", "empty.npy")),
        *(row for row in FILES if row[0] in ("short.npy", "pickled.npy", "text.npz", "words.csv")),
        ("two.npz", ("two.npz", "'scores'")),
        ("vector.npy", ("scores", "expected an array of floats in the shape of the draws")),
        ("nan.npy", ("scores are not finite",)),
        ("one.npy", ("the scores have shape", "and the draws (40, 2)")),
        ("three.npy", ("the scores have shape", "add some?")),
    ],
    "space": [("real", ("real", "unconstrained")), ("model", ("--space", "netCDF"))],
    "var_names": [("a,b", ("--var-names", "netCDF"))],
    "group": [("prior", ("--group", "netCDF"))],
    "seed": [*NUMBER, ("-1", ("-1",)), ("1.5", ("1.5",)), ("nan", ("nan",))],
    "sweeps": [*NUMBER, *((given, (given,)) for given in ("0", "-1", "1.5", "nan"))],
    "memory": [
        (given, ("memory",)) for given in ("lots", "", "0", "-1GB", "1KB", "1e400GB", "nan")
    ],
    "method": [
        ("kcsd", ("kcsd", "transported")),
        ("", ("transported",)),
        ("KSD", ("transported",)),
    ],
    "effort": [(given, ("quick",)) for given in ("fast", "", "FULL")],
    "alpha": [*NUMBER, *((g, ("alpha",)) for g in ("0", "1", "-0.1", "nan", "inf", "1e-320"))],
    "tolerance": [*NUMBER, *((g, ("tolerance",)) for g in ("0", "-0.1", "2", "nan", "inf"))],
    "coordinates": [
        *(
            (given, ("there is no coordinate", "x[1]"))
            for given in ("z", "", ",,", "0,0", "x[0],y")
        ),
        *((given, (given,)) for given in ("0", "-1")),
    ],
    "names": [
        *((given, ("given for 2 coordinates",)) for given in ("a", "", "a,b,c")),
        ("a,a", ("'a'", "more than one")),
    ],
    "evaluations": [*NUMBER, *((g, ("evaluations",)) for g in ("0", "-1", "nan", "inf", "0.5"))],
    "bootstraps": [
        *NUMBER,
        *((given, (given,)) for given in ("0", "-1", "1.5", "nan")),
        ("10", ("--bootstraps", "can never be reached")),
        ("1000000000000", ("--bootstraps",)),
    ],
    "report": [
        ("missing/out.html", ("missing",)),
        ("folder", ("folder",)),
        ("right.npy", ("right.npy",)),
        ("./folder/../right.npy", ("right.npy",)),
        ("targets.py", ("targets.py",)),
        ("right.npy/out.html", ("right.npy",)),
        ("", ("--report",)),
    ],
    "plot": [
        ("missing/out.png", ("missing",)),
        ("folder", ("--plot",)),
        ("out.xyz", ("--plot", ".xyz")),
        ("out", ("--plot",)),
        ("right.npy", ("--plot", ".npy")),
    ],
    "folder": [("right.npy", ("right.npy",)), ("right.npy/out", ("right.npy",))],
}
FLAGS = {"with_summary", "independent", "as_json", "traceback"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("border")
    (folder / "folder").mkdir()
    (folder / "folder.npy").mkdir()
    arrays = {
        "right": X,
        "other": X + 0.1,
        "three": np.random.default_rng(0).normal(size=(40, 3)),
        "vector": X[:, 0],
        "nan": np.where(X > 2, np.nan, X) * np.where(np.arange(40) == 3, np.nan, 1.0)[:, None],
        "one": X[:1],
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.savez(folder / "two.npz", a=X, b=X)
    np.savez(folder / "names.npz", draws=X, names=["a", "b", "c"])
    (folder / "pickled.npy").write_bytes(pickle.dumps(X))
    (folder / "short.npy").write_bytes((folder / "right.npy").read_bytes()[:200])
    texts = {
        "targets.py": TARGETS,
        "broken.py": "x = 1\ndef f(:\n",
        "failing.py": "x = 1\n\ny = 1 / 0\n",
        "leaving.py": "import sys\nsys.exit(0)\n",
        "empty.npy": "",
        "text.npy": "a,b\n1,2\n",
        "text.npz": "a,b\n1,2\n",
        "empty.csv": "",
        "numbers.csv": "1,2\n3,4\n5,6\n",
        "ragged.csv": "a,b\n1,2\n3\n",
        "words.csv": "a,b\n1,2\nmany,4\n",
        "underscore.csv": "a,b\n1,2\n1_0,4\n",
        "digits.csv": "a,b\n1,2\n\u0663,4\n",
        "twice.csv": "a,a\n1.5,2.5\n3.5,4.5\n",
        "again.csv": "chain,draw,a\n"
        + "".join(f"{c},{d % 5},{c + d}\n" for c in (0, 1) for d in range(9)),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.csv").write_text("größe,b\n1,2\n3,4\n", encoding="latin-1")
    return folder


def with_option(command: str, parameter: click.Parameter, given: str) -> list[str]:
    """The command with one of its options, or arguments, replaced."""
    words = list(COMMANDS[command])
    if parameter.name == "scores":  # in place of a target
        words = words[: words.index("--target")]
    if isinstance(parameter, click.Option):
        name = parameter.opts[0]
        if name in words:
            words[words.index(name) + 1] = given
            return words
        return [*words, f"{name}={given}"]
    if parameter.name == "sets":
        return [words[0], words[1], given, *words[3:]]
    return [words[0], given, *words[2:]]


def parameters() -> list[tuple[str, click.Parameter]]:
    return [(name, one) for name, command in cli.commands.items() for one in command.params]


CASES = [
    pytest.param(command, parameter, given, words, id=f"{command}-{parameter.name}-{given}")
    for command, parameter in parameters()
    for given, words in ROWS.get(parameter.name or "", ())
]


def test_every_option_of_every_command_has_its_rows() -> None:
    """Catches a new command, or option, that nobody tried bad values on."""
    assert set(COMMANDS) == set(cli.commands)
    assert {parameter.name for _, parameter in parameters()} == set(ROWS) | FLAGS


@pytest.mark.parametrize(("command", "parameter", "given", "words"), CASES)
def test_a_bad_value_is_a_message_and_the_status_2(
    command: str,
    parameter: click.Parameter,
    given: str,
    words: tuple[str, ...],
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture,
) -> None:
    """Catches a traceback, a status that means a verdict, and an output over an input."""
    monkeypatch.chdir(files)
    before = {path: path.stat().st_mtime_ns for path in files.rglob("*")}
    status = run(with_option(command, parameter, given))
    printed = capfd.readouterr()
    assert status == 2, printed.err
    assert printed.out == ""
    assert "Traceback" not in printed.err
    for word in words:
        assert word in printed.err
    assert {path: path.stat().st_mtime_ns for path in files.rglob("*")} == before
