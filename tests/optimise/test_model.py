"""Models with parameters: their layout, and functions of rows within a memory budget."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.optimise.model import Model, ParameterLayout, model_scores


def located(theta, x):
    return -0.5 * jnp.sum((x - theta["mean"]) ** 2 * jnp.exp(-2 * theta["log_sd"]))


def make_model() -> tuple[Model, np.ndarray]:
    layout, start = ParameterLayout.of({"mean": np.ones(3), "log_sd": 0.5})
    return Model.of(located, layout, start, 3), start


def test_a_layout_gives_back_what_it_was_made_from() -> None:
    """Catches entries that change places between the vector and the user's tree."""
    theta0 = {"b": np.arange(6.0).reshape(2, 3), "a": 7.0, "c": [8.0, np.array([9.0])]}
    layout, vector = ParameterLayout.of(theta0)
    tree = layout.tree(vector)
    assert layout.names[:3] == ("a", "b[0, 0]", "b[0, 1]")
    assert (tree["b"] == theta0["b"]).all()
    assert tree["a"] == 7.0
    assert tree["c"][1].shape == (1,)


@pytest.mark.parametrize("n", [1, 37, 600])
def test_scores_do_not_depend_on_the_memory_budget(n: int) -> None:
    """Catches padding that leaks into the rows that are returned."""
    model, start = make_model()
    x = np.random.default_rng(0).normal(size=(n, 3))
    scores = model_scores(model, start, x, 2**30)
    assert scores == pytest.approx((start[1:] - x) * np.exp(-2 * start[0]), rel=1e-12)
    assert (model_scores(model, start, x, 2**20) == scores).all()


def test_only_a_jitted_function_is_compiled_once() -> None:
    """Catches data that changed between two fits, and a study that compiles for each of them."""
    layout, start = ParameterLayout.of({"mean": np.ones(3), "log_sd": 0.5})
    jitted = jax.jit(located)
    models = [Model.of(function, layout, start, 3) for function in (jitted, jitted, located)]
    for model in models:
        model_scores(model, start, np.zeros((1, 3)), 2**20)
    assert models[0].compiled is models[1].compiled
    assert make_model()[0].compiled == {}


def test_a_fit_sees_the_data_of_the_moment() -> None:
    """The global variable of a notebook, changed between two fits."""
    draws = np.random.default_rng(0).normal(size=(50, 1))
    data = {"shift": 0.0}

    def shifted(theta, x):
        return -0.5 * jnp.sum((x - theta - data["shift"]) ** 2)

    first = sw.fit_parameters(shifted, draws, 0.0).theta
    data["shift"] = 10.0
    assert sw.fit_parameters(shifted, draws, 0.0).theta == pytest.approx(first - 10, abs=1e-6)


def test_a_density_without_second_derivatives_is_answered() -> None:
    """Catches an error of JAX from deep inside the search."""

    def looping(theta, x):
        def body(state):
            return state[0] + 1, state[1] - jnp.sum((x - theta) ** 2)

        start = 0, jnp.zeros_like(jnp.sum(x))
        return jax.lax.while_loop(lambda state: state[0] < 2, body, start)[1]

    draws = np.random.default_rng(0).normal(size=(50, 1))
    with pytest.raises(sw.TargetError, match=r"cannot be differentiated twice.*while_loop"):
        sw.fit_parameters(looping, draws, 0.0)
