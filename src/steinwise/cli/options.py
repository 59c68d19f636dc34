"""Options that several commands share."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from steinwise.cli.inputs import Inputs
    from steinwise.cli.outputs import Output


class CommonOptions(NamedTuple):
    """The options of every command that reads draws: what they are, and how to go about them."""

    space: str | None
    var_names: str | None
    group: str | None
    independent: bool | None
    seed: int
    memory: str
    as_json: bool

    def inputs(self, target: str | None, scores: Path | None = None) -> "Inputs":
        """What to read, with the density of a target file or with scores at the draws."""
        from steinwise.cli.inputs import Inputs

        return Inputs(
            target=target,
            space=self.space,
            var_names=self.var_names,
            group=self.group,
            independent=self.independent,
            memory=self.memory,
            scores=scores,
        )


class Files(NamedTuple):
    """The files that a result is written to."""

    report: Path | None
    plot: Path | None

    def outputs(self, draws: Path, inputs: "Inputs") -> "list[Output]":
        """What is to be written, none of it over an input; the page says where draws come from."""
        from steinwise.cli.outputs import check_outputs

        arguments = click.get_current_context().find_root().obj or ()  # the line as it was given
        source = inputs.source(draws, arguments)
        return check_outputs(self.report, self.plot, [draws, *inputs.files], source)


def _gathered(name: str, kind: Any, options: Sequence[Any]) -> Callable:
    """A decorator that gives a command some options, which it takes as one argument."""

    def decorate(command: Callable[..., int]) -> Any:
        @functools.wraps(command)
        def with_options(**given: Any) -> int:
            gathered = kind(**{field: given.pop(field) for field in kind._fields})
            return command(**{name: gathered}, **given)

        return functools.reduce(
            lambda under, option: option(under), reversed(options), with_options
        )

    return decorate


def target_option(*, required: bool) -> Any:
    return click.option(
        "--target",
        "-t",
        required=required,
        metavar="FILE.py:NAME",
        help="A log density of one draw, a Target, or a function without arguments that returns "
        "one; with --space model, a model.",
    )


# Options of commands that read draws, as `common`, and of those that write files, as `files`.
reads_draws = _gathered(
    "common",
    CommonOptions,
    [
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
        click.option(
            "--seed",
            default=0,
            show_default=True,
            type=click.IntRange(min=0),
            help="Of all that is drawn at random: the same seed gives the same answer.",
        ),
        click.option(
            "--memory",
            default="1GiB",
            show_default=True,
            help="The most that working arrays may take, as in 500MB or 4GiB.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--traceback", is_flag=True, help="Show where an error came from."),
    ],
)
_PATH = click.Path(path_type=Path)
writes_files = _gathered(
    "files",
    Files,
    [
        click.option("--report", type=_PATH, metavar="OUT.html", help="Write an HTML report."),
        click.option("--plot", type=_PATH, metavar="OUT.png", help="Write a picture."),
    ],
)
names_option = click.option("--names", metavar="A,B,...", help="One name per coordinate, in order.")
effort_option = click.option(
    "--effort",
    type=click.Choice(["quick", "standard", "full"]),
    default="standard",
    show_default=True,
    help="Of the method transported: scores only, lines of some draws too, or of all.",
)
alpha_option = click.option(
    "--alpha", default=0.05, show_default=True, help="The level of the test."
)
