"""How often a test of level 0.05 rejects draws that are right, for every kind of statistic.

Run with ``python -m benchmarks.size [NAME ...]``. A rate must lie inside the exact 99.9 % binomial
interval around the level. Results go to ``benchmarks/results/size.json`` case by case; a case that
is already there with as many repetitions is not run again, unless ``--again`` says so; one that was
interrupted goes on where it was, from ``results/scratch``.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from experiments.engine.executors import ONE_THREAD, performed, processes
from experiments.engine.records import appending, whole_lines

RESULTS = Path(__file__).parent / "results" / "size.json"
COVERAGE = 0.999


def interval(level: float, repetitions: int, coverage: float = COVERAGE) -> tuple[float, float]:
    """Rates that an exact test of this level shows, all but 1 - coverage of the time.

    >>> interval(0.05, 500)
    (0.022, 0.084)
    """
    from scipy.stats import binom

    tail = (1 - coverage) / 2
    low, high = binom.ppf(tail, repetitions, level), binom.isf(tail, repetitions, level)
    return float(low) / repetitions, float(high) / repetitions


def lower_bound(rate: float, repetitions: int, coverage: float = 0.95) -> float:
    """The exact one-sided bound of Clopper and Pearson below a share.

    >>> round(lower_bound(0.99, 100), 3)
    0.953
    """
    from scipy.stats import beta

    hits = round(rate * repetitions)
    return float(beta.ppf(1 - coverage, hits, repetitions - hits + 1)) if hits else 0.0


def passes(rule: Any, rate: float, repetitions: int) -> bool | None:
    """Whether a rate keeps its rule; None where there is none."""
    if rule.kind == "surely at least":
        return lower_bound(rate, repetitions, rule.coverage) >= rule.bound
    if rule.kind == "at least":
        return rate >= rule.bound
    if rule.kind == "at most":
        return rate <= rule.bound
    low, high = interval(rule.bound, repetitions)
    return None if rule.kind == "shown" else low <= rate <= high


def quantiles(values: Sequence[float]) -> list[float]:
    """At 0.01, 0.02, ..., 0.99: against these, a quantile-quantile plot of p-values."""
    import numpy as np

    return np.quantile(values, np.arange(1, 100) / 100).round(4).tolist()


def summarise(case: Any, outcomes: Sequence[dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Rows of the table: the rate of hits, its rule, and the means of all else."""
    rows = {}
    for name in sorted({name for outcome in outcomes for name in outcome}):
        found = [outcome[name] for outcome in outcomes if name in outcome]
        hits = [one["hit"] for one in found if "hit" in one]
        rule = case.rule(name)
        rate = sum(hits) / len(hits) if hits else float("nan")
        keys = sorted({key for one in found for key in one} - {"hit"})
        means = {key: [one[key] for one in found if key in one] for key in keys}
        rows[name] = {
            "rate": round(rate, 4),
            "verdicts": len(hits),
            "rule": rule.kind if rule.kind in ("level", "shown") else f"{rule.kind} {rule.bound}",
            "passes": passes(rule, rate, len(hits)) if hits else False,
            "means": {key: round(sum(v) / len(v), 3) for key, v in means.items()},
        }
        if rule.kind == "level" and hits:
            rows[name]["interval"] = list(interval(rule.bound, len(hits)))
            if "pvalue" in means:
                rows[name]["quantiles of p"] = quantiles(means["pvalue"])
    return rows


def run_case(
    name: str,
    case: Any,
    repeat: Callable[[str, int], Any],
    repetitions: int,
    jobs: int,
    scratch: Path,
) -> dict[str, Any]:
    """All repetitions of a case, in processes that start afresh (JAX must not be forked).

    Each is added to the scratch file when it is done, and is not run again after an interruption.
    """
    from tqdm import tqdm

    import steinwise as sw

    began = time.perf_counter()
    outcomes: dict[int, Any] = {}
    for line in whole_lines(scratch).splitlines():
        outcomes |= {int(r): outcome for r, outcome in json.loads(line).items()}
    missing = {r: (repeat, name, r) for r in range(repetitions) if r not in outcomes}
    with appending(scratch) as file, processes(jobs) as executor:
        bar = tqdm(total=repetitions, initial=len(outcomes), desc=name, mininterval=5)
        for r, outcome in performed(missing, executor, 2 * jobs):
            outcomes[r] = outcome
            file.write(json.dumps({r: outcome}).encode() + b"\n")
            file.flush()
            bar.update()
    found = {
        "repetitions": repetitions,
        "seeds": f"[crc32({name!r}), r] for r in range({repetitions})",
        "rows": summarise(case, [outcomes[r] for r in range(repetitions)]),
        "seconds": round(time.perf_counter() - began),
        "version": sw.__version__,
    }
    scratch.unlink()
    return found


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def write(path: Path, name: str, result: dict[str, Any]) -> None:
    """Put one case into the file, which another run may have changed meanwhile."""
    everything = read(path) | {name: result}
    path.parent.mkdir(exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n")
    fresh.replace(path)


def run_cases(
    names: Sequence[str],
    cases: Mapping[str, Any],
    repeat: Callable[[str, int], Any],
    path: Path,
    print_table: Callable[[Sequence[str], dict[str, Any]], str],
    options: dict[str, Any],
) -> None:
    """Run what is not in the file yet, print it, and exit with 1 where a rule is broken."""
    unknown = sorted(set(names) - set(cases))
    if unknown:
        raise click.BadParameter(f"no case {unknown}; there are {list(cases)}")
    chosen, repetitions = list(names or cases), options["repetitions"]
    for name in chosen:
        if options["again"] or read(path).get(name, {}).get("repetitions") != repetitions:
            scratch = path.parent / "scratch" / f"{path.stem} {name}.jsonl"
            if options["again"]:
                scratch.unlink(missing_ok=True)
            found = run_case(name, cases[name], repeat, repetitions, options["jobs"], scratch)
            write(path, name, found)
            click.echo(print_table([name], read(path)))
    results = read(path)
    click.echo("\n" + print_table(chosen, results))
    failed = [n for n in chosen for row in results[n]["rows"].values() if row["passes"] is False]
    raise SystemExit(1 if failed else 0)


def table(names: Sequence[str], results: dict[str, Any]) -> str:
    """One line per row of every case."""
    words = {True: "ok", False: "NO", None: ""}
    lines = [f"{'case':<20} {'statistic':<37} {'rate':>6}  {'expected':<16}   seconds  on average"]
    for name in names:
        result = results[name]
        for row, found in result["rows"].items():
            low_high = found.get("interval")
            rule = "[{:.3f}, {:.3f}]".format(*low_high) if low_high else found["rule"]
            facts = ", ".join(f"{key} {value:g}" for key, value in found["means"].items())
            ok, spent = words[found["passes"]], result["seconds"]
            start = f"{name:<20} {row:<37} {found['rate']:>6.3f}"
            lines.append(f"{start}  {rule:<16} {ok:<2} {spent:>7}  {facts}".rstrip())
    return "\n".join(lines)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--repetitions", default=500, show_default=True)
@click.option("--jobs", default=2, show_default=True, help="Processes.")
@click.option("--again", is_flag=True, help="Run cases that are already in the file.")
def main(names: tuple[str, ...], repetitions: int, jobs: int, again: bool) -> None:
    """Measure rejection rates; NAME is a case, all of them by default."""
    os.environ.update(ONE_THREAD)  # before JAX starts, here and in the processes
    from benchmarks.cases import CASES, repeat

    options = {"repetitions": repetitions, "jobs": jobs, "again": again}
    run_cases(names, CASES, repeat, RESULTS, table, options)


if __name__ == "__main__":
    main()
