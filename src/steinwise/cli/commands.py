"""The commands and their options."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

import steinwise
from steinwise._internal.escaping import printable
from steinwise.cli.answers import FITS, MISFIT, NO_VERDICT, answered, say, say_error
from steinwise.cli.streams import deliver, reserved_stdout
from steinwise.cli.terminal import for_a_terminal
from steinwise.methods import NAMES as METHOD_NAMES

if TYPE_CHECKING:
    from steinwise.cli.outputs import Output
    from steinwise.results.check import CheckResult
    from steinwise.results.summary import Summary

PACKAGES = ("numpy", "jax", "equinox", "scipy")
EXTRAS = ("matplotlib", "xarray", "pandas", "pyarrow", "numpyro", "pymc", "blackjax", "torch")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(steinwise.__version__, prog_name="steinwise")
def cli() -> None:
    """Do these draws come from this density, and if not, which coordinates are wrong?

    Exit status of a check: 0 when no misfit was found, 1 when one was; with --tolerance, 0 also
    when all errors are within it, and 1 when one is beyond it. Of every command: 2 for wrong usage
    or input, 3 when there is no verdict (too few draws, or a failure inside) or it could not be
    written.
    """


def _target(*, required: bool) -> Any:
    return click.option(
        "--target",
        "-t",
        required=required,
        metavar="FILE.py:NAME",
        help="A log density of one draw, a Target, or a function without arguments that returns "
        "one; with --space model, a model.",
    )


def _inputs(command: Any) -> Any:
    """Options that say what the draws are, and how to go about them."""
    options = [
        click.option(
            "--space",
            type=click.Choice(["unconstrained", "model"]),
            help="For netCDF and zarr: the draws are on the density's own space, or NAME is the "
            "PyMC or Stan model, or the NumPyro MCMC, that they come from.",
        ),
        click.option("--var-names", metavar="A,B,...", help="The variables, in this order."),
        click.option(
            "--group",
            help="The group of a netCDF or zarr file with the draws; posterior by default.",
        ),
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


def _outputs(command: Any) -> Any:
    """The options of every command whose result can be written to files."""
    kind = click.Path(path_type=Path)
    command = click.option("--plot", type=kind, metavar="OUT.png", help="Write a picture.")(command)
    option = click.option("--report", type=kind, metavar="OUT.html", help="Write an HTML report.")
    return option(command)


_names = click.option("--names", metavar="A,B,...", help="One name per coordinate, in order.")


@cli.command()
@click.argument("draws", type=click.Path(path_type=Path))
@_target(required=False)
@click.option(
    "--scores",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The scores at the draws (.npy, .npz, .csv, .parquet), in place of --target.",
)
@_inputs
@click.option(
    "--method",
    type=click.Choice(METHOD_NAMES),
    help="transported by default; scores, with --scores.",
)
@click.option("--alpha", default=0.05, show_default=True, help="The level of the test.")
@click.option(
    "--effort",
    type=click.Choice(["quick", "standard", "full"]),
    default="standard",
    show_default=True,
    help="Of the method transported: scores only, lines of some draws too, or of all.",
)
@click.option(
    "--tolerance",
    type=float,
    help="Ask whether a mean is off by more than so many sds, or an sd by this share. Where "
    "that can be told, the exit status answers it: 0 within, 1 beyond.",
)
@click.option(
    "--coordinates",
    metavar="A,B,...|K",
    help="Those that get a verdict: their names, or how many to draw at random; all by default.",
)
@_names
@click.option(
    "--evaluations",
    type=float,
    help="The most evaluations of the density; draws are thinned to keep to it.",
)
@click.option("--bootstraps", default=1000, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--summary",
    "with_summary",
    is_flag=True,
    help="Also say what the means and sds should be, as `steinwise summary` does.",
)
@_outputs
@answered
def check(
    draws: Path,
    target: str | None,
    scores: Path | None,
    space: str | None,
    var_names: str | None,
    group: str | None,
    independent: bool | None,
    seed: int,
    memory: str,
    as_json: bool,
    method: str | None,
    alpha: float,
    bootstraps: int,
    effort: str,
    tolerance: float | None,
    coordinates: str | None,
    names: str | None,
    evaluations: float | None,
    with_summary: bool,
    report: Path | None,
    plot: Path | None,
) -> int:
    """Check DRAWS (.npy, .npz, .csv, .parquet, .nc, .zarr) against a density."""
    if (target is None) == (scores is None):
        raise click.UsageError(
            "expected --target FILE.py:NAME, the density, or --scores FILE, its scores at the draws"
        )
    if with_summary and target is None:
        raise click.UsageError("--summary follows the density along lines: expected --target")
    with reserved_stdout() as out:
        from steinwise.cli.inputs import Inputs, count_or_names, split_names
        from steinwise.cli.outputs import check_outputs
        from steinwise.results.record import json_text
        from steinwise.results.text import check_report

        inputs = Inputs(target, space, var_names, group, independent, memory, scores)
        outputs = check_outputs(
            report, plot, [draws, *inputs.files], inputs.source(draws, _arguments())
        )
        samples, density = inputs.read(draws)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", steinwise.SteinwiseWarning)  # they are in the report
            result = steinwise.check(
                samples,
                density,
                method=method or ("transported" if scores is None else "scores"),
                alpha=alpha,
                n_bootstrap=bootstraps,
                effort=effort,
                tolerance=tolerance,
                evaluations=evaluations,
                coordinates=None if coordinates is None else count_or_names(coordinates),
                names=None if names is None else split_names(names),
                seed=seed,
                memory=memory,
            )
            answers = None
            if with_summary:
                answers = steinwise.summary(samples, density, seed=seed, memory=memory)
        if as_json:
            extra = {} if answers is None else {"summary": answers.to_dict()}
            text = json_text(result.to_dict() | extra)
        else:
            text = for_a_terminal(check_report(result), out)
            text += "" if answers is None else f"\n\n{answers}"
        status = FITS if result.acceptable else MISFIT
        # whatever happens to the files, the verdict has been seen
        return _write(outputs, result, _print(text, out, status), answers)


@cli.command()
@click.argument("sets", nargs=-1, required=True, metavar="NAME=DRAWS NAME=DRAWS ...")
@_target(required=True)
@_inputs
@answered
def compare(
    sets: tuple[str, ...],
    target: str,
    space: str | None,
    var_names: str | None,
    group: str | None,
    independent: bool | None,
    seed: int,
    memory: str,
    as_json: bool,
) -> int:
    """Rank several sets of draws by their distance from one density."""
    parts = [entry.partition("=") for entry in sets]
    if len(parts) < 2 or not all(name and path for name, _, path in parts):
        raise click.UsageError("expected NAME=DRAWS NAME=DRAWS ..., such as nuts=a.npz vi=b.npz")
    files = {name: Path(path).absolute() for name, _, path in parts}
    if len(files) < len(parts):
        names = [name for name, _, _ in parts]
        twice = next(name for name in names if names.count(name) > 1)
        raise click.UsageError(f"the name {twice!r} was given to more than one set of draws")
    with reserved_stdout() as out:
        from steinwise.cli.inputs import Inputs
        from steinwise.results.record import json_text

        inputs = Inputs(target, space, var_names, group, independent, memory)
        read = {name: inputs.read(path) for name, path in files.items()}
        samples = {name: one for name, (one, _) in read.items()}
        density = next(iter(read.values()))[1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", steinwise.SteinwiseWarning)  # they are in the table
            ranking = steinwise.compare(samples, density, seed=seed, memory=memory)
        text = json_text(ranking.to_dict()) if as_json else str(ranking)
        return _print(text, out, FITS)


@cli.command()
@click.argument("draws", type=click.Path(path_type=Path))
@_target(required=True)
@_inputs
@click.option(
    "--sweeps",
    default=2,
    show_default=True,
    type=click.IntRange(min=1),
    help="How often draws are refreshed along lines.",
)
@_names
@_outputs
@answered
def summary(
    draws: Path,
    target: str,
    space: str | None,
    var_names: str | None,
    group: str | None,
    independent: bool | None,
    seed: int,
    memory: str,
    as_json: bool,
    sweeps: int,
    names: str | None,
    report: Path | None,
    plot: Path | None,
) -> int:
    """How far off the means and sds of DRAWS are, and what they should be."""
    with reserved_stdout() as out:
        from steinwise.cli.inputs import Inputs, split_names
        from steinwise.cli.outputs import check_outputs

        inputs = Inputs(target, space, var_names, group, independent, memory)
        outputs = check_outputs(report, plot, [draws, *inputs.files])
        samples, density = inputs.read(draws)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", steinwise.SteinwiseWarning)  # they are in the table
            result = steinwise.summary(
                samples,
                density,
                sweeps=sweeps,
                names=None if names is None else split_names(names),
                seed=seed,
                memory=memory,
            )
        text = result.to_json() if as_json else str(result)
        return _write(outputs, result, _print(text, out, FITS))


@cli.command()
@click.argument("folder", default="out")
@answered
def demo(folder: str) -> int:
    """Run the main job on a built-in example; its picture goes to FOLDER."""
    from steinwise.demo import main as run_demo

    run_demo(folder)
    return FITS


@cli.command()
@answered
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
    text = "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
    with reserved_stdout() as out:
        return _print(text, out, FITS)


def _arguments() -> tuple[str, ...]:
    """The command line as it was given."""
    return click.get_current_context().find_root().obj or ()


def _print(text: str, out: TextIO, status: int) -> int:
    """Print the answer: to stderr, and with another status, if stdout does not take it."""
    error = deliver(text, out)
    if error is None:
        return status
    say(text)
    return say_error("the result could not be printed to stdout", error, NO_VERDICT)


def _write(
    outputs: "Sequence[Output]",
    result: "CheckResult | Summary",
    status: int,
    answers: "Summary | None" = None,
) -> int:
    """Write the files that were asked for; the status if all of them could be written.

    `answers` is a summary that goes with a check.
    """
    for output in outputs:
        try:
            output.write(result, answers)
            say(f"wrote {printable(str(output.given))}")
        except Exception as error:
            what = f"the result stands, but {output.option} could not be written"
            status = say_error(what, error, NO_VERDICT)
    return status
