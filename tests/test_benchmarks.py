"""The benchmarks: their runner resumes, and their committed results can be read and keep rules."""

import json
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from click import ClickException
from click.testing import CliRunner
from scipy.stats import binom

from benchmarks import (
    RESULTS,
    case_runner,
    page,
    power,
    published,
    published_cases,
    samplers,
    samplers_blackjax,
    size_cases,
    suites,
)
from benchmarks.case_runner import run_case
from benchmarks.cases import Case, Outcome, Rule
from benchmarks.long_chains import WALKERS, WARMUP, Sampler, chain_runner, ensemble_runner
from benchmarks.measuring import against_bounds, best_of, bounds_table, exponent, json_lines
from benchmarks.rates import confidence_interval, interval, lower_bound, passes, summarise
from steinwise.testing import ExactTarget, targets


def repeat(name: str, repetition: int) -> dict[str, Outcome]:
    return {name: {"hit": float(repetition % 4 == 0)}}


def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
    raise AssertionError("`repeat` is called in place of this")


def test_an_interrupted_case_resumes(tmp_path):
    """What is in the scratch file is not run again, except for a torn line."""
    scratch = tmp_path / "scratch" / "size toy.jsonl"
    scratch.parent.mkdir()
    finished = "".join(json.dumps({r: {"toy": {"hit": 1.0}}}) + "\n" for r in (0, 1))
    scratch.write_text(finished + '{"2": {"toy": {"hit"')
    result = run_case("toy", Case(run, Rule("shown")), repeat, 8, 1, scratch)
    assert result["rows"]["toy"]["verdicts"] == 8
    assert result["rows"]["toy"]["rate"] == 3 / 8  # 0 and 1 from the scratch file, and 4
    # and all are kept, so that a run with more repetitions adds to them
    numbers = [int(r) for line in scratch.read_text().splitlines() for r in json.loads(line)]
    assert sorted(numbers) == list(range(8))


def test_intervals_of_rates_are_exact():
    """By the tails of the binomial distribution that define them."""
    low, high = interval(0.05, 500)
    assert (low, high) == (0.022, 0.084)
    counts = binom(500, 0.05)
    assert counts.cdf(11 - 1) < 0.0005 <= counts.cdf(11)
    assert counts.sf(42) <= 0.0005 < counts.sf(42 - 1)
    assert binom(100, lower_bound(0.99, 100)).sf(98) == pytest.approx(0.05)
    assert lower_bound(0.0, 100) == 0.0


@pytest.mark.parametrize(
    ("rule", "rate", "kept"),
    [
        (Rule("level"), 0.084, True),
        (Rule("level"), 0.086, False),
        (Rule("level"), 0.02, False),
        (Rule("at least", 0.9), 0.9, True),
        (Rule("at least", 0.9), 0.898, False),
        (Rule("surely at least", 0.9), 0.91, False),
        (Rule("surely at least", 0.9), 0.93, True),
        (Rule("at most", 0.07), 0.07, True),
        (Rule("at most", 0.07), 0.072, False),
        (Rule("shown"), 0.5, None),
    ],
)
def test_rules_for_500_repetitions(rule, rate, kept):
    assert passes(rule, rate, 500) is kept


def test_a_rule_on_all_pvalues():
    """Uniform ones keep it, and ones that are too small in the middle do not, at any rate."""
    even = (np.arange(200) + 0.5) / 200
    case = Case(run, Rule("uniform", 0.01))

    def row(pvalues):
        return summarise(case, [{"toy": {"hit": float(p <= 0.05), "pvalue": p}} for p in pvalues])

    kept, broken = row(even)["toy"], row(np.where(even > 0.05, even**1.4, even))["toy"]
    assert (kept["passes"], broken["passes"]) == (True, False)
    assert kept["uniformity"] == 1.0
    assert kept["quantiles of p"][49] == 0.5
    assert passes(case.rule("toy"), kept["rate"], 200) is False  # nothing is known of its p-values


RESULTS_OF_SUITES = {suite: file for suite, (file, _) in power.SUITES.items()} | {None: "size"}


@pytest.mark.parametrize("suite", RESULTS_OF_SUITES)
def test_committed_results_belong_to_cases_and_can_be_printed(suite):
    """Catches a renamed case, row or key: results in the file would no longer be recognised.

    Cases that take hours may be missing: each is added as soon as it has been run.
    """
    results = json.loads((RESULTS / f"{RESULTS_OF_SUITES[suite]}.json").read_text())
    cases = suites.CASES[suite] if suite else size_cases.CASES
    assert set(results) <= set(cases)
    for name, result in results.items():
        for statistic, row in result["rows"].items():
            rule = cases[name].rule(statistic)
            assert row["rule"].startswith(rule.kind)
            assert row["passes"] == passes(
                rule, row["rate"], row["verdicts"], row.get("uniformity")
            )
    table = power.table if suite == "power" else case_runner.table
    assert len(table(list(results), results).splitlines()) > len(results)


def test_published_rates_stand_next_to_ours():
    """Catches a renamed case, and a published column that is not named as such."""
    results = json.loads((RESULTS / "published.json").read_text())
    assert set(results) <= set(published_cases.ROWS)
    printed = published.table(list(results), results)
    assert printed.count("| d = ") + printed.count("| delta = ") == len(results)
    assert "KSDAgg (published)" in printed
    assert "default check (ours)" in printed
    assert confidence_interval(0.04, 200) == pytest.approx((0.0174, 0.0773), abs=1e-4)


def test_the_survey_of_samplers_is_printed_from_committed_results():
    results = json.loads((RESULTS / "samplers.json").read_text())
    assert set(results) <= {*samplers.LIBRARIES, "sizes"}
    assert set(results["BlackJAX"]) <= set(samplers_blackjax.RECIPES)
    printed = samplers.table(results).splitlines()
    sizes = results.pop("sizes")
    measured = sum(len(rows) for library in results.values() for rows in library.values())
    # of each library its name, two lines of head and three empty ones around them
    assert len(printed) == measured + 5 * len(results) + 2 + len(sizes)


def test_errors_of_probabilities_are_the_largest_distance_of_two_cdfs():
    """By hand: half of the draws at the lower end of a uniform make P(x <= 0) wrong by a half."""
    uniform = ExactTarget(
        "uniform", ("a",), jnp.sum, lambda rng, n: rng.uniform(size=(n, 1)), [0.5], [0.3]
    )
    draws = np.concatenate([np.zeros(500), (np.arange(500) + 0.5) / 500]).reshape(4, 250, 1)
    assert samplers.largest_probability_error(uniform, draws) == pytest.approx(0.5, abs=0.01)


def test_long_chains_are_thinned():
    """Catches steps that are lost: a state that counts its steps."""
    (normal,) = targets("normal")
    counter = Sampler(lambda _, n: n + 1, lambda _, x: 0.0 * x, lambda n: n)
    run = chain_runner(normal, counter, 8)
    for thin in (1, 3):
        expected = thin * (WARMUP + 1 + np.arange(2))
        assert (run(thin)[..., 0] == expected).all()


def test_walkers_of_an_ensemble_are_chains():
    """Catches walkers and draws that are mixed up: each walker stays where it starts."""
    (normal,) = targets("normal")
    draws = ensemble_runner(normal, Sampler(lambda _, x: x), 2 * WALKERS)(1)
    assert draws.shape == (WALKERS, 2, 2)
    np.testing.assert_allclose(draws[:, 1], normal.draw(1, WALKERS), rtol=1e-6)


def test_the_page_is_printed_from_committed_results():
    printed = CliRunner().invoke(page.main, catch_exceptions=False).stdout
    assert [line for line in printed.splitlines() if line[:2] in ("1.", "2.", "3.", "4.")] == [
        f"{number}. {title}" for number, (title, _, _) in enumerate(page.SECTIONS.values(), 1)
    ]
    assert "check, autodiff, float64, n = 1000" in printed
    assert "stein-thinning" in printed


def test_json_lines_come_from_a_process_with_the_given_variables():
    program = "import os; print('{\"a\": ' + os.environ['NUMBER'] + '}'); print('other text')"
    assert json_lines([sys.executable, "-c", program], {"NUMBER": "3"}) == [{"a": 3}]


def test_a_failing_process_is_reported_with_its_error():
    with pytest.raises(ClickException, match=r"(?s)-c .*failed:.*ZeroDivisionError"):
        json_lines([sys.executable, "-c", "1 / 0"], {})


def test_the_first_call_is_not_timed():
    calls = []
    result, seconds = best_of(2, lambda: calls.append(None) or len(calls))
    assert result == 3
    assert seconds >= 0


def test_a_cost_that_grows_quadratically_has_exponent_2():
    assert exponent({n: 3.0 * n**2 for n in (10, 100, 1000)}) == pytest.approx(2)


def test_values_are_compared_with_their_bounds():
    figures = against_bounds({"a": (1.2345, 1.0), "b": (0.5, 0.5), "c": (7.0, None)}, digits=2)
    assert figures["a"] == {"value": 1.23, "at most": 1.0, "passes": False}
    assert [row["passes"] for row in figures.values()] == [False, True, True]
    assert [line.split()[-1] for line in bounds_table(figures)] == ["NO", "ok", "7"]
