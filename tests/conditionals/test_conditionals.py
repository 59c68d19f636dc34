"""Stand-ins that are learnt: laws given the others, fitted apart from the draws that are tested."""

import warnings
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.pvalues import averaged
from steinwise.conditionals import (
    KDE,
    AbstractConditional,
    Atoms,
    Auto,
    Histogram,
    Linear,
    MixtureDensity,
    Sampled,
    Sampler,
    TrainingData,
    Transported,
)
from steinwise.conditionals import linear as linear_module
from steinwise.draws.samples import Samples
from steinwise.methods import KCCSD

D = 3
COVARIANCE = 0.5 * np.eye(D) + 0.5
TARGET = sw.Gaussian(np.zeros(D), np.eye(D))


def normal(seed: int, n: int, covariance: np.ndarray = COVARIANCE) -> np.ndarray:
    rng = np.random.default_rng([5, seed])
    return rng.multivariate_normal(np.zeros(len(covariance)), covariance, n)


def training(
    x: np.ndarray, validation: np.ndarray, blocks: list[list[int]] | None = None, target=None
) -> TrainingData:
    d = x.shape[1]
    parts = [[j] for j in range(d)] if blocks is None else blocks
    return TrainingData(
        x,
        validation,
        tuple(np.array(block) for block in parts),
        tuple(f"b{k}" for k in range(len(parts))),
        sw.Gaussian(np.zeros(d), np.eye(d)) if target is None else target,
        RunOptions(progress=False),
    )


MODELS: dict[str, AbstractConditional] = {
    "histogram": Histogram(),
    "kde": KDE(),
    "linear": Linear(),
    "mixture density": MixtureDensity(),
    "transported": Transported(),
    "transported, pooled": Transported(8, pooled=True),
    "auto": Auto(),
    "sampled": Sampled(Histogram(), n_atoms=7),
}
each = pytest.mark.parametrize("name", MODELS)
blockwise = pytest.mark.parametrize("model", [Linear(), MixtureDensity()], ids=str)


@pytest.fixture(scope="module")
def fitted() -> dict[str, AbstractConditional]:
    data = training(normal(0, 200), normal(1, 100))
    return {name: model.fit(data) for name, model in MODELS.items()}


def quiet(draws: np.ndarray, target, method: KCCSD, **options) -> sw.CheckResult:
    """A check without its note on coordinates that hardly depend on each other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.SteinwiseWarning)
        return sw.check(draws, target, method=method, progress=False, **options)


# ---------------------------------------------------------------------- the contract of a stand-in


@each
def test_atoms_are_a_law_for_every_row_and_coordinate(name: str, fitted) -> None:
    atoms = fitted[name].atoms(normal(2, 11), 0, 0)
    assert atoms.points.shape == atoms.weights.shape
    assert atoms.points.shape[:2] == (11, D)
    assert np.isfinite(atoms.points).all()
    assert (atoms.weights >= 0).all()
    np.testing.assert_allclose(atoms.weights.sum(axis=-1), 1.0, rtol=1e-9)


@each
def test_a_law_given_the_others_does_not_see_the_coordinate_itself(name: str, fitted) -> None:
    """Catches a network or a regression that has x_j among its inputs."""
    x = normal(3, 9)
    for j in range(D):
        moved = x.copy()
        moved[:, j] += 0.7
        one, other = (fitted[name].atoms(rows, 0, 0) for rows in (x, moved))
        np.testing.assert_allclose(one.points[:, j], other.points[:, j], atol=1e-9)
        np.testing.assert_allclose(one.weights[:, j], other.weights[:, j], atol=1e-7)


@each
def test_the_density_integrates_to_one_and_has_the_mean_of_the_atoms(name: str, fitted) -> None:
    """Catches a missing scale, and a density and atoms that are of different laws."""
    model, x = fitted[name], normal(4, 2)
    grid = np.linspace(-8, 8, 4001)
    for j in range(D):
        lines = np.repeat(x, len(grid), axis=0)
        lines[:, j] = np.tile(grid, len(x))
        density = np.exp(model.log_density(lines)[:, j]).reshape(len(x), -1)
        step = grid[1] - grid[0]
        np.testing.assert_allclose(density.sum(axis=1) * step, 1.0, atol=0.01)
        if name == "sampled":
            continue  # a few draws of it
        atoms = model.atoms(x, 0, 0)
        mean = (atoms.points * atoms.weights).sum(axis=-1)[:, j]
        np.testing.assert_allclose((density * grid).sum(axis=1) * step, mean, atol=0.08)


@each
def test_the_same_draws_and_seed_give_the_same_stand_in_in_any_configuration(name: str) -> None:
    data = training(normal(0, 60), normal(1, 30))
    model = MODELS[name]
    x = normal(2, 5)
    plain = model.fit(data).atoms(x, 3, 0)
    with jax.enable_x64(True):
        wide = model.fit(data).atoms(x, 3, 0)
    np.testing.assert_array_equal(plain.points, wide.points)
    np.testing.assert_array_equal(plain.weights, wide.weights)


@each
def test_any_stand_in_gives_a_mean_of_zero_where_the_draws_are_right(name: str, fitted) -> None:
    """The paper's lemma on the null: r was learnt from other draws, and is not p's conditional."""
    method = replace(KCCSD(fitted[name]), learning=quiet_learning())
    found = method.contributions(Samples.of(normal(5, 6000, np.eye(D))), TARGET, RunOptions())
    z = found.mean(axis=0) / found.std(axis=0) * np.sqrt(len(found))
    assert np.abs(z).max() < 4


def quiet_learning():
    return sw.results.Learning(train=1, validation=1, tested=1, splits=1, rows=())


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
    truth = sw.kccsd(tested, TARGET, conditional=Sampler(exact, n_atoms=200)).per_coordinate.sum()
    losses, errors = [], []
    for n in (8, 30, 120, 1000):
        found = []
        for seed in range(12):
            data = training(normal(100 + seed, n), normal(200 + seed, 500))
            model = Linear().fit(data)
            method = replace(KCCSD(model), learning=quiet_learning())
            value = (
                method.contributions(Samples.of(tested), TARGET, RunOptions()).mean(axis=0).sum()
            )
            found.append((-model.log_density(data.validation).mean(), abs(value - truth)))
        loss, error = np.mean(found, axis=0)
        losses.append(loss)
        errors.append(error)
    assert losses == sorted(losses, reverse=True)
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.1 * errors[0]


# ------------------------------------------------------------------------------------- each model


def test_all_regressions_in_one_solve_are_the_regressions_one_by_one() -> None:
    x = normal(0, 50) * [1.0, 3.0, 0.2] + 1.0
    data = training(x, normal(1, 30) * [1.0, 3.0, 0.2] + 1.0)
    model = Linear().fit(data)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    penalties = linear_module.PENALTIES
    fits = []
    for j in range(D):
        others = np.delete(z, j, axis=1)
        gram = others.T @ others / len(z)
        fits.append(
            [
                np.linalg.solve(gram + a * np.eye(D - 1), others.T @ z[:, j] / len(z))
                for a in penalties
            ]
        )
    new = normal(2, 4) * [1.0, 3.0, 0.2] + 1.0
    seen = (new - x.mean(axis=0)) / x.std(axis=0)
    atoms = model.atoms(new, 0, 0)
    centres = atoms.points[..., 0] - atoms.points[:1, :, :1].squeeze(-1)
    close = []
    for k in range(len(penalties)):
        means = np.stack(
            [np.delete(seen, j, axis=1) @ fits[j][k] for j in range(D)], axis=1
        ) * x.std(axis=0)
        close.append(np.allclose(centres, means - means[:1], atol=1e-9))
    assert sum(close) == 1  # one penalty serves all coordinates


def test_residuals_keep_their_shape() -> None:
    """Catches normal residuals in place of the draws' own."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 2))
    x[:, 1] = 0.8 * x[:, 0] + rng.exponential(size=3000)
    atoms = Linear().fit(training(x[:2000], x[2000:])).atoms(np.array([[1.0, 0.0]]), 0, 0)
    law = atoms.points[0, 1]
    assert law.mean() == pytest.approx(np.polyval(np.polyfit(*x[:2000].T, 1), 1.0), abs=0.05)
    assert stats.skew(law) > 1.2


def test_an_untrained_histogram_is_the_marginal_one() -> None:
    data = training(normal(0, 300), normal(1, 100))
    atoms = Histogram(bins=8, epochs=0).fit(data).atoms(normal(2, 4), 0, 0)
    both = np.concatenate([data.train, data.validation])
    for j in range(D):
        edges = np.linspace(both[:, j].min(), both[:, j].max(), 9)
        counts = np.histogram(data.train[:, j], edges)[0] + 0.5
        np.testing.assert_allclose(atoms.points[0, j], (edges[1:] + edges[:-1]) / 2)
        np.testing.assert_allclose(atoms.weights[:, j], [counts / counts.sum()] * 4, rtol=1e-5)


def test_training_keeps_the_best_epoch_of_every_network() -> None:
    """Catches a last epoch that overfits: x[0] depends on x[1], x[2] is alone."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    x[:, 0] = 0.95 * x[:, 1] + 0.3 * x[:, 0]
    data = training(x[:200], x[200:])
    start, end = (Histogram(10, epochs=e).fit(data) for e in (0, 400))
    before, after = (-m.log_density(data.validation).mean(axis=0) for m in (start, end))
    assert (after <= before + 1e-6).all()
    assert after[0] < before[0] - 0.3


@pytest.mark.parametrize("model", [Histogram(10, epochs=60), MixtureDensity(epochs=60)], ids=str)
def test_networks_trained_in_groups_learn_the_same(model: AbstractConditional) -> None:
    """Catches a group whose draws, labels or inputs are those of another."""
    data = training(normal(0, 400), normal(1, 100))
    together = model.fit(data).log_density(data.validation)
    alone = replace(data, run=RunOptions(progress=False, memory=1))
    found = model.fit(alone).log_density(data.validation)
    assert together is not None
    assert found is not None
    np.testing.assert_allclose(found, together, atol=1e-3)


def test_nearness_is_learnt() -> None:
    """A law that no line describes: two branches around x_0 = +-x_1."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 2))
    x[:, 0] = np.sign(x[:, 0]) * np.abs(x[:, 1]) + 0.1 * rng.normal(size=900)
    data = training(x[:600], x[600:])
    near, straight = (
        -model.fit(data).log_density(data.validation).mean(axis=0)[0] for model in (KDE(), Linear())
    )
    assert near < straight - 0.4


def test_the_transported_density_is_exact() -> None:
    target = sw.Target(lambda x: -2 * jnp.sum(jnp.log1p(x**2 / 3)))
    rng = np.random.default_rng(0)
    data = training(rng.standard_t(3, size=(60, 2)), rng.standard_t(3, size=(20, 2)), target=target)
    x = rng.standard_t(3, size=(30, 2))
    found = Transported(bins=1).fit(data).log_density(x)
    np.testing.assert_allclose(found, stats.t(3).logpdf(x), atol=1e-4)
    data = training(normal(0, 60), normal(1, 20))
    found = Transported(bins=1).fit(data).log_density(x := normal(2, 30))
    np.testing.assert_allclose(found, stats.norm.logpdf(x), atol=1e-9)


def test_one_histogram_of_transforms_can_serve_all_coordinates() -> None:
    data = training(0.5 * normal(0, 200, np.eye(D)), normal(1, 20, np.eye(D)))
    own, pooled = (Transported(8, pooled=p).fit(data).atoms(normal(2, 3), 0, 0) for p in (0, 1))
    assert np.ptp(pooled.weights, axis=1).max() == 0 < np.ptp(own.weights, axis=1).max()
    assert pooled.weights[0, 0, 0] < 0.01 < pooled.weights[0, 0, 15]  # narrow draws


def test_sampled_atoms_come_from_the_weighted_ones() -> None:
    model = Histogram(6).fit(data := training(normal(0, 200), normal(1, 50)))
    x = normal(2, 3)
    every = model.atoms(x, 0, 0)
    many = Sampled(Histogram(6), n_atoms=4000).fit(data).atoms(x, 0, 0)
    means = [(atoms.points * atoms.weights).sum(axis=-1) for atoms in (every, many)]
    np.testing.assert_allclose(*means, atol=0.08)  # 4 standard errors and more
    assert set(np.unique(many.points[0, 0])) <= set(every.points[0, 0])


def test_auto_takes_the_model_that_predicts_and_says_so() -> None:
    method = KCCSD(Auto([Histogram(20), Linear()]))
    result = quiet(normal(0, 600), TARGET, method)
    assert [row.model for row in result.learnt] == ["Linear"] * D
    assert all(row.validation_loss < row.marginal_loss for row in result.learnt)
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
    losses = [-m.fit(data).log_density(data.validation).mean(axis=0) for m in (Linear(), KDE())]
    expected = tuple(("Linear", "KDE")[k] for k in np.argmin(losses, axis=0))
    assert lowest.chosen(3) == expected


def test_a_model_no_better_than_the_marginal_law_is_said() -> None:
    draws = normal(0, 300, np.eye(D))
    with pytest.warns(sw.SteinwiseWarning, match=r"of 3 coordinates \(x\[0\].* no better than"):
        result = sw.check(draws, TARGET, method=KCCSD(Linear()))
    assert result.findings.learning.no_better()


# -------------------------------------------------------------------------------------- blocks


@blockwise
def test_the_atoms_of_a_block_are_joint(model) -> None:
    """Catches entries of a block that are drawn apart from each other."""
    covariance = np.array([[1.0, 0.8, 0.3], [0.8, 1.0, 0.3], [0.3, 0.3, 1.0]])
    data = training(normal(0, 1500, covariance), normal(1, 500, covariance), [[0, 1], [2]])
    found = model.fit(data)
    atoms = found.atoms(np.array([[9.0, 9.0, 0.5]]), 0, 0)
    weights = atoms.weights[0, 0]
    np.testing.assert_array_equal(atoms.weights[0, 0], atoms.weights[0, 1])
    points = atoms.points[0, :2]
    mean = points @ weights
    spread = (points - mean[:, None]) * weights @ (points - mean[:, None]).T
    exact = covariance[:2, :2] - np.outer(covariance[:2, 2], covariance[:2, 2])
    np.testing.assert_allclose(mean, 0.3 * np.array([0.5, 0.5]), atol=0.25)
    np.testing.assert_allclose(spread, exact, atol=0.3)
    assert spread[0, 1] > 0.4
    law = stats.multivariate_normal(mean=covariance[:2, 2] * 0.5, cov=exact)
    x = np.array([[0.3, 0.1, 0.5], [-1.0, -0.8, 0.5]])
    np.testing.assert_allclose(found.log_density(x)[:, 0], law.logpdf(x[:, :2]), atol=0.5)


@blockwise
def test_a_wrong_dependence_inside_a_block_is_found(model) -> None:
    covariance = np.eye(3)
    covariance[0, 1] = covariance[1, 0] = 0.7
    method = KCCSD(model, blocks=[[0, 1], [2]], kernel=sw.kernels.RBF(1.5))
    result = quiet(normal(0, 600, covariance), TARGET, method)
    assert result.rejected
    assert result.coordinates[0].adjusted_pvalue <= 0.05 < result.coordinates[1].adjusted_pvalue


@pytest.mark.parametrize("model", [Histogram(), KDE(), Transported()], ids=str)
def test_a_model_of_one_coordinate_refuses_blocks(model) -> None:
    with pytest.raises(sw.InputError, match=r"one coordinate at a time.*Linear\(\)"):
        sw.check(normal(0, 300), TARGET, method=KCCSD(model, blocks=[[0, 1], [2]]))


# ---------------------------------------------------------------------------------------- splits


@dataclass(frozen=True, eq=False)
class Spy(AbstractConditional):
    """The marginal quartiles; remembers what it was given."""

    seen: list
    quartiles: np.ndarray | None = None

    def fit(self, data: TrainingData) -> "Spy":
        self.seen.append((data.train, data.validation))
        return replace(self, quartiles=np.quantile(data.train, [0.25, 0.5, 0.75], axis=0).T)

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:  # noqa: ARG002
        self.seen.append(x)
        points = np.broadcast_to(self.quartiles, (*x.shape, 3))
        return Atoms(points, np.full(points.shape, 1 / 3))


def test_no_draw_is_learnt_from_and_tested() -> None:
    draws, spy = normal(0, 200), Spy([])
    result = sw.check(draws, TARGET, method=KCCSD(spy))
    (train, validation), tested = spy.seen[0], np.concatenate(spy.seen[1:])
    assert (len(train), len(validation), len(tested)) == (40, 20, 140)
    assert result.findings.learning.train == 40
    assert result.draws.held_out == 60
    parts = np.concatenate([train, validation, tested])
    np.testing.assert_array_equal(np.sort(parts, axis=0), np.sort(draws, axis=0))
    assert not np.array_equal(train, draws[:40])  # independent draws are shuffled, by the seed


def test_a_chain_is_cut_into_stretches() -> None:
    draws = normal(0, 800).reshape(2, 400, D)
    spy = Spy([])
    sw.check(draws, TARGET, method=KCCSD(spy), batch_length=8)
    train, validation = spy.seen[0]
    np.testing.assert_array_equal(train, draws[:, :80].reshape(-1, D))
    np.testing.assert_array_equal(validation, draws[:, 80:120].reshape(-1, D))

    spy = Spy([])
    sw.check(draws, TARGET, method=KCCSD(spy, splits=3), batch_length=8)
    stretches = [item[0] for item in spy.seen if isinstance(item, tuple)]
    for number, stretch in enumerate(stretches):
        start = round(number / 3 * 280)
        np.testing.assert_array_equal(stretch, draws[:, start : start + 80].reshape(-1, D))


def test_several_splits_are_averaged_on_the_scale_of_normal_scores() -> None:
    draws = normal(0, 300) * 1.1
    single = [
        sw.check(draws, sw.Gaussian(np.zeros(D), COVARIANCE), method=KCCSD(Linear(), splits=k))
        for k in (1, 4)
    ]
    assert single[1].findings.learning.splits == 4
    assert "4 splits averaged" in str(single[1])
    assert single[0].pvalue != single[1].pvalue

    def verdict(p: float):
        nothing = np.array([p])
        return sw.calibration.Calibration(
            1.0, p, None, 1.0, np.zeros(999), nothing, nothing, nothing, ()
        )

    together = averaged([verdict(p) for p in (0.01, 0.2, 0.6)])
    expected = stats.norm.sf(np.mean(stats.norm.isf([0.01, 0.2, 0.6])))
    assert together.pvalue == pytest.approx(expected)
    assert together.adjusted_pvalues[0] == pytest.approx(expected)
    assert averaged([verdict(0.3)]).pvalue == 0.3
    assert averaged([verdict(1.0), verdict(0.001)]).pvalue == pytest.approx(0.5)


def test_a_stand_in_of_ones_own_needs_no_more_than_atoms() -> None:
    result = sw.check(normal(0, 400), TARGET, method=KCCSD(Spy([])))
    assert [row.validation_loss for row in result.learnt] == [None] * D
    with pytest.raises(sw.InputError, match="no log_density, which Auto needs"):
        sw.check(normal(0, 400), TARGET, method=KCCSD(Auto([Linear(), Spy([])])))


# ---------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("model", [m for m in MODELS.values() if m.learns], ids=str)
def test_too_few_draws_name_the_smallest_number_that_works(model) -> None:
    with pytest.raises(sw.TooFewDraws, match=r"which is [0-9]+ draws in all") as error:
        quiet(normal(0, 10), TARGET, KCCSD(model))
    smallest = int(str(error.value).split("which is ")[1].split()[0])
    quiet(normal(0, smallest), TARGET, KCCSD(model), n_bootstrap=99)
    with pytest.raises(sw.TooFewDraws):
        quiet(normal(0, smallest - 1), TARGET, KCCSD(model))


def test_training_that_diverges_names_the_coordinate() -> None:
    """A draw so far out that its squared distance overflows in 32 bit."""
    validation = normal(1, 30)
    validation[7, 1] = 1e25
    with pytest.raises(sw.InputError, match=r"the validation loss of b1 is inf in epoch 0\."):
        MixtureDensity().fit(training(normal(0, 60), validation))


def test_a_constant_coordinate_is_named() -> None:
    """Catches a chain that is stuck while it is learnt from, and moves later."""
    stuck = normal(0, 40)
    stuck[:, 1] = 2.0
    with pytest.raises(sw.InputError, match="b1 has the same value in all 40 training draws"):
        Linear().fit(training(stuck, normal(1, 20)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Histogram(bins=1), "bins is 1: expected a whole number, at least 2"),
        (lambda: Histogram(hidden=0), "hidden is 0"),
        (lambda: Histogram(epochs=2.5), "epochs is 2.5"),
        (lambda: Histogram(learning_rate=0), "learning_rate is 0"),
        (lambda: KDE(cells=1), "cells is 1"),
        (lambda: Linear(n_atoms=0), "n_atoms is 0"),
        (lambda: MixtureDensity(components=0), "components is 0"),
        (lambda: Auto([]), "candidates is"),
        (lambda: Auto([Sampler(len)]), "stand-ins that learn"),
        (lambda: Sampled(Sampler(len)), "a stand-in that learns"),
        (lambda: KCCSD(split=(0.5, 0.5)), "split is"),
        (lambda: KCCSD(split=(0.5, 0.5, 0.5)), "sum to 1"),
        (lambda: KCCSD(splits=0), "splits is 0"),
        (lambda: KCCSD(Sampler(len), splits=2), "learns nothing"),
    ],
)
def test_wrong_settings_are_refused(make, message: str) -> None:
    with pytest.raises(sw.InputError, match=message):
        make()


@each
def test_a_stand_in_that_has_learnt_nothing_says_so(name: str) -> None:
    with pytest.raises(sw.InputError, match="has not learnt anything yet"):
        MODELS[name].atoms(normal(0, 3), 0, 0)
