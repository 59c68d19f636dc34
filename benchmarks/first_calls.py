"""What the first check of a NumPyro model costs, compilation included.

Run with ``python -m benchmarks.first_calls`` where NumPyro is installed (`.venv-adapters`). Each of
the ten models is sampled in a process of its own, and its draws are checked once. Results go to
``benchmarks/results/first_calls.json`` as they come.
"""

# the users' libraries are in .venv-adapters
# pyright: reportMissingImports=false

import json
import time
from typing import Any

import click

from benchmarks import RESULTS
from benchmarks.measuring import (
    against_bounds,
    bounds_table,
    in_new_process,
    machine,
    measures_jobs,
)

PATH = RESULTS / "first_calls.json"
CHAINS, WARM_UP, DRAWS = 2, 300, 500
# Some of these chains are too short for a verdict. It is not what is measured here, and batches of
# a given length do the same work.
BATCH_LENGTH = 20
MOST = 15.0  # CPU seconds


def measure(name: str) -> dict[str, Any]:
    """One model, in this process."""
    import warnings

    import jax
    import numpyro

    import steinwise as sw
    from benchmarks.numpyro_models import MODELS
    from benchmarks.numpyro_runs import nuts

    numpyro.enable_x64()
    model = next(model for model in MODELS if model.__name__ == name)
    mcmc = nuts(model, chains=CHAINS, warm_up=WARM_UP, draws=DRAWS)
    mcmc.run(jax.random.key(0))
    draws, target = sw.from_numpyro(mcmc)
    start = time.process_time()
    with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
        sw.check(draws, target, batch_length=BATCH_LENGTH, progress=False)
    seconds = time.process_time() - start
    return {"d": draws.dim, "cpu_seconds": round(seconds, 2)}


@click.command()
@click.argument("names", nargs=-1)
@measures_jobs(measure)
def main(names: tuple[str, ...]) -> None:
    """Measure all models, or those named."""
    from benchmarks.numpyro_models import MODELS

    results = json.loads(PATH.read_text()) if PATH.exists() else {"models": {}}
    results["machine"] = machine()
    for name in names or [model.__name__ for model in MODELS]:
        results["models"][name] = in_new_process("benchmarks.first_calls", name, {})
        seconds = {name: (row["cpu_seconds"], MOST) for name, row in results["models"].items()}
        results["figures"] = against_bounds(seconds)
        PATH.write_text(json.dumps(results, indent=1) + "\n")
        click.echo(f"{name}: {results['models'][name]}")
    click.echo("\n".join(bounds_table(results["figures"])))


if __name__ == "__main__":
    main()
