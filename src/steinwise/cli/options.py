"""Options that several commands share."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from steinwise.cli.inputs import Inputs


class Given(NamedTuple):
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

        of_files = self.space, self.var_names, self.group, self.independent
        return Inputs(target, *of_files, self.memory, scores)


def target_option(*, required: bool) -> Any:
    return click.option(
        "--target",
        "-t",
        required=required,
        metavar="FILE.py:NAME",
        help="A log density of one draw, a Target, or a function without arguments that returns "
        "one; with --space model, a model.",
    )


def reads_draws(command: Callable[..., int]) -> Any:
    """Give a command the options in `Given`, which it takes as one argument."""

    @functools.wraps(command)
    def with_given(**options: Any) -> int:
        given = Given(**{name: options.pop(name) for name in Given._fields})
        return command(given=given, **options)

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
    ]
    return functools.reduce(lambda under, option: option(under), reversed(options), with_given)


def writes_files(command: Any) -> Any:
    """The options of every command whose result can be written to files."""
    kind = click.Path(path_type=Path)
    command = click.option("--plot", type=kind, metavar="OUT.png", help="Write a picture.")(command)
    option = click.option("--report", type=kind, metavar="OUT.html", help="Write an HTML report.")
    return option(command)


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
