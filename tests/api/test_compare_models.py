"""sw.compare_models: values, errors that hold after selection, and what it refuses."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.results.wording import COMPARISON_VERDICTS as VERDICTS

D, BANDWIDTH = 2, 1.5
FIXED = sw.methods.KSD(sw.kernels.RBF(BANDWIDTH))
# for independent coordinates, or by chance
NO_BETTER = pytest.mark.filterwarnings("ignore:.*no better than:steinwise.SteinwiseWarning")
UNIT_BALL = sw.methods.KCCSD(sw.conditionals.Linear(), variant="unit-ball", standardise=False)


def _shifted(*mean: float) -> sw.Gaussian:
    return sw.Gaussian(mean, np.eye(len(mean)))


def _normal(seed: int, n: int = 300, d: int = D) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def _chains(seed: int, rho: float, shape: tuple[int, ...] = (4, 500, D)) -> np.ndarray:
    out = np.random.default_rng(seed).normal(size=shape)
    for t in range(1, shape[1]):
        out[:, t] = rho * out[:, t - 1] + np.sqrt(1 - rho**2) * out[:, t]
    return out


def test_the_ranking_and_the_candidates():
    models = {"far": _shifted(1.0, 0.0), "right": _shifted(0.0, 0.0), "near": _shifted(0.02, 0.0)}
    found = sw.compare_models(_normal(0, 500), models)
    assert [r.standing for r in found.ranking] == ["best", "indistinguishable", "worse"]
    assert found.ranking[-1].name == "far"
    assert set(found.candidates) == {"right", "near"}
    assert found.what == "model"


def test_values_are_those_of_ksd():
    """Another kernel per model, or biased values, would compare other numbers."""
    x, models = _normal(1), {"a": _shifted(0.3, 0.0), "b": _shifted(0.0, 0.6)}
    found = sw.compare_models(x, models, method=FIXED)
    for ranked in found.ranking:
        alone = sw.ksd(x, models[ranked.name], kernel=FIXED.kernel)
        assert alone.standard_error is not None
        # the batches leave out a few more pairs than the diagonal
        assert ranked.value == pytest.approx(alone.value, abs=0.1 * alone.standard_error)


def test_exact_conditionals_give_the_mean_of_contributions():
    def own_conditionals(key, x, n_atoms):
        return np.random.default_rng(key).normal(size=(*x.shape, n_atoms))

    method = sw.methods.KCCSD(sw.conditionals.Sampler(own_conditionals), standardise=False)
    x, models = _normal(2), {"right": _shifted(0.0, 0.0), "wrong": _shifted(0.5, 0.0)}
    found = sw.compare_models(x, models, method=method)
    h = {
        name: sw.kccsd(x, model, conditional=method.conditional).contributions
        for name, model in models.items()
    }
    assert h["wrong"] is not None
    assert h["right"] is not None
    apart = h["wrong"].sum(axis=1) - h["right"].sum(axis=1)
    difference = found.difference("wrong", "right")
    assert difference.value == pytest.approx(apart.mean())
    expected = apart.std(ddof=1) / np.sqrt(len(x))
    assert difference.standard_error == pytest.approx(expected, rel=0.01)


@NO_BETTER
def test_learned_conditionals_give_squared_means_without_bias():
    x, models = _normal(3), {"right": _shifted(0.0, 0.0), "wrong": _shifted(0.5, 0.0)}
    found = {r.name: r.value for r in sw.compare_models(x, models, method=UNIT_BALL).ranking}
    for name, model in models.items():
        h = sw.kccsd(x, model, conditional=UNIT_BALL.conditional, variant="unit-ball").contributions
        assert h is not None
        n = len(h)
        without_bias = (h.sum(axis=0) ** 2 - (h**2).sum(axis=0)).sum() / (n * (n - 1))
        assert found[name] == pytest.approx(without_bias, rel=1e-9, abs=1e-12)


def test_one_model_written_twice():
    """0 / 0, or rounding over rounding, must not tell a model from itself."""
    models = {
        "one": sw.Gaussian(np.full(D, 0.4), np.eye(D)),
        "again": lambda x: -jnp.sum((x - 0.4) ** 2) / 2 + 7.0,
        "in other words": lambda x: -jnp.sum(x**2) / 2 + 0.4 * jnp.sum(x),
    }
    found = sw.compare_models(_normal(4), models)
    assert found.candidates == tuple(r.name for r in found.ranking)
    assert found.critical is not None
    with_another = sw.compare_models(_normal(4), models | {"far": _shifted(3.0, 3.0)})
    assert set(with_another.candidates) == set(models)


def test_draws_too_few_for_an_error_are_still_ranked():
    models = {"right": _shifted(0.0, 0.0), "wrong": _shifted(2.0, 0.0)}
    found = sw.compare_models(_chains(5, 0.999, (2, 100, D)), models, method=FIXED)
    assert found.ranking[1].standing == "too few draws"
    assert found.critical is None
    assert "too few" in str(found)
    found.plot()


def test_text_dict_table_and_picture():
    models = {"right": _shifted(0.0, 0.0), "wrong": _shifted(0.7, 0.0)}
    found = sw.compare_models(_normal(6), models)
    lines = str(found).splitlines()
    header = next(line for line in lines if line.startswith("  model"))
    row = next(line for line in lines if line.startswith("  wrong"))
    assert header.index("verdict") == row.index(VERDICTS["worse"])
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["candidates"] == ["right"]
    assert found.to_dataframe().loc["wrong", "verdict"] == VERDICTS["worse"]
    (ax,) = found.plot().axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["wrong", "right"]


@NO_BETTER
def test_the_same_seed_the_same_numbers():
    models = {"right": _shifted(0.0, 0.0), "wrong": _shifted(0.3, 0.0)}
    one, two = (sw.compare_models(_normal(7), models, method="kccsd", seed=3) for _ in range(2))
    assert one.to_dict() == two.to_dict()


GOOD = {"a": _shifted(0.0, 0.0), "b": _shifted(0.5, 0.0)}


@pytest.mark.parametrize(
    ("models", "options", "error", "message"),
    [
        ({"one": _shifted(0.0, 0.0)}, {}, sw.InputError, "at least two densities"),
        (_shifted(0.0, 0.0), {}, sw.InputError, "at least two densities"),
        (GOOD | {"c": _shifted(0.0)}, {}, sw.InputError, "c: the draws have 2 coordinates"),
        (GOOD | {"c": 3}, {}, sw.InputError, "c: target is of type int"),
        (GOOD | {"c": lambda x: x}, {}, sw.TargetError, "c: "),
        (GOOD | {"c": lambda x: jnp.sqrt(x[0])}, {}, sw.TargetError, "c: .* not finite"),
        (GOOD, {"method": "transported"}, sw.InputError, "do not compare two"),
        (GOOD, {"method": sw.methods.KSD(linear=True)}, sw.InputError, "expected 'ksd'"),
        (GOOD, {"method": sw.methods.KCCSD()}, sw.InputError, "unit-ball"),
        (
            GOOD,
            {"method": sw.methods.KCCSD(sw.conditionals.Auto(), variant="unit-ball")},
            sw.InputError,
            "learned from the draws alone",
        ),
        (
            GOOD,
            {"method": sw.methods.KCCSD(variant="unit-ball", splits=2)},
            sw.InputError,
            "Drop splits",
        ),
        (GOOD, {"alpha": 0}, sw.InputError, "between 0 and 1"),
    ],
)
def test_what_is_refused(models, options, error, message):
    with pytest.raises(error, match=message):
        sw.compare_models(_normal(0, 60), models, **options)
