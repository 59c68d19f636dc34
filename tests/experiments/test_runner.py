"""A run gives the same files in whatever way it is run: at once, killed and resumed, on Dask."""

import concurrent.futures
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dask.distributed import LocalCluster

from experiments.__main__ import main as command
from experiments.engine import executors, runner
from experiments.engine.page import SLOT, publish
from experiments.engine.records import Store
from experiments.engine.tasks import Outcome, Task
from tests.experiments import toy

TASKS = 20  # of the toy


def run(folder: Path, **options) -> None:
    with ThreadPoolExecutor(1) as executor:
        runner.run([toy.PANEL], folder, executor, 1, **options)
    publish(toy.PANEL, folder)


def contents(folder: Path) -> dict[str, bytes]:
    """The files that must not differ, by name: all but the times."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "times" not in path.parts
    }


@pytest.fixture(scope="module")
def at_once(tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("at once")
    run(folder)
    return contents(folder)


def test_a_run_leaves_records_results_and_figure(at_once):
    assert set(at_once) == {
        "records/toys.jsonl.gz",
        "records/live/toys.jsonl",
        "results/toy.json",
        "figures/toy.png",
    }
    assert at_once["records/live/toys.jsonl"] == b""


def test_two_processes_give_the_same_bytes(tmp_path, at_once):
    toy.run_in_processes(tmp_path / "b", jobs=2)
    assert contents(tmp_path / "b") == at_once


def test_processes_start_afresh():
    """Catches a fork, after which JAX may hang: a fork would have this process's modules."""
    assert "jax" in sys.modules
    with executors.processes(1) as executor:
        assert not executor.submit(eval, "'jax' in __import__('sys').modules").result()


def test_more_repetitions_are_added_to_what_is_there(tmp_path, at_once, monkeypatch):
    run(tmp_path / "b", repetitions=2)
    monkeypatch.setenv(toy.LOG, str(tmp_path / "log"))
    run(tmp_path / "b", repetitions=5)
    run(tmp_path / "b")
    assert contents(tmp_path / "b") == at_once
    again = (tmp_path / "log").read_text().splitlines()
    assert len(again) == len(set(again)) == TASKS * 3 // 5


def test_killed_and_resumed(tmp_path, at_once, monkeypatch):
    """SIGKILL, which cannot be caught: the workers end too, and no finished task is repeated.

    The toy's tasks hang after the first repetition, so that the run is never done before it is
    killed, however slow this test is.
    """
    folder, log = tmp_path / "killed", tmp_path / "log"
    store = Store(folder, "toys")
    monkeypatch.setenv(toy.LOG, str(log))
    monkeypatch.setenv(toy.HANG, "yes")
    child = subprocess.Popen([sys.executable, "-m", "tests.experiments.toy", str(folder)])
    wait_until(lambda: store.live.exists() and store.live.read_bytes().count(b"\n") == 4)
    workers = children(child.pid)
    assert len(workers) >= 2
    child.send_signal(signal.SIGKILL)
    child.wait()
    wait_until(lambda: not any(alive(pid) for pid in workers))
    finished = {str(task) for task in store.read()}
    assert len(finished) == 4

    log.write_text("")
    monkeypatch.delenv(toy.HANG)
    run(folder)
    resumed = log.read_text().splitlines()
    assert finished.isdisjoint(resumed)
    assert len(resumed) == TASKS - 4
    assert contents(folder) == at_once


def wait_until(condition, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"the condition did not become true in {seconds} s"
        time.sleep(0.05)


def children(pid: int) -> list[int]:
    pids = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended in the meantime
            continue
        if int(fields[1]) == pid:
            pids.append(int(stat.parent.name))
    return pids


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextlib.contextmanager
def local_cluster(**options: Any) -> Iterator[Any]:
    with LocalCluster(dashboard_address=":0", **options) as cluster:
        yield cluster


def test_a_cluster_gives_the_same_bytes(tmp_path, at_once):
    with (
        local_cluster(n_workers=2, threads_per_worker=1, processes=True) as local,
        executors.cluster(local.scheduler_address) as (executor, workers),
    ):
        assert workers == 2
        runner.run([toy.PANEL], tmp_path / "b", executor, workers)
    publish(toy.PANEL, tmp_path / "b")
    assert contents(tmp_path / "b") == at_once


def test_workers_with_several_threads_are_refused():
    """Catches CPU seconds that include the work of another thread."""
    with (
        local_cluster(n_workers=1, threads_per_worker=2, processes=False) as local,
        pytest.raises(RuntimeError, match="--nthreads 1"),
        executors.cluster(local.scheduler_address),
    ):
        pass


def test_a_cluster_without_workers_is_refused(monkeypatch):
    """Catches a run that waits forever, with nothing to wait for."""
    monkeypatch.setattr(executors, "WORKER_TIMEOUT", 0.2)
    with (
        local_cluster(n_workers=0, processes=False) as local,
        pytest.raises(RuntimeError, match=r"has no workers after 0\.2 s"),
        executors.cluster(local.scheduler_address),
    ):
        pass


def test_the_command_runs_on_the_cluster_it_is_given(monkeypatch, tmp_path):
    """Catches an address that is not passed on; clusters themselves are tested above."""
    seen = []

    def run(panels, folder, executor, workers, **options):
        seen.append((executor.submit(os.getpid).result(), workers, folder, options))

    monkeypatch.setattr(runner, "run", run)
    with local_cluster(n_workers=1, threads_per_worker=1, processes=True) as local:
        options = ["right_draws", "--dask", local.scheduler_address, "--into", str(tmp_path)]
        CliRunner().invoke(command, [*options, "--repetitions", "2"], catch_exceptions=False)
        (worker,) = local.workers.values()
        expected = worker.pid, 1, tmp_path, {"repetitions": 2, "quick": False}
    assert seen == [expected]


def test_every_cell_has_its_first_repetition_before_any_has_its_second():
    tasks = list(runner.wanted([toy.PANEL]))
    assert [task.repetition for task in tasks] == [r for r in range(5) for _ in range(4)]
    assert len({task.cell for task in tasks[:4]}) == 4


def test_panels_of_one_study_share_tasks():
    assert len(runner.wanted([toy.PANEL, toy.Toy("tests.experiments.other", "toys")])) == TASKS
    assert len(runner.wanted([toy.PANEL, toy.Toy("tests.experiments.other", "o")])) == 2 * TASKS


def test_a_run_cut_short_gives_a_figure(tmp_path):
    run(tmp_path, repetitions=1)
    assert (tmp_path / "figures" / "toy.png").exists()


def test_the_page_is_filled(tmp_path):
    page = tmp_path / "README.md"
    page.write_text("before\n" + SLOT.format(name="toy", text="") + "\nafter\n")
    run(tmp_path)
    run(tmp_path)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert text.count("![toy](figures/toy.png)") == text.count("4 cells") == 1


def test_a_page_without_a_slot_is_refused(tmp_path):
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(ValueError, match="no slot for toy"):
        run(tmp_path)


@dataclass(frozen=True)
class Failing(toy.Toy):
    def run(self, task: Task) -> Outcome:
        if task.repetition == 1:
            raise ArithmeticError("no")
        return super().run(task)


def test_a_failed_task_is_named_and_finished_ones_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(toy, "PANEL", Failing("tests.experiments.toy", "toys"))
    with pytest.raises(ArithmeticError) as caught:
        run(tmp_path)
    assert ", toys: KSD (RBF), n = 10, repetition 1; finished" in caught.value.__notes__[0]
    assert len(Store(tmp_path, "toys").read()) == 4


def test_running_calls_are_finished_when_another_fails():
    """The second call fails while the first is running; the third never starts."""
    started, first_started, second_failed = [], threading.Event(), threading.Event()

    def call(name: str) -> str:
        started.append(name)
        if name == "first":
            first_started.set()
            assert second_failed.wait(60)
        if name == "second":
            assert first_started.wait(60)
            raise ArithmeticError("no")
        return name

    class Watched(ThreadPoolExecutor):
        """Lets the first call end only after the second one has failed."""

        def submit(self, fn, /, *arguments, **keywords):
            future = super().submit(fn, *arguments, **keywords)
            if arguments == ("second",):
                future.add_done_callback(lambda _: second_failed.set())
            return future

    calls = {name: (call, name) for name in ("first", "second", "third")}
    with Watched(2) as executor:
        results = executors.perform_calls(calls, executor, 2)
        assert next(results) == ("first", "first")
        with pytest.raises(ArithmeticError):
            next(results)
    assert started == ["first", "second"]


def test_a_timed_task_without_its_time_is_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(toy, "PANEL", toy.Toy("tests.experiments.toy", "toys", timed=True))
    run(tmp_path)
    before = Store(tmp_path, "toys").read()
    Store(tmp_path, "toys").times.unlink()
    assert publish(toy.PANEL, tmp_path) == "toy: 4 of 4 cells have no record yet"
    run(tmp_path)
    after = Store(tmp_path, "toys").read()
    assert {task: done.outcome for task, done in after.items()} == {
        task: done.outcome for task, done in before.items()
    }
    assert all(done.seconds is not None for done in after.values())


@pytest.mark.parametrize("timed", [False, True])
def test_timed_tasks_run_twice_and_alone(tmp_path, monkeypatch, timed):
    """Other tasks run once, up to two for each worker being submitted at a time."""
    in_flight = []

    def wait(futures, **options):
        in_flight.append(len(futures))
        return concurrent.futures.wait(futures, **options)

    monkeypatch.setattr(executors, "wait", wait)
    monkeypatch.setattr(toy, "PANEL", toy.Toy("tests.experiments.toy", "toys", timed=timed))
    monkeypatch.setenv(toy.LOG, str(tmp_path / "log"))
    with ThreadPoolExecutor(4) as executor:
        runner.run([toy.PANEL], tmp_path, executor, 4)
    counts = Counter((tmp_path / "log").read_text().splitlines())
    assert len(counts) == TASKS
    assert set(counts.values()) == {2 if timed else 1}
    assert max(in_flight) == (1 if timed else 8)
