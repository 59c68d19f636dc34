"""What is shown of the progress, on terminals of any size."""

import fcntl
import os
import pty
import struct
import termios

import pytest

from steinwise._internal.run_options import RunOptions


@pytest.mark.parametrize("columns", [0, 100])
def test_a_terminal_shows_what_is_done(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """Catches a terminal that does not know its size, such as that of `script`: no bar shows."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", columns // 4, columns, 0, 0))
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr("sys.stderr", terminal)
        with RunOptions().stage("compiling the density"):
            shown = os.read(ours, 1000).decode()
        assert "compiling the density ..." in shown
        cleared = os.read(ours, 1000).decode()
        assert not cleared.strip()
        with RunOptions().meter(10, "line", "following lines"):
            assert "following lines" in os.read(ours, 1000).decode()
        with RunOptions(progress=False).stage("compiling the density"):
            os.set_blocking(ours, False)
            os.read(ours, 1000)  # the bar is cleared
            with pytest.raises(BlockingIOError):
                os.read(ours, 1000)
    os.close(ours)


def test_a_stage_has_no_total() -> None:
    """Catches a bar that a notebook leaves in red, because it did not reach its end."""
    with RunOptions(progress=False).stage("compiling") as shown:
        assert shown.total is None
