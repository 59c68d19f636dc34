"""Standard output and standard error, in whatever state the caller left them.

Standard output is for the answer alone: what a target prints goes to stderr, or it would end up in
the middle of JSON.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

import click


def color() -> bool | None:
    """False where the user wants none (no-color.org); None for a terminal only."""
    return False if os.environ.get("NO_COLOR") else None


def prepare_streams() -> None:
    """Open what the caller closed, and show what an encoding lacks by its number."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:  # or the next file to be opened would be taken for this stream
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:
            stream = open(descriptor, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def reserved_stdout() -> Iterator[TextIO]:
    """Standard output for the answer; all else that is printed meanwhile goes to stderr."""
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        if out is not sys.__stdout__:  # a test's, or a notebook's: no descriptor to be redirected
            yield out
            return
        out.flush()
        private = os.fdopen(os.dup(1), "w", encoding=out.encoding, errors=out.errors)
        os.dup2(2, 1)  # for what is printed by compiled code and by other processes
        try:
            yield private
        finally:
            os.dup2(private.fileno(), 1)
            with contextlib.suppress(OSError):
                private.close()


def deliver(text: str, out: TextIO) -> OSError | None:
    """Print the answer; the error if it cannot be printed.

    A reader that went away (`| head`) is none: the exit status still says what was found.
    """
    try:
        click.echo(text, file=out, color=color())
        out.flush()
    except OSError as error:
        drop_buffer(out)
        return None if isinstance(error, BrokenPipeError) else error
    return None


def leave_stdout() -> None:
    """At the end of a run: nothing that is printed from now on belongs to the answer."""
    try:
        sys.stdout.flush()
    except OSError:
        drop_buffer(sys.stdout)
    else:
        os.dup2(2, 1)


def drop_buffer(stream: TextIO) -> None:
    """Send what is still in a buffer nowhere, or closing the stream would fail on it again."""
    with contextlib.suppress(OSError, ValueError):  # it may be closed
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
