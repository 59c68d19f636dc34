"""A process that is forked after JAX has started: an error, where JAX would hang."""

import subprocess
import sys

SCRIPT = """
import os, signal, sys, warnings
warnings.simplefilter("ignore")
import numpy as np, jax, jax.numpy as jnp, steinwise as sw
jnp.zeros(3).sum().block_until_ready()
sys.stdout.flush()
if os.fork() == 0:
    signal.alarm(30)  # if it hangs
    try:
        sw.ksd(np.eye(10)[:, :2], lambda x: -jnp.sum(x**2))
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""


def test_a_forked_process_says_so_at_once():
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300, check=True
    )
    assert "forked after JAX had started" in found.stdout
    assert "spawn" in found.stdout
