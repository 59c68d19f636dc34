"""What all stand-ins share: data to learn from, refusals, and settings that are checked."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import steinwise as sw
from steinwise.conditionals import (
    KDE,
    AbstractConditional,
    Auto,
    Histogram,
    Linear,
    MixtureDensity,
    Sampled,
    Sampler,
    TrainingData,
    Transported,
)
from steinwise.methods.kccsd import KCCSD
from tests.conditionals.examples import TARGET, D, Recorder, normal, training

NOTHING_TO_LEARN = Sampler(lambda key, x, n_atoms: np.zeros((*x.shape, n_atoms)))  # noqa: ARG005


def test_a_constant_coordinate_is_named() -> None:
    """Catches a chain that is stuck while it is learned from, and moves later."""
    stuck = normal(0, 40)
    stuck[:, 1] = 2.0
    with pytest.raises(sw.InputError, match="b1 has the same value in all 40 training draws"):
        Linear().fit(training(stuck, normal(1, 20)))


def test_large_data_are_thinned_evenly() -> None:
    data = training(np.arange(100.0)[:, None], np.arange(30.0)[:, None])
    train, validation = data.at_most(10)
    assert train[:, 0].tolist() == [0, 11, 22, 33, 44, 55, 66, 77, 88, 99]
    assert len(validation) == 5
    assert [len(rows) for rows in data.at_most(1000)] == [100, 30]


def test_a_stand_in_of_ones_own_needs_no_more_than_atoms() -> None:
    result = sw.check(normal(0, 400), TARGET, method=KCCSD(Recorder.new()))
    assert [row.validation_loss for row in result.learned] == [None] * D
    assert [row.model for row in result.learned] == ["Recorder"] * D


def test_a_stand_in_whose_fit_returns_no_fitted_one_is_refused() -> None:
    @dataclass(frozen=True)
    class Settings(AbstractConditional):
        def fit(self, data: TrainingData) -> Any:  # noqa: ARG002
            return self

    data = training(normal(0, 40), normal(1, 20))
    for model in (Sampled(Settings()), Auto([Linear(), Settings()])):
        with pytest.raises(sw.InputError, match=r"Settings\.fit returned .* derive it from both"):
            model.fit(data)


@pytest.mark.parametrize(
    "model",
    [Transported(), Auto(), Auto([Linear(), Transported()]), Sampled(Transported())],
    ids=str,
)
def test_a_stand_in_that_uses_the_target_needs_one(model: AbstractConditional) -> None:
    data = replace(training(normal(0, 40), normal(1, 20)), target=None)
    assert model.uses_target
    with pytest.raises(sw.InputError, match=r"learned from the draws alone.*Linear\(\)"):
        model.fit(data)


@pytest.mark.parametrize("model", [Histogram(4, epochs=0), KDE(), Linear()], ids=str)
def test_other_stand_ins_do_not_use_the_target(model: AbstractConditional) -> None:
    data = training(normal(0, 40), normal(1, 20))
    assert not model.uses_target
    with_target, without = (
        model.fit(replace(data, target=target)).atoms(normal(2, 3), 0, 0)
        for target in (data.target, None)
    )
    np.testing.assert_array_equal(with_target.points, without.points)
    np.testing.assert_array_equal(with_target.weights, without.weights)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (Histogram, {"bins": 1}, "bins is 1: expected a whole number, at least 2"),
        (Histogram, {"hidden": 0}, "hidden is 0"),
        (Histogram, {"epochs": 2.5}, "epochs is 2.5"),
        (Histogram, {"learning_rate": 0}, "learning_rate is 0"),
        (KDE, {"cells": 1}, "cells is 1"),
        (Linear, {"n_atoms": 0}, "n_atoms is 0"),
        (MixtureDensity, {"components": 0}, "components is 0"),
        (Transported, {"bins": 3}, "bins is 3: expected a divisor of 32"),
        (Auto, {"candidates": []}, "candidates is"),
        (Auto, {"candidates": [NOTHING_TO_LEARN]}, "stand-ins that learn"),
        (Sampled, {"conditional": NOTHING_TO_LEARN}, "a stand-in that learns"),
        (KCCSD, {"split": (0.5, 0.5)}, "split is"),
        (KCCSD, {"split": (0.5, 0.5, 0.5)}, "sum to 1"),
        (KCCSD, {"splits": 0}, "splits is 0"),
        (KCCSD, {"conditional": NOTHING_TO_LEARN, "splits": 2}, "learns nothing"),
    ],
)
def test_wrong_settings_are_refused(kind: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(sw.InputError, match=message):
        kind(**settings)
