"""The quickstarts of the README, run as they stand there, with what they print."""

import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import jax
import pytest

import steinwise as sw
from examples import quickstart as whole

DATA = {"x": whole.x, "y": whole.y}
README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def quickstart(title: str) -> tuple[str, str]:
    """The code below a heading, and what it is said to print."""
    pattern = rf"^### {title}\n.*?```python\n(.*?)```.*?```text\n(.*?)```"
    found = re.search(pattern, README, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1], found[2]


# Chains are chaotic: another processor gives other draws of the same sampler, which a test at level
# 0.05 rejects once in twenty times. This p-value correct draws reach once in 500.
SURELY_WRONG = 0.002
VERDICTS = ("No misfit found at level 0.05.", "Misfit: the draws do not fit the density")


def outline(printed: str) -> tuple[list[str], bool]:
    """The names of the facts, and whether the draws are surely wrong: other numbers vary."""
    report = printed[printed.index("steinwise check") :]  # libraries print more before it
    head, _, rest = report.partition("\n\n")
    facts = [line.split(maxsplit=2) for line in head.splitlines()]
    (pvalue,) = (float(fact[1].rstrip(",")) for fact in facts if fact[0] == "p-value")
    assert VERDICTS[pvalue <= 0.05] in rest
    return [fact[0] for fact in facts], pvalue <= SURELY_WRONG


def run(title: str, names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    code, expected = quickstart(title)
    exec(code, names | {"sw": sw})
    assert outline(capsys.readouterr().out) == outline(expected)


def test_numpyro(capsys: pytest.CaptureFixture[str]) -> None:
    from numpyro.infer import MCMC, NUTS

    def quiet(kernel, **options):
        return MCMC(kernel, chain_method="vectorized", progress_bar=False, **options)

    names = {"MCMC": quiet, "NUTS": NUTS, "model": whole.numpyro_model, "jax": jax, **DATA}
    run("NumPyro", names, capsys)


def test_numpyro_svi(capsys: pytest.CaptureFixture[str]) -> None:
    """Mean-field: `a` and `b`, which depend on each other, are too narrow."""
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal
    from numpyro.optim import Adam

    (code,) = re.findall(r"```python\n(svi = .*?)```", README, re.DOTALL)
    names = {"SVI": SVI, "Trace_ELBO": Trace_ELBO, "AutoNormal": AutoNormal, "Adam": Adam}
    exec(code, names | {"model": whole.numpyro_model, "jax": jax, "sw": sw, **DATA})
    printed = capsys.readouterr().out
    assert "draws      1000 independent draws; 3 coordinates" in printed
    assert VERDICTS[1] in printed


def test_pymc(capsys: pytest.CaptureFixture[str]) -> None:
    import pymc as pm

    run("PyMC", {"pm": pm, "model": whole.pymc_model()}, capsys)


def test_stan(capsys: pytest.CaptureFixture[str]) -> None:
    import warnings

    import stan

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = {"stan": stan, "program": whole.program, "data": whole.data}
        run("Stan", names, capsys)


@pytest.mark.parametrize("title", ["NumPyro", "PyMC", "Stan"])
def test_the_whole_program_has_the_code_of_the_page(title: str) -> None:
    """A quickstart that was changed in one of the two places."""
    code, _ = quickstart(title)
    assert textwrap.indent(code, "    ") in inspect.getsource(whole)
