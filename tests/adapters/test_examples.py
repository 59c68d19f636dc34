"""The worked examples: each runs, says what its first lines promise, and leaves its pictures."""

import importlib
import re

import matplotlib.pyplot as plt
import pytest


def _section(text: str, name: str) -> str:
    return text.split(f"--- {name} ---")[1].split("\n--- ")[0]


@pytest.fixture
def run(capsys, tmp_path):
    def example(name: str) -> tuple[str, set[str]]:
        importlib.import_module(f"examples.{name}").main(str(tmp_path))
        plt.close("all")
        return capsys.readouterr().out, {picture.name for picture in tmp_path.iterdir()}

    return example


def test_eight_schools(run):
    """The bad run is seen in the coordinates in which log tau moves alone, and named."""
    text, pictures = run("eight_schools")
    assert "No misfit found" in _section(text, "non_centred")
    found = _section(text, "centred_seen_along_z")
    assert "Misfit" in found
    assert found.split("verdict\n")[1].lstrip().startswith("log_tau")
    assert len(pictures) == 3


def test_mean_field(run):
    text, pictures = run("mean_field")
    assert "because their dependence on slope[0] is wrong" in " ".join(text.split())
    assert "draws are too narrow" in _section(text, "mean_field_turned")
    assert pictures == {"mean_field.png", "mean_field_turned.png", "mean_field_pair.png"}


def test_pathfinder(run):
    text, pictures = run("pathfinder")
    assert "Misfit" in text
    assert pictures == {"pathfinder.png", "pathfinder_log_rate.png"}


def test_langevin(run):
    """The middle step wins; the largest is found out although its chains mix best."""
    text, pictures = run("langevin")
    ranking = [line.split("  ")[1] for line in text.splitlines() if line.startswith("  step")]
    assert ranking[0] == "step 0.002"
    assert "draws are too wide" in _section(text, "step 0.02")
    assert "largest R-hat 1.00" in text
    assert pictures == {"langevin.png"}


def test_minibatches(run):
    """The same draws are too wide by fresh minibatches, too narrow by those that moved them."""
    text, pictures = run("minibatches")
    assert "draws are too wide" in _section(text, "plain")
    assert "No misfit found" in _section(text, "control variates")
    assert "draws are too narrow" in _section(text, "plain, by the minibatches that moved it")
    assert pictures == {"minibatches.png"}


def test_plain_data(run):
    text, pictures = run("plain_data")
    assert re.search(r"income [^?]*? draws have heavier tails than", " ".join(text.split()))
    assert pictures == {"plain_data.png", "plain_data_income.png"}
