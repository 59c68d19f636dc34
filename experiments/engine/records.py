"""Finished tasks on disk: one line each, appended at once, merged into small sorted files.

A study has three files in its folder:

- ``records/live/STUDY.jsonl``, not under version control. Lines are only ever appended, so that a
  process killed at any point damages at most the last line; that line is dropped and its task run
  again.
- ``records/STUDY.jsonl.gz``: the outcomes, sorted by task. The same tasks always give the same
  bytes, whatever the order and the number of processes.
- ``times/STUDY.jsonl.gz``: the CPU seconds of these tasks, which are never the same twice.

A task counts as done if it is in one of the first two.
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

from experiments.engine.tasks import Outcome, Task, make_cell


class Done(NamedTuple):
    """The outcome of a task, and the CPU seconds that it took."""

    outcome: Outcome
    seconds: float | None  # None if the file of the times has been removed


Add = Callable[[Task, Done], None]


def whole_lines(path: Path) -> bytes:
    """The content of a file up to its last newline; empty if there is no file."""
    text = path.read_bytes() if path.exists() else b""
    return text[: text.rfind(b"\n") + 1]


@contextlib.contextmanager
def appending(path: Path) -> Iterator[BinaryIO]:
    """A file open for appending after its last whole line, locked for this process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RuntimeError(
                f"another run is adding to {path}: wait for it, stop it, or write to another "
                "folder."
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
        done = live | outcomes
        seconds = {task: line["seconds"] for task, line in (live | times).items()}
        return {task: Done(done[task]["outcome"], seconds.get(task)) for task in sorted(done)}

    @contextlib.contextmanager
    def adding(self) -> Iterator[Add]:
        """A function that records a task; only one process at a time can have it."""
        with appending(self.live) as file:

            def add(task: Task, done: Done) -> None:
                file.write(_line(task, outcome=done.outcome, seconds=done.seconds))
                file.flush()

            yield add

    def merge(self) -> None:
        """Move the live lines into the sorted files; nothing is lost if it is killed."""
        if not self.live.exists():
            return
        tasks = self.read()
        outcomes = [_line(task, outcome=done.outcome) for task, done in tasks.items()]
        times = [
            _line(task, seconds=done.seconds)
            for task, done in tasks.items()
            if done.seconds is not None
        ]
        replace_file(self.outcomes, gzip.compress(b"".join(outcomes), mtime=0))
        replace_file(self.times, gzip.compress(b"".join(times), mtime=0))
        os.truncate(self.live, 0)  # not removed: a run may hold it open

    def _lines(self, text: bytes) -> Iterator[tuple[Task, dict[str, Any]]]:
        for number, line in enumerate(text.splitlines(), 1):
            try:
                fields = json.loads(line)
                cell = make_cell(fields["method"], **fields["setting"])
                task = Task(self.study, cell, fields["repetition"])
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"line {number} of the records of {self.study!r} in {self.folder} is not a "
                    f"task: {line[:80]!r}. Remove the line; its task will be run again."
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
            "numbers, strings, None, and lists of these."
        ) from error


def _unzipped(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.exists() else b""


def replace_file(path: Path, content: bytes) -> None:
    """Write so that a file has its old or its new content even if the process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(content)
    fresh.replace(path)
