"""Where a run of the command line begins and ends."""

import io
import os
import signal
import sys
from collections.abc import Sequence

import click
from click.shell_completion import shell_complete

from steinwise.cli.answers import BAD_INPUT, FITS, NO_VERDICT, say, say_error
from steinwise.cli.commands import cli
from steinwise.cli.streams import leave_stdout, prepare_streams

# what options are called elsewhere
MEANT = {
    "--html": "--report",
    "--page": "--report",
    "--out": "--report",
    "--output": "--report",
    "--png": "--plot",
    "--picture": "--plot",
    "--n-bootstrap": "--bootstraps",
}
COMPLETION = "_STEINWISE_COMPLETE"  # by which a shell asks how a line may go on


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: every way out is a message and an exit status."""
    prepare_streams()
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) is signal.SIG_DFL:  # a caller may want it ignored, as nohup
            signal.signal(number, signal.default_int_handler)
    status = run(sys.argv[1:] if arguments is None else arguments)
    leave_stdout()
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Carry out a command; the exit status."""
    path = list(sys.path)
    try:
        completion = os.environ.get(COMPLETION)
        if completion:
            return shell_complete(cli, {}, "steinwise", COMPLETION, completion) and BAD_INPUT
        # not cli.main, which exits with 1, a misfit, when nobody reads the help to its end
        with cli.make_context("steinwise", list(arguments), obj=tuple(arguments)) as context:
            return cli.invoke(context)
    except click.exceptions.Exit as error:  # after --help and --version
        return error.exit_code
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption) and error.option_name in MEANT:
            said = f"{error.message} Did you mean {MEANT[error.option_name]!r}?"
            error = click.UsageError(said, error.ctx)
        usage = io.StringIO()
        error.show(usage)
        say(usage.getvalue().rstrip().replace("Error: ", "error: ", 1))  # as all other messages
        return BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        return NO_VERDICT
    except BrokenPipeError:
        return FITS
    except OSError as error:
        return say_error("the help could not be printed", error, NO_VERDICT)
    finally:
        sys.path[:] = path  # a target's folder is on it while a command runs
