"""Bars of summaries, refreshed draws and comparisons: they say what is done, and end complete."""

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.run_options import RunOptions

DRAWS = np.random.default_rng(0).normal(size=(200, 2))


def _log_density(x):
    return -jnp.sum(x**2) / 2


@pytest.fixture
def meters(monkeypatch: pytest.MonkeyPatch) -> list:
    """All bars with an end that are made from now on."""
    made = []
    make = RunOptions.meter

    def recorded(self: RunOptions, total: int, unit: str, label: str):
        made.append(make(self, total, unit, label))
        return made[-1]

    monkeypatch.setattr(RunOptions, "meter", recorded)
    return made


@pytest.mark.parametrize(("verb", "most"), [(sw.summary, 10), (sw.refresh, 5)])
def test_bars_of_sweeps_reach_their_ends(
    verb, most: int, meters: list, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a bar for all sweeps that may come: a notebook leaves it in red if fewer suffice."""
    verb(DRAWS, _log_density, progress=True)
    assert meters
    assert all(meter.n == meter.total for meter in meters)
    shown = capsys.readouterr().err
    assert "compiling what follows the density along lines ..." in shown
    for number in range(1, len(meters) + 1):
        assert f"refreshing draws, sweep {number} of at most {most}" in shown


def test_a_comparison_says_which_set_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    """Catches bars of several checks in a row that look like one check that starts again."""
    sw.compare({"NUTS": DRAWS, "ADVI": DRAWS * 0.9}, _log_density, progress=True)
    shown = capsys.readouterr().err
    stages = ("checking set 1 of 2, NUTS ...", "checking set 2 of 2, ADVI ...")
    at = [shown.index(stage) for stage in ("compiling the density ...", *stages)]
    assert at == sorted(at)
    sw.compare({"NUTS": DRAWS, "ADVI": DRAWS * 0.9}, _log_density)
    assert capsys.readouterr().err == ""
