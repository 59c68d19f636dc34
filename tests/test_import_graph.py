"""Which part of the library may import which, and that imports never turn back.

All imports count: at the top of a module, inside functions, and under TYPE_CHECKING.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parents[1] / "src"

# A part may import itself and the parts on its right, all of which stand above it. `steinwise` is
# its __init__.py: the names that it loads on first use count as imports of the modules they are in.
TABLE = """
errors:
_internal:     errors
steinwise:     _internal
draws:         errors _internal
kernels:       errors _internal
samplers:      errors _internal
target:        errors _internal
orbits:        errors _internal target
conditionals:  errors _internal target orbits
results:       errors _internal draws
calibration:   errors _internal draws results
estimates:     errors _internal draws target orbits calibration results
functional:    _internal kernels
methods:       errors _internal draws kernels target orbits conditionals calibration results functional
optimise:      errors _internal draws kernels target conditionals calibration functional methods
adapters:      errors _internal draws target
api:           errors _internal steinwise draws kernels target conditionals adapters calibration estimates results methods optimise
testing:       errors _internal target results
demo:          errors _internal steinwise api
cli:           errors _internal steinwise draws target results methods api adapters demo
__main__:      cli
"""  # noqa: E501
MAY_IMPORT: dict[str, set[str]] = {
    user: set(parts.split()) for user, parts in re.findall(r"^(\w+):(.*)$", TABLE, re.MULTILINE)
}


class Import(NamedTuple):
    """`importer` uses `module`, or the `name` that is defined there."""

    importer: str
    module: str
    name: str | None

    def __str__(self) -> str:
        return f"{self.importer} imports {self.module}" + (f".{self.name}" if self.name else "")


@cache
def modules() -> dict[str, Path]:
    """The file of every module, by its dotted name."""
    found = {}
    for path in sorted((SOURCE / "steinwise").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def home(module: str, name: str) -> str:
    """Where a name is defined that a package loads on first use, and lists in its stub."""
    stub = modules()[module].with_suffix(".pyi")
    if stub.exists():
        for node in ast.parse(stub.read_text("utf-8")).body:
            if isinstance(node, ast.ImportFrom) and any(name == alias.name for alias in node.names):
                return str(node.module)
    return module


@cache
def imports() -> list[Import]:
    return [one for module, path in modules().items() for one in imports_of(module, path)]


def imports_of(module: str, path: Path) -> Iterator[Import]:
    """All imports of the library's own modules, and names that are read from imported modules."""
    tree = ast.parse(path.read_text("utf-8"))
    imported: dict[str, str] = {}  # modules, by the names that they have here
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "steinwise":
                    imported[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            source = str(node.module)
            for alias in node.names if source.split(".")[0] == "steinwise" else ():
                if f"{source}.{alias.name}" in modules():
                    imported[alias.asname or alias.name] = f"{source}.{alias.name}"
                else:
                    yield Import(module, home(source, alias.name), alias.name)
    for source in imported.values():
        yield Import(module, source, None)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in imported:
            source = imported[ast.unparse(node.value)]
            yield Import(module, home(source, node.attr), node.attr)


def part(module: str) -> str:
    """The package or module directly below `steinwise` that a module belongs to."""
    names = module.split(".")
    return names[1] if len(names) > 1 else names[0]


def test_no_part_imports_what_it_may_not() -> None:
    """Catches a new dependency between parts, which somebody should decide about."""
    forbidden = [
        str(one)
        for one in imports()
        if part(one.module) not in {part(one.importer), *MAY_IMPORT.get(part(one.importer), ())}
    ]
    assert not forbidden, "\n".join(forbidden)


def test_the_table_says_no_more_than_there_is() -> None:
    """Catches a dependency that was removed, and could come back unnoticed."""
    used = {(part(one.importer), part(one.module)) for one in imports()}
    allowed = {(user, used) for user, parts in MAY_IMPORT.items() for used in parts}
    assert not allowed - used
    assert set(MAY_IMPORT) == {part(module) for module in modules()}


def test_parts_import_only_parts_above_them() -> None:
    """Catches an entry of the table that would let two parts import each other."""
    above: set[str] = set()
    for user, parts in MAY_IMPORT.items():
        assert parts <= above, f"{user} may import {parts - above}, which stand below it"
        above.add(user)


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Catches cycles, which imports inside functions hide from Python."""
    users: dict[str, set[str]] = {module: set() for module in modules()}
    for one in imports():
        if one.module != one.importer:
            users[one.importer].add(one.module)
    try:
        TopologicalSorter(users).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_no_module_uses_a_private_name_of_another() -> None:
    """Catches what would break when somebody tidies up inside a module."""
    private = [
        str(one)
        for one in imports()
        if one.name and one.name.startswith("_") and not one.name.startswith("__")
    ]
    assert not private, "\n".join(private)
