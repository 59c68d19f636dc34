"""Records survive a process killed at any byte, and the same tasks give the same bytes."""

import gzip
import json
import os

import pytest

from experiments.engine import records
from experiments.engine.records import Done, Store
from experiments.engine.tasks import Task, make_cell

TASKS = [Task("s", make_cell(method, n=n), r) for method in "ab" for n in (5, 10) for r in range(3)]


def add(store: Store, tasks, seconds: float = 1.0) -> None:
    with store.adding() as record:
        for task in tasks:
            record(task, Done({"value": task.repetition / 3}, seconds))


def test_recorded_tasks_are_read_back(tmp_path):
    store = Store(tmp_path, "s")
    assert store.read() == {}
    add(store, reversed(TASKS))
    assert list(store.read()) == TASKS
    store.merge()
    assert store.live.read_bytes() == b""
    assert list(store.read()) == TASKS
    assert store.read()[TASKS[1]] == Done({"value": 1 / 3}, 1.0)


def test_files_depend_neither_on_the_order_of_work_nor_on_the_clock(tmp_path):
    at_once, in_parts = Store(tmp_path / "at once", "s"), Store(tmp_path / "in parts", "s")
    add(at_once, TASKS, seconds=1.0)
    at_once.merge()
    for tasks in (TASKS[5:8], TASKS[:5], TASKS[8:]):
        add(in_parts, tasks, seconds=2.0)
        in_parts.merge()
    assert at_once.outcomes.read_bytes() == in_parts.outcomes.read_bytes()
    assert at_once.times.read_bytes() != in_parts.times.read_bytes()
    assert b"seconds" not in gzip.decompress(at_once.outcomes.read_bytes())


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_torn_last_line_is_dropped(tmp_path, cut):
    store = Store(tmp_path, "s")
    add(store, TASKS[:3])
    store.live.write_bytes(store.live.read_bytes()[:-cut])
    assert list(store.read()) == TASKS[:2]
    add(store, TASKS[2:4])  # must not be appended to the rest of the torn line
    assert list(store.read()) == TASKS[:4]


@pytest.mark.parametrize("finished", [0, 1, 2], ids=["nothing", "outcomes", "times too"])
def test_a_merge_killed_before_its_end_loses_nothing(tmp_path, monkeypatch, finished):
    store = Store(tmp_path, "s")
    add(store, TASKS[:4])
    before, steps = store.read(), iter(range(3))

    def killed(function):
        def step(*arguments):
            if next(steps) == finished:
                raise KeyboardInterrupt
            function(*arguments)

        return step

    with monkeypatch.context() as patch:
        patch.setattr(records, "replace_file", killed(records.replace_file))
        patch.setattr(records.os, "truncate", killed(os.truncate))
        with pytest.raises(KeyboardInterrupt):
            store.merge()
    assert store.read() == before
    add(store, TASKS[4:])
    store.merge()
    assert store.read() == before | {task: store.read()[task] for task in TASKS[4:]}
    assert list(store.read()) == TASKS
    assert len(gzip.decompress(store.outcomes.read_bytes()).splitlines()) == len(TASKS)


def test_times_may_be_missing(tmp_path):
    store = Store(tmp_path, "s")
    add(store, TASKS)
    store.merge()
    store.times.unlink()
    assert store.read()[TASKS[0]] == Done({"value": 0.0}, None)
    add(store, [Task("s", make_cell("c", n=5), 0)])
    store.merge()
    assert len(store.read()) == len(TASKS) + 1


def test_two_runs_cannot_write_to_the_same_file(tmp_path):
    store = Store(tmp_path, "s")
    with store.adding(), pytest.raises(RuntimeError, match="another run is adding to"):
        add(store, TASKS)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}])
def test_outcomes_must_be_json(tmp_path, value):
    with (
        Store(tmp_path, "s").adding() as record,
        pytest.raises(ValueError, match="s: a, n = 5, repetition 0 cannot be recorded"),
    ):
        record(TASKS[0], Done({"value": value}, 1.0))


@pytest.mark.parametrize("line", ["what", json.dumps({"method": "a"}), "3"])
def test_the_error_for_a_line_that_is_not_a_task_names_the_line(tmp_path, line):
    store = Store(tmp_path, "s")
    add(store, TASKS[:1])
    with store.live.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ValueError, match="line 2 of the records of 's'"):
        store.read()
