"""Checks whose pictures several files of tests look at."""

import numpy as np
import pytest

import steinwise as sw

CASES = ("3 short names", "3 names of 40 characters", "3 wide names", "40 names", "40 long names")


def _names(case: str) -> list[str]:
    if case == "3 short names":
        return ["alpha", "beta", "log_tau"]
    if case == "3 wide names":
        return [f"WIDE_MODEL_OF_WOMEN_{k}_MEAN_WAGE_WEIGHT" for k in range(3)]
    if case == "40 names":
        return [f"x[{k}]" for k in range(40)]
    count = 3 if case.startswith("3 ") else 40
    return [f"population_level_effects.region[{k:02}].sd" for k in range(count)]


@pytest.fixture(scope="package", params=CASES)
def shifted(request: pytest.FixtureRequest) -> sw.CheckResult:
    """Draws that are off along the direction in which they are long, which is flagged."""
    names = _names(request.param)
    d = len(names)
    covariance = 0.3 * np.eye(d) + 0.7
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal(np.full(d, 2.0), covariance, size=200)
    target = sw.Gaussian(np.zeros(d), covariance)
    result = sw.check(draws, target, names=names, n_bootstrap=200)
    assert result["direction 1"].name.startswith("direction 1 (")
    assert result["direction 1"].adjusted_pvalue <= result.alpha
    return result
