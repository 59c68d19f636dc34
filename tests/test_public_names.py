"""The public names, and that importing the package costs nothing."""

import subprocess
import sys

import pytest

import steinwise as sw

PUBLIC_NAMES = [
    "CheckResult",
    "Comparison",
    "Discrepancy",
    "Gaussian",
    "InputError",
    "ParameterFit",
    "PointSet",
    "Samples",
    "SteinwiseWarning",
    "Target",
    "TargetError",
    "Thinned",
    "TooFewDraws",
    "__version__",
    "assert_fits",
    "check",
    "compare",
    "compare_models",
    "conditionals",
    "fit_parameters",
    "from_arviz",
    "from_blackjax",
    "from_numpyro",
    "from_pymc",
    "from_stan",
    "from_torch",
    "fssd",
    "functional",
    "graphs",
    "kccsd",
    "kernels",
    "ksd",
    "methods",
    "points",
    "rfsd",
    "samplers",
    "sksd",
    "thin",
]
HEAVY = ("jax", "matplotlib", "scipy", "pandas", "xarray", "arviz", "arviz_stats", "torch")


def test_the_public_names_are_these():
    """A name that users rely on cannot vanish, or appear, unnoticed."""
    assert sw.__all__ == PUBLIC_NAMES
    assert dir(sw) == sorted(PUBLIC_NAMES)


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_every_name_resolves(name):
    """A lazy name with a wrong home module would fail only at its first use."""
    assert getattr(sw, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    """Anything else would break hasattr and copy."""
    with pytest.raises(AttributeError, match="no attribute 'kcsd'"):
        _ = sw.kcsd


def _modules_after(statement: str) -> set[str]:
    code = f"{statement}; import sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_import_loads_nothing_heavy():
    """An eager import in __init__ would make every script wait for JAX."""
    assert _modules_after("import steinwise").isdisjoint(HEAVY)


def test_a_check_loads_no_optional_package():
    """An extra imported at the top of a module would break an installation without it."""
    script = (
        "import numpy as np, steinwise as sw; x = np.random.default_rng(0).normal(size=(50, 2)); "
        "str(sw.check(x, sw.Gaussian([0, 0], np.eye(2)), method='ksd'))"
    )
    optional = {"matplotlib", "pandas", "xarray", "arviz", "torch"}
    assert _modules_after(script).isdisjoint(optional)


def test_all_errors_are_value_errors():
    """Callers catch ValueError, as the documentation promises."""
    for error in (sw.InputError, sw.TargetError, sw.TooFewDraws):
        assert issubclass(error, ValueError)
    assert issubclass(sw.SteinwiseWarning, UserWarning)
