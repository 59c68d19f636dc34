"""Finished tasks on disk: one line each, appended as they come, merged into small sorted files.

A study has three files below its folder:

- ``records/live/STUDY.jsonl``, not under version control: lines are only ever added, so that a
  process killed at any point leaves all lines whole but the last, which is dropped and run again;
- ``records/STUDY.jsonl.gz``: outcomes, sorted by task, the same bytes whenever the same tasks are
  done, in whatever order and by however many processes;
- ``times/STUDY.jsonl.gz``: CPU seconds of the same tasks, which are never the same twice.

A task counts as done if the first or the second has it.
"""

import contextlib
import fcntl
import gzip
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from experiments.engine.tasks import Outcome, Task, cell


class Done(NamedTuple):
    """What came of a task."""

    outcome: Outcome
    seconds: float | None  # None where the file of the times has been taken away


Add = Callable[[Task, Done], None]


def whole_lines(path: Path) -> bytes:
    """A file up to the last end of a line; nothing if there is no file."""
    text = path.read_bytes() if path.exists() else b""
    return text[: text.rfind(b"\n") + 1]


@contextlib.contextmanager
def appending(path: Path) -> Iterator[BinaryIO]:
    """A file to add lines to, after its whole ones; one process at a time may have it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RuntimeError(
                f"another run is adding to {path}: wait for it or stop it, or let this one write "
                "elsewhere."
            ) from error
        file.truncate(len(whole_lines(path)))
        yield file


@dataclass(frozen=True)
class Store:
    """The records of one study."""

    folder: Path
    study: str

    @property
    def live(self) -> Path:
        return self.folder / "records" / "live" / f"{self.study}.jsonl"

    @property
    def outcomes(self) -> Path:
        return self.folder / "records" / f"{self.study}.jsonl.gz"

    @property
    def times(self) -> Path:
        return self.folder / "times" / f"{self.study}.jsonl.gz"

    def read(self) -> dict[Task, Done]:
        """All finished tasks, sorted."""
        live, outcomes, times = (
            dict(self._lines(text))
            for text in (whole_lines(self.live), _unzipped(self.outcomes), _unzipped(self.times))
        )
        found = live | outcomes
        seconds = {task: line["seconds"] for task, line in (live | times).items()}
        return {task: Done(found[task]["outcome"], seconds.get(task)) for task in sorted(found)}

    @contextlib.contextmanager
    def adding(self) -> Iterator[Add]:
        """A function that records a task; one process at a time may have it."""
        with appending(self.live) as file:

            def add(task: Task, done: Done) -> None:
                file.write(_line(task, outcome=done.outcome, seconds=done.seconds))
                file.flush()

            yield add

    def merge(self) -> None:
        """Move the live lines into the sorted files; killed anywhere, it loses nothing."""
        if not self.live.exists():
            return
        found = self.read()
        outcomes = [_line(task, outcome=done.outcome) for task, done in found.items()]
        times = [
            _line(task, seconds=done.seconds)
            for task, done in found.items()
            if done.seconds is not None
        ]
        replace_file(self.outcomes, gzip.compress(b"".join(outcomes), mtime=0))
        replace_file(self.times, gzip.compress(b"".join(times), mtime=0))
        os.truncate(self.live, 0)  # stays, for whoever holds it open

    def _lines(self, text: bytes) -> Iterator[tuple[Task, dict[str, Any]]]:
        for number, line in enumerate(text.splitlines(), 1):
            try:
                fields = json.loads(line)
                task = Task(
                    self.study, cell(fields["method"], **fields["setting"]), fields["repetition"]
                )
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"line {number} of the records of {self.study!r} in {self.folder} is no task: "
                    f"{line[:80]!r}. Take it out; its task will be run again."
                ) from error
            yield task, fields


def _line(task: Task, **fields: Any) -> bytes:
    fields |= {
        "method": task.cell.method,
        "setting": dict(task.cell.setting),
        "repetition": task.repetition,
    }
    try:
        return json.dumps(fields, sort_keys=True, allow_nan=False).encode() + b"\n"
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"the outcome of {task} cannot be recorded ({error}): expected a dict of finite "
            "numbers, text, None and lists of them."
        ) from error


def _unzipped(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.exists() else b""


def replace_file(path: Path, content: bytes) -> None:
    """The old content or the new one, whenever the process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(content)
    fresh.replace(path)
