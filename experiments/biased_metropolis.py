"""Figure 5, right: KCC-SD of Metropolis within Gibbs whose acceptance is biased.

100 data come from 1/2 N(theta_1, 2) + 1/2 N(theta_2, 2) at (1, -1), the 2 being the variance; the
priors are standard normal. As in the paper the auxiliary y come from the biased inner step. Started
at x itself and moved once, y remembers x, and KCC-SD takes that for a fault of the draws, bias or
not; started at another draw's coordinate and moved 50 times it is a fair draw.
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
from experiments.engine.figures import REFERENCE_LINE, label_axes, lines, new_grid, style
from experiments.engine.tasks import Cell, Found, Outcome, Panel, Seconds, Task, cell, rounded
from experiments.goodness_of_fit import rates_and_bars, rejections
from steinwise.methods import KCCSD, AbstractMethod, Transported
from steinwise.results.plots import REFERENCE
from steinwise.samplers import MetropolisWithinGibbs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRUTH, VARIANCE = np.array([1.0, -1.0]), 2.0
SCALE = 0.5  # of the proposals: the paper does not say; a conditional's sd is about 0.3
BIASES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
THIN = 10  # of the draws after burn-in, for all that is computed of them
ATOMS = 4
INNER_STEPS = 50
OUTCOMES = ("kccsd", "one_step", "kccsd_pvalue", "check_pvalue", "sd", "switches")
VERDICTS = {"kccsd": "exact KCC-SD", "check": "default check"}
CHECKED_TOGETHER = 4  # chains: one alone changes modes too seldom for a verdict


def _data() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(rng.choice(TRUTH, 100), np.sqrt(VARIANCE))


DATA = _data()


def log_posterior(theta: Array) -> Array:
    """Up to a constant."""
    parts = -((DATA[:, None] - theta) ** 2) / (2 * VARIANCE)
    return jnp.sum(jnp.logaddexp(parts[:, 0], parts[:, 1])) - 0.5 * jnp.sum(theta**2)


TARGET = sw.Target(log_posterior)


def stand_in(
    sampler: MetropolisWithinGibbs, pool: np.ndarray | None, steps: int
) -> sw.conditionals.Sampler:
    """Draws of q(x_j | x_-j) by the sampler's own steps, from a draw of the pool or from x_j."""

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
    def one(key, x, j, start):
        return sampler.conditional_draw(key, x, j, start, steps)

    atoms = jax.vmap(one, in_axes=(0, None, None, 0))
    lines = jax.vmap(atoms, in_axes=(0, None, 0, 0))
    coordinates = jnp.arange(x.shape[1])
    return jax.vmap(lines, in_axes=(0, 0, None, 0))(keys, x, coordinates, start)


@dataclass(frozen=True)
class BiasedMetropolis(Panel):
    def cells(self, quick: bool) -> Mapping[Cell, int]:
        if quick:
            return {
                cell("biased Metropolis", bias=bias, chains=4, burn_in=200, draws=4000): 1
                for bias in (0.0, 0.3)
            }
        return {  # more where verdicts are in doubt
            cell("biased Metropolis", bias=bias, chains=20, burn_in=50_000, draws=10_000): (
                4 if bias <= 0.1 else 1
            )
            for bias in BIASES
        }

    def run(self, task: Task) -> Outcome:
        """All chains of a bias at once, which costs little more than one of them."""
        sampler = MetropolisWithinGibbs(log_posterior, scale=SCALE, bias=task["bias"])
        start = task.draws_generator().normal(size=(task["chains"], 2))
        draws = sampler.sample(
            start, task["draws"], warmup=task["burn_in"], seed=task.seed(), progress=False
        )
        seeds = [task.seed() + c for c in range(len(draws))]
        groups = list(zip(_groups(draws), _groups(seeds), strict=True))
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
                _pvalue(x, KCCSD(stand_in(sampler, x.reshape(-1, 2), INNER_STEPS)), seed)
                for x, (seed, *_) in groups
            ],
            "check_pvalue": [_pvalue(x, Transported(), seed) for x, (seed, *_) in groups],
            "sd": [rounded(np.abs(x[:, 0] - x[:, 1]).std()) for x in draws],
            "switches": [int((np.diff(np.sign(x[:, 0] - x[:, 1])) != 0).sum()) for x in draws],
        }

    def summarise(self, found: Found) -> dict[str, Any]:
        rows = []
        for one, outcomes in found.items():
            row: dict[str, Any] = {**dict(one.setting), "repetitions": len(outcomes)}
            every = {name: [v for o in outcomes for v in o[name]] for name in OUTCOMES}
            for name in ("kccsd", "one_step"):
                values = np.array(every[name])
                row[name] = rounded(values.mean())
                row[f"{name}_error"] = rounded(values.std(ddof=1) / np.sqrt(values.size))
            for name in VERDICTS:
                given = [p for p in every[f"{name}_pvalue"] if p is not None]
                row[f"{name}_verdicts"] = rejections(given) if given else None
            row["sd"] = rounded(np.mean(every["sd"]))
            row["switches"] = rounded(np.mean(every["switches"]))
            rows.append(row)
        return {"level": LEVEL, "rows": rows}

    def figure(self, summary: dict[str, Any], seconds: Seconds) -> "Figure":  # noqa: ARG002
        figure, ((left, right),) = new_grid(1, 2, 9.6, 4.0)
        rows = summary["rows"]
        places = np.arange(len(rows))
        bias = "bias of the acceptance (not to scale)"
        label_axes(left, "y by the sampler's own steps", bias, "KCC-SD, mean of the chains")
        color, marker, _ = style("exact KCC-SD")
        fair = f"y from another draw, {INNER_STEPS} steps"
        for name, label, look in (
            ("kccsd", fair, {"color": color, "marker": marker}),
            (
                "one_step",
                "y from x itself, 1 step",
                {"color": color, "marker": "x", "linestyle": ":"},
            ),
        ):
            values = [row[name] for row in rows]
            errors = [2 * row[f"{name}_error"] for row in rows]
            left.errorbar(places, values, errors, label=label, markersize=5, linewidth=1.4, **look)
        left.axhline(0, **REFERENCE_LINE)
        left.set_yscale("symlog", linthresh=0.1)
        left.set_ylim(-0.5, 2 * max(row["one_step"] for row in rows))
        left.legend(frameon=False, fontsize=9, loc="lower right")
        label_axes(right, f"is it seen in {CHECKED_TOGETHER} chains?", bias, "share rejected")
        for aside, (name, method) in zip((-0.08, 0.08), VERDICTS.items(), strict=True):
            verdicts = [row[f"{name}_verdicts"] for row in rows]
            right.errorbar(
                [place + aside for place, given in zip(places, verdicts, strict=True) if given],
                *rates_and_bars([given for given in verdicts if given]),
                label=style(method).label,
                elinewidth=1.0,
                **lines(method),
            )
        for ax in (left, right):
            ax.set_xticks(places, [f"{row['bias']:g}" for row in rows], fontsize=9)
        right.axhline(LEVEL, **REFERENCE_LINE)
        right.set_ylim(-0.05, 1.05)
        right.legend(frameon=False, fontsize=9, loc=(0.42, 0.12))
        counts = [row["chains"] * row["repetitions"] for row in rows]
        figure.supxlabel(
            f"{min(counts)} to {max(counts)} chains a bias, judged by {CHECKED_TOGETHER}; bars: 2 "
            f"standard errors over chains, and exact 95 % intervals; level {LEVEL:g} dashed",
            fontsize=8,
            color=REFERENCE,
        )
        return figure

    def measured(self, summary: dict[str, Any], seconds: Seconds) -> str:  # noqa: ARG002
        lines = [
            "| bias | KCC-SD ± standard error | y from x itself, 1 step | KCC-SD rejects | "
            "default check rejects | sd of \\|θ₁ - θ₂\\| | changes of mode in a chain |",
            "|---" * 7 + "|",
        ]
        for row in summary["rows"]:
            found = [row[f"{name}_verdicts"] for name in VERDICTS]
            verdicts = [f"{v['rejections']} of {v['repetitions']}" if v else "-" for v in found]
            lines.append(
                f"| {row['bias']:g} | {row['kccsd']:.2f} ± {row['kccsd_error']:.2f} | "
                f"{row['one_step']:.1f} ± {row['one_step_error']:.1f} | {' | '.join(verdicts)} | "
                f"{row['sd']:.2f} | {row['switches']:.0f} |"
            )
        return "\n".join(lines) + "\n"


def _value(x: np.ndarray, conditional: sw.conditionals.Sampler, seed: int) -> float:
    """KCC-SD of one chain."""
    found = sw.kccsd(x[None, ::THIN], TARGET, conditional=conditional, seed=seed, progress=False)
    return rounded(found.value)


def _pvalue(chains: np.ndarray, method: AbstractMethod, seed: int) -> float | None:
    """Of some chains together; None where they are too short for a verdict."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.SteinwiseWarning)  # its notes; the p-value is recorded
        try:
            found = sw.check(chains[:, ::THIN], TARGET, method=method, seed=seed, progress=False)
        except sw.TooFewDraws:
            return None
    return rounded(found.pvalue)


def _groups(chains: Any) -> list[Any]:
    """The chains that are judged together."""
    return [
        chains[first : first + CHECKED_TOGETHER]
        for first in range(0, len(chains), CHECKED_TOGETHER)
    ]


PANEL = BiasedMetropolis(__name__, "biased_metropolis")
