"""Bandwidths: numbers, vectors, and the median heuristic inside sums and products."""

import numpy as np
import pytest

import steinwise as sw
from steinwise.kernels import IMQ, RBF, Matern52
from steinwise.kernels.median import median_distance
from tests.kernels.cases import laplace_draws


def test_resolve_reaches_inside_sums_and_products():
    """A composite kernel whose parts keep the word "median"."""
    x = laplace_draws()
    kernel = (RBF("median") + 0.5 * IMQ("median")) * Matern52(2.0)
    resolved = kernel.resolve(x, 0, per_coordinate=False)
    m = float(median_distance(x, 0, per_coordinate=False))
    expected = (RBF(m) + 0.5 * IMQ(m)) * Matern52(2.0)
    np.testing.assert_allclose(resolved(x[:3], x[:4]), expected(x[:3], x[:4]), rtol=1e-13)


def test_an_unresolved_median_says_what_to_do():
    """Else the word reaches the arithmetic."""
    with pytest.raises(sw.InputError, match=r"kernel\.resolve"):
        RBF("median")(np.zeros((2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, [1.0, -1.0], np.ones((2, 2))])
def test_a_bandwidth_must_be_positive_and_finite(bad):
    """A zero or negative bandwidth gives NaN or nonsense much later."""
    with pytest.raises(sw.InputError, match=r"(?s)bandwidth is .*expected positive finite"):
        RBF(bad)


def test_an_unknown_word_as_bandwidth():
    with pytest.raises(sw.InputError, match=r"bandwidth is 'medain'.*median heuristic"):
        RBF("medain")
    with pytest.raises(sw.InputError, match="exponent is"):
        IMQ(1.0, exponent=-0.5)


@pytest.mark.parametrize("bad", ["1.0", None, [[1.0], [1.0, 2.0]], [], {}, object()])
def test_a_bandwidth_that_is_no_number(bad):
    """NumPy's own error, or a text that is read as a number."""
    with pytest.raises(sw.InputError, match=r"bandwidth is .*expected positive finite"):
        RBF(bad)


@pytest.mark.parametrize(
    "measure",
    [
        lambda x, t, kernel: sw.check(x, t, method=sw.methods.KSD(kernel)),
        lambda x, t, kernel: sw.check(x, t, method=sw.methods.NystromKSD(kernel)),
        lambda x, t, kernel: sw.check(x, t, method=sw.methods.FSSD(kernel)),
        lambda x, t, kernel: sw.check(x, t, method=sw.methods.SlicedKSD(kernel=kernel)),
        lambda x, t, kernel: sw.ksd(x, t, kernel=kernel + 0.5 * IMQ()),
        lambda x, t, kernel: sw.compare({"a": x, "b": x + 1}, t, method=sw.methods.KSD(kernel)),
    ],
    ids=["ksd", "nystrom", "fssd", "sksd", "sum", "compare"],
)
def test_a_vector_for_another_dimension(measure):
    """Broadcasting, which fails far inside JAX or, with one number, passes."""
    draws, target = np.random.default_rng(0).normal(size=(100, 2)), sw.Gaussian([0, 0], np.eye(2))
    for d, count in ((1, "1 parameter"), (3, "3 parameters")):
        with pytest.raises(sw.InputError, match=f"vector of {count} for 2 coordinates"):
            measure(draws, target, RBF(np.ones(d)))
