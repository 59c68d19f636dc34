"""The density that the user named: NAME of FILE.py, loaded as if the file were run."""

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from steinwise._internal.escaping import message_of, printable
from steinwise.errors import InputError, TargetError
from steinwise.target import AbstractTarget


def split_target(spec: str) -> tuple[Path, str]:
    """The file and the name of FILE.py:NAME."""
    file, separator, name = spec.rpartition(":")
    if not separator or not name.isidentifier():
        raise InputError(
            f"the target is {spec!r}: expected FILE.py:NAME, such as model.py:log_density."
        )
    path = Path(file).absolute()
    if not path.exists():
        raise InputError(f"the target's file {file!r} does not exist.")
    if not path.is_file():
        raise InputError(f"the target's file {file!r} is not a file.")
    return path, name


def load_target(spec: str) -> Any:
    """What NAME is in FILE.py, called if it takes no arguments."""
    path, name = split_target(spec)
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)  # as if the file were run
    try:
        module_spec = _module_spec(path)
        with _blamed_on(path):
            module = _load(module_spec)
            if hasattr(module, name):
                found = getattr(module, name)
                factory = inspect.isfunction(found) and not inspect.signature(found).parameters
                return found() if factory else found
    finally:
        # what a density imports when it is called is still found, but hides no other module
        sys.path.append(folder)
        sys.path.remove(folder)
    known = [key for key, value in vars(module).items() if _may_be_a_target(key, value)]
    raise InputError(f"{path.name} has no {name!r}; it has {', '.join(known) or 'no functions'}.")


def _may_be_a_target(name: str, value: Any) -> bool:
    return name[0] != "_" and (callable(value) or isinstance(value, AbstractTarget))


def _module_spec(path: Path) -> ModuleSpec:
    # a name of its own: a file json.py must not take the place of a module that others import
    spec = importlib.util.spec_from_file_location(f"steinwise_target_{path.stem}", path)
    if spec is None:
        raise InputError(f"{path.name!r} is not a Python file.")
    return spec


def _load(spec: ModuleSpec) -> ModuleType:
    assert spec.loader is not None  # it has one if it comes from a file
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look up their annotations
    spec.loader.exec_module(module)
    return module


@contextmanager
def _blamed_on(path: Path) -> Iterator[None]:
    """Everything that the user's file raises is an error of the target, but an interruption."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        name, where = type(error).__name__, _place(error, path)
        text = error.msg if isinstance(error, SyntaxError) else message_of(error)
        raise TargetError(f"{path.name} raised {name}{where}: {text}") from error


def _place(error: BaseException, path: Path) -> str:
    """The line of the user's file that an error comes from."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        other = "" if error.filename == str(path) else f" of {printable(error.filename)}"
        return f" (line {error.lineno}{other})"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f" (line {lines[-1]})" if lines else ""
