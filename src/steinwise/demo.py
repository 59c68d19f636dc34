"""The main job on a fitted model: the eight schools, and a variational fit of them.

The model is hierarchical: eight coaching programmes have effects theta[j] ~ N(mu, tau), measured
with known errors. The draws (``demo.npz``, made by ``examples/demo_draws.py``) come from mean-field
variational inference.

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
from steinwise._internal.output_files import OutputFile
from steinwise.errors import InputError

# of coaching for a test, in points, with their standard errors (Rubin 1981)
EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
NAMES = ("mu", "log(tau)", *(f"theta[{j}]" for j in range(8)))
DRAWS = Path(__file__).with_name("demo.npz")


def log_density(x: Any) -> Any:
    """The log posterior of mu, log(tau) and theta, up to a constant.

    mu ~ N(0, 5), tau half-Cauchy with scale 5, theta ~ N(mu, tau), effect ~ N(theta, error); the
    last term of the prior of tau is the Jacobian of the logarithm.
    """
    mu, log_tau, theta = x[0], x[1], x[2:]
    tau = jnp.exp(log_tau)
    prior = -((mu / 5) ** 2) / 2 - jnp.log1p((tau / 5) ** 2) + log_tau
    schools = -jnp.sum(((theta - mu) / tau) ** 2) / 2 - len(EFFECT) * log_tau
    return prior + schools - jnp.sum(((EFFECT - theta) / ERROR) ** 2) / 2


def main(folder: str = "out") -> None:
    out = Path(folder)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder!r} cannot be made: {error}.") from error
    picture = OutputFile.checked(out / "demo.png", "the picture")
    report = OutputFile.checked(out / "demo.html", "the report")
    draws = np.load(DRAWS)["draws"].astype(float)

    print("Mean-field variational inference for the eight schools: are its draws right?\n")
    result = sw.check(draws, log_density, names=NAMES)
    print(result)
    drawn = io.BytesIO()
    result.plot().savefig(drawn, dpi=120)
    picture.write(drawn.getvalue())
    source = {"draws": DRAWS.name, "target": "steinwise.demo.log_density"}
    report.write(result.to_html(source=source).encode("utf-8"))
    print(f"\nThe picture is in {out / 'demo.png'}, the report in {out / 'demo.html'}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
