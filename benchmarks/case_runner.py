"""Run the repetitions of cases in processes, resume after an interruption, keep the results."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

import steinwise as sw
from benchmarks.cases import Case
from benchmarks.rates import summarise
from experiments.engine.executors import perform_calls, processes
from experiments.engine.records import appending, replace_file, whole_lines

MARKS = {True: "ok", False: "NO", None: ""}


def run_case(
    name: str,
    case: Case,
    repeat: Callable[[str, int], Any],
    repetitions: int,
    jobs: int,
    scratch: Path,
) -> dict[str, Any]:
    """Run all repetitions of a case, in freshly started processes (JAX must not be forked).

    Each repetition is added to the scratch file as soon as it is done, so that it need not be run
    again after an interruption, or when more of them are asked for.
    """
    began = time.perf_counter()
    outcomes: dict[int, Any] = {}
    for line in whole_lines(scratch).splitlines():
        outcomes |= {int(r): outcome for r, outcome in json.loads(line).items()}
    missing = {r: (repeat, name, r) for r in range(repetitions) if r not in outcomes}
    with appending(scratch) as file, processes(jobs) as executor:
        bar = tqdm(total=repetitions, initial=repetitions - len(missing), desc=name, mininterval=5)
        for r, outcome in perform_calls(missing, executor, 2 * jobs):
            outcomes[r] = outcome
            file.write(json.dumps({r: outcome}).encode() + b"\n")
            file.flush()
            bar.update()
    return {
        "repetitions": repetitions,
        "seeds": f"[crc32({name!r}), r] for r in range({repetitions})",
        "rows": summarise(case, [outcomes[r] for r in range(repetitions)]),
        "seconds": round(time.perf_counter() - began),
        "version": sw.__version__,
    }


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def write(path: Path, name: str, result: dict[str, Any]) -> None:
    """Put one case into the file, which another run may have changed in the meantime."""
    results = read(path) | {name: result}
    replace_file(path, (json.dumps(results, indent=1, sort_keys=True) + "\n").encode())


def require_cases(names: Sequence[str], cases: Mapping[str, Case]) -> None:
    """Refuse names that no case has."""
    unknown = sorted(set(names) - set(cases))
    if unknown:
        raise click.BadParameter(f"no case {unknown}; there are {list(cases)}")


def run_missing(
    name: str,
    case: Case,
    repeat: Callable[[str, int], Any],
    path: Path,
    print_table: Callable[[Sequence[str], dict[str, Any]], str],
    options: dict[str, Any],
) -> None:
    """Run one case that the file does not have with this many repetitions, add it, print it."""
    repetitions, again = options["repetitions"], options["again"]
    if not again and read(path).get(name, {}).get("repetitions") == repetitions:
        return
    scratch = path.parent / "scratch" / f"{path.stem} {name}.jsonl"
    if again:
        scratch.unlink(missing_ok=True)
    write(path, name, run_case(name, case, repeat, repetitions, options["jobs"], scratch))
    click.echo(print_table([name], read(path)))


def run_cases(
    names: Sequence[str],
    cases: Mapping[str, Case],
    repeat: Callable[[str, int], Any],
    path: Path,
    print_table: Callable[[Sequence[str], dict[str, Any]], str],
    options: dict[str, Any],
) -> None:
    """Run what is not in the file yet, print the table, and exit with 1 if a rule is broken."""
    require_cases(names, cases)
    chosen = list(names or cases)
    for name in chosen:
        run_missing(name, cases[name], repeat, path, print_table, options)
    results = read(path)
    click.echo("\n" + print_table(chosen, results))
    failed = [n for n in chosen for row in results[n]["rows"].values() if row["passes"] is False]
    raise SystemExit(1 if failed else 0)


def table(names: Sequence[str], results: dict[str, Any]) -> str:
    """One line for each row of every case."""
    lines = [f"{'case':<20} {'statistic':<37} {'rate':>6}  {'expected':<16}   seconds  on average"]
    for name in names:
        result = results[name]
        for statistic, row in result["rows"].items():
            low_high = row.get("interval")
            rule = "[{:.3f}, {:.3f}]".format(*low_high) if low_high else row["rule"]
            shown = dict(row["means"])
            if "uniformity" in row:
                shown["uniformity"] = row["uniformity"]
            means = ", ".join(f"{key} {value:g}" for key, value in shown.items())
            start = f"{name:<20} {statistic:<37} {row['rate']:>6.3f}"
            end = f"{MARKS[row['passes']]:<2} {result['seconds']:>7}  {means}"
            lines.append(f"{start}  {rule:<16} {end}".rstrip())
    return "\n".join(lines)
