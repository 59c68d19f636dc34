"""Scale: memory, many coordinates, extreme numbers, few compilations."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.target import AbstractTarget

ROOT = Path(__file__).parents[2]


def normal(n: int = 300, d: int = 3) -> np.ndarray:
    draws = np.random.default_rng(0).normal(size=(n, d))
    draws[:, 1] *= 1.4
    return draws


def numbers(result: sw.CheckResult) -> np.ndarray:
    rows = [(c.value, c.adjusted_pvalue, *(c.effect or ())) for c in result.findings.coordinates]
    return np.array([result.pvalue, *np.ravel(rows)])


# -- memory ----------------------------------------------------------------------------------------

CHILD = """
import sys
import numpy as np
import jax, equinox, scipy.special, scipy.stats, scipy.linalg
import steinwise as sw

def resident(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) * 1024

method, n, d, budget, path = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
draws = np.load(path, mmap_mode="r")[:n, :d]
target = sw.Gaussian(np.zeros(d), np.eye(d))
if method == "kccsd":  # few epochs take as much memory as many
    method = sw.methods.KCCSD(sw.conditionals.Histogram(epochs=25))
options = dict(method=method, independent=True, progress=False, n_bootstrap=199)
sw.check(draws, target, memory=budget, **options)  # libraries, what is compiled, the file's pages
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the kernel forgets the highest memory so far
before = resident("VmRSS")
sw.check(draws, target, memory=budget, **options)
print((resident("VmHWM") - before) / budget)
"""
# glibc keeps freed memory for later, more or less of it by chance; arrays of this size and above go
# back to the system at once
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}


@pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux's record of the peak"
)
@pytest.mark.parametrize(
    ("method", "n", "d", "mebibytes"),
    [
        ("transported", 100_000, 20, 48),
        ("ksd", 6000, 20, 128),
        ("fssd", 100_000, 10, 64),
        ("ksdagg", 4000, 10, 128),
        ("kccsd", 8000, 60, 96),
        ("sksd", 4000, 10, 32),
        ("rfsd", 20_000, 10, 32),
    ],
)
def test_memory_stays_within_the_budget(
    method: str, n: int, d: int, mebibytes: int, tmp_path: Path
) -> None:
    """Catches an array over all draws, or all pairs of them, that forgets the budget.

    The kernel keeps the peak, so that no moment is missed. The draws are in a file, and the same
    check was made before: only what the check itself holds is counted.
    """
    path = tmp_path / "draws.npy"
    np.save(path, np.random.default_rng(1).normal(size=(n, d)))
    sizes = [str(one) for one in (n, d, mebibytes * 2**20)]
    command = [sys.executable, "-c", CHILD, method, *sizes, str(path)]
    environment = os.environ | ALLOCATOR
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert found.returncode == 0, found.stderr
    assert float(found.stdout) < 1.2


# -- many coordinates ------------------------------------------------------------------------------


def test_some_coordinates_get_the_verdict_that_they_get_among_all() -> None:
    """Catches lines that are taken for others, and others that are forgotten as partners."""
    draws = normal(500, 6)
    draws[:, 4] = 0.5 * draws[:, 0] + np.sqrt(0.75) * draws[:, 4]
    target = sw.Gaussian(np.zeros(6), np.eye(6))
    every = {c.name: c for c in sw.check(draws, target).coordinates}
    several_ways: list[Any] = [["x[4]", "x[1]"], [1, 4], np.array([4, 1])]
    for chosen in several_ways:
        found = sw.check(draws, target, coordinates=chosen)
        assert [c.name for c in found.findings.coordinates] == ["x[1]", "x[4]"]
        for c in found.coordinates:
            assert c.value == pytest.approx(every[c.name].value, rel=1e-9)
            assert c.verdict == every[c.name].verdict
        assert found["x[4]"].verdict == "its dependence on x[0] is wrong"
    drawn = sw.check(draws, target, coordinates=3, seed=5)
    assert len(drawn.coordinates) == 3
    again = sw.check(draws, target, coordinates=3, seed=6)
    assert {c.name for c in drawn.coordinates} != {c.name for c in again.coordinates}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"coordinates": "x[1]"}, "coordinates is 'x.1.': expected names such as"),
        ({"coordinates": ["y"]}, "there is no coordinate 'y'; there are 3: x.0., x.1., x.2.."),
        ({"coordinates": [3]}, "there is no coordinate 3"),
        ({"coordinates": [1, "x[1]"]}, "none of them twice"),
        ({"coordinates": []}, "expected at least one"),
        ({"coordinates": 0}, "coordinates is 0: expected a whole number, at least 1"),
        ({"coordinates": [1], "method": "ksd"}, "'ksd', which sees all coordinates at once"),
    ],
)
def test_unknown_coordinates_are_answered(options: dict, expected: str) -> None:
    with pytest.raises(sw.InputError, match=expected):
        sw.check(normal(), sw.Gaussian(np.zeros(3), np.eye(3)), **options)


def test_coordinates_drawn_at_random_keep_the_sum_unbiased() -> None:
    """Catches a sum that is not scaled, and an error that forgets the choice."""
    draws = normal(400, 8) * np.linspace(0.8, 1.5, 8)
    target = sw.Gaussian(np.zeros(8), np.eye(8))
    conditional = sw.conditionals.Sampler(
        lambda key, x, k: np.random.default_rng(key).normal(0, 1.2, size=(*x.shape, k))
    )
    options = {"conditional": conditional, "independent": True}
    whole = sw.kccsd(draws, target, **options)
    assert whole.per_coordinate is not None
    parts = [sw.kccsd(draws, target, coordinates=3, seed=s, **options) for s in range(60)]
    values = np.array([part.value for part in parts])
    assert values.mean() == pytest.approx(whole.value, abs=4 * values.std() / np.sqrt(60))
    errors = np.array([part.standard_error for part in parts])
    assert np.sqrt((errors**2).mean()) > 0.8 * values.std()
    assert len(parts[0].per_coordinate) == 3  # type: ignore[arg-type]
    named = sw.kccsd(draws, target, coordinates=["x[1]", "x[5]"], **options)
    assert named.value == pytest.approx(whole.per_coordinate[[1, 5]].sum(), rel=1e-9)
    assert sw.kccsd(draws, target, coordinates=8, **options).value == pytest.approx(whole.value)


# -- dear densities --------------------------------------------------------------------------------


def counted_target(calls: list[int]) -> AbstractTarget:
    """A normal density that counts the points it is asked for."""

    def score(x: np.ndarray) -> np.ndarray:
        calls.append(len(x))
        return -x

    return sw.Target.from_score(score)


@pytest.mark.filterwarnings("ignore::steinwise.SteinwiseWarning")
@pytest.mark.parametrize("method", ["transported", "ksd"])
def test_evaluations_are_kept_to(method: str) -> None:
    """Catches a price per draw that forgets lines or directions, and thinning that is not even."""
    draws = np.random.default_rng(3).normal(size=(2, 600, 2))
    draws[..., 1] += 2 * draws[..., 0]  # so that a direction is followed
    options = {"method": method, "independent": True, "progress": False}
    calls: list[int] = []
    sw.check(draws, counted_target(calls), **options)
    most = sum(calls) // 3
    calls.clear()
    result = sw.check(draws, counted_target(calls), evaluations=most, **options)
    assert most / 4 < sum(calls) <= 1.2 * most  # a few score the draws' autocorrelation
    step = 600 // result.draws.n_draws
    same = sw.check(draws[:, ::step], counted_target([]), **options)
    assert same.pvalue == result.pvalue
    assert f"one in {step} draws was tested" in " ".join(result.notes)


@pytest.mark.filterwarnings("ignore::steinwise.SteinwiseWarning")
def test_a_budget_is_used() -> None:
    """Catches 50 of 2500 draws, each at the price of the most that its lines may take."""
    draws = np.random.default_rng(0).normal(size=(2500, 5))
    target = sw.Target(lambda x: -0.5 * jnp.sum(x**2) - jnp.sum(jnp.cosh(0.3 * x[1:] * x[:-1])))
    result = sw.check(draws, target, evaluations=20_000, n_bootstrap=199)
    evaluations = result.findings.evaluations
    assert evaluations is not None
    spent = result.draws.n_draws * len(result.findings.coordinates) * evaluations
    assert 10_000 < spent < 25_000
    assert result.draws.n_draws > 400
    small = sw.check(draws, target, evaluations=2000, n_bootstrap=199)
    assert small.draws.n_draws >= 40


def test_a_budget_that_suffices_changes_nothing() -> None:
    target = sw.Gaussian(np.zeros(3), np.eye(3))  # costs nothing
    free = sw.check(normal(), target, evaluations=1)
    assert np.array_equal(numbers(free), numbers(sw.check(normal(), target)))


@pytest.mark.parametrize(
    ("evaluations", "expected"),
    [
        (100, "draws? (is|are) left, and at least 20"),
        (0, "at least 1"),
        ("many", "expected a number"),
    ],
)
def test_a_budget_that_is_too_small_is_answered(evaluations: Any, expected: str) -> None:
    with pytest.raises(sw.InputError, match=expected):
        sw.check(normal(), lambda x: -jnp.sum(x**2), evaluations=evaluations)
    with pytest.raises(sw.InputError, match="every atom of its stand-in"):
        sw.check(normal(), sw.Gaussian(np.zeros(3), np.eye(3)), method="kccsd", evaluations=1e6)


def test_ten_thousand_coordinates() -> None:
    """Catches anything quadratic in the dimension: a matrix of all pairs has 800 MB."""
    d = 10_000
    draws = np.random.default_rng(2).normal(size=(60, d))
    draws[:, 7] *= 3.0

    def line(x, j, y):
        return -y

    target = sw.Target(lambda x: -0.5 * jnp.sum(x**2), lines=line)
    names = [f"theta{j}" for j in range(d)]  # or a note asks whether the draws are turned
    options: dict[str, Any] = {"coordinates": [3, 7, 9000], "n_bootstrap": 199}
    result = sw.check(draws, target, names=names, independent=True, **options)
    assert [c.name for c in result.flagged] == ["theta7"]


# -- precision -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scales", [(1e-12, 1.0, 1e12), (1e-140, 1.0, 1e90)])
def test_units_do_not_matter(scales: tuple[float, ...]) -> None:
    """Catches a step, a guard or a floor that is absolute."""
    unit, draws = np.array(scales), normal()
    options: dict[str, Any] = {"n_bootstrap": 99}
    plain = numbers(sw.check(draws, lambda x: -0.5 * jnp.sum(x**2), **options))
    scaled = sw.check(draws * unit, lambda x: -0.5 * jnp.sum((x / unit) ** 2), **options)
    np.testing.assert_allclose(numbers(scaled), plain, rtol=1e-7, atol=1e-9)
    closed = [
        numbers(sw.check(draws * u, sw.Gaussian(np.zeros(3), np.diag(u**2)), **options))
        for u in (np.ones(3), np.clip(unit, 1e-12, 1e12))
    ]
    np.testing.assert_allclose(*closed, rtol=1e-7, atol=1e-9)


def test_large_log_densities_lose_few_digits() -> None:
    """Catches differences that are taken before the highest value of a line is subtracted."""
    draws = normal()
    plain = numbers(sw.check(draws, lambda x: -0.5 * jnp.sum(x**2), n_bootstrap=99))
    large = numbers(sw.check(draws, lambda x: 1e8 - 0.5 * jnp.sum(x**2), n_bootstrap=99))
    np.testing.assert_allclose(large, plain, atol=1e-6)


def test_denormal_entries_are_numbers_and_denormal_ranges_are_refused() -> None:
    draws = normal()
    draws[:5, 0] = 1e-310
    assert np.isfinite(numbers(sw.check(draws, lambda x: -0.5 * jnp.sum(x**2)))).all()
    draws[:, 0] *= 1e-310
    with pytest.raises(sw.InputError, match=r"x\[0\] varies by only .*, less than 1e-150"):
        sw.check(draws, lambda x: -0.5 * jnp.sum(x**2))


@pytest.mark.parametrize("method", ["transported", "ksd", "fssd"])
def test_float32_loses_at_most_a_thousandth(method: str) -> None:
    """What the option costs: the error of the statistic relative to its value."""
    draws, target = normal(2000), sw.Gaussian(np.zeros(3), np.eye(3))
    full, half = (
        sw.check(draws, target, method=method, dtype=dtype) for dtype in ("float64", "float32")
    )
    assert half.statistic == pytest.approx(full.statistic, rel=1e-3)
    assert half.pvalue == pytest.approx(full.pvalue, abs=0.005)


# -- compilation -----------------------------------------------------------------------------------


@pytest.fixture
def compilations():
    """What was compiled since, one entry each."""
    events = []

    def listen(event: str, duration_secs: float, **_: object) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            events.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield events
    jax.monitoring.clear_event_listeners()


def test_one_compilation_per_family_of_shapes(compilations) -> None:
    """Catches shapes that follow the number of draws: every n would compile for seconds."""

    def density(x):
        return -0.5 * jnp.sum(x**2) - 0.1 * jnp.sum(x**4)

    target = sw.Target(density)
    draws = normal(900)
    sw.check(draws[:500], target, n_bootstrap=99)
    compilations.clear()
    sw.check(draws[:300], sw.Target(lambda x: density(x)), n_bootstrap=99)
    assert compilations, "the listener hears nothing"
    compilations.clear()
    for n in (520, 700, 900):
        sw.check(draws[:n], target, n_bootstrap=99)
    assert len(compilations) <= 2  # a larger family of calls


def test_a_density_is_compiled_four_times(compilations) -> None:
    """Catches a further program of the density: each may take seconds in a first call.

    They are its values with scores, its series along lines, its values along lines, and its values
    with slopes at nodes.
    """

    def density(x):
        return -jnp.sum(jnp.logaddexp(x, -x)) - 0.4 * (x[0] - x[1]) ** 2

    draws = normal(600) @ np.array([[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]])
    sw.check(draws, sw.Target(density), n_bootstrap=99)
    compilations.clear()
    checked = sw.check(draws, sw.Target(lambda x: density(x)), n_bootstrap=99)
    assert checked.findings.direction_pit is not None  # directions are among the lines
    assert len(compilations) == 4
