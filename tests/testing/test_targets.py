"""The targets of sw.testing: draws, densities and moments belong together."""

import jax
import numpy as np
import pytest

import steinwise as sw
from steinwise.testing.catalogue import MAKERS

N = 4000
ALL = sw.testing.targets(*MAKERS)
SMOOTH = [target for target in ALL if target.name != "discrete"]


@pytest.mark.parametrize("target", ALL)
def test_moments_are_those_of_the_draws(target):
    """Catches a mistake in a closed form, or in a quadrature."""
    draws = target.draw(0, N)
    errors = np.abs(draws.mean(axis=0) - target.mean) / target.sd
    assert (errors < 4.5 / np.sqrt(N)).all()
    lightly_tailed = target.name not in ("funnel", "Student t", "positive")
    wide = draws.std(axis=0) / target.sd
    assert (np.abs(wide - 1) < (0.1 if lightly_tailed else 0.6)).all()


@pytest.mark.parametrize("target", SMOOTH)
def test_stein_identities_hold(target):
    """Catches draws of another density: E[w s + w'] = 0 for functions w that vanish at the ends."""
    x = target.draw(1, N)
    score = np.asarray(jax.jit(jax.vmap(jax.grad(target.log_density)))(x), np.float64)
    vanishing = {
        "positive": (x, np.ones_like(x)),
        "bounded": (x * (1 - x), 1 - 2 * x),
    }
    w, slope = vanishing.get(target.name, (np.ones_like(x), np.zeros_like(x)))
    u = (x - target.mean) / target.sd
    for terms in (w * score + slope, u * w * score + u * slope + w / target.sd):
        z = terms.mean(axis=0) / terms.std(axis=0) * np.sqrt(N)
        assert (np.abs(z) < 4.5).all()


def test_discrete_draws_have_the_frequencies_of_the_density():
    (target,) = sw.testing.targets("discrete")
    grid = np.array([(n, k) for n in range(25) for k in range(n + 1)], dtype=float)
    weights = np.exp(np.asarray(jax.vmap(target.log_density)(grid), np.float64))
    weights /= weights.sum()
    draws = target.draw(0, N)
    for cell, weight in zip(grid[:10], weights[:10], strict=True):
        share = (draws == cell).all(axis=1).mean()
        assert abs(share - weight) < 4.5 * np.sqrt(weight * (1 - weight) / N)
    assert np.asarray(target.log_density(np.array([1.0, 2.0]))) == -np.inf


def test_draws_depend_on_the_seed_alone():
    (target,) = sw.testing.targets("hierarchical model")
    assert (target.draw(3, 5) == target.draw(3, 5)).all()
    assert (target.draw(3, 5) != target.draw(4, 5)).any()


def test_pytest_finds_readable_names():
    ids = [target.__name__ for target in sw.testing.targets()]
    assert ids[:3] == ["normal", "correlated_normal", "ill-conditioned_normal"]
    assert len(ids) == 9  # those on all of R^d


def test_a_target_goes_to_the_other_half_of_the_library():
    (target,) = sw.testing.targets("bounded")
    assert target.as_target().support == sw.support.interval(0, 1)


def test_an_exact_target_is_a_target():
    target = sw.testing.targets("positive")[0]
    draws = target.draw(0, 400)
    found = sw.check(draws, target)
    assert found.statistic == sw.check(draws, target.as_target()).statistic
    sw.assert_fits(draws, target)


def test_unknown_names_are_refused():
    with pytest.raises(sw.InputError, match="there is no target 'funnle': expected one of normal"):
        sw.testing.targets("funnle")


def test_a_target_of_ones_own_is_checked():
    def make(**changed):
        given = {
            "name": "mine",
            "names": ("a",),
            "log_density": lambda x: -(x[0] ** 2),
            "sampler": lambda rng, n: rng.normal(size=(n, 1)),
            "mean": [0.0],
            "sd": [1.0],
        }
        return sw.testing.ExactTarget(**{**given, **changed})

    with pytest.raises(sw.InputError, match="sd is"):
        make(sd=[0.0])
    with pytest.raises(sw.InputError, match="mean is"):
        make(mean=[0.0, 1.0])
    with pytest.raises(sw.InputError, match="names is 'a'"):
        make(names="a")
    with pytest.raises(sw.InputError, match=r"shape \(3,\): expected \(3, 1\)"):
        make(sampler=lambda rng, n: rng.normal(size=n)).draw(0, 3)
