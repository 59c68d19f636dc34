"""The default method: its options, and what does not matter to its verdict."""

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.draws.samples import Samples
from steinwise.methods.transported import Transported

STANDARD = sw.Gaussian(np.zeros(3), np.eye(3))


def test_every_way_to_give_a_target_gives_the_same_verdict() -> None:
    """Catches a route that follows another density, or that loses accuracy."""
    covariance = np.array([[1.0, 0.6, 0.0], [0.6, 2.0, 0.3], [0.0, 0.3, 0.5]])
    closed = sw.Gaussian([0.5, 0.0, -1.0], covariance)
    precision, mean = closed.precision, closed.mean
    draws = np.random.default_rng(4).multivariate_normal(mean, covariance, 80)
    draws[:, 2] = -1.0 + 1.7 * (draws[:, 2] + 1.0)

    def density(x):
        return -0.5 * (x - mean) @ jnp.asarray(precision) @ (x - mean)

    def line(x, j, y):
        return (jnp.asarray(precision) @ (mean - x.at[j].set(y)))[j]

    targets = [
        closed,
        sw.Target(density),
        sw.Target.from_score(lambda x: (mean - x) @ precision),
        sw.Target(density, lines=line),
    ]
    results = [sw.check(draws, target, n_bootstrap=99) for target in targets]
    assert results[0].rejected
    for other in results[1:]:
        values = [[c.value for c in result.findings.coordinates] for result in (other, results[0])]
        np.testing.assert_allclose(*values, rtol=0.02, atol=0.02)
        assert other.rejected
        verdicts = [[c.verdict for c in one.findings.coordinates] for one in (other, results[0])]
        assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("d", [1, 2])
def test_one_or_two_coordinates_are_enough(d: int) -> None:
    """Catches contexts that do not exist: an error, or a p-value of 1 whatever the draws are.

    One coordinate has no others, and two have no product of two others.
    """
    target = sw.Gaussian(np.zeros(d), np.eye(d))
    draws = np.random.default_rng(5).normal(size=(200, d))
    pvalues = [sw.check(one, target, n_bootstrap=199).pvalue for one in np.split(draws, 5)]
    assert min(pvalues) < 0.9
    assert max(pvalues) > 0.05
    shifted = draws + 0.35 * np.eye(d)[0]
    result = sw.check(shifted, target)
    assert result.rejected
    assert len(result.coordinates) == d
    assert result["x[0]"].verdict.startswith("draws are shifted by +0.")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"bases": ["shape", "tail"]}, "bases is .*expected some of .*'tails'"),
        ({"bases": "shape"}, "bases is 'shape'"),
        ({"bases": []}, r"bases is \[\]"),
        ({"contexts": ["linear"]}, "contexts is .*expected some of .*'dependence on size'"),
        ({"contexts": ()}, r"contexts is \(\)"),
        ({"directions": "curvature"}, "directions is 'curvature'"),
    ],
)
def test_unknown_settings_are_answered(options: dict, expected: str) -> None:
    with pytest.raises(sw.InputError, match=expected):
        sw.methods.Transported(**options)


def test_what_is_not_looked_at_is_not_promised() -> None:
    """Catches a detectable shift of a coordinate alone where only dependence is tested."""
    draws = np.random.default_rng(0).normal(size=(300, 3))
    result = sw.check(draws, STANDARD, method=Transported(contexts=["dependence"]))
    assert result.findings.detectable is None
    assert "would have found" not in str(result)


def test_one_coordinate_has_no_directions_to_pay_for() -> None:
    one = Samples.of(np.random.default_rng(0).normal(size=(300, 1)))
    target = sw.Target(lambda x: -0.5 * jnp.sum(x**2))
    with_and_without = (Transported(directions=choice) for choice in (True, False))
    costs = {method.evaluations(one, target, 1e6) for method in with_and_without}
    assert len(costs) == 1


def test_a_context_that_the_draws_do_not_have_is_not_replaced() -> None:
    """Catches a test of another kind of misfit than the one that was asked for."""
    draws = np.random.default_rng(0).normal(1.0, size=(500, 2))
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    only = Transported(contexts=["interaction"])
    with pytest.raises(sw.InputError, match=r"need more coordinates than the 2 .* Add 'alone'"):
        sw.check(draws, target, method=only)
    covariance = 0.999 + 0.001 * np.eye(3)
    draws = np.random.default_rng(1).multivariate_normal(np.zeros(3), covariance, 200)
    density = sw.Gaussian(np.zeros(3), covariance)
    fitted = next(only.prepare(Samples.of(draws, independent=True), density, RunOptions()))
    assert [lines.group for lines in fitted.line_sets] == ["coordinates"]
    with pytest.raises(sw.InputError, match="7"):
        sw.check(draws[:, :2], target, method=Transported(coordinates=(7,)))


@pytest.mark.parametrize("first", [0.0, -1.0])
@pytest.mark.parametrize("kind", ["density", "score"])
def test_draws_without_density_get_an_error_and_no_verdict(kind: str, first: float) -> None:
    """Catches NaN taken as a number of the statistic, which nothing then exceeds."""
    draws = np.random.default_rng(2).gamma(3.0, size=(200, 2)) + 3.0
    draws[17, 1] = first
    target = sw.Target(lambda x: jnp.sum(jnp.log(x) - x))
    if kind == "score":
        target = sw.Target.from_score(lambda x: np.where(x > 0, 1.0, np.nan))
    with pytest.raises(
        sw.TargetError, match=rf"is -?(nan|inf) at draw 17, where x = \[.*{first}\]"
    ):
        sw.check(draws, target, independent=True)
