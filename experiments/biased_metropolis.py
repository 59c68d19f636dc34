"""Panel 13 (figure 5, right): KCC-SD of Metropolis within Gibbs with a biased acceptance step.

There are 100 data from 1/2 N(theta_1, 2) + 1/2 N(theta_2, 2) at (1, -1), where 2 is the variance;
the priors are standard normal. As in the paper, the auxiliary y come from the biased inner step. If
y starts at x itself and makes one step, it depends on x, and KCC-SD attributes that to the draws,
with or without bias. If it starts at the coordinate of another draw and makes 50 steps, it is a
fair draw.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import steinwise as sw
from benchmarks.cases import LEVEL
from experiments.engine.figures import (
    GREY,
    REFERENCE_LINE,
    label_axes,
    line_style,
    new_grid,
    style,
)
from experiments.engine.tasks import Cell, Outcome, Outcomes, Panel, Task, Times, make_cell, rounded
from experiments.goodness_of_fit import rates_and_bars, rejections
from steinwise.methods import KCCSD, AbstractMethod, Transported
from steinwise.samplers import MetropolisWithinGibbs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRUTH, VARIANCE = np.array([1.0, -1.0]), 2.0
SCALE = 0.5  # of the proposals, which the paper does not give; a conditional's sd is about 0.3
BIASES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
THIN = 10  # only every tenth draw after burn-in is used
ATOMS = 4
INNER_STEPS = 50  # after which y is a fair draw: without bias KCC-SD is 0 within its error
OUTCOMES = ("kccsd", "one_step", "kccsd_pvalue", "check_pvalue", "sd", "switches")
VERDICTS = {"kccsd": "exact KCC-SD", "check": "default check"}
CHECKED_TOGETHER = 4  # chains: a single one changes modes too rarely for a verdict


def _data() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(rng.choice(TRUTH, 100), np.sqrt(VARIANCE))


DATA = _data()


def log_posterior(theta: Array) -> Array:
    """The log density of the posterior, up to a constant."""
    components = -((DATA[:, None] - theta) ** 2) / (2 * VARIANCE)
    log_likelihood = jnp.sum(jnp.logaddexp(components[:, 0], components[:, 1]))
    return log_likelihood - 0.5 * jnp.sum(theta**2)


TARGET = sw.Target(log_posterior)


def stand_in(
    sampler: MetropolisWithinGibbs, pool: np.ndarray | None, steps: int
) -> sw.conditionals.Sampler:
    """Draws of q(x_j | x_-j) by the sampler's own steps.

    They start at the coordinate of a random row of the pool, or at x_j itself without a pool.
    """

    def draw(key: np.ndarray, x: np.ndarray, n_atoms: int) -> np.ndarray:
        shape = (*x.shape, n_atoms)
        start = np.broadcast_to(x[..., None], shape)
        if pool is not None:
            rows = np.random.default_rng(key).integers(len(pool), size=shape)
            start = np.take_along_axis(pool[:, :, None], rows, axis=0)
        with jax.enable_x64(True):
            keys = jax.random.split(jax.random.wrap_key_data(jnp.asarray(key)), shape)
            return np.asarray(_conditional_draws(sampler, steps, keys, x, start))

    return sw.conditionals.Sampler(draw, n_atoms=ATOMS)


@eqx.filter_jit
def _conditional_draws(
    sampler: MetropolisWithinGibbs, steps: int, keys: Array, x: np.ndarray, start: np.ndarray
) -> Array:
    def atom(key, x, j, start):
        return sampler.conditional_draw(key, x, j, start, steps)

    of_coordinate = jax.vmap(atom, in_axes=(0, None, None, 0))
    of_row = jax.vmap(of_coordinate, in_axes=(0, None, 0, 0))
    coordinates = jnp.arange(x.shape[1])
    return jax.vmap(of_row, in_axes=(0, 0, None, 0))(keys, x, coordinates, start)


@dataclass(frozen=True)
class BiasedMetropolis(Panel):
    def cells(self, quick: bool) -> Mapping[Cell, int]:
        if quick:
            return {
                make_cell("biased Metropolis", bias=bias, chains=4, burn_in=200, draws=4000): 1
                for bias in (0.0, 0.3)
            }
        return {  # more repetitions of small biases, whose verdicts vary
            make_cell("biased Metropolis", bias=bias, chains=20, burn_in=50_000, draws=10_000): (
                4 if bias <= 0.1 else 1
            )
            for bias in BIASES
        }

    def run(self, task: Task) -> Outcome:
        """All chains of a bias at once, which costs little more than a single chain."""
        sampler = MetropolisWithinGibbs(log_posterior, scale=SCALE, bias=task["bias"])
        start = task.draws_generator().normal(size=(task["chains"], 2))
        draws = sampler.sample(
            start, task["draws"], warmup=task["burn_in"], seed=task.seed(), progress=False
        )
        seeds = [task.seed() + c for c in range(len(draws))]
        groups = [(x, group[0]) for x, group in zip(_groups(draws), _groups(seeds), strict=True)]
        return {
            "kccsd": [
                _value(x, stand_in(sampler, x, INNER_STEPS), seed)
                for x, seed in zip(draws, seeds, strict=True)
            ],
            "one_step": [
                _value(x, stand_in(sampler, None, 1), seed)
                for x, seed in zip(draws, seeds, strict=True)
            ],
            "kccsd_pvalue": [
                _pvalue(x, _as_published(stand_in(sampler, x.reshape(-1, 2), INNER_STEPS)), seed)
                for x, seed in groups
            ],
            "check_pvalue": [_pvalue(x, Transported(every_line=True), seed) for x, seed in groups],
            "sd": [rounded(np.abs(x[:, 0] - x[:, 1]).std()) for x in draws],
            "switches": [int((np.diff(np.sign(x[:, 0] - x[:, 1])) != 0).sum()) for x in draws],
        }

    def summarise(self, outcomes: Outcomes) -> dict[str, Any]:
        rows = []
        for cell, repetitions in outcomes.items():
            row: dict[str, Any] = {**dict(cell.setting), "repetitions": len(repetitions)}
            pooled = {name: [v for o in repetitions for v in o[name]] for name in OUTCOMES}
            for name in ("kccsd", "one_step"):
                values = np.array(pooled[name])
                row[name] = rounded(values.mean())
                row[f"{name}_error"] = rounded(values.std(ddof=1) / np.sqrt(values.size))
            for name in VERDICTS:
                pvalues = [p for p in pooled[f"{name}_pvalue"] if p is not None]
                row[f"{name}_verdicts"] = rejections(pvalues) if pvalues else None
            row["sd"] = rounded(np.mean(pooled["sd"]))
            row["switches"] = rounded(np.mean(pooled["switches"]))
            rows.append(row)
        return {"level": LEVEL, "rows": rows}

    def figure(self, summary: dict[str, Any], seconds: Times) -> "Figure":  # noqa: ARG002
        figure, ((left, right),) = new_grid(1, 2, 9.6, 4.0)
        rows = summary["rows"]
        positions = np.arange(len(rows))
        bias = "bias of the acceptance (not to scale)"
        label_axes(left, "y by the sampler's own steps", bias, "KCC-SD, mean of the chains")
        color, marker, _ = style("exact KCC-SD")
        look = {"color": color, "markersize": 5, "linewidth": 1.4}
        for name, label, line in (
            ("kccsd", f"y from another draw, {INNER_STEPS} steps", {"marker": marker}),
            ("one_step", "y from x itself, 1 step", {"marker": "x", "linestyle": ":"}),
        ):
            values = [row[name] for row in rows]
            errors = [2 * row[f"{name}_error"] for row in rows]
            left.errorbar(positions, values, errors, label=label, **look, **line)
        left.axhline(0, **REFERENCE_LINE)
        left.set_yscale("symlog", linthresh=0.1)
        left.set_ylim(-0.5, 2 * max(row["one_step"] for row in rows))
        left.legend(frameon=False, fontsize=9, loc="lower right")
        label_axes(right, f"is it seen in {CHECKED_TOGETHER} chains?", bias, "share rejected")
        for shift, (name, method) in zip((-0.08, 0.08), VERDICTS.items(), strict=True):
            verdicts = {x: row[f"{name}_verdicts"] for x, row in enumerate(rows)}
            known = {x: verdict for x, verdict in verdicts.items() if verdict}
            right.errorbar(
                [x + shift for x in known],
                *rates_and_bars(list(known.values())),
                label=style(method).label,
                elinewidth=1.0,
                **line_style(method),
            )
        for ax in (left, right):
            ax.set_xticks(positions, [f"{row['bias']:g}" for row in rows], fontsize=9)
        right.axhline(LEVEL, **REFERENCE_LINE)
        right.set_ylim(-0.05, 1.05)
        right.legend(frameon=False, fontsize=9, loc=(0.42, 0.12))
        counts = [row["chains"] * row["repetitions"] for row in rows]
        figure.supxlabel(
            f"{min(counts)} to {max(counts)} chains a bias, judged by {CHECKED_TOGETHER}; bars: 2 "
            f"standard errors over chains, and exact 95 % intervals; level {LEVEL:g} dashed",
            fontsize=8,
            color=GREY,
        )
        return figure

    def measured(self, summary: dict[str, Any], seconds: Times) -> str:  # noqa: ARG002
        lines = [
            "| bias | KCC-SD ± standard error | y from x itself, 1 step | KCC-SD rejects | "
            "default check rejects | sd of \\|θ₁ - θ₂\\| | changes of mode in a chain |",
            "|---" * 7 + "|",
        ]
        for row in summary["rows"]:
            counts = [row[f"{name}_verdicts"] for name in VERDICTS]
            verdicts = [f"{v['rejections']} of {v['repetitions']}" if v else "-" for v in counts]
            lines.append(
                f"| {row['bias']:g} | {row['kccsd']:.2f} ± {row['kccsd_error']:.2f} | "
                f"{row['one_step']:.1f} ± {row['one_step_error']:.1f} | {' | '.join(verdicts)} | "
                f"{row['sd']:.2f} | {row['switches']:.0f} |"
            )
        return "\n".join(lines) + "\n"


def _value(x: np.ndarray, conditional: sw.conditionals.Sampler, seed: int) -> float:
    """KCC-SD of one chain."""
    draws = x[None, ::THIN]
    discrepancy = sw.kccsd(draws, TARGET, conditional=conditional, seed=seed, progress=False)
    return rounded(discrepancy.value)


def _as_published(conditional: sw.conditionals.Sampler) -> KCCSD:
    """With sigma = 1 in the units of the draws."""
    return KCCSD(conditional, standardise=False)


def _pvalue(chains: np.ndarray, method: AbstractMethod, seed: int) -> float | None:
    """The p-value of some chains together; None if they are too short for a verdict."""
    with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):  # its notes
        try:
            result = sw.check(chains[:, ::THIN], TARGET, method=method, seed=seed, progress=False)
        except sw.TooFewDraws:
            return None
    return rounded(result.pvalue)


def _groups(chains: Any) -> list[Any]:
    """The chains in groups that are judged together."""
    return [
        chains[first : first + CHECKED_TOGETHER]
        for first in range(0, len(chains), CHECKED_TOGETHER)
    ]


PANEL = BiasedMetropolis(__name__, "biased_metropolis")
