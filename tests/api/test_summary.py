"""`sw.summary`: answers with their errors, and no number where none can be given."""

import json
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.cli import run
from steinwise.draws.samples import ConstrainedScale, Samples
from steinwise.estimates.monte_carlo import monte_carlo_errors
from steinwise.estimates.settling import batches_for_errors
from steinwise.results.quantity import Estimate, Quantity

COVARIANCE = np.full((3, 3), 0.9) + 0.1 * np.eye(3)
NORMAL = sw.Gaussian([1.0, 0.0, 0.0], COVARIANCE)
NONE = Estimate("explains too little", *[np.nan] * 6)


def mean_field(n: int, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=(n, 3))
    return [1.2, 0.0, 0.0] + noise / np.sqrt(np.diag(np.linalg.inv(COVARIANCE)))


@pytest.fixture(scope="module")
def answers() -> sw.Summary:
    functions = {"difference": lambda x: x[:, 0] - x[:, 1]}
    return sw.summary(mean_field(600), NORMAL, names=list("abc"), functions=functions)


def test_a_normal_target_is_corrected_exactly(answers: sw.Summary) -> None:
    """Means, sds, quantiles and functions of mean-field draws with correlation 0.9."""
    for name, mean, sd in (("a", 1.0, 1.0), ("b", 0.0, 1.0), ("difference", 1.0, np.sqrt(0.2))):
        quantity = answers[name]
        assert quantity.way == "scores"
        assert quantity.corrected_mean == pytest.approx(mean, abs=1e-6)
        assert quantity.corrected_sd == pytest.approx(sd, abs=1e-6)
        assert quantity.agree
    a = answers["a"]
    assert a.sd_ratio == pytest.approx(0.37, abs=0.03)
    assert a.mean_error == pytest.approx(0.2, abs=0.05)
    assert a.mean_is_biased
    assert a.sd_is_biased
    assert "sd too small" in a.verdict
    assert "mean too high" in a.verdict
    exact = [1 - 1.645, 1.0, 1 + 1.645]
    for found, reach, truth in zip(
        a.corrected_quantiles, a.quantile_uncertainties, exact, strict=True
    ):
        assert abs(found - truth) <= reach < 0.5


def test_tables_pictures_and_text(answers: sw.Summary) -> None:
    frame = answers.to_dataframe()
    assert list(frame.index) == ["a", "b", "c", "difference"]
    expected = {"mean", "sd", "corrected_mean", "corrected_sd", "mean_error", "sd_ratio"}
    assert expected | {"corrected_mean_uncertainty", "corrected_q50"} <= set(frame.columns)
    assert json.loads(answers.to_json())["quantities"][0]["name"] == "a"
    assert answers.worst_first[0].badness == max(q.badness for q in answers.quantities)
    assert "(exact)" in str(answers)
    assert "+-" not in str(answers)  # nor is it explained
    page = answers.to_html()
    assert "run7.npz" in answers.to_html({"draws": "run7.npz"})
    with pytest.raises(sw.InputError, match=r"source is 'page.html'.*writes no file"):
        answers.to_html("page.html")  # type: ignore[arg-type]
    assert page.count("<tr") == 5
    assert "sd too small" in page
    assert "http" not in page.replace("http://www.w3.org", "")
    (ax,) = answers.plot().axes
    assert len(ax.get_yticklabels()) == 4
    with pytest.raises(sw.InputError, match="no quantity 'd'"):
        answers["d"]


def test_right_draws_are_left_alone() -> None:
    """Correct draws of a density without closed form, as chains: nothing is called biased."""
    x = np.log(np.random.default_rng(1).gamma(3.0, size=(4, 150, 2)))
    answers = sw.summary(x, lambda x: jnp.sum(3 * x - jnp.exp(x)), sweeps=1)
    for quantity in answers.quantities:
        assert abs(quantity.corrected_mean - 0.9228) <= quantity.corrected_mean_uncertainty + 1e-3
        assert abs(quantity.corrected_sd - 0.6284) <= quantity.corrected_sd_uncertainty + 1e-3
        assert quantity.verdict.startswith("no bias found: mean within 0.0")
        assert abs(quantity.mean_error) < 3 * quantity.mean_error_se


def test_rows_of_right_draws_are_judged_together() -> None:
    """At 2 errors each, 13 of 100 rows were called biased. Few of 20 summaries may have one."""
    biased = 0
    for seed in range(20):
        draws = np.random.default_rng(seed).normal(size=(200, 15))
        answers = sw.summary(draws, sw.Gaussian(np.zeros(15), np.eye(15)), independent=True)
        biased += any(q.mean_is_biased or q.sd_is_biased for q in answers.quantities)
    assert biased <= 4  # more has probability 0.003


def test_sweeps_go_on_until_draws_have_settled() -> None:
    """A scale and what it scales, from draws with a third of its spread."""
    noise = np.random.default_rng(0).normal(size=(500, 6))

    def log_density(x):  # the others have sd exp(x[0] / 2), and the first sd 0.8
        return -0.5 * (x[0] / 0.8) ** 2 - 2.5 * x[0] - 0.5 * jnp.sum(x[1:] ** 2) * jnp.exp(-x[0])

    answers = sw.summary(0.3 * noise, log_density)
    again = sw.summary(0.3 * noise, log_density, sweeps=answers.sweeps)
    assert 2 < answers.sweeps <= 10
    assert answers.to_json() == again.to_json()
    short = sw.summary(0.3 * noise, log_density, sweeps=1)
    assert short.sweeps == 1
    text = " ".join(str(short).split())
    assert "sweeps=3 (on the command line, --sweeps 3)" in text
    assert text.count("refreshed draws still move") == 1


def test_no_number_where_none_can_be_given() -> None:
    """A thin crescent, from draws at its middle: neither way gets there in one sweep."""
    x = 0.3 * np.random.default_rng(2).normal(size=(500, 2))
    answers = sw.summary(
        x, lambda x: -0.5 * x[0] ** 2 - 50 * (x[1] - x[0] ** 2) ** 2, sweeps=1, seed=3
    )
    quantity = answers["x[1]"]
    assert np.isnan(quantity.corrected_sd)
    assert np.isnan(quantity.sd_ratio)
    assert np.isnan(quantity.corrected_quantiles).all()
    assert quantity.verdict.startswith("cannot be corrected: the regression")
    assert quantity.reason in " ".join(str(answers).split())
    marks = [line.get_marker() for line in answers.plot().axes[0].lines]
    assert marks.count("$?$") == sum(np.isnan(q.corrected_sd) for q in answers.quantities)
    assert np.isnan(answers.to_dataframe().loc["x[1]", "corrected_sd"])  # type: ignore[call-overload]


def test_slow_chains_are_not_called_settled() -> None:
    """Too few batches see no movement: lines give no number then, and scores do."""
    walk = np.cumsum(0.3 * np.random.default_rng(4).normal(size=(2, 60, 3)), axis=1)
    with pytest.warns(sw.SteinwiseWarning, match="too slow"):
        answers = sw.summary(walk, NORMAL, sweeps=1)
    assert answers["x[0]"].by_lines.state == "too slow"
    assert answers["x[0]"].corrected_sd == pytest.approx(1.0, abs=1e-3)


def test_ways_that_disagree_give_no_number() -> None:
    one = Estimate("given", 0.0, 0.01, 0.02, 1.0, 0.01, 0.02)
    other = Estimate("given", 0.1, 0.01, 0.02, 1.0, 0.01, 0.02)
    drawn = ("a", 0.0, 1.0, 0.1, 0.1, (), (), ())
    quantity = Quantity(*drawn, by_scores=one, by_lines=other)
    assert quantity.agree is False
    assert np.isnan(quantity.corrected_mean)
    assert "disagree" in quantity.verdict
    alone = Quantity(*drawn, by_scores=NONE, by_lines=other)
    assert alone.agree is None
    assert alone.way == "lines"
    assert alone.corrected_mean == 0.1


def test_errors_of_correct_sds_are_within_their_standard_errors() -> None:
    """Catches an error that is too small where the sd is, by chance: it held 0.929 of them.

    Every column is a sample of its own, whose target is known exactly.
    """
    columns = np.random.default_rng(0).normal(size=(100, 20_000))
    samples = Samples.of(columns[:, :1])
    batches, _ = batches_for_errors(samples)
    _, errors = monte_carlo_errors(columns, samples, batches)
    exact = Estimate("given", 0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    found = [
        Quantity("x", 0.0, float(sd), 0.1, float(error), (), (), (), exact, exact)
        for sd, error in zip(columns.std(axis=0), errors, strict=True)
    ]
    inside = np.mean([abs(q.sd_ratio - 1) <= 1.96 * q.sd_ratio_se for q in found])
    assert 0.934 < inside < 0.95  # known to 0.002; fewer than 0.95, as sds of 100 draws are skewed
    # at 2 of the errors as drawn, 0.064 were called biased
    assert np.mean([q.sd_is_biased for q in found]) < 0.06


def test_what_is_not_known_is_not_called_right() -> None:
    """A mean without an sd: the verdict is about the mean, and says why there is no sd."""
    mean_only = Estimate("explains too little", 0.0, 0.01, 0.02, *[np.nan] * 3)
    moving = Estimate("still moving", *[np.nan] * 6)
    for mean, expected in (
        (0.0, "no bias of the mean found"),
        (1.5, "mean too high: 1.5 instead of 0"),
    ):
        quantity = Quantity(
            "a", mean, 1.0, 0.1, 0.1, (), (), (), by_scores=mean_only, by_lines=moving
        )
        assert np.isnan(quantity.corrected_sd)
        assert expected in quantity.verdict
        assert "nan" not in quantity.verdict
        assert "sd cannot be corrected, because the regression" in quantity.verdict


@pytest.mark.parametrize("seed", [0, 1])
def test_functions_wait_for_the_coordinates_they_depend_on(seed: int) -> None:
    """Mean-field draws of a scale and its coefficients: lines have not settled after one sweep."""
    noise = np.random.default_rng(seed).normal(size=(500, 4))
    functions = {"s": lambda x: np.exp(x[:, 0])}

    def log_density(x):
        return -0.5 * (x[0] / 0.5) ** 2 - 3 * x[0] - 0.5 * jnp.sum(x[1:] ** 2) * jnp.exp(-2 * x[0])

    answers = sw.summary(0.3 * noise, log_density, functions=functions, sweeps=1)
    for quantity in answers.quantities:
        for way in (quantity.by_scores, quantity.by_lines):
            assert way.state != "given" or np.isfinite([way.mean, way.sd, way.sd_uncertainty]).all()
        if np.isnan(quantity.corrected_sd):
            assert "cannot be corrected" in quantity.verdict
    assert answers["s"].by_lines.state == answers["x[0]"].by_lines.state != "given"


def test_functions_get_draws_on_the_scale_of_the_model() -> None:
    """tau, where the draws have log tau: by number, by name, and all entries of a parameter."""
    draws = 0.3 * np.random.default_rng(0).normal(size=(300, 3))
    scale = ConstrainedScale(("tau",), lambda x: np.exp(x[:, 1:2]))
    samples = sw.Samples.of(draws, names=["mu", "tau", "z[0]"])
    functions = {
        "by number": lambda x: x[:, 1] * x[:, 2],
        "by name": lambda x: x["tau"] * x["z[0]"],
        "all": lambda x: x["tau"] * x["z"].sum(axis=1),
    }
    options = {"target": sw.Gaussian(np.zeros(3), 0.09 * np.eye(3)), "sweeps": 1}
    answers = sw.summary(replace(samples, constrained=scale), functions=functions, **options)
    exact = (np.exp(draws[:, 1]) * draws[:, 2]).mean()
    assert [q.mean for q in answers.quantities[3:]] == pytest.approx([exact] * 3)
    with pytest.raises(sw.InputError, match=r"no column 'sigma'.*'tau'"):
        sw.summary(samples, functions={"f": lambda x: x["sigma"]}, **options)


def test_one_absurd_draw_and_a_constant_are_no_error() -> None:
    draws = mean_field(200)
    draws[5] = 1e60
    constant = {"one": lambda x: np.ones(len(x))}
    answers = sw.summary(draws, NORMAL, sweeps=1, functions=constant)
    assert np.isnan(answers["one"].sd_ratio)
    assert answers["x[0]"].sd > 1e50
    assert "cannot be corrected" in str(answers) or "sd too large" in str(answers)


def test_too_few_draws_for_the_regression() -> None:
    with pytest.raises(sw.TooFewDraws, match="do not determine"):
        sw.summary(mean_field(20), NORMAL)


def test_few_draws_are_sent_to_what_takes_them() -> None:
    """Catches advice to refresh 8 draws, which is refused, and 1000 copies of 4 called enough."""
    draws = np.random.default_rng(0).normal(size=(8, 3))
    with pytest.raises(
        sw.TooFewDraws, match=r"at least 24\..* sw\.refresh, which takes 10 or more"
    ):
        sw.summary(draws, NORMAL)
    with pytest.raises(sw.TooFewDraws, match=r"^8 distinct draws do not"):
        sw.summary(np.tile(draws, (100, 1)), NORMAL, independent=True)
    with pytest.raises(sw.TooFewDraws):
        sw.refresh(draws, NORMAL)


def test_a_function_that_fails_is_named() -> None:
    """Catches a bare ZeroDivisionError from one of many functions."""
    draws = np.random.default_rng(0).normal(size=(100, 3))
    with pytest.raises(sw.InputError, match=r"functions\['f'\] failed with ZeroDivisionError: div"):
        sw.summary(draws, NORMAL, functions={"f": lambda _: 1 / 0})


def test_same_seed_same_numbers() -> None:
    draws = mean_field(200)
    one, again = (sw.summary(draws, NORMAL, sweeps=1).to_json() for _ in range(2))
    assert one == again


def test_the_command_prints_the_table_and_writes_a_picture(tmp_path: Path, capsys) -> None:
    np.save(tmp_path / "draws.npy", mean_field(200))
    (tmp_path / "target.py").write_text(
        "import numpy as np, steinwise as sw\n"
        "target = sw.Gaussian([1.0, 0, 0], np.full((3, 3), 0.9) + 0.1 * np.eye(3))\n"
    )
    command = ["summary", str(tmp_path / "draws.npy"), "--target", f"{tmp_path}/target.py:target"]
    files = ["--plot", str(tmp_path / "out.png"), "--report", str(tmp_path / "out.html")]
    assert run([*command, "--sweeps", "1", *files]) == 0
    assert "sd too small" in capsys.readouterr().out
    assert (tmp_path / "out.png").stat().st_size > 1000
    assert "sd too small" in (tmp_path / "out.html").read_text("utf-8")
    assert run([*command, "--sweeps", "1", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["quantities"]) == 3


def test_a_check_with_its_summary_in_one_command(tmp_path: Path, capsys) -> None:
    """The verdict first, then the answers; both on one page; the status is the verdict's."""
    np.save(tmp_path / "draws.npy", mean_field(200))
    (tmp_path / "target.py").write_text(
        "import numpy as np, steinwise as sw\n"
        "target = sw.Gaussian([1.0, 0, 0], np.full((3, 3), 0.9) + 0.1 * np.eye(3))\n"
    )
    command = ["check", str(tmp_path / "draws.npy"), "--target", f"{tmp_path}/target.py:target"]
    page = tmp_path / "out.html"
    assert run([*command, "--summary", "--report", str(page)]) == 1
    shown = capsys.readouterr().out
    assert shown.index("Misfit") < shown.index("sd too small")
    assert "sd too small" in page.read_text("utf-8")
    assert run([*command, "--summary", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["rejected"]
    assert len(found["summary"]["quantities"]) == 3
    scores = ["check", str(tmp_path / "draws.npy"), "--scores", str(tmp_path / "draws.npy")]
    assert run([*scores, "--summary"]) == 2
    assert "--summary follows the density along lines" in capsys.readouterr().err
