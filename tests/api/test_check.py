"""The front door: options, p-values, reproducibility."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import steinwise as sw

STANDARD = sw.Gaussian([0, 0], np.eye(2))


def _draws(n: int = 100, shift: float = 0.0) -> np.ndarray:
    return np.random.default_rng(0).normal(shift, 1.0, size=(n, 2))


def _own_conditionals(shift: float) -> sw.methods.KCCSD:
    def draw(key, x, n_atoms):
        return np.random.default_rng(key).normal(shift, 1.0, size=(*x.shape, n_atoms))

    return sw.methods.KCCSD(sw.conditionals.Sampler(draw), standardise=False)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"alpha": 0.0}, r"alpha is 0\.0: expected a level between 0 and 1"),
        ({"alpha": 1.0}, r"alpha is 1\.0"),
        ({"alpha": -0.1}, r"alpha is -0\.1"),
        ({"alpha": 5}, "alpha is 5"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"alpha": "0.05"}, "alpha is '0.05'"),
        ({"n_bootstrap": 18}, r"0\.0526.*never be reached. Take at least 19"),
        ({"n_bootstrap": 99, "alpha": 0.001}, "Take at least 999"),
        (
            {"n_bootstrap": 1000, "alpha": 0.001, "method": "transported"},
            "least p-value is 0.00101: the level 0.001 can never be reached. Take at least 1010",
        ),
        ({"n_bootstrap": 1e3}, r"n_bootstrap is 1000\.0: expected a whole number"),
        ({"n_bootstrap": True}, "n_bootstrap is True"),
        ({"method": "kcsd"}, r"method is 'kcsd': expected one of \['fssd', .*'kccsd', 'ksd'"),
        ({"method": None}, "method is None"),
        ({"seed": -1}, "seed is -1: expected a non-negative integer or a JAX key"),
        ({"seed": 1.5}, r"seed is 1\.5 of type float"),
        ({"seed": True}, "seed is True"),
        ({"seed": None}, "of type NoneType"),
        ({"seed": np.random.default_rng(0)}, "Generator has a state that changes"),
        ({"seed": jax.random.split(jax.random.key(0))}, "one JAX key"),
        ({"memory": "lots"}, "memory is 'lots': expected .*'1GiB'"),
        ({"memory": "1 gigaton"}, "memory is '1 gigaton'"),
        ({"memory": "1KiB"}, "1024 bytes: at least 1MiB"),
        ({"memory": -5}, "memory is -5"),
        ({"batch_length": 0}, "batch_length is 0"),
        ({"batch_length": 2.5}, r"batch_length is 2\.5"),
        ({"names": ["a"]}, "1 name was given for 2 coordinates"),
        ({"target": "normal"}, "target is of type str"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, dict) else "",
)
def test_bad_options_are_answered(options, expected):
    """Before anything is computed, and with the fix."""
    given = {"draws": _draws(), "target": STANDARD, "method": "ksd"} | options
    with pytest.raises(sw.InputError, match=expected):
        sw.check(**given)


def test_the_p_value_is_never_zero():
    """The paper's plain share gives 0 where no bootstrap reaches the statistic."""
    for n_bootstrap in (19, 99):
        result = sw.check(
            _draws(shift=3.0), STANDARD, method=_own_conditionals(3.0), n_bootstrap=n_bootstrap
        )
        assert result.pvalue == 1 / (n_bootstrap + 1)
        assert result.rejected  # at 19 bootstraps p is exactly alpha


def test_the_p_value_counts_the_null_at_or_above_the_statistic():
    """(1 + #) / (1 + L), from the values that the result itself carries."""
    result = sw.check(_draws(), STANDARD, method=_own_conditionals(0.0), n_bootstrap=199)
    expected = (1 + np.sum(result.null >= result.statistic)) / 200
    assert result.pvalue == expected
    assert len(result.null) == 199


def test_a_method_with_a_discrepancy_gives_it():
    """check and kccsd, check and ksd: one number each."""
    draws, method = _draws(shift=0.3), _own_conditionals(0.3)
    result = sw.check(draws, STANDARD, method=method, seed=4)
    value = sw.kccsd(draws, STANDARD, conditional=method.conditional, seed=4)
    assert result.discrepancy == pytest.approx(value.value, rel=1e-12)
    by_coordinate = [c.value for c in result.findings.coordinates]
    assert value.per_coordinate is not None
    np.testing.assert_allclose(by_coordinate, value.per_coordinate, rtol=1e-12)
    ksd = sw.check(draws, STANDARD, method="ksd").discrepancy
    assert ksd == pytest.approx(sw.ksd(draws, STANDARD).value, rel=1e-9)


def test_the_wrong_coordinate_is_flagged_and_the_right_one_is_not():
    """Verdicts that go with other names, or that come in another order than the printed one."""
    target = sw.Gaussian([0.0, -1.0], np.eye(2))
    result = sw.check(_draws(300), target, method=_own_conditionals(0.0), names=["right", "wrong"])
    assert [(c.name, c.verdict) for c in result.coordinates] == [
        ("wrong", "misfit"),
        ("right", "no misfit found"),
    ]
    assert list(result.to_dataframe().index) == ["wrong", "right"]
    assert [c["name"] for c in result.to_dict()["coordinates"]] == ["wrong", "right"]
    assert result["right"].verdict == "no misfit found"
    with pytest.raises(sw.InputError, match="no coordinate 'left'; there are right, wrong"):
        result["left"]
    assert result.rejected


def _log_density(x):
    return -0.5 * jnp.sum(x**2)


@pytest.mark.parametrize("method", ["ksd", _own_conditionals(0.1)], ids=["ksd", "kccsd"])
def test_the_same_seed_gives_the_same_numbers_in_any_precision(method):
    """Random numbers or arithmetic that follow jax_enable_x64."""
    found = []
    for ambient in (False, True):
        with jax.enable_x64(ambient):
            target = sw.Target(_log_density)
            found.append(sw.check(_draws(shift=0.1), target, method=method, seed=5))
    first, second = found
    assert first.to_dict() == second.to_dict()
    np.testing.assert_array_equal(first.null, second.null)
    assert first.dtype == "float64"


def test_another_seed_gives_other_signs():
    one, other = (
        sw.check(_draws(), STANDARD, method="ksd", seed=seed, n_bootstrap=99) for seed in (0, 1)
    )
    assert not np.array_equal(one.null, other.null)
    assert one.statistic == other.statistic


def test_a_jax_key_is_a_seed():
    keyed = [
        sw.check(_draws(), STANDARD, method=_own_conditionals(0.0), seed=key, n_bootstrap=99)
        for key in (jax.random.key(3), jax.random.key(3), jax.random.key(4))
    ]
    assert keyed[0].statistic == keyed[1].statistic != keyed[2].statistic
    np.testing.assert_array_equal(keyed[0].null, keyed[1].null)


def test_a_plain_function_is_a_target():
    plain = sw.check(_draws(), _log_density, method="ksd")
    wrapped = sw.check(_draws(), sw.Target(_log_density), method="ksd")
    assert plain.to_dict() == wrapped.to_dict()


def test_independent_false_takes_rows_as_one_chain():
    """(n, d) and (1, n, d) are the same chain then, and names stay."""
    draws = _draws(400)
    one = sw.check(draws, STANDARD, method="ksd", independent=False)
    chain = sw.check(draws[None], STANDARD, method="ksd")
    assert not one.draws.independent
    assert (one.draws.n_chains, one.draws.n_draws) == (1, 400)
    assert one.to_dict() == chain.to_dict()


def test_few_draws_of_many_coordinates_may_be_transposed():
    """A density that takes any number of coordinates cannot tell."""
    with pytest.raises(sw.TooFewDraws, match=r"There are 400 coordinates: did you mean draws.T\?"):
        sw.check(_draws(400).T, _log_density)


def test_independent_false_keeps_the_names_of_a_data_frame():
    frame = pd.DataFrame(_draws(400), columns=["mu", "tau"])
    result = sw.check(frame, STANDARD, method=_own_conditionals(0.0), independent=False)
    assert {c.name for c in result.coordinates} == {"mu", "tau"}


def test_independent_true_takes_chains_as_independent_draws():
    chains = _draws(400).reshape(4, 100, 2)
    result = sw.check(chains, STANDARD, method="ksd", independent=True)
    rows = sw.check(_draws(400), STANDARD, method="ksd")
    assert result.draws.independent
    assert result.pvalue == rows.pvalue


def test_chains_that_are_called_independent_and_are_not():
    """Catches false alarms on a correct chain, without a word about what was said of it."""
    noise = np.random.default_rng(5).normal(size=(2, 500, 2))
    chains = noise.copy()
    for t in range(1, 500):
        chains[:, t] = 0.9 * chains[:, t - 1] + np.sqrt(0.19) * noise[:, t]
    some = {"method": "ksd", "independent": True}
    words = r"with independent=True, but their draws are autocorrelated: 0\.\d+ at lag 1 in x\[\d\]"
    for given in (chains, chains[:1], sw.Samples.of(chains)):
        with pytest.warns(sw.SteinwiseWarning, match=words):
            assert sw.check(given, STANDARD, **some).notes
    # warnings are errors here
    sw.check(chains[0], STANDARD, **some)  # the order of rows may mean nothing
    sw.check(noise[:1], STANDARD, **some)  # draws of pm.fit have this shape


def test_nothing_is_traced_before_the_options_are_checked():
    """A slow density must not run before a typing error in an option is found."""

    def density(x):
        raise AssertionError("the density was called")

    mistakes: dict[str, Any] = {"alpha": 2.0, "batch_length": -1, "names": "ab", "memory": "lots"}
    for option, value in mistakes.items():
        with pytest.raises(sw.InputError, match=option):
            sw.check(_draws(), density, method="ksd", **{option: value})


@pytest.mark.parametrize("method", ["transported", "ksd", "ksdagg", "scores"])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_the_printed_statistic_is_what_is_compared_with_the_threshold(method, shift):
    """A user who compares .statistic with .threshold gets the verdict; JSON has the same pair."""
    result = sw.check(_draws(shift=shift), STANDARD, method=method)
    plain = result.to_dict()
    assert (plain["statistic"], plain["threshold"]) == (result.statistic, result.threshold)
    assert re.search(rf"^  statistic +{result.statistic:.3g};", str(result), re.MULTILINE)
    assert (result.statistic > result.threshold) == result.rejected
