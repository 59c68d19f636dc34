"""The jobs that steinwise shares with other packages, beside them.

Run with ``python -m benchmarks.peers``. Every package is installed by its name into an environment
of its own, ``.venv-peers/NAME``; every figure is CPU seconds with one thread, the best of some
calls after a first one, which compiles, on the same draws of N(0, I). Results go to
``benchmarks/results/peers.json``.

The jobs: the KSD of all draws (IMQ kernel, bandwidth 1, all pairs); the 100 draws that stand for
the density best, by Stein thinning as published (goodpoints does kernel thinning, which does not
look at the density and keeps a power of two); FSSD at five given locations with its test.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click

from benchmarks.size import ONE_THREAD, RESULTS

PATH = RESULTS.parent / "peers.json"
ENVIRONMENTS = Path(".venv-peers")
DRAWS, DIM, CHOSEN = 5000, 30, 100

COMMON = """
import json, sys, time
import numpy as np
n, d, m, repetitions = map(int, sys.argv[1:5])
x = np.random.default_rng(0).normal(size=(n, d))
v = np.random.default_rng(1).normal(size=(5, d))

def best(job, run):
    try:
        value, seconds = run(), []
    except Exception as error:
        print(json.dumps({"job": job, "failed": f"{type(error).__name__}: {error}"[:120]}))
        return
    for _ in range(repetitions):
        start = time.process_time()
        value = run()
        seconds.append(time.process_time() - start)
    print(json.dumps({"job": job, "seconds": min(seconds), "value": float(np.ravel(value)[-1])}))
"""

SCRIPTS = {
    "stein-thinning": """
from stein_thinning.stein import ksd
from stein_thinning.kernel import make_imq
from stein_thinning.thinning import thin
kernel = make_imq(x, "id")
best("ksd", lambda: ksd(lambda i, j: kernel(x[i], x[j], -x[i], -x[j]), n)[-1] ** 2)
best("thin", lambda: thin(x, -x, m, preconditioner="id"))
""",
    "kernax": """
import jax, jax.numpy as jnp
from kernax import SteinThinning
from kernax.discrepancies import KSD
from kernax.kernels import IMQ
y = jnp.asarray(x)
kernel = jax.tree_util.Partial(IMQ, lengthscale=1.0)
compiled = jax.jit(lambda a, s: KSD(a, s, kernel))
best("ksd", lambda: np.asarray(compiled(y, -y)) ** 2)
thinning = SteinThinning(y, -y, 1.0)
best("thin", lambda: np.asarray(thinning(m)))
""",
    "coreax": """
import jax.numpy as jnp
from coreax.data import Data
from coreax.kernels import PCIMQKernel, SteinKernel
from coreax.metrics import KSD
from coreax.solvers import SteinThinning
import equinox as eqx
data = Data(jnp.asarray(x))
kernel = SteinKernel(PCIMQKernel(length_scale=2**-0.5), lambda row: -row)  # 1 + r^2 / (2 l^2)
metric = KSD(kernel)
value = eqx.filter_jit(lambda data: metric.compute(data, data, block_size=500))
best("ksd", lambda: np.asarray(value(data)) ** 2)
solver = SteinThinning(coreset_size=m, kernel=kernel, regularise=False)
select = eqx.filter_jit(lambda data: solver.reduce(data)[0].unweighted_indices)
best("thin", lambda: np.asarray(select(data)))
""",
    "goodpoints": """
from goodpoints.compress import compresspp_kt
best("thin", lambda: compresspp_kt(x[:4096], b"gaussian", np.ones(1) * d, g=4, seed=0))
""",
    "hyppo": """
from hyppo.kgof import FSSD, KGauss, Normal
test = FSSD(Normal(np.zeros(d), np.eye(d)), KGauss(sigma2=float(d)), v)
best("fssd", lambda: test.test(x)["test_stat"])
""",
}


def ours() -> dict[str, dict[str, float]]:
    """The same jobs by this package."""
    import numpy as np

    import steinwise as sw

    x = np.random.default_rng(0).normal(size=(DRAWS, DIM))
    v = np.random.default_rng(1).normal(size=(5, DIM))
    target = sw.Gaussian(np.zeros(DIM), np.eye(DIM))
    fssd = sw.methods.FSSD(sw.kernels.RBF(float(DIM) ** 0.5), locations=v)
    imq = sw.kernels.IMQ()
    jobs = {
        "ksd": lambda: sw.ksd(x, target, kernel=imq, estimator="v", independent=True).value,
        "thin": lambda: sw.thin(x, target, CHOSEN, preconditioner="id", regularised=False).indices,
        "fssd": lambda: sw.check(x, target, method=fssd, independent=True).statistic,
    }
    found = {}
    for job, run in jobs.items():
        value, seconds = run(), []
        for _ in range(5):
            start = time.process_time()
            value = run()
            seconds.append(time.process_time() - start)
        found[job] = {"seconds": min(seconds), "value": float(np.ravel(value)[-1])}
    return found


def environment(package: str) -> str:
    """The interpreter of an environment with a package in it, which is made if there is none."""
    folder = ENVIRONMENTS / package
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, package], check=True)
    return str(python)


def theirs(package: str, repetitions: int) -> dict[str, dict[str, Any]]:
    """The jobs that a package does, with what came of one that it cannot do at this size."""
    sizes = [str(one) for one in (DRAWS, DIM, CHOSEN, repetitions)]
    command = [environment(package), "-c", COMMON + SCRIPTS[package], *sizes]
    load = os.environ | ONE_THREAD | {"JAX_PLATFORMS": "cpu"}
    out = subprocess.run(command, env=load, capture_output=True, text=True)
    if out.returncode:
        raise click.ClickException(f"{package} failed:\n{out.stderr[-2000:]}")
    rows = [json.loads(line) for line in out.stdout.splitlines() if line.startswith("{")]
    return {row.pop("job"): row for row in rows}


def table(found: dict[str, Any]) -> str:
    lines = [f"{f'n = {DRAWS}, d = {DIM}':<18}{'job':>6}{'CPU s':>10}{'ours':>10}{'ratio':>9}"]
    for package, jobs in found["peers"].items():
        for job, one in jobs.items():
            own = found["ours"][job]["seconds"]
            if "failed" in one:
                lines.append(f"{package:<18}{job:>6}    {one['failed']}")
                continue
            ratio = own / one["seconds"]
            numbers = f"{one['seconds']:>10.3f}{own:>10.3f}{ratio:>9.3f}"
            lines.append(f"{package:<18}{job:>6}{numbers}")
    return "\n".join(lines)


@click.command()
@click.argument("packages", nargs=-1)
@click.option("--own", is_flag=True, hidden=True, help="Measure this package in this process.")
@click.option("--repetitions", default=3, show_default=True)
def main(packages: tuple[str, ...], own: bool, repetitions: int) -> None:
    """Measure CPU seconds; PACKAGES are the peers, all of them by default."""
    if own:
        click.echo(json.dumps(ours()))
        return
    unknown = sorted(set(packages) - set(SCRIPTS))
    if unknown:
        raise click.BadParameter(f"no peer {unknown}; there are {list(SCRIPTS)}")
    command = [sys.executable, "-m", "benchmarks.peers", "--own"]
    load = os.environ | ONE_THREAD | {"JAX_PLATFORMS": "cpu"}
    out = subprocess.run(command, env=load, check=True, capture_output=True, text=True)
    peers = json.loads(PATH.read_text())["peers"] if PATH.exists() else {}
    for package in packages or SCRIPTS:
        peers[package] = theirs(package, repetitions)
        click.echo(f"{package}: {peers[package]}", err=True)
    found = {"ours": json.loads(out.stdout.splitlines()[-1]), "peers": peers}
    PATH.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    click.echo(table(found))


if __name__ == "__main__":
    main()
