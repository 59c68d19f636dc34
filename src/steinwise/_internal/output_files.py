"""Files that a command writes: refused before the work if it would be in vain, and never half."""

import errno
import os
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from steinwise._internal.escaping import clause_of, printable
from steinwise.errors import InputError


@dataclass(frozen=True)
class OutputFile:
    """A file that can be written, as far as that can be known before."""

    path: Path

    @classmethod
    def checked(cls, path: Path, option: str, inputs: Iterable[Path] = ()) -> "OutputFile":
        """Refuse a file that cannot be written, or that would take the place of an input."""
        shown = f"{option} is {printable(str(path))}"
        path = path.absolute()  # a target may change the working directory
        try:
            # a pipe is named by a link that leads nowhere: it is taken as it is
            output = cls(path.resolve() if path.is_file() or not path.exists() else path)
            for given in inputs:
                if output._replaces(given):
                    raise InputError(f"{shown}, which the draws or the target are read from.")
            if path.is_dir():
                raise InputError(f"{shown}, a folder: expected a file.")
            if not path.parent.is_dir():
                raise InputError(f"{shown}: there is no folder {printable(str(path.parent))}.")
            output._try_to_write()
        except (OSError, RuntimeError) as error:  # links in a circle are a RuntimeError
            raise InputError(f"{shown}, which cannot be written: {clause_of(error)}.") from error
        return output

    def write(self, content: bytes) -> None:
        """Write the whole file, or leave what was there."""
        if self._is_special():
            self.path.write_bytes(content)
            return
        part = self._part()
        try:
            with part.open("xb") as file:
                file.write(content)
            if self.path.exists():
                shutil.copymode(self.path, part)
            part.replace(self.path)
        finally:
            part.unlink(missing_ok=True)

    def _try_to_write(self) -> None:
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if not self._is_special():
            part = self._part()
            part.open("xb").close()
            part.unlink()

    def _part(self) -> Path:
        """A new file in the same folder, from where it can be renamed in one step."""
        return self.path.with_name(f".steinwise-{secrets.token_hex(4)}.part")

    def _is_special(self) -> bool:
        """Whether this is a pipe or a device, which is written to and never replaced."""
        return self.path.exists() and not self.path.is_file()

    def _replaces(self, given: Path) -> bool:
        if not given.exists():
            return False
        if self.path.exists() and self.path.samefile(given):
            return True
        return given.is_dir() and self.path.is_relative_to(given.resolve())
