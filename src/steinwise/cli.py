"""The command line: ``steinwise check DRAWS --target FILE.py:NAME``.

Nothing but click is loaded before the arguments are known to be right.
"""

import os
import shutil
import sys
import textwrap
import traceback
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import steinwise
from steinwise.methods import NAMES as METHOD_NAMES

if TYPE_CHECKING:
    from steinwise.draws.samples import Samples
    from steinwise.results.text import Line
    from steinwise.target import AbstractTarget

FITS, MISFIT, BAD_INPUT, NO_VERDICT = 0, 1, 2, 3
HANGING = " " * 6  # before a verdict on a line of its own
PACKAGES = ("numpy", "jax", "equinox", "scipy", "arviz-stats")
EXTRAS = ("matplotlib", "xarray", "pandas", "pyarrow", "numpyro", "pymc", "blackjax", "torch")


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: every error is a message and an exit status."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Carry out a command; the exit status."""
    from steinwise.errors import InputError, TargetError, TooFewDraws

    try:
        return cli.main(list(arguments), prog_name="steinwise", standalone_mode=False) or FITS
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except click.Abort:
        click.echo("interrupted", err=True)
        return NO_VERDICT
    except (InputError, TargetError, ModuleNotFoundError) as error:
        return _say(arguments, "error", error, BAD_INPUT)
    except TooFewDraws as error:
        return _say(arguments, "no verdict", error, NO_VERDICT)
    except Exception as error:
        return _say(arguments, f"no verdict: {type(error).__name__}", error, NO_VERDICT)


def _say(arguments: Sequence[str], what: str, error: Exception, status: int) -> int:
    if "--traceback" in arguments:
        traceback.print_exception(error)
    click.echo(f"{click.style(what, fg='red')}: {error}", err=True, color=_color())
    return status


def _color() -> bool | None:
    """False where the user wants none (no-color.org); None for a terminal only."""
    return False if os.environ.get("NO_COLOR") else None


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(steinwise.__version__, prog_name="steinwise")
def cli() -> None:
    """Do these draws come from this density, and if not, which coordinates are wrong?

    Exit status: 0 when the draws fit, 1 when they do not, 2 for wrong usage or input, 3 when there
    is no verdict (too few draws, or a failure inside).
    """


def _inputs(command: Any) -> Any:
    """Options that say what the draws and the density are."""
    options = [
        click.option(
            "--target",
            "-t",
            required=True,
            metavar="FILE.py:NAME",
            help="A log density of one draw, a Target, or a function without arguments that "
            "returns one; with --space model, a model.",
        ),
        click.option(
            "--space",
            type=click.Choice(["unconstrained", "model"]),
            help="For netCDF and zarr: the draws are on the density's own space, or NAME is the "
            "PyMC, Stan or NumPyro model that knows the way there.",
        ),
        click.option("--var-names", metavar="A,B,...", help="The variables, in this order."),
        click.option("--group", default="posterior", show_default=True, help="Of a container."),
        click.option(
            "--independent/--chain",
            default=None,
            help="The draws are independent, or one chain. By default (n, d) is independent, and "
            "refused if its rows are autocorrelated.",
        ),
        click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0)),
        click.option("--memory", default="1GiB", show_default=True),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--traceback", is_flag=True, help="Show where an error came from."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@cli.command()
@click.argument("draws", type=click.Path(path_type=Path))
@_inputs
@click.option("--method", type=click.Choice(METHOD_NAMES), default="transported", show_default=True)
@click.option("--alpha", default=0.05, show_default=True, help="The level of the test.")
@click.option("--evaluations", type=float, help="Of the density, at most: draws are thinned.")
@click.option("--bootstraps", default=1000, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="OUT.html", help="Write an HTML report."
)
@click.option("--plot", type=click.Path(path_type=Path), metavar="OUT.png", help="Write a picture.")
def check(
    draws: Path,
    target: str,
    space: str | None,
    var_names: str | None,
    group: str,
    independent: bool | None,
    seed: int,
    memory: str,
    as_json: bool,
    traceback: bool,  # noqa: ARG001
    method: str,
    alpha: float,
    bootstraps: int,
    evaluations: float | None,
    report: Path | None,
    plot: Path | None,
) -> int:
    """Check DRAWS (.npy, .npz, .csv, .parquet, .nc, .zarr) against a density."""
    from steinwise.results.text import check_report

    samples, density = _read(draws, load_target(target), space, var_names, group, independent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", steinwise.SteinwiseWarning)  # they are in the report
        result = steinwise.check(
            samples,
            density,
            method=method,
            alpha=alpha,
            n_bootstrap=bootstraps,
            evaluations=evaluations,
            seed=seed,
            memory=memory,
        )
    if report is not None:
        report.write_text(result.to_html(), encoding="utf-8")
    if plot is not None:
        result.plot().savefig(plot, dpi=120)
    text = result.to_json() if as_json else _for_a_terminal(check_report(result))
    click.echo(text, color=_color())
    return MISFIT if result.rejected else FITS


@cli.command()
@click.argument("sets", nargs=-1, required=True, metavar="NAME=DRAWS NAME=DRAWS ...")
@_inputs
def compare(
    sets: tuple[str, ...],
    target: str,
    space: str | None,
    var_names: str | None,
    group: str,
    independent: bool | None,
    seed: int,
    memory: str,
    as_json: bool,
    traceback: bool,  # noqa: ARG001
) -> int:
    """Rank several sets of draws by their distance from one density."""
    import json

    parts = [entry.partition("=") for entry in sets]
    if not all(name and path for name, _, path in parts):
        raise click.UsageError("expected NAME=DRAWS NAME=DRAWS ..., such as nuts=a.npz vi=b.npz")
    found = load_target(target)
    read = {
        name: _read(Path(path), found, space, var_names, group, independent)
        for name, _, path in parts
    }
    samples = {name: one for name, (one, _) in read.items()}
    density = next(iter(read.values()))[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", steinwise.SteinwiseWarning)  # they are in the table
        ranking = steinwise.compare(samples, density, seed=seed, memory=memory)
    click.echo(json.dumps(ranking.to_dict(), indent=2) if as_json else str(ranking))
    return FITS


@cli.command()
@click.argument("folder", default="out")
def demo(folder: str) -> int:
    """Run the main job on a built-in example; its picture goes to FOLDER."""
    from steinwise.demo import main as run_demo

    run_demo(folder)
    return FITS


@cli.command()
def info() -> int:
    """Versions of steinwise and of the packages that it works with."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    def found(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return "not installed"

    rows = [("steinwise", steinwise.__version__), ("Python", platform.python_version())]
    rows += [(package, found(package)) for package in (*PACKAGES, *EXTRAS)]
    width = max(len(name) for name, _ in rows)
    click.echo("\n".join(f"{name:<{width}}  {value}" for name, value in rows))
    return FITS


def _read(
    path: Path,
    target: Any,
    space: str | None,
    var_names: str | None,
    group: str,
    independent: bool | None,
) -> "tuple[Samples, AbstractTarget]":
    from steinwise.adapters.containers import SUFFIXES as CONTAINER_SUFFIXES
    from steinwise.draws.files import read_draws
    from steinwise.errors import InputError
    from steinwise.target import as_target

    if path.suffix.lower() in CONTAINER_SUFFIXES:
        if space is None:
            raise InputError(
                f"{path} may hold constrained parameters. Say --space unconstrained if the density "
                "takes them as they are, or --space model if NAME is the model they come from."
            )
        names = None if var_names is None else var_names.split(",")
        options = {"var_names": names, "group": group, "independent": independent}
        if space == "model":
            return steinwise.from_arviz(path, target, **options)
        return steinwise.from_arviz(path, "unconstrained", target=target, **options)
    given = {"--space": space, "--var-names": var_names}
    for option, value in given.items():
        if value is not None:
            raise InputError(f"{option} goes with netCDF and zarr; {path} has neither.")
    samples = read_draws(path, independent)
    return samples, as_target(target)


def load_target(spec: str) -> Any:
    """What NAME is in FILE.py, called if it takes no arguments."""
    import importlib.util
    import inspect

    from steinwise.errors import InputError, TargetError

    file, separator, name = spec.rpartition(":")
    if not separator or not name.isidentifier():
        raise InputError(f"the target is {spec!r}: expected FILE.py:NAME.")
    path = Path(file)
    if not path.is_file():
        raise InputError(f"the target's file {file!r} does not exist.")
    module_spec = importlib.util.spec_from_file_location(path.stem, path)
    if module_spec is None or module_spec.loader is None:
        raise InputError(f"{file!r} is not a Python file.")
    module = importlib.util.module_from_spec(module_spec)
    sys.path.insert(0, str(path.resolve().parent))  # as if the file were run
    try:
        module_spec.loader.exec_module(module)
    except Exception as error:
        line = traceback.extract_tb(error.__traceback__)[-1].lineno
        raise TargetError(f"{file} raised {type(error).__name__} (line {line}): {error}") from error
    finally:
        sys.path.pop(0)
    if not hasattr(module, name):
        known = [key for key, value in vars(module).items() if callable(value) and key[0] != "_"]
        raise InputError(f"{file} has no {name!r}; it has {', '.join(known) or 'no functions'}.")
    found = getattr(module, name)
    if inspect.isfunction(found) and not inspect.signature(found).parameters:
        return found()
    return found


def _for_a_terminal(lines: "Iterable[Line]") -> str:
    """The verdict in red or green, and no row of the table broken inside a word."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    shown = []
    for line in lines:
        if line.role == "misfit":
            shown.append(click.style(line.text, fg="red", bold=True))
        elif line.role == "no misfit":
            shown.append(click.style(line.text, fg="green"))
        elif line.last_column and width and len(line.text) > width:
            shown.append(line.text[: line.last_column].rstrip())
            verdict = textwrap.wrap(line.text[line.last_column :], width - len(HANGING))
            shown += [HANGING + part for part in verdict]
        else:
            shown.append(line.text)
    return "\n".join(shown)
