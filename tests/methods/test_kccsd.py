"""KCC-SD: the numbers against quadrature and independent formulas, and its identities."""

from typing import TypeVar

import jax
import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.draws.samples import Samples
from steinwise.kernels import IMQ, RBF, HyperbolicSecant, Matern52

GRID = np.linspace(-9, 9, 361)  # standard normal quadrature: the trapezoid rule is exact here
WEIGHTS = np.exp(-0.5 * GRID**2) / np.exp(-0.5 * GRID**2).sum()


_Value = TypeVar("_Value")


def known(value: _Value | None) -> _Value:
    assert value is not None
    return value


def _rbf(b):
    return lambda x, y: np.exp(-((x - y) ** 2) / (2 * b**2))


def _imq(b, e):
    return lambda x, y: (1 + (x - y) ** 2 / b**2) ** -e


def _matern(b):
    def kernel(x, y):
        r = np.sqrt(5) * np.abs(x - y) / b
        return (1 + r + r**2 / 3) * np.exp(-r)

    return kernel


def _secant(b):
    return lambda x, y: 1 / np.cosh(np.sqrt(np.pi / 2) * (x - y) / b)


KERNELS = {
    "rbf": (RBF(1.0), _rbf(1.0)),
    "narrow rbf": (RBF(0.4), _rbf(0.4)),
    "imq": (IMQ(1.5, exponent=0.7), _imq(1.5, 0.7)),
    "matern": (Matern52(1.2), _matern(1.2)),
    "secant": (HyperbolicSecant(0.9), _secant(0.9)),
}


def univariate_ksd(kernel, mean_q, sd_q, mean_p, sd_p) -> float:
    """E (b_p - b_q)(x) (b_p - b_q)(y) k(x, y), x and y from q: no derivative of the kernel."""
    x = mean_q + sd_q * GRID
    difference = (mean_p - x) / sd_p**2 - (mean_q - x) / sd_q**2
    weighted = WEIGHTS * difference
    return float(weighted @ kernel(x[:, None], x[None, :]) @ weighted)


def normal_sampler(mean: float, sd: float, n_atoms: int = 20) -> sw.conditionals.Sampler:
    def draw(key, x, n_atoms):
        return np.random.default_rng(key).normal(mean, sd, size=(*x.shape, n_atoms))

    return sw.conditionals.Sampler(draw, n_atoms)


def gaussian_sampler(covariance: np.ndarray, n_atoms: int = 20) -> sw.conditionals.Sampler:
    """The exact complete conditionals of N(0, covariance)."""
    precision = np.linalg.inv(covariance)

    def draw(key, x, n_atoms):
        mean = x - (x @ precision) / np.diag(precision)
        noise = np.random.default_rng(key).normal(size=(*x.shape, n_atoms))
        return mean[..., None] + noise / np.sqrt(np.diag(precision))[:, None]

    return sw.conditionals.Sampler(draw, n_atoms)


def gaussian_draws(covariance: np.ndarray, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.multivariate_normal(np.zeros(len(covariance)), covariance, size=n)


# -- numbers against quadrature ------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "by_hand"), KERNELS.values(), ids=KERNELS.keys())
@pytest.mark.parametrize(("mean", "sd"), [(0.5, 1.0), (0.0, 1.6), (-1.0, 0.6)])
def test_one_dimension_against_quadrature(kernel, by_hand, mean, sd):
    """Any wrong term or factor: the standard error is 1 to 15 % of the value."""
    draws = np.random.default_rng(1).normal(mean, sd, size=(4000, 1))
    found = sw.kccsd(
        draws,
        sw.Gaussian([0.0], [[1.0]]),
        conditional=normal_sampler(mean, sd),
        kernel=kernel,
    )
    exact = univariate_ksd(by_hand, mean, sd, 0.0, 1.0)
    assert known(found.standard_error) < 0.15 * exact
    assert abs(found.value - exact) < 3 * known(found.standard_error)


def conditional_ksds(kernel, sigma_q: np.ndarray, sigma_p: np.ndarray) -> np.ndarray:
    """Per coordinate, the average over x_-j from q of the squared KSD of the conditionals.

    Both conditionals are normal, with means linear in x_-j; only the difference of the means
    matters, and it is normal too.
    """
    out = []
    nodes, weights = np.polynomial.hermite_e.hermegauss(30)
    for j in range(len(sigma_q)):
        rest = [k for k in range(len(sigma_q)) if k != j]
        slopes, sds = [], []
        for sigma in (sigma_q, sigma_p):
            slope = np.linalg.solve(sigma[np.ix_(rest, rest)], sigma[rest, j])
            slopes.append(slope)
            sds.append(np.sqrt(sigma[j, j] - slope @ sigma[rest, j]))
        gap = slopes[0] - slopes[1]
        spread = np.sqrt(gap @ sigma_q[np.ix_(rest, rest)] @ gap)
        ksds = [univariate_ksd(kernel, spread * t, sds[0], 0.0, sds[1]) for t in nodes]
        out.append(np.dot(weights, ksds) / weights.sum())
    return np.array(out)


SIGMA_2 = np.array([[1.0, 0.6], [0.6, 1.5]])
SIGMA_3 = np.array([[1.0, 0.3, -0.4], [0.3, 0.8, 0.2], [-0.4, 0.2, 1.2]])


@pytest.mark.parametrize(
    ("sigma_q", "sigma_p"),
    [
        (np.eye(2), SIGMA_2),
        (SIGMA_2, np.eye(2)),
        (SIGMA_3, np.eye(3) + 0.2),
    ],
    ids=["independent q", "independent p", "three"],
)
@pytest.mark.parametrize("name", ["rbf", "imq"])
def test_correlated_gaussians_against_quadrature(sigma_q, sigma_p, name):
    """KCC-SD is the average of the squared univariate KSDs of the conditionals, coordinate-wise."""
    kernel, by_hand = KERNELS[name]
    found = sw.kccsd(
        gaussian_draws(sigma_q, 6000),
        sw.Gaussian(np.zeros(len(sigma_p)), sigma_p),
        conditional=gaussian_sampler(sigma_q),
        kernel=kernel,
    )
    exact = conditional_ksds(by_hand, sigma_q, sigma_p)
    assert known(found.standard_error) < 0.1 * exact.sum()
    assert abs(found.value - exact.sum()) < 3 * known(found.standard_error)
    errors = known(found.contributions).std(axis=0, ddof=1) / np.sqrt(6000)
    np.testing.assert_array_less(np.abs(known(found.per_coordinate) - exact), 3.5 * errors)


def test_value_standard_error_and_contributions_belong_together():
    """A mean over the wrong axis, or a standard error of another quantity."""
    draws = gaussian_draws(np.eye(3), 500)
    target = sw.Gaussian(np.zeros(3), np.eye(3) + 0.2)
    found = sw.kccsd(draws, target, conditional=gaussian_sampler(np.eye(3)))
    assert known(found.contributions).shape == (500, 3)
    np.testing.assert_allclose(known(found.per_coordinate), known(found.contributions).mean(axis=0))
    np.testing.assert_allclose(found.value, known(found.per_coordinate).sum())
    per_draw = known(found.contributions).sum(axis=1)
    np.testing.assert_allclose(known(found.standard_error), per_draw.std(ddof=1) / np.sqrt(500))


def test_steins_identity_holds_whatever_the_draws_are():
    """y from p's own conditional: mean zero even for draws that are far from p."""
    sigma = SIGMA_3
    draws = 3.0 + 2.0 * np.random.default_rng(0).standard_t(5, size=(4000, 3))
    found = sw.kccsd(
        draws, sw.Gaussian(np.zeros(3), sigma), conditional=gaussian_sampler(sigma), kernel=IMQ()
    )
    errors = known(found.contributions).std(axis=0, ddof=1) / np.sqrt(len(draws))
    np.testing.assert_array_less(np.abs(known(found.per_coordinate)), 3.5 * errors)
    own = sw.kccsd(draws, sw.Gaussian(np.zeros(3), sigma), conditional=_resampled(draws))
    assert own.value > 10 * known(own.standard_error)  # the same draws with a stand-in for q


def _resampled(draws: np.ndarray) -> sw.conditionals.Sampler:
    """q's conditionals where q's coordinates are independent: other values of the coordinate."""

    def draw(key, x, n_atoms):
        rng = np.random.default_rng(key)
        index = rng.integers(len(draws), size=(*x.shape, n_atoms))
        return draws[index, np.arange(draws.shape[1])[:, None]]

    return sw.conditionals.Sampler(draw)


# -- the unit ball -------------------------------------------------------------------------------


def _quantile_sampler(mean: float, sd: float, n_atoms: int = 300) -> sw.conditionals.Sampler:
    """Atoms at the quantiles of a normal: its distribution with hardly any noise."""
    from scipy.stats import norm

    atoms = norm.ppf((np.arange(n_atoms) + 0.5) / n_atoms, mean, sd)
    return sw.conditionals.Sampler(lambda _, x, n: np.broadcast_to(atoms, (*x.shape, n)), n_atoms)


def test_unit_ball_is_the_root_of_the_squared_ksd_in_one_dimension():
    """A missing root, or one taken outside the expectation."""
    draws = np.random.default_rng(2).normal(0.5, 1.3, size=(3000, 1))
    found = sw.kccsd(
        draws,
        sw.Gaussian([0.0], [[1.0]]),
        conditional=_quantile_sampler(0.5, 1.3),
        variant="unit-ball",
    )
    exact = np.sqrt(univariate_ksd(_rbf(1.0), 0.5, 1.3, 0.0, 1.0))
    assert known(found.standard_error) < 0.05 * exact
    assert abs(found.value - exact) < 3 * known(found.standard_error)


@pytest.mark.parametrize("stand_in", [0.1, 1.0, -1.0, 3.0])
def test_unit_ball_with_any_stand_in_is_a_lower_bound(stand_in):
    """The norm variant has no such bound: r = N(1, 1) gives nine times the truth."""
    draws = np.random.default_rng(3).normal(0.1, 1.0, size=(2000, 1))
    target, sampler = sw.Gaussian([0.0], [[1.0]]), _quantile_sampler(stand_in, 1.0, 200)
    truth = univariate_ksd(_rbf(1.0), 0.1, 1.0, 0.0, 1.0)
    np.testing.assert_allclose(truth, 0.0058, atol=5e-5)
    ball = sw.kccsd(draws, target, conditional=sampler, variant="unit-ball")
    assert ball.value < np.sqrt(truth) + 3 * known(ball.standard_error)
    if stand_in == 1.0:
        norm = sw.kccsd(draws, target, conditional=sampler)
        assert abs(norm.value - 0.050) < 3 * known(norm.standard_error)
        assert norm.value > 3 * truth


# -- blocks --------------------------------------------------------------------------------------


def _all_draws(draws: np.ndarray) -> sw.conditionals.Sampler:
    """Every draw as an atom of the joint distribution, the same for all rows."""

    def atoms(key, x, n_atoms):
        return np.broadcast_to(draws.T, (*x.shape, n_atoms))

    return sw.conditionals.Sampler(atoms, n_atoms=len(draws))


def ksd_by_loops(x: np.ndarray, score: np.ndarray, bandwidth: float, imq: bool) -> float:
    """The V-statistic from the textbook, one pair at a time."""
    n, d = x.shape
    total = 0.0
    for i in range(n):
        for k in range(n):
            u = x[i] - x[k]
            s = u @ u / bandwidth**2
            if imq:
                value, first = (1 + s) ** -0.5, (1 + s) ** -1.5 / bandwidth**2
                trace = d * first - 3 * (u @ u) * (1 + s) ** -2.5 / bandwidth**4
            else:
                value = np.exp(-s / 2)
                first = value / bandwidth**2
                trace = d * first - (u @ u) * value / bandwidth**4
            # dk/dx = -first u, dk/dy = first u
            total += (score[i] @ score[k]) * value + first * ((score[i] - score[k]) @ u) + trace
    return total / n**2


@pytest.mark.parametrize("imq", [False, True], ids=["rbf", "imq"])
def test_one_block_with_all_draws_as_atoms_is_the_ksd(imq):
    """The identity that ties blocks, atoms and the kernel on R^m to the well-known discrepancy."""
    draws = gaussian_draws(np.eye(3) + 0.3, 80)
    target = sw.Gaussian(np.array([0.3, 0.0, 0.0]), SIGMA_3)
    kernel = IMQ(1.3) if imq else RBF(1.3)
    options = {"conditional": _all_draws(draws), "kernel": kernel, "blocks": [[0, 1, 2]]}
    expected = ksd_by_loops(draws, target.score(draws), 1.3, imq)
    found = sw.kccsd(draws, target, **options)
    np.testing.assert_allclose(found.value, expected, rtol=1e-9)
    np.testing.assert_allclose(sw.ksd(draws, target, kernel=kernel, estimator="v").value, expected)
    ball = sw.kccsd(draws, target, variant="unit-ball", **options)
    np.testing.assert_allclose(ball.value, np.sqrt(expected), rtol=1e-9)


def test_blocks_of_one_coordinate_are_the_coordinates():
    """Two code paths for one thing, and blocks in another order than the coordinates."""
    draws = gaussian_draws(SIGMA_3, 200)
    target, sampler = sw.Gaussian(np.zeros(3), np.eye(3)), gaussian_sampler(SIGMA_3)
    plain = sw.kccsd(draws, target, conditional=sampler, kernel=IMQ(1.2))
    blocks = sw.kccsd(
        draws,
        target,
        conditional=sampler,
        kernel=IMQ(1.2),
        blocks=[["c"], [0], ["b"]],
        names=["a", "b", "c"],
    )
    np.testing.assert_allclose(
        known(blocks.contributions), known(plain.contributions)[:, [2, 0, 1]], rtol=1e-12
    )
    assert blocks.names == ("c", "a", "b")


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([[0, 1]], r"\[0, 1\]: expected a partition, every one of the 3"),
        ([[0, 1], [1, 2]], r"\[0, 1, 1, 2\]: expected a partition"),
        ([[0, 1, 2], []], "no block empty"),
        ([], "expected a partition"),
        ([[0, 1], [3]], "indices below 3 or of names"),
        ([[0, 1], ["z"]], "indices below 3 or of names"),
        ([[0, 1], [-1]], "indices below 3 or of names"),
        ([0, 1, 2], "expected lists of coordinate indices"),
    ],
    ids=["missing", "twice", "empty", "none", "beyond", "unknown", "negative", "flat"],
)
def test_blocks_must_be_a_partition(blocks, expected):
    """A coordinate left out would be left out of the verdict in silence."""
    draws = gaussian_draws(np.eye(3), 60)
    with pytest.raises(sw.InputError, match=expected):
        sw.kccsd(
            draws,
            sw.Gaussian(np.zeros(3), np.eye(3)),
            conditional=normal_sampler(0, 1),
            blocks=blocks,
        )


# -- kernels per coordinate ----------------------------------------------------------------------


def test_a_vector_of_bandwidths_is_a_list_of_kernels():
    """A bandwidth that reaches the wrong coordinate."""
    draws = gaussian_draws(SIGMA_3, 150)
    target, sampler = sw.Gaussian(np.zeros(3), np.eye(3)), gaussian_sampler(SIGMA_3)
    bandwidths = np.array([0.5, 1.0, 2.0])
    vector = sw.kccsd(draws, target, conditional=sampler, kernel=RBF(bandwidths))
    several = sw.kccsd(draws, target, conditional=sampler, kernel=[RBF(b) for b in bandwidths])
    np.testing.assert_allclose(
        known(vector.contributions), known(several.contributions), rtol=1e-12
    )
    for j, b in enumerate(bandwidths):
        alone = sw.kccsd(draws, target, conditional=sampler, kernel=RBF(b))
        np.testing.assert_allclose(
            known(vector.contributions)[:, j], known(alone.contributions)[:, j], rtol=1e-12
        )


def test_the_median_is_taken_per_coordinate():
    """One bandwidth for coordinates on different scales."""
    draws = gaussian_draws(np.eye(2), 150) * [1.0, 100.0]
    target, sampler = sw.Gaussian(np.zeros(2), np.eye(2)), normal_sampler(0, 1)
    medians = [np.median(np.abs(np.subtract.outer(c, c))[np.triu_indices(150, 1)]) for c in draws.T]
    median = sw.kccsd(draws, target, conditional=sampler, kernel=RBF("median"))
    given = sw.kccsd(draws, target, conditional=sampler, kernel=RBF(medians))
    np.testing.assert_allclose(known(median.contributions), known(given.contributions), rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ([RBF(), RBF()], "2 kernels were given for 3"),
        (RBF([1.0, 2.0]), "vector of 2 parameters for 3 coordinates"),
        ("rbf", "kernel is 'rbf': expected a kernel"),
        ([1.0, 2.0, 3.0], "expected a kernel such as"),
    ],
    ids=["short list", "short vector", "a word", "numbers"],
)
def test_bad_kernels(kernel, expected):
    with pytest.raises(sw.InputError, match=expected):
        sw.kccsd(
            gaussian_draws(np.eye(3), 60),
            sw.Gaussian(np.zeros(3), np.eye(3)),
            conditional=normal_sampler(0, 1),
            kernel=kernel,
        )


# -- the witness ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(np.array([0.8, 1.5])), IMQ()], ids=["rbf", "imq"])
def test_contributions_are_the_stein_operator_on_the_witness(kernel):
    """H = b f* + f*' along every line: a witness of another discrepancy would not fit."""
    draws = gaussian_draws(SIGMA_2, 40)
    target = sw.Gaussian(np.array([0.3, 0.0]), np.eye(2))
    found = sw.kccsd(draws, target, conditional=gaussian_sampler(SIGMA_2), kernel=kernel)
    step = 1e-5
    next_to = np.stack([draws - step, draws + step], axis=-1)
    along = known(found.witness)(draws, next_to)
    slope = (along[..., 1] - along[..., 0]) / (2 * step)
    operator = target.score(draws) * known(found.witness)(draws) + slope
    np.testing.assert_allclose(operator, known(found.contributions), rtol=1e-6, atol=1e-8)


def test_the_witness_refuses_other_shapes_and_blocks_have_none():
    draws = gaussian_draws(SIGMA_2, 40)
    target, sampler = sw.Gaussian(np.zeros(2), np.eye(2)), gaussian_sampler(SIGMA_2)
    found = sw.kccsd(draws, target, conditional=sampler)
    with pytest.raises(sw.InputError, match=r"x has shape \(40, 3\)"):
        known(found.witness)(np.zeros((40, 3)))
    assert sw.kccsd(draws, target, conditional=sampler, blocks=[[0, 1]]).witness is None
    method, run = sw.methods.KCCSD(sampler, blocks=[[0, 1]]), RunOptions()
    fitted = next(method.prepare(Samples.of(draws), target, run))
    with pytest.raises(sw.InputError, match="drop blocks="):
        fitted.witness(target, run)


# -- the same numbers, however they are computed -------------------------------------------------


def test_memory_and_number_of_draws_change_no_contribution():
    """Random atoms or padding that depend on how the rows are cut."""
    draws = gaussian_draws(SIGMA_3, 1500)
    target, sampler = sw.Gaussian(np.zeros(3), np.eye(3)), gaussian_sampler(SIGMA_3, n_atoms=40)
    options = {"conditional": sampler, "variant": "unit-ball"}
    large = known(sw.kccsd(draws, target, memory="1GiB", **options).contributions)
    small = known(sw.kccsd(draws, target, memory="1MiB", **options).contributions)
    fewer = known(sw.kccsd(draws[:700], target, **options).contributions)
    np.testing.assert_allclose(small, large, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fewer, large[:700], rtol=1e-9, atol=1e-12)


def test_the_seed_decides_and_nothing_else():
    """Unseeded atoms, or a seed that is ignored."""
    draws = gaussian_draws(SIGMA_2, 60)
    target, sampler = sw.Gaussian(np.zeros(2), np.eye(2)), gaussian_sampler(SIGMA_2)
    values = [
        sw.kccsd(draws, target, conditional=sampler, seed=seed).value
        for seed in (1, 1, np.int64(1), 2, jax.random.key(1), jax.random.key(1), jax.random.key(2))
    ]
    assert values[0] == values[1] == values[2] != values[3]
    assert values[4] == values[5] != values[6]
    old = sw.kccsd(draws, target, conditional=sampler, seed=jax.random.PRNGKey(1)).value
    assert old == values[4]


# -- the sampler ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda _, x, n: np.zeros((*x.shape, n + 1)), r"shape \(60, 3, 11\).*= \(60, 3, 10\)"),
        (lambda _, x, n: np.zeros((*x.shape, n), int), "dtype int64"),
        (lambda _, x, n: np.full((*x.shape, n), np.nan), "nan for draw 0, coordinate 0, atom 0"),
        (lambda *_: 1 / 0, "raised ZeroDivisionError on rows"),
    ],
    ids=["shape", "integers", "nan", "raises"],
)
def test_a_bad_sampler_is_answered(fn, expected):
    """Broadcasting would make numbers out of a wrong shape."""
    draws = gaussian_draws(np.eye(3), 60)
    with pytest.raises(sw.InputError, match=expected):
        sw.kccsd(
            draws,
            sw.Gaussian(np.zeros(3), np.eye(3)),
            conditional=sw.conditionals.Sampler(fn),
        )


def test_bad_options_of_the_method():
    with pytest.raises(sw.InputError, match="fn is of type float"):
        sw.conditionals.Sampler(1.0)  # type: ignore[arg-type]
    with pytest.raises(sw.InputError, match="n_atoms is 0: expected a whole number, at least 1"):
        sw.conditionals.Sampler(len, n_atoms=0)  # type: ignore[arg-type]
    with pytest.raises(sw.InputError, match=r"n_atoms is 2\.5"):
        sw.conditionals.Sampler(len, n_atoms=2.5)  # type: ignore[arg-type]
    with pytest.raises(sw.InputError, match=r"such as sw\.conditionals\.Histogram\(\)"):
        sw.methods.KCCSD(len)  # type: ignore[arg-type]
    with pytest.raises(sw.InputError, match="'norm' or 'unit-ball'"):
        sw.methods.KCCSD(normal_sampler(0, 1), variant="ball")  # type: ignore[arg-type]
    with pytest.raises(sw.InputError, match="which name the coordinates already"):
        sw.methods.KCCSD(normal_sampler(0, 1), blocks=[[0], [1]], coordinates=[0])
    beyond = sw.methods.KCCSD(normal_sampler(0, 1), coordinates=[7])
    with pytest.raises(sw.InputError, match="no coordinate 7"):
        sw.check(gaussian_draws(SIGMA_2, 60), sw.Gaussian([0, 0], np.eye(2)), method=beyond)


@pytest.mark.filterwarnings("ignore:for 1 of 1 coordinates")  # not of 3
def test_what_was_learned_is_told_of_the_tested_coordinates():
    """Catches rows for all coordinates next to verdicts on some, which make no table."""
    draws = gaussian_draws(np.eye(3), 300)
    linear = sw.methods.KCCSD(sw.conditionals.Linear())
    result = sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)), method=linear, coordinates=[1])
    assert [row.name for row in result.learned] == ["x[1]"]
    assert result.to_dataframe().index.tolist() == ["x[1]"]


def test_few_draws_have_a_value_and_no_standard_error():
    """A standard error from five draws would be believed."""
    draws = gaussian_draws(SIGMA_2, 5)
    with pytest.warns(sw.SteinwiseWarning, match="no standard error"):
        found = sw.kccsd(
            draws, sw.Gaussian(np.zeros(2), np.eye(2)), conditional=gaussian_sampler(SIGMA_2)
        )
    assert found.standard_error is None
    assert np.isfinite(found.value)
