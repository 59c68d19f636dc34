"""The panels of the paper: each can be run quickly, and shows what the page says."""

import functools
import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.polynomial.hermite_e import hermegauss

import experiments
import steinwise as sw
from experiments import __main__ as command_line
from experiments import goodness_of_fit, right_marginals
from experiments.engine import executors, runner
from experiments.engine.page import SLOT, publish
from experiments.engine.records import Store
from experiments.engine.tasks import Task, make_cell

PANELS = {name: runner.load(f"experiments.{name}") for name in experiments.PANELS}


REPEATED = [name for name in PANELS if name.endswith("_imq") or name == "laplace_noise_draws"]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param([name for name in PANELS if name not in REPEATED], id="one of each kind"),
        pytest.param(REPEATED, id="the same with another kernel", marks=pytest.mark.full),
    ],
)
def test_a_quick_run_leaves_results_and_figures(tmp_path, names):
    """Several panels in one test, as they share compiled functions."""
    panels = {name: PANELS[name] for name in names}
    with ThreadPoolExecutor(1) as executor:
        runner.run(list(panels.values()), tmp_path, executor, 1, quick=True)
    for name, panel in panels.items():
        publish(panel, tmp_path, quick=True)
        cells = panel.cells(quick=True)
        summary = json.loads((tmp_path / "results" / f"{name}.json").read_text())
        assert len(summary["rows"]) == len(cells)
        assert {row["repetitions"] for row in summary["rows"]} == set(cells.values())
        assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 10_000
        assert len(json.loads((tmp_path / "times" / f"{name}.json").read_text())) == len(cells)


@pytest.mark.parametrize("name", PANELS)
def test_the_page_has_a_slot_for_every_panel(name):
    page = (Path(experiments.__file__).parent / "README.md").read_text()
    start, end = SLOT.format(name=name, text="\0").split("\0")
    assert page.count(start) == page.count(end) == 1


def test_a_task_is_pure():
    """Tasks give the same outcomes when they are run again in another order."""
    panel = PANELS["laplace_noise"]
    tasks = list(runner.wanted([panel], repetitions=1, quick=True))[:5]
    assert [panel.run(task) for task in tasks] == [panel.run(task) for task in tasks[::-1]][::-1]


STUDIES = {panel.study: panel for panel in PANELS.values()}
WITH_CHAINS = {"sgld_network", "gibbs_factorisation", "biased_metropolis"}  # minutes a task


@pytest.mark.parametrize("study", sorted(set(STUDIES) - WITH_CHAINS))
def test_committed_records_are_what_the_code_gives(study):
    """The three cheapest tasks of every method: a change that outdates records must remove them.

    Other processors sum in another order, so that one or two of the 1000 bootstraps may end up on
    the other side of the statistic.
    """
    folder = Path(experiments.__file__).parent
    recorded = Store(folder, study).read()
    cheapest_first = sorted(recorded, key=lambda task: (task["n"] * task["d"], task.repetition))
    for method in {task.cell.method for task in recorded}:
        for task in [task for task in cheapest_first if task.cell.method == method][:3]:
            expected = pytest.approx(recorded[task].outcome, rel=0.01, abs=0.0021)
            assert STUDIES[study].run(task) == expected, task


CHAIN_RECORDS = {  # a task of a minute or two, and the values that are compared, by name
    "sgld_network": (
        lambda task: task.cell.method == "SGLD" and task["step"] == 1e-4,
        lambda outcome: outcome["kccsd"] | {"log_posterior": outcome["log_posterior"]},
    ),
    "gibbs_factorisation": (
        lambda task: task.cell.method == "frozen",
        lambda outcome: {name: outcome[name] for name in ("kccsd_error", "imbalance", "rmse")},
    ),
    "biased_metropolis": (
        lambda task: task["bias"] == 0.2,
        lambda outcome: {name: outcome[name] for name in ("kccsd", "one_step", "sd")},
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("study", sorted(WITH_CHAINS))
def test_committed_records_of_chains_are_what_the_code_gives(study):
    """Catches records of another sampler, prior, kernel or stand-in.

    On another processor chains diverge from the recorded ones, so means are compared, up to 4
    standard errors over the chains. Needs the data sets, as `make reproduce` does.
    """
    wanted, values = CHAIN_RECORDS[study]
    recorded = Store(Path(experiments.__file__).parent, study).read()
    task = next(task for task in recorded if wanted(task))
    before, now = values(recorded[task].outcome), values(STUDIES[study].run(task))
    for name, chains in before.items():
        error = 4 * np.std(chains) / np.sqrt(len(chains)) + 0.01 * np.abs(np.mean(chains))
        assert np.mean(now[name]) == pytest.approx(np.mean(chains), abs=error), name


def gains_and_statistics(n):
    """For panel 6 with d = 30: how much better networks predict than marginals; the statistic."""
    runs = []
    for seed in range(5 if n == 500 else 1):
        draws, target = goodness_of_fit.laplace_noise(np.random.default_rng(seed), n, 30)
        with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
            result = sw.check(draws, target, method="kccsd", seed=seed)  # warns: nothing learned
        losses = np.array([(row.marginal_loss, row.validation_loss) for row in result.learned])
        runs.append((losses[:, 0] - losses[:, 1], result.discrepancy))
    gains, statistics = zip(*runs, strict=True)
    return np.array(gains), np.array(statistics)


def test_why_panel_6_is_not_as_in_the_paper():
    """What the page says: too few draws to learn from, and a negative mean with such stand-ins."""
    gains, statistics = gains_and_statistics(500)
    assert abs(gains.mean()) < 0.03
    assert np.median(statistics) < 0
    gains, statistics = gains_and_statistics(5000)
    assert (gains > 0.05).all()
    assert statistics[0] > 0


def test_panels_of_a_study_run_their_tasks_in_the_same_way():
    by_study = {}
    for panel in PANELS.values():
        by_study.setdefault(panel.study, set()).add(
            (type(panel), getattr(panel, "problem", None), panel.timed)
        )
    assert all(len(kinds) == 1 for kinds in by_study.values())


def test_imq_panels_change_the_kernel_of_every_method_that_has_one():
    for name in ("laplace_dimensions", "laplace_draws", "laplace_time", "laplace_noise"):
        plain, imq = (
            {cell.method for cell in PANELS[which].cells(False)} for which in (name, f"{name}_imq")
        )
        assert plain & imq == {"default check", "KSDAgg"}
        assert {m.replace("RBF", "IMQ") for m in plain} == imq


@pytest.mark.parametrize("problem", [goodness_of_fit.laplace, goodness_of_fit.laplace_noise])
def test_means_and_covariances_are_right(problem):
    """Up to 5 standard errors; the kurtosis is not that of a normal distribution."""
    n = 200_000
    draws, target = problem(np.random.default_rng(0), n, 3)
    assert (np.abs(draws.mean(axis=0) - target.mean) < 5 * draws.std(axis=0) / np.sqrt(n)).all()
    products = draws[:, :, None] * draws[:, None]
    covariance_error = 5 * products.std(axis=0) / np.sqrt(n)
    assert (np.abs(products.mean(axis=0) - target.covariance) < covariance_error).all()
    excess = (draws**4).mean(axis=0) / (draws**2).mean(axis=0) ** 2 - 3
    assert (excess > 0.5).all()  # 3 for Laplace, 3/4 if only half of the variance is Laplace


def test_the_closed_form_of_panel_5():
    """Against quadrature of the Stein kernel over x_j, y_j and the conditional mean."""
    d = 4
    v = (d + 1) / (2 * d)
    nodes, weights = hermegauss(60)
    weights = weights / weights.sum()
    mean = np.sqrt(1 - v) * nodes[:, None, None]
    x, y = mean + np.sqrt(v) * nodes[:, None], mean + np.sqrt(v) * nodes
    k, r = np.exp(-((x - y) ** 2) / 2), x - y
    stein = x * y * k - x * r * k + y * r * k + (1 - r**2) * k
    expected = d * np.einsum("ijk,i,j,k", stein, weights, weights, weights)
    assert right_marginals.true_value(d) == pytest.approx(expected, abs=1e-6)


def test_exact_kccsd_of_panel_5_has_its_value():
    panel, cell = PANELS["right_marginals"], make_cell(right_marginals.EXACT, n=100, d=3)
    values = [panel.run(Task("s", cell, r))["value"] for r in range(50)]
    error = np.std(values) / np.sqrt(50)
    assert abs(np.mean(values) - right_marginals.true_value(3)) < 4 * error < 0.1


def test_rejections_count_pvalues_at_the_level():
    counted = goodness_of_fit.rejections([0.05, 0.0501, 0.01, 1.0])
    assert counted["rejections"] == 2
    assert counted["interval"] == [0.0676, 0.9324]  # Clopper and Pearson


def test_command_line(tmp_path, monkeypatch):
    """With a thread in place of processes, which test_runner has."""
    monkeypatch.setattr(executors, "processes", ThreadPoolExecutor)
    options = ["right_marginals", "--quick", "--into", str(tmp_path)]
    call = functools.partial(CliRunner().invoke, command_line.main, env=executors.ONE_THREAD)
    nothing_yet = call([*options, "--page"])
    assert nothing_yet.stdout == "right_marginals: 2 of 2 cells have no record yet\n"
    done = call([*options, "--repetitions", "1"])
    assert done.exit_code == 0, done.output
    assert done.stdout == f"right_marginals: {tmp_path}/figures/right_marginals.png\n"
    assert "2/2" in done.stderr
    unknown = call([*options, "nothing"])
    assert unknown.exit_code == 2
    assert "no panel nothing; there are laplace_dimensions" in unknown.stderr
