"""The public names, and that importing the package costs nothing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import steinwise as sw

HEAVY = ("jax", "matplotlib", "scipy", "pandas", "xarray", "arviz", "arviz_stats", "torch")
NAMES: list[str] = vars(sw)["__all__"]  # which type checkers take from the stub
API_PAGES = Path(__file__).parents[1] / "docs" / "api"


def documented() -> set[str]:
    """What the pages of the reference show, by its dotted name below `steinwise`."""
    pages = [page.read_text("utf-8") for page in API_PAGES.glob("*.md")]
    directives = r"^\.\. auto\w+:: steinwise\.([\w.]+)"
    return {name for page in pages for name in re.findall(directives, page, re.MULTILINE)}


def test_the_public_names_are_those_of_the_reference():
    """A name that users rely on cannot vanish, or appear, unnoticed."""
    names = set(NAMES) - {"__version__"}
    assert {name.split(".")[0] for name in documented()} >= names
    assert {name for name in documented() if "." not in name} <= names
    assert dir(sw) == NAMES == sorted(NAMES)


@pytest.mark.parametrize("namespace", ["conditionals", "kernels", "methods", "samplers"])
def test_every_name_of_a_namespace_is_in_the_reference(namespace):
    """A kernel or method that was added, and that nobody can read about."""
    module = getattr(sw, namespace)
    classes = {name for name in module.__all__ if isinstance(getattr(module, name), type)}
    shown = {name.split(".")[1] for name in documented() if name.startswith(f"{namespace}.")}
    assert shown == classes


@pytest.mark.parametrize("name", NAMES)
def test_every_name_resolves(name):
    """A lazy name with a wrong home module would fail only at its first use."""
    assert getattr(sw, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    """Anything else would break hasattr and copy."""
    with pytest.raises(AttributeError, match="no attribute 'kcsd'"):
        _ = sw.kcsd  # type: ignore[attr-defined]


def modules_after(statement: str) -> set[str]:
    """Every module that is loaded, and the packages around it."""
    code = f"{statement}; import sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_import_loads_nothing_heavy():
    """An eager import in __init__ would make every script wait for JAX."""
    assert modules_after("import steinwise").isdisjoint(HEAVY)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("check", "CheckResult"),
        ("comparison", "Comparison"),
        ("fit", "ParameterFit"),
        ("points", "PointSet"),
    ],
)
def test_a_result_loads_neither_jax_nor_what_computed_it(module, name):
    """Whoever reads a stored result needs no method: results know nothing of how they are made."""
    loaded = modules_after(f"from steinwise.results.{module} import {name}")
    parts = {".".join(one.split(".")[:2]) for one in loaded if one.startswith("steinwise.")}
    assert parts <= {
        "steinwise.results",
        "steinwise.draws",
        "steinwise._internal",
        "steinwise.errors",
    }
    assert "jax" not in loaded


def test_a_check_loads_no_optional_package():
    """An extra imported at the top of a module would break an installation without it."""
    script = (
        "import numpy as np, steinwise as sw; x = np.random.default_rng(0).normal(size=(50, 2)); "
        "str(sw.check(x, sw.Gaussian([0, 0], np.eye(2)), method='ksd'))"
    )
    optional = {"matplotlib", "pandas", "xarray", "arviz", "torch"}
    assert modules_after(script).isdisjoint(optional)


def test_all_errors_are_value_errors():
    """Callers catch ValueError, as the documentation promises."""
    for error in (sw.InputError, sw.TargetError, sw.TooFewDraws):
        assert issubclass(error, ValueError)
    assert issubclass(sw.SteinwiseWarning, UserWarning)
