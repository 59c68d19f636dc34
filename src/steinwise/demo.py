"""The main job on a built-in example: mean-field draws against a correlated posterior.

Run with ``python -m steinwise.demo [FOLDER]``; the picture and the report go to FOLDER (``out`` by
default).
"""

import sys
from pathlib import Path

import numpy as np

import steinwise as sw

CORRELATION = 0.7
NAMES = ["alpha", "beta", "gamma", "log_tau"]


def posterior() -> sw.Gaussian:
    """alpha and beta are strongly correlated; gamma and log_tau stand alone."""
    covariance = np.eye(4)
    covariance[0, 1] = covariance[1, 0] = CORRELATION
    return sw.Gaussian(np.zeros(4), covariance)


def mean_field_sd(target: sw.Gaussian) -> np.ndarray:
    """The standard deviations of the best factorised Gaussian, as variational inference finds it.

    They are those of the complete conditionals: too narrow wherever there is correlation.
    """
    return 1 / np.sqrt(np.diag(target.precision))


def main(folder: str = "out") -> None:
    target = posterior()
    sd = mean_field_sd(target)
    draws = np.random.default_rng(0).normal(size=(1000, 4)) * sd

    print("Mean-field draws against a posterior in which alpha and beta are correlated.\n")
    result = sw.check(draws, target, names=NAMES)
    print(result)
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "demo.png"
    result.plot().savefig(picture, dpi=120)
    report = out / "demo.html"
    report.write_text(result.to_html(), encoding="utf-8")
    print(f"\nThe picture is in {picture}, the report in {report}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
