"""The main job on a fitted model: deaths in twelve hospitals, and a variational fit of them.

The model is hierarchical: the log odds of death b[j] ~ N(mu, sigma) in hospital j. The draws
(``demo.npz``, made by ``examples/demo_draws.py``) come from mean-field variational inference.

Run with ``python -m steinwise.demo [FOLDER]``; the picture and the report go to FOLDER (``out`` by
default).
"""

import io
import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import steinwise as sw
from steinwise._internal.escaping import clause_of
from steinwise._internal.output_files import OutputFile
from steinwise._internal.run_source import source_of_run
from steinwise.errors import InputError

# heart operations on small children, and deaths ("Surgical" in the examples of BUGS, 1996)
OPERATIONS = np.array([47, 148, 119, 810, 211, 196, 148, 215, 207, 97, 256, 360])
DEATHS = np.array([0, 18, 8, 46, 8, 13, 9, 31, 14, 8, 29, 24])
NAMES = ("mu", "log(sigma)", *(f"b[{j}]" for j in range(12)))
DRAWS = Path(__file__).with_name("demo.npz")


def log_density(x: Any) -> Any:
    """The log posterior of mu, log(sigma) and b, up to a constant.

    mu ~ N(-2.5, 1), sigma half-normal with scale 1, b ~ N(mu, sigma), deaths binomial with log odds
    b; the last term of the prior is the Jacobian of the logarithm.
    """
    mu, log_sigma, b = x[0], x[1], x[2:]
    sigma = jnp.exp(log_sigma)
    prior = -((mu + 2.5) ** 2) / 2 - sigma**2 / 2 + log_sigma
    hospitals = -jnp.sum(((b - mu) / sigma) ** 2) / 2 - len(DEATHS) * log_sigma
    return prior + hospitals + jnp.sum(DEATHS * b - OPERATIONS * jnp.logaddexp(0.0, b))


def main(folder: str = "out") -> None:
    out = Path(folder)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder!r} cannot be made: {clause_of(error)}.") from error
    picture = OutputFile.checked(out / "demo.png", "the picture")
    report = OutputFile.checked(out / "demo.html", "the report")
    draws = np.load(DRAWS)["draws"].astype(float)

    print("Mean-field variational inference for deaths in twelve hospitals: do its draws fit?\n")
    result = sw.check(draws, log_density, names=NAMES)
    print(result)
    print("\nHow far off are the answers, and what should be reported instead?\n")
    answers = sw.summary(draws, log_density, names=NAMES)
    print(answers)
    drawn = io.BytesIO()
    result.plot().savefig(drawn, dpi=120)
    picture.write(drawn.getvalue())
    density = {"target": "steinwise.demo.log_density"}
    source = source_of_run(f"{DRAWS.name} in the package steinwise", density, ["demo", folder])
    report.write(result.to_html(answers, source=source).encode("utf-8"))
    print(f"\nThe picture is in {out / 'demo.png'}, the report in {out / 'demo.html'}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
