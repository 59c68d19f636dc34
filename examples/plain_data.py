"""Does a model fit plain data? No sampler and no posterior, just rows of data and a density.

Heights, weights and incomes of people are compared with a Gaussian that has the right means and
covariance; one column has heavier tails than a Gaussian.

Run with ``python examples/plain_data.py [FOLDER]``; the figures go to FOLDER.
"""

import sys
from pathlib import Path

import numpy as np

import steinwise as sw

NAMES = ["height", "weight", "income"]


def data(n: int) -> np.ndarray:
    """Standardised rows; income is Student t with 4 degrees of freedom, scaled to variance 1."""
    rng = np.random.default_rng(0)
    height, noise = rng.normal(size=(2, n))
    weight = 0.6 * height + 0.8 * noise
    income = rng.standard_t(4, size=n) / np.sqrt(2)
    return np.stack([height, weight, income], axis=1)


def model() -> sw.Gaussian:
    covariance = np.eye(3)
    covariance[0, 1] = covariance[1, 0] = 0.6
    return sw.Gaussian(np.zeros(3), covariance)


def check(n: int = 1500) -> sw.CheckResult:
    return sw.check(data(n), model(), names=NAMES)


def main(folder: str = "out") -> None:
    result = check()
    print(result)
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    result.plot().savefig(out / "plain_data.png", dpi=120)
    result.plot_pit("income").savefig(out / "plain_data_income.png", dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:2])
