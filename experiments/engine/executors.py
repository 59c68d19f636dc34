"""Where calls run: processes of this machine, or the workers of a Dask cluster."""

import contextlib
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, wait
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
PATIENCE = 60  # seconds that workers of a cluster have to come


def perform_calls(
    calls: Mapping[Key, tuple[Callable[..., Result], *tuple[Any, ...]]],
    executor: Executor,
    in_flight: int,
) -> Iterator[tuple[Key, Result]]:
    """Each call's key with what came of it, when it is done.

    A call is a function and its arguments; they start in their order, so many at a time. After one
    that fails no other starts; those under way may have run for hours, and come to their end.
    """
    queue, running = deque(calls.items()), {}
    failure: BaseException | None = None
    try:
        while running or (queue and not failure):
            while queue and not failure and len(running) < in_flight:
                key, call = queue.popleft()
                running[executor.submit(*call)] = key, call[1:]
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                key, arguments = running.pop(future)
                if error := future.exception():
                    failure = failure or _named(error, arguments)
                else:
                    yield key, future.result()
    finally:
        for future in running:
            future.cancel()
    if failure:
        raise failure


def _named(error: BaseException, arguments: tuple[Any, ...]) -> BaseException:
    words = ", ".join(map(str, arguments))
    error.add_note(f"in {words}; what was done is recorded, and a new run goes on.")
    return error


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
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise RuntimeError(
                f"the scheduler at {address} has no workers after {PATIENCE} s: start some with "
                f"'dask worker {address} --nthreads 1'."
            ) from error
        threads = client.nthreads()
        assert isinstance(threads, dict)  # not a coroutine: the client is not asynchronous
        if max(threads.values()) > 1:
            raise RuntimeError(
                f"the workers of {address} have up to {max(threads.values())} threads: start them "
                "with --nthreads 1, since CPU seconds are counted by process."
            )
        yield client.get_executor(), sum(threads.values())
