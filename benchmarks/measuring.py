"""How costs are measured: CPU seconds, memory, separate processes, growth, bounds."""

import functools
import json
import math
import os
import platform
import resource
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

POLL_SECONDS = 0.005  # between two readings of memory: shorter would add CPU seconds to the call


class Timed(NamedTuple):
    """What a job returned, and the least CPU seconds that it took."""

    result: Any
    cpu_seconds: float


def best_of(repetitions: int, job: Callable[[], Any]) -> Timed:
    """The fastest of several calls, after a first call that compiles."""
    result, seconds = job(), []
    for _ in range(repetitions):
        start = time.process_time()
        result = job()
        seconds.append(time.process_time() - start)
    return Timed(result, min(seconds))


def peak_mb() -> float:
    """The most memory that this process has ever held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def anonymous_bytes() -> int:
    """The memory of this process that is not backed by a file."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) * 1024


def extra_memory(run: Callable[[], object]) -> int:
    """The most anonymous memory during a call, in bytes, beyond what was held before it."""
    before, most, done = anonymous_bytes(), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(POLL_SECONDS):
            most = max(most, anonymous_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        run()
    finally:
        done.set()
        watcher.join()
    return max(most - before, 0)


def costs(run: Callable[[], object], repetitions: int) -> dict[str, float]:
    """The least CPU seconds and elapsed seconds of several calls, and the most memory."""
    seconds, elapsed, memory = [], [], 0
    for _ in range(repetitions):
        cpu, clock = time.process_time(), time.perf_counter()
        memory = max(memory, extra_memory(run))
        seconds.append(time.process_time() - cpu)
        elapsed.append(time.perf_counter() - clock)
    return {
        "cpu_seconds": round(min(seconds), 4),
        "seconds": round(min(elapsed), 4),
        "peak_mb": round(memory / 2**20),
    }


def json_lines(command: list[str], environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Run a command on the CPU, and read the JSON objects that it prints, one on a line."""
    variables = os.environ | dict(environment) | {"JAX_PLATFORMS": "cpu"}
    completed = subprocess.run(command, env=variables, capture_output=True, text=True)
    if completed.returncode:
        words = shlex.join(command)[:100]
        raise click.ClickException(f"{words} failed:\n{completed.stderr[-2000:]}")
    return [json.loads(line) for line in completed.stdout.splitlines() if line.startswith("{")]


def measures_jobs(measure: Callable[[Any], Any]) -> Callable[[Callable[..., None]], Any]:
    """A decorator of a command that `in_new_process` calls: with --job it only measures that."""

    def decorate(command: Callable[..., None]) -> Any:
        @functools.wraps(command)
        def measure_or_run(job: str | None, **options: Any) -> None:
            if job is None:
                command(**options)
            else:
                click.echo(json.dumps(measure(json.loads(job))))

        return click.option("--job", hidden=True)(measure_or_run)

    return decorate


def in_new_process(module: str, job: object, environment: Mapping[str, str]) -> dict[str, Any]:
    """The result of ``python -m module --job JOB``, and the load of the machine meanwhile."""
    load = os.getloadavg()[0]
    command = [sys.executable, "-m", module, "--job", json.dumps(job)]
    measured = json_lines(command, environment)[-1]
    return measured | {"load": round(max(load, os.getloadavg()[0]), 1)}


def exponent(seconds: Mapping[int, float]) -> float:
    """The slope of log seconds over log size, by least squares.

    >>> round(exponent({10: 1.0, 100: 100.0, 1000: 10_000.0}), 6)
    2.0
    """
    x = [math.log(size) for size in seconds]
    y = [math.log(spent) for spent in seconds.values()]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return products / sum((a - mean_x) ** 2 for a in x)


def against_bounds(
    measured: Mapping[str, tuple[float, float | None]], digits: int = 3
) -> dict[str, dict[str, Any]]:
    """Each measured value with its upper bound, None for no bound, and whether it keeps it."""
    return {
        figure: {
            "value": round(value, digits),
            "at most": most,
            "passes": most is None or value <= most,
        }
        for figure, (value, most) in measured.items()
    }


def bounds_table(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One line for each entry of `against_bounds`."""
    lines = []
    for figure, row in figures.items():
        bound = ""
        if row["at most"] is not None:
            bound = f"at most {row['at most']:<6g} {'ok' if row['passes'] else 'NO'}"
        lines.append(f"{figure:<56} {row['value']:>9.3g}  {bound}".rstrip())
    return lines


def machine() -> dict[str, Any]:
    """The processor and the versions that the measurements come from."""
    import jax
    import numpy as np

    names = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "jax": jax.__version__,
    }
