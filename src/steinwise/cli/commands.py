"""The commands and their options."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

import click

import steinwise
from steinwise._internal.escaping import printable
from steinwise.cli.answers import FITS, MISFIT, NO_VERDICT, answered, say, say_error
from steinwise.cli.options import (
    CommonOptions,
    Files,
    alpha_option,
    effort_option,
    names_option,
    reads_draws,
    target_option,
    writes_files,
)
from steinwise.cli.streams import deliver, reserved_stdout
from steinwise.cli.terminal import for_a_terminal
from steinwise.methods import NAMES as METHOD_NAMES

if TYPE_CHECKING:
    from steinwise.cli.outputs import Output
    from steinwise.results.check import CheckResult
    from steinwise.results.summary import Summary

PACKAGES = ("numpy", "jax", "equinox", "scipy")
EXTRAS = (
    *("matplotlib", "xarray", "h5netcdf", "zarr", "pandas", "pyarrow", "arviz", "dask"),
    *("numpyro", "pymc", "bridgestan", "pystan", "blackjax", "torch", "emcee"),
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(steinwise.__version__, prog_name="steinwise")
def cli() -> None:
    """Do these draws come from this density, and if not, which coordinates are wrong?

    Exit status of a check: 0 when no misfit was found, 1 when one was; with --tolerance, 0 also
    when all errors are within it, and 1 when one is beyond it. Where neither is known, the
    status is that without --tolerance. Of every command: 2 for wrong usage or input, 3 when there
    is no verdict (too few draws, or a failure inside) or it could not be written.
    """


@cli.command(short_help="Check draws against a density.")
@click.argument("draws", type=click.Path(path_type=Path))
@target_option(required=False)
@click.option(
    "--scores",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The scores at the draws (.npy, .npz, .csv, .parquet), in place of --target.",
)
@reads_draws
@click.option(
    "--method",
    type=click.Choice(METHOD_NAMES),
    help="transported by default; scores, with --scores.",
)
@alpha_option
@effort_option
@click.option(
    "--tolerance",
    type=float,
    help="Ask whether a mean is off by more than this many sds, or an sd by this share. Where "
    "there is an answer, the exit status gives it: 0 within, 1 beyond.",
)
@click.option(
    "--coordinates",
    metavar="A,B,...|K",
    help="Which get a verdict: names (that of a vector stands for all of its entries), or how many "
    "to draw at random; all by default.",
)
@names_option
@click.option(
    "--evaluations",
    type=float,
    help="The most evaluations of the density; draws are thinned to stay within it.",
)
@click.option(
    "--bootstraps",
    default=1000,
    show_default=True,
    type=click.IntRange(min=1),
    help="How many vectors of random signs the p-value rests on; it is at least one over that.",
)
@click.option(
    "--summary",
    "with_summary",
    is_flag=True,
    help="Also say what the means and sds should be, as `steinwise summary` does.",
)
@writes_files
@answered
def check(
    draws: Path,
    target: str | None,
    scores: Path | None,
    common: CommonOptions,
    method: str | None,
    alpha: float,
    bootstraps: int,
    effort: str,
    tolerance: float | None,
    coordinates: str | None,
    names: str | None,
    evaluations: float | None,
    with_summary: bool,
    files: Files,
) -> int:
    """Check DRAWS (.npy, .npz, .csv, .parquet, .nc, .zarr) against a density."""
    if target is not None and scores is not None:
        raise click.UsageError(
            "--target and --scores came together: expected one of them, not both. --target is "
            "enough; --scores is for a density that cannot be evaluated here."
        )
    if target is None and scores is None:
        raise click.UsageError(
            "expected --target FILE.py:NAME, the density, or --scores FILE, its scores at the draws"
        )
    if with_summary and target is None:
        raise click.UsageError("--summary follows the density along lines: expected --target")
    with reserved_stdout() as out:
        from steinwise.cli.inputs import count_or_names, split_names
        from steinwise.results.check_text import check_report
        from steinwise.results.record import json_text

        inputs = common.inputs(target, scores)
        outputs = files.outputs(draws, inputs)
        chosen = None if coordinates is None else count_or_names(coordinates)
        labels = None if names is None else split_names(names)
        # with scores alone too, the default method looks at a given effort: quick is enough for it
        may_follow_lines = scores is None or effort != "standard"
        samples, density = inputs.read(draws, labels, chosen)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", steinwise.SteinwiseWarning)  # they are in the report
            result = steinwise.check(
                samples,
                density,
                method=method or ("transported" if may_follow_lines else "scores"),
                alpha=alpha,
                n_bootstrap=bootstraps,
                effort=effort,
                tolerance=tolerance,
                evaluations=evaluations,
                coordinates=chosen,
                names=labels,
                seed=common.seed,
                memory=common.memory,
            )
            answers = None
            if with_summary:
                answers = steinwise.summary(
                    samples, density, names=labels, seed=common.seed, memory=common.memory
                )
        if common.as_json:
            extra = {} if answers is None else {"summary": answers.to_dict()}
            text = json_text(result.to_dict() | extra)
        else:
            text = for_a_terminal(check_report(result), out)
            text += "" if answers is None else f"\n\n{answers}"
        status = FITS if result.acceptable else MISFIT
        # whatever happens to the files, the verdict has been seen
        return _write(outputs, result, _print(text, out, status), answers)


@cli.command(short_help="Compare several sets of draws of one density.")
@click.argument("sets", nargs=-1, required=True, metavar="NAME=DRAWS NAME=DRAWS ...")
@target_option(required=True)
@reads_draws
@click.option(
    "--method",
    type=click.Choice(["transported", "scores", "ksd"]),
    default="transported",
    show_default=True,
    help="The check of each set; or ksd, to rank them by that distance and check none.",
)
@alpha_option
@effort_option
@answered
def compare(
    sets: tuple[str, ...],
    target: str,
    common: CommonOptions,
    method: Literal["transported", "scores", "ksd"],
    alpha: float,
    effort: str,
) -> int:
    """Check several sets of draws against one density, and say how far off each is."""
    parts = [entry.partition("=") for entry in sets]
    if len(parts) < 2 or not all(name and path for name, _, path in parts):
        raise click.UsageError("expected NAME=DRAWS NAME=DRAWS ..., such as nuts=a.npz vi=b.npz")
    files = {name: Path(path).absolute() for name, _, path in parts}
    if len(files) < len(parts):
        names = [name for name, _, _ in parts]
        twice = next(name for name in names if names.count(name) > 1)
        raise click.UsageError(f"the name {twice!r} was given to more than one set of draws")
    with reserved_stdout() as out:
        from steinwise.results.record import json_text

        inputs = common.inputs(target)
        read = {name: inputs.read_set(name, path) for name, path in files.items()}
        samples = {name: one for name, (one, _) in read.items()}
        density = next(iter(read.values()))[1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", steinwise.SteinwiseWarning)  # they are in the table
            ranking = steinwise.compare(
                samples,
                density,
                method=method,
                alpha=alpha,
                effort=effort,
                seed=common.seed,
                memory=common.memory,
            )
        text = json_text(ranking.to_dict()) if common.as_json else str(ranking)
        return _print(text, out, FITS)


@cli.command(short_help="What the means and sds of draws should be.")
@click.argument("draws", type=click.Path(path_type=Path))
@target_option(required=True)
@reads_draws
@click.option(
    "--sweeps",
    type=click.IntRange(min=1),
    help="How often draws are refreshed along lines; by default until they have settled, 2 to 10 "
    "times.",
)
@names_option
@writes_files
@answered
def summary(
    draws: Path,
    target: str,
    common: CommonOptions,
    sweeps: int | None,
    names: str | None,
    files: Files,
) -> int:
    """How far off the means and sds of DRAWS are, and what they should be."""
    with reserved_stdout() as out:
        from steinwise.cli.inputs import split_names

        inputs = common.inputs(target)
        outputs = files.outputs(draws, inputs)
        labels = None if names is None else split_names(names)
        samples, density = inputs.read(draws, labels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", steinwise.SteinwiseWarning)  # they are in the table
            result = steinwise.summary(
                samples,
                density,
                sweeps=sweeps,
                names=labels,
                seed=common.seed,
                memory=common.memory,
            )
        text = result.to_json() if common.as_json else str(result)
        return _write(outputs, result, _print(text, out, FITS))


@cli.command(short_help="Check a fitted hierarchical model, as an example.")
@click.argument("folder", default="out")
@answered
def demo(folder: str) -> int:
    """Check a fitted hierarchical model; its picture and report go to FOLDER."""
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
