"""What is missed because series are compared with the density on the lines of one draw in 16.

Run with ``python -m benchmarks.series_sample``. For each target: the share of lines whose u comes
from a series; how many of them a comparison of all lines would have sent to nodes, in a hundred
thousand; and the largest error of u, by nodes, among these and among others. Results go to
``benchmarks/results/series_sample.json``.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import click
import numpy as np

from benchmarks import RESULTS
from benchmarks.posteriors import LogDensity, eight_schools, logistic

PATH = RESULTS / "series_sample.json"
DRAWS = 4000  # about as many as a slab has
COMPARED = 1000  # lines that are followed by nodes as well
REPETITIONS = 10  # of targets that are built to fool


class Case(NamedTuple):
    """A log density and draws."""

    log_density: LogDensity
    draws: np.ndarray  # or several sets of draws


def near_the_mode(posterior: tuple[LogDensity, int], rng: np.random.Generator) -> Case:
    """Draws of the normal approximation at the mode."""
    import jax
    from scipy.optimize import minimize

    log_density, d = posterior
    with jax.enable_x64(True):
        slope, bend = jax.jit(jax.grad(log_density)), jax.jit(jax.hessian(log_density))
        found = minimize(
            lambda w: -float(log_density(w)), np.zeros(d), jac=lambda w: -np.asarray(slope(w))
        )
        root = np.linalg.cholesky(np.linalg.inv(-np.asarray(bend(found.x))))
    return Case(log_density, found.x + rng.normal(size=(DRAWS, d)) @ root.T)


def hierarchical_logit(groups: int = 10, data: int = 15) -> tuple[LogDensity, int]:
    """Intercepts by group, non-centred, with few data each."""
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(groups), data)
    y = (rng.uniform(size=len(group)) < 1 / (1 + np.exp(-rng.normal(size=groups)[group]))).astype(
        float
    )

    def log_density(w):
        logits = (w[0] + jnp.exp(w[1]) * w[2:])[group]
        return jnp.sum(y * logits - jnp.logaddexp(0.0, logits)) - 0.5 * w @ w

    return log_density, groups + 2


def funnel(rng: np.random.Generator) -> Case:
    import jax.numpy as jnp

    scale = rng.normal(size=DRAWS)
    rest = rng.normal(size=(DRAWS, 4)) * np.exp(scale / 2)[:, None]

    def log_density(x):
        return -(x[0] ** 2) / 2 - 2 * x[0] - 0.5 * jnp.sum(x[1:] ** 2) * jnp.exp(-x[0])

    return Case(log_density, np.column_stack([scale, rest]))


def student(rng: np.random.Generator, degrees: int = 5) -> Case:
    import jax.numpy as jnp

    def log_density(x):
        return -(degrees + 1) / 2 * jnp.sum(jnp.log1p(x**2 / degrees))

    return Case(log_density, rng.standard_t(degrees, size=(DRAWS, 4)))


def rare_shoulder(rng: np.random.Generator, share: float) -> Case:
    """Built to fool: this share of the lines along x[0] have 1.5 % of their mass four sds out."""
    import jax
    import jax.numpy as jnp
    from scipy.special import ndtri

    edge = float(ndtri(1 - share))

    def log_density(x):
        shoulder = -((x[0] - 4) ** 2) / (2 * 0.3**2) - 3 - 40 * jax.nn.sigmoid(40 * (edge - x[1]))
        return jnp.logaddexp(-(x[0] ** 2) / 2, shoulder) - x[1] ** 2 / 2

    return Case(log_density, rng.normal(size=(REPETITIONS, DRAWS, 2)))


def cases() -> dict[str, Callable[[np.random.Generator], Case]]:
    return {
        "logistic, 1000 x 8": lambda rng: near_the_mode(logistic(1000, 8), rng),
        "logistic, 60 x 8": lambda rng: near_the_mode(logistic(60, 8), rng),
        "hierarchical logit, 15 data a group": lambda rng: near_the_mode(hierarchical_logit(), rng),
        "eight schools": lambda rng: near_the_mode(eight_schools(), rng),
        "funnel": funnel,
        "Student t, 5 degrees": student,
        "a shoulder on 1 % of the lines": lambda rng: rare_shoulder(rng, 0.01),
        "a shoulder on 0.1 % of the lines": lambda rng: rare_shoulder(rng, 0.001),
    }


def measure(case: Case) -> dict[str, Any]:
    """How far the u of series are from those of nodes."""
    import steinwise as sw
    from steinwise.orbits.line_density import LineDensity
    from steinwise.orbits.nodes import search_ranges_of
    from steinwise.orbits.quadrature import follow_by_nodes
    from steinwise.orbits.series import ORDER, places_from_series
    from steinwise.orbits.series_comparison import SeriesComparison

    target = sw.Target(case.log_density)
    shares: dict[str, list[float]] = {"by series": [], "missed": []}
    errors: dict[str, list[float]] = {"missed": [0.0], "others": [0.0]}
    for x in case.draws.reshape(-1, *case.draws.shape[-2:]):
        ranges, lines = search_ranges_of(x), np.arange(x.shape[1])
        density = LineDensity(target, x, lines, x, ranges, 2**30, np.arange(len(x)))
        series = target.line_series(x, lines, ORDER)
        assert series is not None
        found = places_from_series(series.coefficients)
        comparison = SeriesComparison(series, found, x, ranges)
        trusted, _ = comparison.trusted()
        missed = trusted & comparison.disagrees(np.arange(len(x)))
        shares["by series"].append(trusted.mean())
        shares["missed"].append(missed.mean())
        others = trusted & ~missed
        others[COMPARED // x.shape[1] :] = False
        for which, chosen in (("missed", missed), ("others", others)):
            i, k = (part[:COMPARED] for part in np.nonzero(chosen))
            if len(i):
                nodes = follow_by_nodes(density.single(i, k))
                errors[which].append(float(np.abs(nodes.u[:, 0] - found.u[i, k]).max()))
    return {
        "by series": round(float(np.mean(shares["by series"])), 3),
        "missed in 100,000": round(1e5 * float(np.mean(shares["missed"])), 1),
        "largest error of these": float(f"{max(errors['missed']):.1e}"),
        "largest error of others": float(f"{max(errors['others']):.1e}"),
    }


@click.command()
@click.argument("names", nargs=-1)
def main(names: tuple[str, ...]) -> None:
    """Measure all targets, or those named."""
    results = json.loads(PATH.read_text()) if PATH.exists() else {}
    for number, (name, case) in enumerate(cases().items()):
        if names and name not in names:
            continue
        results[name] = measure(case(np.random.default_rng([24, number])))
        PATH.write_text(json.dumps(results, indent=1) + "\n")
        click.echo(f"{name:<40} {results[name]}")


if __name__ == "__main__":
    main()
