"""How costs are taken: CPU seconds, memory, a process of its own, growth, the machine."""

import json
import math
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def best(job: Callable[[], object], repetitions: int = 5) -> float:
    """CPU seconds, after a first call that compiles."""
    job()
    seconds = []
    for _ in range(repetitions):
        start = time.process_time()
        job()
        seconds.append(time.process_time() - start)
    return min(seconds)


def anonymous() -> int:
    """Bytes of memory that no file stands for."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) * 1024


def watched(run: Callable[[], object]) -> int:
    """The most anonymous memory that a call held beyond what was held before."""
    before, most, done = anonymous(), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.005):
            most = max(most, anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        run()
    finally:
        done.set()
        watcher.join()
    return max(most - before, 0)


def costs(run: Callable[[], object], repetitions: int) -> dict[str, float]:
    """The least CPU seconds and seconds of some calls, and the most memory."""
    seconds, elapsed, memory = [], [], 0
    for _ in range(repetitions):
        cpu, clock = time.process_time(), time.perf_counter()
        memory = max(memory, watched(run))
        seconds.append(time.process_time() - cpu)
        elapsed.append(time.perf_counter() - clock)
    return {
        "cpu_seconds": round(min(seconds), 4),
        "seconds": round(min(elapsed), 4),
        "peak_mb": round(memory / 2**20),
    }


def in_a_process(module: str, job: object, environment: Mapping[str, str]) -> dict[str, Any]:
    """``python -m module --one JOB`` in a process that starts afresh, and the load beside it."""
    command = [sys.executable, "-m", module, "--one", json.dumps(job)]
    around = os.environ | dict(environment) | {"JAX_PLATFORMS": "cpu"}
    load = os.getloadavg()[0]
    out = subprocess.run(command, env=around, check=True, capture_output=True, text=True)
    found = json.loads(out.stdout.splitlines()[-1])
    return found | {"load": round(max(load, os.getloadavg()[0]), 1)}


def exponent(seconds: Mapping[int, float]) -> float:
    """The slope of log seconds over log size, by least squares."""
    x = [math.log(size) for size in seconds]
    y = [math.log(spent) for spent in seconds.values()]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return products / sum((a - mean_x) ** 2 for a in x)


def machine() -> dict[str, Any]:
    """What this is measured on."""
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
