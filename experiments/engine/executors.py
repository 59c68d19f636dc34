"""Where calls run: processes of this machine, or the workers of a Dask cluster."""

import contextlib
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from multiprocessing.connection import wait as wait_for_end
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")

ONE_THREAD = {  # a sum over threads has no fixed order, and processes are what we count
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def performed(
    calls: Mapping[Key, tuple[Callable[..., Result], *tuple[Any, ...]]],
    executor: Executor,
    in_flight: int,
) -> Iterator[tuple[Key, Result]]:
    """Each call's key with what came of it, when it is done.

    A call is a function and its arguments; they start in their order, so many at a time. One that
    fails raises here, after those that were done with it.
    """
    queue, running = deque(calls.items()), {}
    try:
        while queue or running:
            while queue and len(running) < in_flight:
                key, call = queue.popleft()
                running[executor.submit(*call)] = key, call[1:]
            done = wait(running, return_when=FIRST_COMPLETED).done
            for future in sorted(done, key=lambda one: one.exception() is not None):
                key, arguments = running.pop(future)
                yield key, _result(future, arguments)
    finally:
        for future in running:
            future.cancel()


def _result(future: Future[Result], arguments: tuple[Any, ...]) -> Result:
    try:
        return future.result()
    except Exception as error:
        words = ", ".join(map(str, arguments))
        error.add_note(f"in {words}; what was done before is recorded, and a new run goes on.")
        raise


@contextlib.contextmanager
def processes(jobs: int) -> Iterator[Executor]:
    """Processes that start afresh (JAX must not be forked), and end when this one does."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent) as executor:
        yield executor


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for tasks for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait_and_end, args=(parent.sentinel,), daemon=True).start()


def _wait_and_end(sentinel: int) -> None:
    wait_for_end([sentinel])
    os._exit(1)


@contextlib.contextmanager
def cluster(address: str) -> Iterator[tuple[Executor, int]]:
    """A Dask cluster's executor, and how many tasks it runs at a time."""
    try:
        from dask.distributed import Client
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("--dask needs dask: pip install 'steinwise[cluster]'") from error
    with Client(address) as client:
        threads = client.nthreads()
        assert isinstance(threads, dict)  # not a coroutine: the client is not asynchronous
        yield client.get_executor(), sum(threads.values())
