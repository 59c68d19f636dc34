"""What a report says of the effort: what was looked at, and what the next level would add."""

import numpy as np

import steinwise as sw

STANDARD = sw.Gaussian(np.zeros(2), np.eye(2))


def fact(effort: str, n: int = 4000) -> list[str]:
    draws = np.random.default_rng(0).normal(size=(n, 2))
    report = str(sw.check(draws, STANDARD, n_bootstrap=99, independent=True, effort=effort))
    return [line.split(maxsplit=1)[1] for line in report.splitlines() if "  effort " in line]


def test_each_level_says_what_it_looked_at() -> None:
    """Catches a verdict on some lines that reads as one on all."""
    assert fact("quick") == ['scores at 4000 draws; "standard" follows lines through 1000 as well']
    assert fact("standard") == [
        'scores at 4000 draws, lines through 1000; "full" follows 4 times as many'
    ]
    assert fact("full") == ["lines through all 4000 draws"]
    assert fact("standard", 1000) == ['lines through all 1000 draws ("full" is the same)']


def test_known_scores_are_all_there_is() -> None:
    draws = np.random.default_rng(0).normal(size=(100, 2))
    result = sw.check(draws, sw.Target.at_draws(-draws), method="scores")
    assert "effort" not in str(result)
    assert result.to_dict()["effort"] is None
