"""The contract that every stand-in keeps."""

import jax
import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise.conditionals import AbstractFittedConditional, Linear, Sampler, TrainingData
from steinwise.methods.kccsd import KCCSD
from tests.conditionals.examples import (
    COVARIANCE,
    MODELS,
    TARGET,
    AlreadyFitted,
    D,
    normal,
    quiet_check,
    training,
)

each = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def data() -> TrainingData:
    return training(normal(0, 200), normal(1, 100))


@pytest.fixture(scope="module")
def fitted(data: TrainingData) -> dict[str, AbstractFittedConditional]:
    return {name: model.fit(data) for name, model in MODELS.items()}


@each
def test_atoms_are_a_distribution_for_every_row_and_coordinate(name: str, fitted) -> None:
    atoms = fitted[name].atoms(normal(2, 11), 0, 0)
    assert atoms.points.shape == atoms.weights.shape
    assert atoms.points.shape[:2] == (11, D)
    assert np.isfinite(atoms.points).all()
    assert (atoms.weights >= 0).all()
    np.testing.assert_allclose(atoms.weights.sum(axis=-1), 1.0, rtol=1e-9)


@each
def test_a_conditional_distribution_does_not_depend_on_the_coordinate_itself(
    name: str, fitted
) -> None:
    """Catches a network or a regression that has x_j among its inputs."""
    x = normal(3, 9)
    for j in range(D):
        moved = x.copy()
        moved[:, j] += 0.7
        before, after = (fitted[name].atoms(rows, 0, 0) for rows in (x, moved))
        np.testing.assert_allclose(before.points[:, j], after.points[:, j], atol=1e-9)
        np.testing.assert_allclose(before.weights[:, j], after.weights[:, j], atol=1e-7)


@each
def test_the_density_integrates_to_one_and_has_the_mean_of_the_atoms(name: str, fitted) -> None:
    """Catches a missing scale, and a density and atoms of different distributions."""
    model, x = fitted[name], normal(4, 2)
    grid = np.linspace(-8, 8, 4001)
    for j in range(D):
        lines = np.repeat(x, len(grid), axis=0)
        lines[:, j] = np.tile(grid, len(x))
        density = np.exp(model.log_density(lines)[:, j]).reshape(len(x), -1)
        step = grid[1] - grid[0]
        np.testing.assert_allclose(density.sum(axis=1) * step, 1.0, atol=0.01)
        if name == "sampled":
            continue  # its atoms are a few random draws
        atoms = model.atoms(x, 0, 0)
        mean = (atoms.points * atoms.weights).sum(axis=-1)[:, j]
        np.testing.assert_allclose((density * grid).sum(axis=1) * step, mean, atol=0.08)


@each
def test_the_same_draws_and_seed_give_the_same_stand_in_in_any_configuration(
    name: str, data: TrainingData, fitted
) -> None:
    x = normal(2, 5)
    plain = fitted[name].atoms(x, 3, 0)
    with jax.enable_x64(True):
        wide = MODELS[name].fit(data).atoms(x, 3, 0)
    np.testing.assert_array_equal(plain.points, wide.points)
    np.testing.assert_array_equal(plain.weights, wide.weights)


@each
def test_any_stand_in_gives_a_mean_of_zero_where_the_draws_are_right(name: str, fitted) -> None:
    """The paper's lemma on the null: r was learned from other draws, and is not p's conditional."""
    draws = normal(5, 6000, np.eye(D))
    h = sw.kccsd(draws, TARGET, conditional=AlreadyFitted(fitted[name])).contributions
    assert h is not None
    z = h.mean(axis=0) / h.std(axis=0) * np.sqrt(len(h))
    assert np.abs(z).max() < 4


@each
def test_settings_and_what_was_learned_have_the_same_name(name: str, fitted) -> None:
    assert fitted[name].describe() == MODELS[name].describe()
    assert len(fitted[name].chosen(D)) == D


def test_the_error_of_the_discrepancy_falls_with_the_validation_loss() -> None:
    """The paper's lemma on the bound, where S is known: q normal, all correlations 0.5.

    The conditional of q is N(m, s^2) with m linear in the others, and k_cc of two points of one
    line has a mean that q's own sampler gives to any accuracy.
    """
    weights = -np.linalg.inv(COVARIANCE) / np.linalg.inv(COVARIANCE).diagonal()[:, None]
    np.fill_diagonal(weights, 0.0)
    sd = np.linalg.inv(COVARIANCE).diagonal() ** -0.5
    nodes = stats.norm.ppf((np.arange(200) + 0.5) / 200)

    def exact(key, x, n_atoms):
        return (x @ weights.T)[..., None] + sd[:, None] * nodes

    tested = normal(6, 4000)
    truth = sw.kccsd(tested, TARGET, conditional=Sampler(exact, n_atoms=200)).value
    mean_losses, mean_errors = [], []
    for n in (8, 30, 120, 1000):
        losses_and_errors = []
        for seed in range(12):
            data = training(normal(100 + seed, n), normal(200 + seed, 500))
            fitted = Linear().fit(data)
            value = sw.kccsd(tested, TARGET, conditional=AlreadyFitted(fitted)).value
            loss = -fitted.log_density(data.validation).mean()
            losses_and_errors.append((loss, abs(value - truth)))
        loss, error = np.mean(losses_and_errors, axis=0)
        mean_losses.append(loss)
        mean_errors.append(error)
    assert mean_losses == sorted(mean_losses, reverse=True)
    assert mean_errors == sorted(mean_errors, reverse=True)
    assert mean_errors[-1] < 0.1 * mean_errors[0]


@pytest.mark.parametrize("model", MODELS.values(), ids=str)
def test_too_few_draws_name_the_smallest_number_that_works(model) -> None:
    with pytest.raises(sw.TooFewDraws, match=r"which is [0-9]+ draws in all") as error:
        quiet_check(normal(0, 10), KCCSD(model))
    smallest = int(str(error.value).split("which is ")[1].split()[0])
    quiet_check(normal(0, smallest), KCCSD(model), n_bootstrap=99)
    with pytest.raises(sw.TooFewDraws):
        quiet_check(normal(0, smallest - 1), KCCSD(model))
