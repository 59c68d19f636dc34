"""Which samplers sample? Real samplers on targets with exact draws, judged by the default check.

``python -m benchmarks.samplers`` runs every sampler on every target, at about 10,000 effective
draws, writes `results/samplers.json` row by row and resumes. ``--sizes`` measures the bias of
samplers without an accept or reject decision against their step size, next to their adjusted twins.
``--table`` prints the file as Markdown tables. Samplers: those of BlackJAX.
"""

import json
import os
import time
import warnings
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
LEVEL = 1e-3
DRAWS = 10_000  # of all chains together
MOST_THINNING = 50  # steps from one draw to the next
EXACT = 100_000  # exact draws that probabilities are compared with
SIZES = (0.02, 0.05, 0.1, 0.2, 0.4)  # steps of SGLD on the logistic regression, in its units
MCLMC_SIZES = (0.1, 0.2, 0.4, 0.8, 1.6)


def measure(target: Any, density: Any, sampler: Any) -> dict[str, Any]:
    """Long chains, thinned to about 10,000 effective draws, and what a check says of them."""
    from benchmarks.long_chains import chain_runner
    from steinwise.draws.chain_diagnostics import rhat

    run = chain_runner(target, sampler, DRAWS)
    effective = effective_draws(run(1))
    thin = int(np.clip(np.ceil(DRAWS / max(effective, 1.0)), 1, MOST_THINNING))
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
    worst = min(check.coordinates, key=lambda c: c.adjusted_pvalue)
    said = f"{worst.name}: {worst.verdict}" if worst.adjusted_pvalue <= LEVEL else ""
    return {"verdict": "rejected" if check.rejected else "fits", "p": check.pvalue, "said": said}


COLUMNS = ("verdict", "probability off by", "effective draws", "steps", "seconds", "R-hat")


def table(results: dict[str, dict[str, Any]]) -> str:
    """The file as Markdown tables: samplers on their targets, then step sizes."""
    rows = {
        f"{target} | {sampler} | {row['settings']}": row
        for target in TARGETS
        for sampler, found in results.get("samplers", {}).items()
        for name, row in found.items()
        if name == target
    }
    head = "target | sampler | settings"
    return _rows(head, rows) + "\n\n" + _rows("sampler, step", results.get("sizes", {}))


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
@click.option("--only", default="", help="Samplers whose names contain this.")
@click.option("--sizes", is_flag=True, help="Bias against step size instead.")
@click.option("--table", "show", is_flag=True, help="Print the tables of the file, and no more.")
def main(only: str, sizes: bool, show: bool) -> None:
    os.environ.update(ONE_THREAD)  # before JAX starts
    results = json.loads(FILE.read_text()) if FILE.exists() else {}
    if show:
        click.echo(table(results))
        return
    from benchmarks.samplers_blackjax import RECIPES, langevin, mclmc_of_size
    from steinwise.testing import targets

    chosen = {target.name: target for target in targets(*TARGETS)}
    densities = {name: target.as_target() for name, target in chosen.items()}  # compiled once

    def keep(section: str, name: str, found: dict[str, Any]) -> None:
        results.setdefault(section, {})[name] = found
        FILE.write_text(json.dumps(results, indent=1) + "\n")

    if sizes:
        name = "logistic regression"
        makers = {"SGLD": (langevin, SIZES), "MCLMC": (mclmc_of_size, MCLMC_SIZES)}
        for sampler, (make, steps) in makers.items():
            for size in steps:
                row = f"{sampler}, {size:g}"
                if row not in results.get("sizes", {}):
                    made = make(chosen[name], size)
                    keep("sizes", row, measure(chosen[name], densities[name], made))
                    click.echo(f"{row}: {results['sizes'][row]}")
        return
    for name, target in chosen.items():
        for sampler, recipe in RECIPES.items():
            rows = results.get("samplers", {}).get(sampler, {})
            if only not in sampler or name in rows or name not in (recipe.only or TARGETS):
                continue
            made, settings = recipe.make(target)
            rows[name] = {"settings": settings, **measure(target, densities[name], made)}
            keep("samplers", sampler, rows)
            click.echo(f"{sampler}, {name}: {rows[name]}")
    click.echo(table(results))


if __name__ == "__main__":
    main()
