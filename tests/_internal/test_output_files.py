"""Files that are written whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from steinwise._internal.output_files import OutputFile
from steinwise.errors import InputError


def test_a_file_is_written_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path, link = tmp_path / "out.html", tmp_path / "link.html"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    OutputFile.checked(link, "--report").write(b"new")
    assert path.read_text() == "new"
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.html", "out.html"]


def test_what_cannot_be_written_is_refused_before(tmp_path: Path) -> None:
    draws, folder = tmp_path / "draws.npy", tmp_path / "run.zarr"
    draws.write_bytes(b"draws")
    folder.mkdir()
    (tmp_path / "hard.npy").hardlink_to(draws)
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    refused = {
        tmp_path / "missing" / "a.html": "there is no folder",
        tmp_path: "a folder: expected a file",
        draws / "a.html": "there is no folder",
        draws: "are read from",
        tmp_path / "hard.npy": "are read from",
        folder / "a.html": "are read from",
        tmp_path / ("a" * 300): "cannot be written",
        tmp_path / "circle": "cannot be written",
    }
    for path, message in refused.items():
        with pytest.raises(InputError, match=message):
            OutputFile.checked(path, "--report", [draws, folder])
    assert draws.read_bytes() == b"draws"


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch) -> None:
    """Catches half a page that looks like a whole one."""
    path = tmp_path / "out.html"
    path.write_text("old")
    output = OutputFile.checked(path, "--report")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        output.write(b"new")
    assert os.listdir(tmp_path) == ["out.html"]
    assert path.read_text() == "old"


def test_a_pipe_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    """Catches `--report /dev/null` by an administrator, which would put a file in its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    output = OutputFile.checked(pipe, "--report")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    output.write(b"page")
    assert os.read(reader, 10) == b"page"
    os.close(reader)
    assert pipe.is_fifo()
