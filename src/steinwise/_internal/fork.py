"""Processes that were forked after JAX had started: there it waits for threads that do not exist.

`os.fork`, and `multiprocessing` where it forks, copy the memory of a process but not its threads. A
computation of JAX would hang in the child, so it is refused at once.
"""

import os
import sys

_forked_too_late = False


def refuse_forked_process() -> None:
    """Raise in a process in which JAX would hang."""
    if _forked_too_late:
        raise RuntimeError(
            "this process was forked after JAX had started, and JAX would hang in it: its threads "
            "do not exist here. Start processes with multiprocessing.get_context('spawn') or "
            "'forkserver' (for a ProcessPoolExecutor: mp_context=), or fork before JAX is used."
        )


def _in_child() -> None:
    global _forked_too_late
    bridge = sys.modules.get("jax._src.xla_bridge")
    # not public: without it, any use of JAX counts
    started = getattr(bridge, "backends_are_initialized", lambda: bridge is not None)
    _forked_too_late = _forked_too_late or bool(started())


def watch_forks() -> None:
    """Notice when this process is forked; called once, when the package is imported."""
    if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
        os.register_at_fork(after_in_child=_in_child)
