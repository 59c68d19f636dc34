"""Which part of the library may import which, and that imports never turn back.

All imports count: at the top of a module, inside functions, and under TYPE_CHECKING.
"""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parents[1] / "src"

# A part may import itself and the parts on its right, all of which stand above it.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "_internal": {"errors"},
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
def imports() -> list[Import]:
    return [one for module, path in modules().items() for one in imports_of(module, path)]


def imports_of(module: str, path: Path) -> Iterator[Import]:
    """All imports of the library's own modules, and private names that are read as attributes."""
    tree, aliases = ast.parse(path.read_text("utf-8")), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "steinwise":
                    yield Import(module, alias.name, None)
                    aliases[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            if not str(node.module).startswith("steinwise"):
                continue
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in modules():
                    yield Import(module, whole, None)
                    aliases[alias.asname or alias.name] = whole
                else:
                    yield Import(module, str(node.module), alias.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in aliases:
            yield Import(module, aliases[ast.unparse(node.value)], node.attr)


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
    assert not forbidden


def test_the_table_says_no_more_than_there_is() -> None:
    """Catches a dependency that was removed, and could come back unnoticed."""
    used = {(part(one.importer), part(one.module)) for one in imports()}
    allowed = {(user, used) for user, parts in MAY_IMPORT.items() for used in parts}
    assert not allowed - used
    assert set(MAY_IMPORT) == {part(module) for module in modules()} - {"steinwise"}


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
    assert not private
