"""How often `sw.compare` calls equally good sets of draws different, and which comes first.

Run with ``python -m benchmarks.set_comparisons``. For each case: the share of runs in which a set
is called worse that is no farther off than any other (false claims), in which an interval misses
the largest error of its set (the intervals of all sets are meant to hold together), in which the
set that is nearest comes first, by checks and in some cases by KSD, and in which all others are
called worse.
Results go to ``benchmarks/results/set_comparisons.json``.
"""

import json
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import click
import numpy as np

import steinwise as sw
from benchmarks import RESULTS, simulate

PATH = RESULTS / "set_comparisons.json"
D = 5
COVARIANCE = 0.5 * np.eye(D) + 0.5
ROOT = np.linalg.cholesky(COVARIANCE)


class Case(NamedTuple):
    """Sets of draws, the first of which is nearest, and how far off each is."""

    target: sw.Gaussian
    draws: Callable[[int], list[np.ndarray]]  # by seed
    truth: tuple[float, ...]  # the largest error of each set
    independent: bool | None = True
    by_ksd: bool = False


def _rng(seed: int, k: int) -> np.random.Generator:
    return np.random.default_rng([seed, k])


def _correlated(*sets: tuple[int, float, float]) -> Case:
    """Sets of some size, shifted in all coordinates, and of some width."""

    def draws(seed: int) -> list[np.ndarray]:
        return [
            shift + width * _rng(seed, k).normal(size=(n, D)) @ ROOT.T
            for k, (n, shift, width) in enumerate(sets)
        ]

    truth = tuple(max(abs(shift), abs(np.log(width))) for _, shift, width in sets)
    return Case(sw.Gaussian(np.zeros(D), COVARIANCE), draws, truth)


def _one_of(d: int, n: int, width: float) -> Case:
    """Correct draws, and draws one coordinate of which has another width."""

    def draws(seed: int) -> list[np.ndarray]:
        right, wrong = (_rng(seed, k).normal(size=(n, d)) for k in range(2))
        wrong[:, d // 2] *= width
        return [right, wrong]

    return Case(sw.Gaussian(np.zeros(d), np.eye(d)), draws, (0.0, abs(np.log(width))), by_ksd=True)


def _chains(rho: float) -> Case:
    def draws(seed: int) -> list[np.ndarray]:
        slow = np.full(3, rho)
        return [simulate.autoregressive(_rng(seed, k), slow, 4, 500) for k in range(2)]

    return Case(sw.Gaussian(np.zeros(3), np.eye(3)), draws, (0.0, 0.0), independent=None)


CASES: dict[str, Case] = {
    "two right, 200 draws each": _correlated((200, 0.0, 1.0), (200, 0.0, 1.0)),
    "two right, 60 and 2000 draws": _correlated((60, 0.0, 1.0), (2000, 0.0, 1.0)),
    "five right, 300 draws each": _correlated(*[(300, 0.0, 1.0)] * 5),
    "two right, d = 30, 150 draws each": _one_of(30, 150, 1.0),
    "two right, 4 chains of 500, autocorrelation 0.8": _chains(0.8),
    "both shifted by 0.3, 200 and 2000 draws": _correlated((200, 0.3, 1.0), (2000, 0.3, 1.0)),
    "too wide and too narrow by 1.3, 500 draws each": _correlated(
        (500, 0.0, 1.3), (500, 0, 1 / 1.3)
    ),
    "right and shifted by 0.3, 500 draws each": _correlated((500, 0.0, 1.0), (500, 0.3, 1.0)),
    "right and 0.7 times as wide, 1000 draws each": _correlated((1000, 0.0, 1.0), (1000, 0.0, 0.7)),
    "shifted by 0.2 and by 0.5, 1000 draws each": _correlated((1000, 0.2, 1.0), (1000, 0.5, 1.0)),
    "shifted by 0.05, 5000 draws, and by 0.4, 40 draws": _correlated(
        (5000, 0.05, 1.0), (40, 0.4, 1.0)
    ),
    "right and one of 50 coordinates 1.5 times as wide, 300 draws each": _one_of(50, 300, 1.5),
}


def outcome(case: Case, seed: int) -> dict[str, bool | None]:
    """What one comparison claims."""
    drawn = case.draws(seed)
    sets = {f"set {k}": drawn[k] for k in reversed(range(len(drawn)))}
    options = {"independent": case.independent, "seed": seed}
    found = sw.compare(sets, case.target, method="scores", **options)
    right_by_ksd = None
    if case.by_ksd:
        by_ksd = sw.compare(sets, case.target, method="ksd", **options)
        right_by_ksd = by_ksd.ranking[0].name == "set 0"
    truth = {f"set {k}": error for k, error in enumerate(case.truth)}
    errors = {one.name: one.evidence.largest_error for one in found.ranking if one.evidence}
    worse = set(sets) - set(found.candidates)
    return {
        "false claims": any(truth[name] == min(case.truth) for name in worse),
        "missed": any(
            not error.low <= truth[name] <= (np.inf if error.high is None else error.high)
            for name, error in errors.items()
        ),
        "nearest first": found.ranking[0].name == "set 0",
        "nearest first, KSD": right_by_ksd,
        "others worse": len(worse) == len(sets) - 1,
    }


@click.command()
@click.option("--repetitions", default=100, show_default=True, type=click.IntRange(min=1))
@click.option("--case", "names", multiple=True, type=click.Choice(list(CASES)), help="All.")
def main(repetitions: int, names: tuple[str, ...]) -> None:
    """Measure some cases; each is written when it is done."""
    results: dict[str, dict[str, Any]] = json.loads(PATH.read_text()) if PATH.exists() else {}
    for name in names or CASES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sw.SteinwiseWarning)
            outcomes = [outcome(CASES[name], seed) for seed in range(repetitions)]
        results[name] = {"repetitions": repetitions} | {
            key: None if value is None else sum(bool(one[key]) for one in outcomes) / repetitions
            for key, value in outcomes[0].items()
        }
        click.echo(f"{name}: {results[name]}")
        PATH.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
