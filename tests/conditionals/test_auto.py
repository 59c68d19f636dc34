"""The choice between stand-ins."""

import numpy as np
import pytest

import steinwise as sw
from steinwise.conditionals import KDE, Auto, Histogram, Linear
from steinwise.methods.kccsd import KCCSD
from tests.conditionals.examples import (
    TARGET,
    D,
    Recorder,
    losses,
    normal,
    quiet_check,
    training,
)


def test_auto_takes_the_model_that_predicts_and_says_so() -> None:
    result = quiet_check(normal(0, 600), KCCSD(Auto([Histogram(20), Linear()])))
    assert [row.model for row in result.learned] == ["Linear"] * D
    assert all(row.validation_loss < row.marginal_loss for row in result.learned)
    table = result.to_dataframe()
    assert list(table["model"]) == ["Linear"] * D
    assert result.to_dict()["learning"]["rows"][0]["model"] == "Linear"
    assert "Linear; from 120 draws, validated on 60" in str(result)


def test_auto_may_take_another_model_for_one_coordinate() -> None:
    """x_2 has two branches, which only the neighbours see; the others are linear."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 3))
    x[:, 1] += 2 * x[:, 0]
    x[:, 2] = np.sign(x[:, 2]) * np.abs(x[:, 0]) + 0.1 * rng.normal(size=1500)
    data = training(x[:1000], x[1000:])
    assert Auto([Linear(), KDE()]).fit(data).chosen(3)[2] == "KDE"
    lowest = Auto([Linear(), KDE()], ties=0).fit(data)
    best = np.argmin([losses(model, data) for model in (Linear(), KDE())], axis=0)
    assert lowest.chosen(3) == tuple(("Linear", "KDE")[k] for k in best)


def test_a_candidate_without_a_density_is_refused() -> None:
    with pytest.raises(sw.InputError, match="no log_density, which Auto needs"):
        sw.check(normal(0, 400), TARGET, method=KCCSD(Auto([Linear(), Recorder.new()])))
