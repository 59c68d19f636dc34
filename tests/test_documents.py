"""What the pages name exists: files, commands, tests, extras, public names; and one version.

And the site shows what was written: no line of a page, and no docstring, means something else to
Sphinx.
"""

import importlib.util
import inspect
import re
import tomllib
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from pkgutil import resolve_name

import pytest

import steinwise as sw
from steinwise.cli import cli

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")],
    key=lambda page: page.relative_to(ROOT),
)
USERS_FILES = {"model.py", "FILE.py"}  # on the user's disk, not here

FENCED = re.compile(r"^```(.*?)^```", re.MULTILINE | re.DOTALL)

each_page = pytest.mark.parametrize(
    "page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES]
)


def code_of(page: Path) -> Iterator[str]:
    """Blocks that are neither Python, which `make test-docs` runs, nor Sphinx's; and spans."""
    text = page.read_text("utf-8")
    for block in FENCED.findall(text):
        if not block.startswith(("python", "{")):
            yield from block.splitlines()[1:]
    text = FENCED.sub("", text)
    yield from re.findall(r"^ {4,}(.*)$", text, re.MULTILINE)
    for span in re.findall(r"`([^`]+)`", text):
        yield " ".join(span.split())


def arguments(page: Path, command: str) -> set[str]:
    """What follows a command, wherever the page's code has it."""
    pattern = re.compile(rf"(?:^|[\s/]){command} (\w[\w.-]*)")
    return {argument for code in code_of(page) for argument in pattern.findall(code)}


@cache
def ignored_folders() -> tuple[str, ...]:
    """Folders that appear only when something is run."""
    lines = (ROOT / ".gitignore").read_text().splitlines()
    return tuple(line.strip("/*") for line in lines if line.endswith("/"))


def is_made_later(path: Path) -> bool:
    return str(path.relative_to(ROOT)).startswith(ignored_folders()) or "NAME" in path.name


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    """Catches a page or picture that was moved."""
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))
    local = [link for link in links if "://" not in link]
    assert not [link for link in local if not (page.parent / link).exists()]


@each_page
def test_files_exist(page: Path) -> None:
    """Catches a file that was moved; paths start at the root, the page's folder or the package."""
    folders = (ROOT, page.parent, ROOT / "src" / "steinwise")
    missing = []
    for code in code_of(page):
        for path in re.findall(r"(?<![\w./*{<-])([\w.-]+(?:/[\w.-]+)+/?)(?=$|[\s:,)\]])", code):
            inside = [folder / path for folder in folders if (folder / path.split("/")[0]).is_dir()]
            if inside and not any(file.exists() or is_made_later(file) for file in inside):
                missing.append(path)
        for name in re.findall(r"^([\w.-]+\.py)(?=$|[\s:,)])", code):
            if name not in USERS_FILES and not list(ROOT.glob(f"[!.]*/**/{name}")):
                missing.append(name)
    assert not missing


def test_files_named_in_the_code_exist() -> None:
    """Catches a comment or docstring that sends its reader to a page that was moved."""
    path = re.compile(r"\b(?:benchmarks|docs|examples|experiments|src|tests)/[\w/]+\.[a-z]+\b")
    code = [
        file
        for folder in ("src", "benchmarks", "experiments")
        for file in ROOT.glob(f"{folder}/**/*.py")
    ]
    named = {match for file in code for match in path.findall(file.read_text("utf-8"))}
    assert not [name for name in named if not (ROOT / name).exists()]


@each_page
def test_commands_exist(page: Path) -> None:
    """Catches a target of make, a module, an extra or a subcommand that has another name now."""
    makefile = (ROOT / "Makefile").read_text()
    targets = set(" ".join(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)).split())
    assert arguments(page, "make") <= targets
    modules = arguments(page, r"python\d* -m")
    assert not [name for name in modules if importlib.util.find_spec(name) is None]
    assert arguments(page, "steinwise") <= set(cli.commands)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = set(project["optional-dependencies"])
    named = re.findall(r"(?:\.|steinwise)\[([a-z,-]+)\]", page.read_text("utf-8"))
    assert {extra for names in named for extra in names.split(",")} <= extras


@each_page
def test_tests_exist(page: Path) -> None:
    """Catches a test that a page calls as a witness, and that has moved or another name now."""
    named = re.compile(r"(?:([\w/]+\.py)::|^)(test_\w+)$")
    for path, name in {match for code in code_of(page) for match in named.findall(code)}:
        files = [ROOT / path] if path else ROOT.glob("tests/**/test_*.py")
        assert any(f"def {name}(" in file.read_text("utf-8") for file in files), name


@each_page
def test_public_names_exist(page: Path) -> None:
    """Catches `sw.name` on a page, of a name that is gone."""
    for code in code_of(page):
        for dotted in re.findall(r"\bsw((?:\.[A-Za-z]\w*)+)", code):
            found: object = sw
            for name in dotted[1:].split("."):
                assert hasattr(found, name), f"sw{dotted}"
                found = getattr(found, name)
                if not isinstance(found, type | type(sw)):  # fields of results are made later
                    break


@each_page
def test_no_line_is_a_comment(page: Path) -> None:
    """Catches a sentence that is wrapped before a %: the site would leave out the rest of it."""
    text = FENCED.sub("", page.read_text("utf-8"))
    assert not re.findall(r"^(?:%|\+\+\+).*", text, re.MULTILINE)


def test_docstrings_of_properties_are_whole() -> None:
    """Catches a colon in the first line: the site would take what is before it for a type."""
    pages = [page.read_text("utf-8") for page in ROOT.glob("docs/api/*.md")]
    names = [name for page in pages for name in re.findall(r"autoclass:: (\S+)", page)]
    assert names
    torn = []
    for name in names:
        for member, found in inspect.getmembers(resolve_name(name)):
            is_property = isinstance(found, property | cached_property)
            first_line = (inspect.getdoc(found) or "").partition("\n")[0]
            if is_property and ":" in re.sub(r"`[^`]*`", "", first_line):
                torn.append(f"{name}.{member}")
    assert not torn


def test_the_version_is_the_same_everywhere() -> None:
    """Catches a release whose citation or changelog still speaks of the one before."""
    citation = (ROOT / "CITATION.cff").read_text()
    assert set(re.findall(r"^version: (.*)$", citation, re.MULTILINE)) <= {sw.__version__}
    changelog = (ROOT / "CHANGELOG.md").read_text()
    latest = re.findall(r"^## \[?(\d[\d.]*)", changelog, re.MULTILINE)[:1]
    assert latest in ([], [sw.__version__])  # none before the first release
