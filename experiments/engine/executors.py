"""Where calls run: processes of this machine, or the workers of a Dask cluster."""

import contextlib
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, wait
from multiprocessing.connection import wait as wait_for_sentinel
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")

ONE_THREAD = {  # sums over several threads have no fixed order, and CPU seconds are per process
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
WORKER_TIMEOUT = 60  # seconds to wait for the first worker of a cluster


def perform_calls(
    calls: Mapping[Key, tuple[Callable[..., Result], *tuple[Any, ...]]],
    executor: Executor,
    in_flight: int,
) -> Iterator[tuple[Key, Result]]:
    """Yield each call's key and result as soon as the call is done.

    A call is a function and its arguments. Calls start in order, at most `in_flight` at a time.
    After one fails, no other starts; those already running may have taken hours, and are finished.
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
                    failure = failure or _with_note(error, arguments)
                else:
                    yield key, future.result()
    finally:
        for future in running:
            future.cancel()
    if failure:
        raise failure


def _with_note(error: BaseException, arguments: tuple[Any, ...]) -> BaseException:
    call = ", ".join(map(str, arguments))
    error.add_note(f"in {call}; finished tasks are recorded, and a new run resumes after them.")
    return error


@contextlib.contextmanager
def processes(jobs: int) -> Iterator[Executor]:
    """Freshly started processes (JAX must not be forked) that end when this one does."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent) as executor:
        yield executor


def _end_with_parent() -> None:
    """Without this, a worker whose parent was killed would wait for tasks forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait_for_sentinel([sentinel])
    os._exit(1)


@contextlib.contextmanager
def cluster(address: str) -> Iterator[tuple[Executor, int]]:
    """An executor for a Dask cluster, and the number of tasks that run there at a time."""
    try:
        from dask.distributed import Client
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("--dask needs dask: pip install 'steinwise[cluster]'") from error
    with Client(address) as client:
        try:
            client.wait_for_workers(1, timeout=WORKER_TIMEOUT)
        except TimeoutError as error:
            raise RuntimeError(
                f"the scheduler at {address} has no workers after {WORKER_TIMEOUT} s. Start some "
                f"with 'dask worker {address} --nthreads 1'."
            ) from error
        threads = client.nthreads()
        assert isinstance(threads, dict)  # not a coroutine: the client is not asynchronous
        if max(threads.values()) > 1:
            raise RuntimeError(
                f"the workers of {address} have up to {max(threads.values())} threads. Start them "
                "with --nthreads 1: CPU seconds are measured per process."
            )
        yield client.get_executor(), sum(threads.values())
