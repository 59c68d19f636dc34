"""What the jobs that other packages can do as well cost there and here.

Run with ``python -m benchmarks.peers``. Each package is installed into an environment of its own,
``.venv-peers/NAME``. Costs are CPU seconds with one thread, the best of several calls after a first
one that compiles, on the same draws from N(0, I). Results go to ``benchmarks/results/peers.json``.

The jobs: the KSD of all draws (IMQ kernel, bandwidth 1, all pairs); the 100 draws that represent
the density best, by Stein thinning as published (goodpoints does kernel thinning, which does not
use the density and keeps a power of two); FSSD at five given locations, with its test.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from benchmarks import RESULTS
from benchmarks.measuring import best_of, in_new_process, json_lines, measures_jobs
from experiments.engine.executors import ONE_THREAD

PATH = RESULTS / "peers.json"
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
    """The same jobs done by this package."""
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
        "fssd": lambda: sw.check(x, target, method=fssd, independent=True).discrepancy,
    }
    measured = {job: best_of(5, run) for job, run in jobs.items()}
    return {
        job: {"seconds": seconds, "value": float(np.ravel(value)[-1])}
        for job, (value, seconds) in measured.items()
    }


def environment(package: str) -> str:
    """The interpreter of the environment for a package, which is created if need be."""
    folder = ENVIRONMENTS / package
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, package], check=True)
    return str(python)


def theirs(package: str, repetitions: int) -> dict[str, dict[str, Any]]:
    """The jobs that a package does; the error of one that fails at this size is kept."""
    sizes = [str(size) for size in (DRAWS, DIM, CHOSEN, repetitions)]
    command = [environment(package), "-c", COMMON + SCRIPTS[package], *sizes]
    return {row.pop("job"): row for row in json_lines(command, ONE_THREAD)}


def table(results: dict[str, Any]) -> str:
    lines = [f"{f'n = {DRAWS}, d = {DIM}':<18}{'job':>6}{'CPU s':>10}{'ours':>10}{'ratio':>9}"]
    for package, jobs in results["peers"].items():
        for job, theirs in jobs.items():
            our_seconds = results["ours"][job]["seconds"]
            if "failed" in theirs:
                lines.append(f"{package:<18}{job:>6}    {theirs['failed']}")
                continue
            ratio = our_seconds / theirs["seconds"]
            numbers = f"{theirs['seconds']:>10.3f}{our_seconds:>10.3f}{ratio:>9.3f}"
            lines.append(f"{package:<18}{job:>6}{numbers}")
    return "\n".join(lines)


@click.command()
@click.argument("packages", nargs=-1)
@click.option("--repetitions", default=3, show_default=True)
@measures_jobs(lambda _: ours())
def main(packages: tuple[str, ...], repetitions: int) -> None:
    """Measure CPU seconds; PACKAGES are the other packages, by default all of them."""
    unknown = sorted(set(packages) - set(SCRIPTS))
    if unknown:
        raise click.BadParameter(f"no peer {unknown}; there are {list(SCRIPTS)}")
    own = in_new_process("benchmarks.peers", "ours", ONE_THREAD)
    own.pop("load")
    peers = json.loads(PATH.read_text())["peers"] if PATH.exists() else {}
    for package in packages or SCRIPTS:
        peers[package] = theirs(package, repetitions)
        click.echo(f"{package}: {peers[package]}", err=True)
    results = {"ours": own, "peers": peers}
    PATH.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    click.echo(table(results))


if __name__ == "__main__":
    main()
