"""RPhiSD: the reference figures, the importance distributions, and both nulls."""

from typing import Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import Batches, cut_by_length
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.functional import rfsd_log_squares
from steinwise.methods.rfsd import RFSD, FittedRFSD
from steinwise.methods.rfsd_bases import MultiquadricBase, SecantBase
from steinwise.methods.statistics.feature_means import FeatureMeans, squares

# of X and V below, with gamma = 0.25, by an independent implementation
C_PRIME, BETA_PRIME, LOG_AT_V = 5.2590376843953885, -17.187500000000004, -48.19199881447129
X = np.random.default_rng(0).laplace(0, 1 / np.sqrt(2), (200, 5))
V = np.random.default_rng(1).standard_normal((5, 5))
Kind = Literal["imq", "sech"]
KINDS = get_args(Kind)
BASES = {
    "imq": MultiquadricBase(np.array([0.5, -1.0]), scale=1.3, exponent=-2.0, degrees=2.5),
    "sech": SecantBase(np.array([0.5, -1.0]), rate=1.1, tail_rate=0.6),
}


def normal(d: int) -> sw.Gaussian:
    return sw.Gaussian(np.zeros(d), np.eye(d))


def means(x: np.ndarray, method: RFSD, run: RunOptions | None = None) -> FeatureMeans:
    samples = Samples.of(x, independent=True)
    return FittedRFSD(method, samples).statistic(normal(samples.dim), run or RunOptions())


def features(statistic: FeatureMeans, x: np.ndarray) -> np.ndarray:
    """The features of any points."""
    return statistic.features(x, normal(x.shape[1]).score(x))


def target_normals(seed: int, n: int, d: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


# -- values --------------------------------------------------------------------------------------


def test_reference_figures() -> None:
    """Catches a wrong c' or beta', a missing importance weight or 1 / M, and squared values."""
    base = MultiquadricBase.around(X, gamma=0.25, degrees=0.5, seed=0)
    assert base.scale == pytest.approx(C_PRIME, rel=1e-12)
    assert base.exponent == pytest.approx(BETA_PRIME, rel=1e-12)
    found = means(X, RFSD(gamma=0.25, locations=V)).log_squares()
    assert np.logaddexp.reduce(found) / 2 == pytest.approx(LOG_AT_V, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_squares_of_mean_features_by_loops(kind: Kind) -> None:
    """Catches a wrong derivative, r in the wrong place, and a unit that is lost or kept twice."""
    x, z = X[:40, :3], V[:4, :3]
    method = RFSD(kind, locations=z)
    base = type(BASES[kind]).around(x, 1.0, 0.5, 0)
    r, step = base.order, 1e-6

    def phi(point: np.ndarray, m: int) -> float:
        if isinstance(base, MultiquadricBase):
            return (base.scale**2 + ((point - z[m]) ** 2).sum()) ** base.exponent
        return float(np.prod(1 / np.cosh(base.rate * (point - z[m]))))

    weights = np.exp(-base.log_density(z)) / len(z)
    expected = np.zeros(3)
    for j, e in enumerate(step * np.eye(3)):
        for m in range(len(z)):
            values = [-p[j] * phi(p, m) + (phi(p + e, m) - phi(p - e, m)) / (2 * step) for p in x]
            expected[j] += weights[m] * abs(np.mean(values)) ** r
    np.testing.assert_allclose(means(x, method).log_squares(), np.log(expected) * 2 / r, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [3, 60])
def test_the_pure_function_gives_the_same_squares(kind: Kind, d: int) -> None:
    """Catches a twin with other weights, or one that underflows in many dimensions."""
    rng = np.random.default_rng(5)
    x, z = rng.laplace(size=(50, d)), rng.normal(size=(6, d))
    base = type(BASES[kind]).around(x, 1.0, 0.5, 0)
    log_weights = -(base.log_density(z) + np.log(len(z))) / base.order

    def log_base(point: jax.Array, location: jax.Array) -> jax.Array:
        away = point - location
        if isinstance(base, MultiquadricBase):
            return base.exponent * jnp.log(base.scale**2 + jnp.sum(away**2))
        assert isinstance(base, SecantBase)
        return -jnp.sum(jnp.logaddexp(base.rate * away, -base.rate * away) - jnp.log(2.0))

    def total(x: jax.Array) -> jax.Array:
        constants = jnp.asarray(z), jnp.asarray(log_weights)
        squares = rfsd_log_squares(log_base, x, -x, *constants, base.order)
        return jnp.concatenate([squares, jax.nn.logsumexp(squares)[None]])

    with jax.enable_x64(True):
        found = jax.jit(total)(jnp.asarray(x))
        slopes = jax.jit(jax.jacobian(lambda x: total(x)[-1]))(jnp.asarray(x))
    expected = means(x, RFSD(kind, locations=z)).log_squares()
    np.testing.assert_allclose(found[:-1], expected, atol=1e-9)
    assert found[-1] == pytest.approx(np.logaddexp.reduce(expected), abs=1e-9)
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("kind", KINDS)
def test_importance_density_integrates_to_one(kind: Kind) -> None:
    """Catches the published sign error, and a lost constant: a grid in x = sinh(t) reaches far."""
    t = np.linspace(-9, 9, 1201)
    line, weight = np.sinh(t), np.cosh(t) * (t[1] - t[0])
    grid = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(BASES[kind].log_density(grid)).reshape(len(t), -1)
    assert weight @ density @ weight == pytest.approx(1.0, abs=1e-4)


def test_imq_density_is_that_of_the_t_distribution() -> None:
    """Catches degrees of freedom or a scale that the density and the formula do not share."""
    base = BASES["imq"]
    shape = base.scale**2 / base.degrees * np.eye(2)
    expected = stats.multivariate_t(base.centre, shape, df=base.degrees).logpdf(V[:, :2])
    np.testing.assert_allclose(base.log_density(V[:, :2]), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_sampler_follows_the_density(kind: Kind) -> None:
    """Catches the published scale of the sampler, 2 / pi too small, and a centre left out."""
    base = BASES[kind]
    z = base.sample(np.random.default_rng(2), 4000)
    assert z.shape == (4000, 2)
    marginals = {
        "imq": stats.t(2.5, scale=1.3 / np.sqrt(2.5)),
        "sech": stats.hypsecant(scale=1 / 0.6),
    }
    for j in range(2):
        assert stats.kstest(z[:, j] - base.centre[j], marginals[kind].cdf).pvalue > 1e-3


def test_scales_of_the_secant() -> None:
    """Catches a Euclidean median, and a distribution of locations without r = 2."""
    base = SecantBase.around(X, gamma=0.25, degrees=0.5, seed=0)
    distances = [np.abs(X[i] - X[k]).sum() for i in range(200) for k in range(i)]
    assert base.rate == pytest.approx(1 / (0.16 * np.median(distances)), rel=1e-12)
    assert base.tail_rate == pytest.approx(2 / np.median(distances), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_depends_on_the_origin(kind: Kind) -> None:
    """Catches locations that are drawn around 0 instead of the mean of the draws."""
    moved = Samples.of(X + 50.0, independent=True)
    target = sw.Gaussian(np.full(5, 50.0), np.eye(5))
    there = FittedRFSD(RFSD(kind), moved).statistic(target, RunOptions()).log_squares()
    np.testing.assert_allclose(there, means(X, RFSD(kind)).log_squares(), atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_features_have_mean_zero_under_the_target(kind: Kind) -> None:
    """Catches a wrong sign between the score and the slope."""
    x = target_normals(3, 40_000)
    made = features(means(x, RFSD(kind, locations=V[:, :3])), x)
    error = made.std(axis=0) / np.sqrt(len(x))
    np.testing.assert_array_less(np.abs(made.mean(axis=0)), 4 * error)


@pytest.mark.parametrize("kind", KINDS)
def test_two_hundred_dimensions(kind: Kind) -> None:
    """Catches features that underflow: (c'^2 + r^2)^beta' is far below the least float here."""
    x = np.random.default_rng(4).normal(size=(50, 200))
    found = means(x, RFSD(kind, gamma=0.25))
    assert np.isfinite(found.log_squares()).all()
    result = sw.check(x, normal(200), method=RFSD(kind, gamma=0.25), n_bootstrap=99)
    assert 0 < result.statistic < np.inf


# -- nulls ---------------------------------------------------------------------------------------


@pytest.fixture(params=[(1, 61, 7, True), (3, 23, 5, False)], ids=["independent", "chains"])
def batches(request: pytest.FixtureRequest) -> Batches:
    chains, draws, length, independent = request.param
    return cut_by_length(chains, draws, length, independent=independent)


@pytest.mark.parametrize("kind", KINDS)
def test_signs_by_loops(kind: Kind, batches: Batches) -> None:
    """Catches signs per draw, bootstraps of another functional, p-values without the 1 + ."""
    from steinwise.calibration.pvalues import step_down
    from steinwise.calibration.signs import rademacher

    x = target_normals(5, int(batches.bounds[-1])) + 0.2
    method = RFSD(kind, features=4)
    statistic = means(x, method)
    made, r = features(statistic, x), statistic.order
    batch = np.repeat(np.arange(batches.count), batches.lengths)

    def parts(signs: np.ndarray) -> np.ndarray:
        total = (signs[batch, None, None] * made).sum(axis=0)
        return (np.abs(total) ** r).sum(axis=1) ** (2 / r)

    observed = parts(np.ones(batches.count))
    null = np.array([parts(signs) for signs in rademacher(6, 99, batches.count)])
    fitted = FittedRFSD(method, Samples.of(x, independent=True))
    found = fitted.test(statistic, batches, 99, 6).calibration
    assert found.pvalue == (1 + (null.sum(axis=1) >= observed.sum()).sum()) / 100
    np.testing.assert_allclose(found.coordinate_pvalues, (1 + (null >= observed).sum(axis=0)) / 100)
    sums = np.stack([made[batch == g].sum(axis=0) for g in range(batches.count)])
    unit = squares(np.sqrt((sums**2).sum(axis=0)), r)
    np.testing.assert_allclose(found.adjusted_pvalues, step_down(observed / unit, null / unit))
    np.testing.assert_allclose(found.statistic, observed.sum() / unit.sum())
    np.testing.assert_allclose(found.values.sum(), found.statistic)
    np.testing.assert_allclose(found.null, null.sum(axis=1) / unit.sum())


@pytest.mark.parametrize("kind", KINDS)
def test_null_of_the_target_has_its_covariance(kind: Kind) -> None:
    """Catches a covariance of the tested draws, and a wrong power of n or N."""
    x, reference = target_normals(7, 300), target_normals(8, 1000)
    statistic = means(x, RFSD(kind, features=3, null="target", target_draws=reference, gamma=1.0))
    null, spread = statistic.under_target(4000, 9)
    made = features(statistic, reference).reshape(1000, -1)
    expected = 300 * made.T @ made / 1000
    root = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(spread.ravel(), root, rtol=1e-10)
    flat = null.reshape(4000, -1) / root
    bound = 5 * np.sqrt(2 / 4000)  # of a sample covariance of unit variances, 45 distinct entries
    np.testing.assert_allclose(flat.T @ flat / 4000, expected / np.outer(root, root), atol=bound)


def test_draws_of_the_target_by_function_or_array() -> None:
    """Catches a seed that is not used, and an array that is taken for something else."""
    seeds = []

    def draw(seed: int, n: int) -> np.ndarray:
        seeds.append(seed)
        return target_normals(seed, n)

    x, method = target_normals(10, 200), RFSD(null="target", target_draws=draw)
    one, other = (sw.check(x, normal(3), method=method, seed=seed) for seed in (1, 2))
    assert seeds[0] != seeds[1]
    assert (one.null != other.null).any()
    array = RFSD(null="target", target_draws=target_normals(seeds[0], 5000))
    same = sw.check(x, normal(3), method=array, seed=1)
    np.testing.assert_array_equal(same.null, one.null)


@pytest.mark.parametrize("null", ["signs", "target"])
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_do_not_depend_on_the_budget(kind: Kind, null: Literal["signs", "target"]) -> None:
    """Catches features, a unit or normal numbers that depend on the chunk they are in."""
    x = target_normals(11, 3000, d=30)
    draws = target_normals(12, 2000, d=30) if null == "target" else None
    method = RFSD(kind, features=20, null=null, target_draws=draws)
    assert means(x, method, RunOptions(memory=2**20)).rows_per_chunk < 100
    one, other = (
        sw.check(x, normal(30), method=method, memory=memory, n_bootstrap=50)
        for memory in ("1MiB", "1GiB")
    )
    assert one.statistic == pytest.approx(other.statistic, rel=1e-9)
    assert one.pvalue == other.pvalue


@pytest.mark.parametrize("kind", KINDS)
def test_float32(kind: Kind) -> None:
    """Catches logarithms in 32 bit, and a dtype that is not used."""
    x = target_normals(13, 400, d=20) + 0.1
    run = RunOptions(dtype="float32")
    assert features(means(x, RFSD(kind), run), x[:5]).dtype == np.float32
    precise, rough = (means(x, RFSD(kind), one).log_squares() for one in (RunOptions(), run))
    np.testing.assert_allclose(rough, precise, atol=1e-3)
    assert (rough != precise).all()


def test_features_set_the_length_of_batches() -> None:
    """Catches batches of chains that do not see how slow the draws are."""
    rng = np.random.default_rng(14)
    x = rng.normal(size=(4, 1000, 2))
    for i in range(1, 1000):
        x[:, i] = 0.8 * x[:, i - 1] + 0.6 * x[:, i]
    result = sw.check(x, normal(2), method=RFSD(), n_bootstrap=99)
    assert 5 * 9 / 1.5 < result.draws.batch_length < 5 * 9 * 1.5  # 1.8 / 0.2 draws


# -- verdicts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_shifted_coordinate_is_found_and_named(kind: Kind) -> None:
    """Catches coordinates out of order, and a test without power."""
    x = target_normals(15, 1000)
    x[:, 1] += 0.5
    result = sw.check(x, normal(3), method=RFSD(kind))
    assert result.rejected
    assert [c.name for c in result.coordinates if c.adjusted_pvalue <= 0.05] == ["x[1]"]


# -- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "rbf"}, "kind is 'rbf'"),
        ({"null": "bootstrap"}, "null is 'bootstrap'"),
        ({"features": 0}, "features is 0"),
        ({"features": True}, "features is True"),
        ({"gamma": 1.5}, "gamma is 1.5"),
        ({"gamma": "a"}, "gamma is 'a': expected a positive number, at least 1e-06, at most 1"),
        ({"gamma": np.nan}, "gamma is nan"),
        ({"degrees_of_freedom": 0.0}, "degrees_of_freedom is 0.0"),
        ({"degrees_of_freedom": "a"}, "degrees_of_freedom is 'a': expected a positive number"),
        ({"degrees_of_freedom": np.inf}, "degrees_of_freedom is inf"),
        ({"kind": "sech", "degrees_of_freedom": 3.0}, "whose distribution has none"),
        ({"locations": "a"}, "locations is 'a': expected an array"),
        ({"locations": [[0.0, np.inf]]}, "NaN or infinite"),
        ({"null": "target", "target_draws": "a"}, "target_draws is 'a'"),
        ({"null": "target", "target_draws": lambda _: X}, r"called with \(seed, N\)"),
        ({"null": "target"}, "needs draws of the target"),
        ({"target_draws": target_normals}, "takes none"),
    ],
)
def test_options_are_checked(options: dict, message: str) -> None:
    """Catches an option that is misspelt and silently ignored."""
    with pytest.raises(InputError, match=message):
        RFSD(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"locations": V}, r"locations have shape \(5, 5\)"),
        ({"null": "target", "target_draws": X}, r"shape \(200, 5\)"),
        ({"null": "target", "target_draws": lambda _, n: np.full((n, 3), np.nan)}, "finite"),
        ({"null": "target", "target_draws": lambda *_: None}, "gives is None"),
    ],
)
def test_arrays_are_checked(options: dict, message: str) -> None:
    """Catches arrays of another dimension than the draws."""
    with pytest.raises(InputError, match=message):
        means(target_normals(16, 50), RFSD(**options))


def test_a_single_draw_of_the_target_has_no_covariance() -> None:
    """Catches a null that one draw decides."""
    method = RFSD(null="target", target_draws=target_normals(0, 1))
    with pytest.raises(sw.TooFewDraws, match=r"gives 1 draws.*at least 100"):
        means(target_normals(16, 50), method)


def test_the_null_of_the_target_refuses_chains() -> None:
    """Catches a covariance of independent draws that is used for a chain."""
    method = RFSD(null="target", target_draws=target_normals)
    with pytest.raises(InputError, match=r"(?s)signs.*independent=True"):
        sw.check(target_normals(17, 400)[None], normal(3), method=method)


def test_a_function_that_does_not_tell_what_it_takes_is_accepted() -> None:
    """Catches compiled functions that are refused although they can be called."""
    assert RFSD(null="target", target_draws=max).target_draws is max


def test_draws_of_which_most_are_equal_are_answered() -> None:
    x = np.zeros((60, 2))
    x[:10] = target_normals(17, 10, d=2)
    with pytest.raises(InputError, match="the median distance is 0"):
        sw.rfsd(x, normal(2), kind="sech", locations=np.ones((3, 2)), independent=True)
