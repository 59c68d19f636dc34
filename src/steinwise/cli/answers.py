"""Every way out of a command: a message for people, an exit status for scripts."""

import functools
import re
import sys
import traceback
from collections.abc import Callable
from typing import Any

import click

from steinwise._internal.escaping import message_of, printable
from steinwise.cli.streams import color, drop_buffer

FITS, MISFIT, BAD_INPUT, NO_VERDICT = 0, 1, 2, 3
INDENT = "  "


def answered(command: Callable[..., int]) -> Callable[..., int]:
    """The command with its errors turned into messages and exit statuses.

    They are caught here because click would take some of them for its own: an end of file for an
    interruption, and a `SystemExit` of the target's for the end of a command that went well.
    """

    @functools.wraps(command)
    def answer(*, traceback: bool = False, **options: Any) -> int:
        from steinwise.errors import InputError, TargetError, TooFewDraws

        try:
            return command(**options)
        except click.ClickException:
            raise  # wrong usage, which click words
        except (InputError, TargetError, ModuleNotFoundError) as error:
            return say_error("error", error, BAD_INPUT, traceback)
        except TooFewDraws as error:
            return say_error("no verdict", error, NO_VERDICT, traceback)
        except KeyboardInterrupt:
            say("interrupted")
            return NO_VERDICT
        except SystemExit as error:
            what = "error: the target ended the run by SystemExit"
            return say_error(what, error, BAD_INPUT, traceback)
        except BaseException as error:
            return say_error(f"no verdict: {type(error).__name__}", error, NO_VERDICT, traceback)

    return answer


def say_error(what: str, error: BaseException, status: int, with_traceback: bool = False) -> int:
    """Say what went wrong; the status that was given."""
    if with_traceback:
        say("".join(traceback.format_exception(error)).rstrip())
    say(f"{click.style(what, fg='red')}: {error_text(error)}")
    return status


def error_text(error: BaseException) -> str:
    """The message of an error, whose further lines cannot be taken for lines of the report."""
    lines = as_options(message_of(error)).split("\n")
    return f"\n{INDENT}".join(printable(line) for line in lines)


# what sentences call an argument of a function, and what it is on the command line
OPTIONS = {
    "n_bootstrap": "--bootstraps",
    "independent=True": "--independent",
    "independent=False": "--chain",
    "draws[None] for one chain": "--chain for one chain",
    **{
        f"{name}=": f"--{name}"
        for name in ("alpha", "coordinates", "evaluations", "group", "memory", "names", "sweeps")
    },
    **{
        f"effort={quote}{effort}{quote}": f"--effort {effort}"
        for effort in ("quick", "standard", "full")
        for quote in "\"'"
    },
    "effort=": "--effort",
    "batch_length=": "in Python, batch_length=",
    "draws.astype(float)": 'np.save("draws.npy", draws.astype(float))',
    "sw.summary(draws, target)": "steinwise summary",
    "sw.summary": "steinwise summary",
}


def as_options(text: str) -> str:
    """Sentences that name arguments of functions, with the options of the command line.

    >>> as_options('effort="quick" follows none; raise memory=.')
    '--effort quick follows none; raise --memory.'
    >>> as_options("leave effort= out, or ask sw.summary, which also moves draws")
    'leave --effort out, or ask steinwise summary, which also moves draws'
    """
    for argument, option in OPTIONS.items():
        text = re.sub(rf"(?<![\w.]){re.escape(argument)}", option, text)
    return text


def say(message: str) -> None:
    """Print a message for people to stderr."""
    try:
        click.echo(message, err=True, color=color())
    except (OSError, ValueError):  # closed, or on a full disk: the exit status is all that is left
        drop_buffer(sys.stderr)
