"""Options that every verb and method shares: flags, words, levels, seeds and sizes."""

import inspect

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.memory import budget_bytes
from steinwise._internal.options import ELSEWHERE, OF_METHODS
from steinwise._internal.random import stream
from steinwise.methods.kccsd_split import check_split

X = np.random.default_rng(0).normal(size=(100, 2))
TARGET = sw.Gaussian([0, 0], np.eye(2))
VERBS = {
    "check": lambda **o: sw.check(X, TARGET, **o),
    "assert_fits": lambda **o: sw.assert_fits(X, TARGET, **o),
    "kccsd": lambda **o: sw.kccsd(X, TARGET, **o),
    "ksd": lambda **o: sw.ksd(X, TARGET, **o),
    "fssd": lambda **o: sw.fssd(X, TARGET, **o),
    "rfsd": lambda **o: sw.rfsd(X, TARGET, **o),
    "sksd": lambda **o: sw.sksd(X, TARGET, **o),
    "compare": lambda **o: sw.compare({"a": X, "b": 2 * X}, TARGET, **o),
    "compare_models": lambda **o: sw.compare_models(X, {"a": TARGET, "b": TARGET}, **o),
    "fit_parameters": lambda **o: sw.fit_parameters(lambda t, x: -t * jnp.sum(x**2), X, 1.0, **o),
    "Samples": lambda **o: sw.Samples.of(X, **o),
}
NOT_FLAGS = ["False", "no", [False], 0, 1.0, np.array([False])]


@pytest.mark.parametrize("value", NOT_FLAGS, ids=repr)
@pytest.mark.parametrize("verb", VERBS)
def test_only_flags_say_whether_draws_are_independent(verb: str, value: object) -> None:
    """Catches "False", which is true."""
    with pytest.raises(sw.InputError, match=r"independent is .*expected True or False"):
        VERBS[verb](independent=value)


@pytest.mark.parametrize("adapter", [name for name in dir(sw) if name.startswith("from_")])
def test_adapters_answer_an_option_that_they_do_not_have(adapter: str) -> None:
    """Catches a bare TypeError, and advice to call an adapter on an adapter."""
    with pytest.raises(TypeError, match=f"sw.{adapter} has no option 'spaces'") as raised:
        getattr(sw, adapter)(None, spaces="model")
    assert "It is one of" not in str(raised.value)
    if adapter == "from_numpyro":
        with pytest.raises(TypeError, match=r"no option 'num_samples'\. Did you mean n_draws\?"):
            sw.from_numpyro(None, num_samples=3000)  # type: ignore[call-arg]


def test_a_misspelt_method_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(sw.InputError, match=r"'kds': expected one of .* Did you mean 'ksd'\?"):
        sw.check(X, TARGET, method="kds")
    with pytest.raises(sw.InputError, match=r"object such as sw.methods.KCCSD\(.*\)\.$"):
        sw.check(X, TARGET, method="nothing")


@pytest.mark.parametrize(
    ("verb", "method"),
    [("compare", "kccsd"), ("compare_models", "scores"), ("fit_parameters", "ksdagg")],
)
def test_a_method_that_a_verb_does_not_take_is_not_suggested(verb: str, method: str) -> None:
    with pytest.raises(sw.InputError, match=f"^method is '{method}': expected '") as refused:
        VERBS[verb](method=method)
    assert "Did you mean" not in str(refused.value)


@pytest.mark.parametrize("verb", ["check", "kccsd", "compare_models", "fit_parameters"])
def test_only_flags_say_whether_progress_is_shown(verb: str) -> None:
    with pytest.raises(sw.InputError, match="progress is 'no': expected True or False"):
        VERBS[verb](progress="no")


@pytest.mark.parametrize("verb", [sw.thin, sw.points])
@pytest.mark.parametrize("flag", ["standardise", "regularised", "progress"])
def test_flags_of_thinning(verb, flag: str) -> None:
    with pytest.raises(sw.InputError, match=f"{flag} is 'no': expected True"):
        verb(X, TARGET, 5, **{flag: "no"})


@pytest.mark.parametrize(
    ("make", "option"),
    [
        (lambda v: sw.methods.KCCSD(standardise=v), "standardise"),
        (lambda v: sw.methods.KSDAgg(standardise=v), "standardise"),
        (lambda v: sw.methods.KSD(linear=v), "linear"),
        (lambda v: sw.methods.FSSD(optimise=v), "optimise"),
        (lambda v: sw.methods.Transported(directions=v), "directions"),
        (lambda v: sw.conditionals.Transported(pooled=v), "pooled"),
    ],
)
def test_flags_of_methods_and_conditionals(make, option: str) -> None:
    for value in NOT_FLAGS:
        with pytest.raises(sw.InputError, match=f"{option} is"):
            make(value)


@pytest.mark.parametrize(
    ("make", "option"),
    [
        (lambda v: sw.methods.KCCSD(variant=v), "variant"),
        (lambda v: sw.methods.KSD(bootstrap=v), "bootstrap"),
        (lambda v: sw.methods.FSSD(null=v), "null"),
        (lambda v: sw.methods.RFSD(v), "kind"),
        (lambda v: sw.methods.RFSD(null=v), "null"),
        (lambda v: sw.methods.SlicedKSD(v), "slices"),
        (lambda v: sw.methods.Transported(bases=v), "bases"),
        (lambda v: sw.ksd(X, TARGET, estimator=v), "estimator"),
        (lambda v: sw.check(X, TARGET, dtype=v), "dtype"),
        (lambda v: sw.check(X, TARGET, method=v), "method"),
        (lambda v: sw.compare({"a": X, "b": X}, TARGET, method="ksd", estimator=v), "estimator"),
        (lambda v: sw.compare({"a": X, "b": X}, TARGET, effort=v), "effort"),
    ],
)
def test_words_are_words(make, option: str) -> None:
    """Catches an array, whose comparison with a word has no truth value."""
    for value in (np.array(["a", "b"]), np.arange(3.0), "w", None, ["u"]):
        with pytest.raises(sw.InputError, match=f"{option} is"):
            make(value)


@pytest.mark.parametrize(
    "split",
    [
        (np.nan, 0.5, 0.5),
        (np.inf, 0.5, 0.5),
        (0.2, 0.1, np.nan),
        (1e-320, 0.5, 0.5),
        (1e-9, 0.5, 0.5 - 1e-9),
        (True, 0.5, 0.5),
        ("0.2", 0.1, 0.7),
        [[0.2, 0.1, 0.7]],
        (0.2, 0.1, 10**400),
        7,
    ],
)
def test_splits_are_shares(split: object) -> None:
    """Catches NaN, which is below and above nothing, and kept a search running for ever."""
    with pytest.raises(sw.InputError, match=r"split is .*three positive shares"):
        check_split(split)
    check_split((0.2, np.float32(0.1), 0.7))


@pytest.mark.parametrize("alpha", [1e-320, 5e-324, 1e-200, np.array([0.05]), "0.05"])
def test_levels_that_no_bootstrap_can_tell(alpha: object) -> None:
    for verb in ("check", "assert_fits", "compare", "compare_models"):
        with pytest.raises(sw.InputError, match="alpha is"):
            VERBS[verb](alpha=alpha)


@pytest.mark.parametrize("memory", ["1e400GB", "9e99TB", 10**400, -1, "", "1", np.array([1, 2])])
def test_budgets_are_bytes_that_there_are(memory) -> None:
    with pytest.raises(sw.InputError, match="memory is"):
        budget_bytes(memory)


@pytest.mark.parametrize(
    "seed", [-1, np.int64(-1), np.array([], np.uint32), np.array([[1]], np.uint32), 1.0, "1", None]
)
def test_seeds_are_numbers_or_keys(seed: object) -> None:
    """Catches an empty key, which is the same stream for all that forget to fill it."""
    with pytest.raises(sw.InputError, match="seed is"):
        stream(seed, "test")
    with pytest.raises(sw.InputError, match="seed is"):
        sw.check(X, TARGET, seed=seed)


def test_numbers_beyond_floats_are_refused() -> None:
    with pytest.raises(sw.InputError, match="n_bootstrap is 1000"):
        sw.check(X, TARGET, n_bootstrap=10**30)
    for make, option in (
        (lambda: sw.methods.RFSD(gamma=1e-320), "gamma"),
        (lambda: sw.methods.RFSD(degrees_of_freedom=1e300), "degrees_of_freedom"),
        (lambda: sw.methods.FSSD(locations=10**30), "locations"),
        (lambda: sw.methods.KSDAgg(10**30), "bandwidths"),
        (lambda: sw.thin(X, TARGET, 3, entropy=10**400), "entropy"),
    ):
        with pytest.raises(sw.InputError, match=f"{option} is"):
            make()
    for verb in (sw.thin, sw.points):
        with pytest.raises(sw.InputError, match=r"m is 1000.*at most 1000000000"):
            verb(X, TARGET, 10**30)
    with pytest.raises(sw.InputError, match="theta0 has 1000"):
        sw.fit_parameters(lambda t, x: -t * jnp.sum(x**2), X, 10**400)
    with pytest.raises(sw.InputError, match="names is 7"):
        sw.check(X, TARGET, names=7)  # type: ignore[arg-type]
    for bandwidth in (1e-320, 1e-200, 1e200, 10**400):
        with pytest.raises(sw.InputError, match=r"bandwidth is .*from 1e-70 to 1e70"):
            sw.kernels.RBF(bandwidth)
        with pytest.raises(sw.InputError, match="bandwidths is"):
            sw.methods.KSDAgg((1.0, bandwidth))


def test_all_coordinates_are_all() -> None:
    """Catches directions that are dropped although every coordinate is tested."""
    x = np.random.default_rng(3).multivariate_normal(np.zeros(3), np.eye(3) / 10 + 0.9, 300)
    target = sw.Gaussian(np.zeros(3), np.eye(3) / 10 + 0.9)
    whole = sw.check(x, target)
    assert len(whole.coordinates) > 3  # directions too
    for chosen in ([0, 1, 2], 3, ["x[0]", "x[2]", "x[1]"], 10):
        found = sw.check(x, target, coordinates=chosen)
        assert found.pvalue == whole.pvalue
        assert [c.name for c in found.coordinates] == [c.name for c in whole.coordinates]


@pytest.mark.parametrize("verb", ["check", "summary", "refresh"])
def test_an_option_of_an_adapter_is_sent_there(verb: str) -> None:
    """Catches Python's bare "unexpected keyword argument"; the name and the kind of error stay."""
    function = getattr(sw, verb)
    with pytest.raises(TypeError, match=rf"sw.{verb} has no .* sw.{verb}\(\*sw.from_numpyro\("):
        function(object(), params={})
    with pytest.raises(TypeError, match=r"sw.Target\(log_density, support="):
        function(X, lambda x: -x[0], support=sw.support.positive)
    with pytest.raises(TypeError, match=r"Did you mean seed\?"):
        function(X, TARGET, seeds=1)
    assert "seed" in inspect.signature(function).parameters


def test_verbs_with_sets_or_numbers_of_points_answer_options_too() -> None:
    """Catches Python's bare "unexpected keyword argument", and a call that no verb understands."""
    sets = {"a": X, "b": X}
    with pytest.raises(TypeError, match=r"sw\.Samples\.of\(draws, names="):
        sw.compare(sets, TARGET, names=["x", "y"])  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r'sw\.compare\(\{"name": sw\.from_numpyro\('):
        sw.compare(sets, params={})  # type: ignore[call-overload]
    for verb in (sw.thin, sw.points):
        with pytest.raises(TypeError, match=r"Did you mean preconditioner\?"):
            verb(X, TARGET, 5, precondition="id")  # type: ignore[call-arg]


def test_how_many_draws_to_choose_comes_third_or_by_name() -> None:
    with pytest.raises(sw.InputError, match=r"m is missing: .* sw\.thin\(draws, target, 40\)\.$"):
        sw.thin(X, TARGET)
    with pytest.raises(sw.InputError, match=r"10 came in the place .* sw\.thin\(draws, m=10\)"):
        sw.thin(X, 10)


@pytest.mark.parametrize("option", ELSEWHERE)
def test_options_are_where_they_are_said_to_be(option: str) -> None:
    assert option in inspect.signature(getattr(sw, ELSEWHERE[option])).parameters


def test_what_is_asked_for_in_another_way_than_by_an_option() -> None:
    with pytest.raises(TypeError, match=r"sw\.Target\.at_draws\(scores\), method=.scores"):
        sw.check(X, TARGET, scores=-X)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r'sw\.summary\(draws, target\)\["name"\]'):
        sw.summary(X, TARGET, coordinates=["x[0]"])  # type: ignore[call-arg]


@pytest.mark.parametrize("option", OF_METHODS)
def test_options_of_methods_are_answered_by_the_method(option: str) -> None:
    """Catches an option of a method that is called unknown."""
    method, _ = OF_METHODS[option]
    with pytest.raises(TypeError, match=rf"method=sw\.methods\.{method}\({option}="):
        sw.check(X, TARGET, **{option: None})  # type: ignore[arg-type]
    assert option in inspect.signature(getattr(sw.methods, method)).parameters
