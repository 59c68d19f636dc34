"""Which samplers sample? Real samplers on targets with exact draws, judged by the default check.

``python -m benchmarks.samplers`` runs every sampler on every target, at about 10,000 effective
draws, writes `results/samplers.json` row by row and resumes. ``--library`` is BlackJAX, or one of
NumPyro, PyMC, emcee and nutpie in an environment that has it. ``--sizes`` measures the bias of
samplers without an accept or reject decision against their step size, next to their adjusted twins.
``--table`` prints the file as Markdown tables.
"""

import json
import os
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click
import numpy as np

from benchmarks import RESULTS
from experiments.engine.executors import ONE_THREAD

FILE = RESULTS / "samplers.json"
TARGETS = (
    "logistic regression",
    "correlated normal",
    "Student t",
    "banana",
    "hierarchical model",
    "funnel",
)
LIBRARIES = ("BlackJAX", "NumPyro", "PyMC", "emcee", "nutpie")
LEVEL = 1e-3
EXACT = 100_000  # exact draws that probabilities are compared with
SIZES = (0.02, 0.05, 0.1, 0.2, 0.4)  # steps of SGLD on the logistic regression, in its units
MCLMC_SIZES = (0.1, 0.2, 0.4, 0.8, 1.6)


def measure(
    target: Any, density: Any, run: Callable[[int], np.ndarray], most_thinning: int
) -> dict[str, Any]:
    """Long chains, thinned to about 10,000 effective draws, and what a check says of them."""
    from benchmarks.survey_recipe import DRAWS
    from steinwise.draws.chain_diagnostics import rhat

    effective = effective_draws(run(1))
    thin = int(np.clip(np.ceil(DRAWS / max(effective, 1.0)), 1, most_thinning))
    began = time.process_time()
    draws = run(thin)
    seconds = time.process_time() - began
    found: dict[str, Any] = {
        "steps": thin * DRAWS,
        "seconds": round(seconds, 2),
        "effective draws": round(effective_draws(draws)),
        "rhat": round(float(rhat(draws).max()), 4),
        "probability off by": round(largest_probability_error(target, draws), 4),
    }
    return found | verdict(draws, density, target.names)


def effective_draws(draws: np.ndarray) -> float:
    """Of the slowest coordinate, by its bulk; 0 where a draw is not finite or none moves."""
    from arviz_stats.base.array import array_stats

    if not np.isfinite(draws).all():
        return 0.0
    found = [array_stats.ess(draws[..., j], method="bulk") for j in range(draws.shape[2])]
    return float(np.nan_to_num(np.min(found)))


def largest_probability_error(target: Any, draws: np.ndarray) -> float:
    """The largest |P(x_j <= c) - its share of the draws| over coordinates and c."""
    from scipy.stats import ks_2samp

    exact, flat = target.draw(5, EXACT), draws.reshape(-1, draws.shape[-1])
    found: list[Any] = [ks_2samp(flat[:, j], exact[:, j]) for j in range(target.dim)]
    return float(max(one.statistic for one in found))


def verdict(draws: np.ndarray, density: Any, names: Any) -> dict[str, Any]:
    """What a check at level 0.001 says, or why it does not."""
    import steinwise as sw

    if not np.isfinite(draws).all():
        return {"verdict": "not finite"}
    try:
        with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
            check = sw.check(
                draws, density, alpha=LEVEL, n_bootstrap=10_000, names=list(names), progress=False
            )
    except sw.TooFewDraws:
        return {"verdict": "too slow"}
    worst = check.coordinates[0]
    said = f"{worst.name}: {worst.verdict}" if worst.adjusted_pvalue <= LEVEL else ""
    return {"verdict": "rejected" if check.rejected else "fits", "p": check.pvalue, "said": said}


COLUMNS = ("verdict", "probability off by", "effective draws", "steps", "seconds", "R-hat")


def table(results: dict[str, dict[str, Any]]) -> str:
    """The file as Markdown tables: samplers on their targets by library, then step sizes."""
    parts = []
    for library in LIBRARIES:
        rows = {
            f"{target} | {sampler} | {row['settings']}": row
            for target in TARGETS
            for sampler, found in results.get(library, {}).items()
            for name, row in found.items()
            if name == target
        }
        parts += [library, _rows("target | sampler | settings", rows)] if rows else []
    return "\n\n".join([*parts, _rows("sampler, step", results.get("sizes", {}))])


def _rows(head: str, rows: dict[str, dict[str, Any]]) -> str:
    lines = [f"| {head} | {' | '.join(COLUMNS)} |"]
    lines.append("|---" * (head.count("|") + 1 + len(COLUMNS)) + "|")
    for name, row in rows.items():
        cells = (
            row["verdict"],
            f"{row['probability off by']:.3f}",
            f"{row['effective draws']:,}",
            f"{row['steps']:,}",
            f"{row['seconds']:.2g}",
            f"{row['rhat']:.3f}",
        )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


@click.command(help=__doc__)
@click.option("--library", type=click.Choice(LIBRARIES), default="BlackJAX", show_default=True)
@click.option("--only", default="", help="Samplers whose names contain this.")
@click.option("--target", "on", default="", help="Targets whose names contain this.")
@click.option("--sizes", is_flag=True, help="Bias against step size instead.")
@click.option("--table", "show", is_flag=True, help="Print the tables of the file, and no more.")
def main(library: str, only: str, on: str, sizes: bool, show: bool) -> None:
    os.environ.update(ONE_THREAD)  # before JAX starts
    if show:
        click.echo(table(_read()))
        return
    from steinwise.testing import targets

    chosen = {target.name: target for target in targets(*TARGETS) if on in target.name}
    densities = {name: target.as_target() for name, target in chosen.items()}  # compiled once
    if sizes:
        name = "logistic regression"
        _measure_sizes(chosen[name], densities[name])
        return
    recipes = import_module(f"benchmarks.samplers_{library.lower()}").RECIPES
    for name, target in chosen.items():
        for sampler, recipe in recipes.items():
            rows = _read().get(library, {}).get(sampler, {})
            if only not in sampler or name in rows or name not in (recipe.only or TARGETS):
                continue
            run, settings = recipe.make(target)
            found = measure(target, densities[name], run, recipe.most_thinning)
            rows[name] = {"settings": settings, **found}
            _keep(library, sampler, rows)
            click.echo(f"{sampler}, {name}: {rows[name]}")
    click.echo(table(_read()))


def _measure_sizes(target: Any, density: Any) -> None:
    from benchmarks.long_chains import chain_runner
    from benchmarks.samplers_blackjax import langevin, mclmc_of_size
    from benchmarks.survey_recipe import DRAWS

    for sampler, make, steps in (("SGLD", langevin, SIZES), ("MCLMC", mclmc_of_size, MCLMC_SIZES)):
        for size in steps:
            row = f"{sampler}, {size:g}"
            if row not in _read().get("sizes", {}):
                run = chain_runner(target, make(target, size), DRAWS)
                _keep("sizes", row, measure(target, density, run, 50))
                click.echo(f"{row}: {_read()['sizes'][row]}")


def _read() -> dict[str, Any]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def _keep(section: str, name: str, found: dict[str, Any]) -> None:
    """Write what is in the file now and this row: another library may have added to it."""
    results = _read()
    results.setdefault(section, {})[name] = found
    FILE.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
