"""Figure 3, left: which step size of SGLD do KCC-SD and the effective sample size choose?

The posterior is that of `models.network` on the yacht data. The paper gives no prior, precision,
bins or atoms; here the weights are standard normal and the precision is 10 or 100, or they have an
sd of 2 with precision 10, and chains start at draws of the prior. KCC-SD is computed on some
weights of every array of the network, each of which stands for its share of the array (few stiff
weights near the output weigh most); its stand-in is the marginal histogram of a weight over draws
that are not tested: the first fifth of the same chain as in the paper, or the other chains. A
reference by Hamiltonian Monte Carlo says which step size gives the better predictions, and what all
that is computed would be of good draws.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from arviz_stats.base.array import array_stats
from jaxtyping import Array, Float

from experiments.data import yacht
from experiments.engine.figures import label_axes, new_grid, style
from experiments.engine.tasks import Cell, Found, Outcome, Panel, Seconds, Task, cell, rounded
from experiments.models.network import ARRAYS, Network, standardised, typical_spread
from steinwise import functional
from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.run_options import RunOptions
from steinwise.conditionals import Histogram, TrainingData
from steinwise.kernels import RBF
from steinwise.results.plots import REFERENCE
from steinwise.samplers import SGLD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEPS = {  # of (precision, prior sd): half decades around the edge of stability
    (10, 1): (1e-8, 1e-7, 1e-6, 1e-5, 3.2e-5, 1e-4, 3.2e-4, 1e-3, 1e-2),
    (100, 1): (1e-8, 1e-7, 1e-6, 3.2e-6, 1e-5, 3.2e-5, 1e-4, 1e-3),
    (10, 2): (1e-7, 1e-6, 1e-5, 3.2e-5, 1e-4, 3.2e-4, 1e-3),
}
BATCH = 256
CHAINS = 4
WEIGHTS = 13  # of every array, at random, the same for all step sizes: 60 of 701
TESTED = 50  # draws of a chain
TRAIN = 0.2  # of a chain, the first part of it
PREDICTING = 200  # draws of a chain
SHOWN_DATA = 77  # inputs at which predictions are compared: every fourth
VARIANTS = {  # name: (bandwidth in conditional spreads, stand-in from the other chains, bins)
    "sigma = 1": (False, False, 20),
    "conditional spread": (True, False, 20),
    "conditional spread, 10 bins": (True, False, 10),
    "conditional spread, other chains": (True, True, 20),
}
_KCCSD = {"color": style("approximate KCC-SD").color}
CURVES = {  # the variants that are shown
    "sigma = 1": {**_KCCSD, "marker": "o"},
    "conditional spread": {**_KCCSD, "marker": "^", "linestyle": "--"},
    "conditional spread, other chains": {**_KCCSD, "marker": "x", "linestyle": ":"},
}
ESS_LOOK = {"color": style("inverse ESS").color, "marker": style("inverse ESS").marker}
ERRORS = {
    "mean_error": ("predictive mean, in sds", {"color": style("HMC").color, "marker": "s"}),
    "spread_error": (
        "log of the predictive sd",
        {"color": style("HMC").color, "marker": "v", "linestyle": "--"},
    ),
}


def posterior(setting: Mapping[str, Any]) -> tuple[float, float]:
    """The precision and the prior's sd, which is 1 where a setting has none."""
    return setting["precision"], setting.get("prior_sd", 1)


@cache  # what is compiled for a network serves all step sizes
def network(data: str, precision: float, prior_sd: float) -> Network:
    """On the yacht data, or on a small set of made-up data for a run in seconds."""
    if data == "yacht":
        inputs, responses = yacht()
        return Network(standardised(inputs), standardised(responses), precision, prior_sd)
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(308, 2))
    responses = np.sin(inputs[:, 0]) + 0.1 * rng.normal(size=308)
    return Network(inputs, standardised(responses), precision, prior_sd, hidden=(4, 3))


@dataclass(frozen=True)
class SgldNetwork(Panel):
    def cells(self, quick: bool) -> Mapping[Cell, int]:
        if quick:
            common = {"data": "simulated", "precision": 10}
            return {
                cell("HMC", burn_in=100, draws=100, **common): 1,
                cell("SGLD", step=1e-3, burn_in=500, draws=500, **common): 1,
            }
        chosen = []
        for (precision, prior_sd), steps in STEPS.items():
            common = {"data": "yacht", "precision": precision}
            common |= {} if prior_sd == 1 else {"prior_sd": prior_sd}
            chosen += [cell("HMC", burn_in=500, draws=1000, **common)]
            chosen += [
                cell("SGLD", step=step, burn_in=50_000, draws=10_000, **common) for step in steps
            ]
        return dict.fromkeys(chosen, 1)

    def run(self, task: Task) -> Outcome:
        """All chains of a step size together: one is the stand-in of the other."""
        model = network(task["data"], *posterior(dict(task.cell.setting)))
        start = model.prior_sd * task.draws_generator().normal(size=(CHAINS, model.dim))
        if task.cell.method == "HMC":
            draws, acceptance = hamiltonian(
                model.log_density, start, task["burn_in"], task["draws"], task.seed()
            )
            own = reference_only(model, draws) | {"acceptance": [rounded(a) for a in acceptance]}
        else:
            draws = SGLD(model.minibatch(BATCH), task["step"]).sample(
                start, task["draws"], warmup=task["burn_in"], seed=task.seed(), progress=False
            )
            if not (np.isfinite(draws).all() and np.abs(draws).max() < 1e6):
                return {"diverged": 1}
            own = {"diverged": 0}
        chosen, standing_for = some_weights(model)
        effective = [
            array_stats.ess(chain[None, :, chosen], chain_axis=0, draw_axis=1, method="identity")
            for chain in draws
        ]
        return (
            own
            | predictions(model, thinned(draws))
            | {
                "inverse_ess": [
                    rounded(1 / np.average(e, weights=standing_for)) for e in effective
                ],
                "kccsd": discrepancies(model, draws, chosen, standing_for, task.seed()),
            }
        )

    def summarise(self, found: Found) -> dict[str, Any]:
        pooled = {one: together(outcomes) for one, outcomes in found.items()}
        references = {
            posterior(dict(one.setting)): each
            for one, each in pooled.items()
            if one.method == "HMC"
        }
        rows = []
        for one, outcome in pooled.items():
            row = {"method": one.method, **dict(one.setting), "repetitions": len(found[one])}
            row |= {name: each for name, each in outcome.items() if name not in ("mean", "sd")}
            if one.method == "HMC":
                row |= errors_among(outcome)
            elif not outcome["diverged"]:
                row |= errors(outcome, references[posterior(row)])
            rows.append(row)
        return {"rows": rows}

    def figure(self, summary: dict[str, Any], seconds: Seconds) -> "Figure":  # noqa: ARG002
        posteriors = list(dict.fromkeys(posterior(row) for row in summary["rows"]))
        width = 1.2 + 3.7 * len(posteriors)
        figure, grid = new_grid(3, len(posteriors), width, 9.0, sharex="col", sharey="row")
        words = "approximate KCC-SD", "1 / effective sample size", "error against HMC"
        for column, (precision, prior_sd) in zip(grid.T, posteriors, strict=True):
            alike = [row for row in summary["rows"] if posterior(row) == (precision, prior_sd)]
            (hmc,) = (row for row in alike if row["method"] == "HMC")
            lost = [row["step"] for row in alike if row.get("diverged")]
            rows = [row for row in alike if row["method"] == "SGLD" and not row["diverged"]]
            of_first = column[0] is grid[0, 0]
            titles = f"noise precision {precision}, prior sd {prior_sd}", "", ""
            for ax, title, y in zip(column, titles, words, strict=True):
                label_axes(ax, title, "step size" if ax is column[2] else "", y if of_first else "")
            for name, look in CURVES.items():
                chains = [row["kccsd"][name] for row in rows]
                _curve(column[0], rows, chains, f"KCC-SD, {name}", look)
                _level(column[0], hmc["kccsd"][name], look)
            _curve(column[1], rows, [row["inverse_ess"] for row in rows], "inverse ESS", ESS_LOOK)
            _level(column[1], hmc["inverse_ess"], ESS_LOOK)
            for name, (label, look) in ERRORS.items():
                _curve(column[2], rows, [row[name] for row in rows], label, look)
                _level(column[2], hmc[name], look)
            column[0].set_yscale("symlog", linthresh=10)
            for ax in column[1:]:
                ax.set_yscale("log")
            for ax in column:
                ax.set_xscale("log")
                for step in lost:
                    ax.axvline(step, color=REFERENCE, linewidth=4, alpha=0.25)
        handles: dict[str, Any] = {}
        for ax in grid[:, 0]:
            found, labels = ax.get_legend_handles_labels()
            handles |= dict(zip(labels, found, strict=True))
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=3,
            fontsize=9,
            frameon=False,
            title="small: single chains; lines: their median; grey lines: medians of HMC's chains, "
            "whose errors are against each other; grey bars: diverged",
            title_fontsize=8,
        )
        return figure

    def measured(self, summary: dict[str, Any], seconds: Seconds) -> str:  # noqa: ARG002
        names = [*VARIANTS]
        head = ["precision", "prior sd", "step", *(f"KCC-SD, {name}" for name in names)]
        head += ["1 / ESS", "error of the mean", "error of log sd", "log posterior"]
        lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
        for row in summary["rows"]:
            step = f"{row['step']:g}" if row["method"] == "SGLD" else row["method"]
            start = "| {} | {} | {} | ".format(*posterior(row), step)
            if row.get("diverged"):
                lines.append(f"{start}diverged |{' |' * (len(names) + 3)}")
                continue
            found = [row["kccsd"][name] for name in names]
            found += [row["inverse_ess"], *(row[name] for name in ERRORS), row["log_posterior"]]
            lines.append(start + " | ".join(f"{np.median(v):.3g}" for v in found) + " |")
        references = [row for row in summary["rows"] if row["method"] == "HMC"]
        about = [
            "| precision | prior sd | acceptance | R-hat | sd of a conditional |",
            "|---" * 5 + "|",
        ]
        for row in references:
            spread = ", ".join(f"{name} {sd:.2g}" for name, sd in row["conditional_sd"].items())
            about.append(
                "| {} | {} | {:.2f} | {:.3f} | {} |".format(
                    *posterior(row), min(row["acceptance"]), row["rhat"], spread
                )
            )
        return (
            "Medians of the chains; errors of an HMC chain are against the others:\n\n"
            + "\n".join(lines)
            + "\n\nThe HMC runs: the least acceptance of a chain, the largest R-hat of predictions "
            "and, by array, the typical sd of a weight's conditional at a mode:\n\n"
            + "\n".join(about)
            + "\n"
        )


def _curve(ax: "Axes", rows: list[dict], chains: list[list[float]], label: str, look: dict) -> None:
    """The chains of every step size as dots, and their median as a line."""
    for row, values in zip(rows, chains, strict=True):
        ax.plot(
            [row["step"]] * len(values),
            values,
            linestyle="none",
            marker=look["marker"],
            markersize=3,
            color=look["color"],
            alpha=0.5,
        )
    middle = [np.median(values) for values in chains]
    ax.plot([row["step"] for row in rows], middle, label=label, markersize=6, linewidth=1.4, **look)


def _level(ax: "Axes", values: list[float], look: dict) -> None:
    """What the curve of this look would be with good draws."""
    style = look.get("linestyle", "-")
    ax.axhline(np.median(values), color=REFERENCE, linewidth=1.0, linestyle=style, zorder=0)


def hamiltonian(
    log_density: Callable[[Array], Array], start: np.ndarray, burn_in: int, n: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draws of BlackJAX's HMC, 100 leapfrog steps a draw, and the share accepted in each chain."""
    import blackjax

    def chain(key: jax.Array, start: jax.Array) -> tuple[jax.Array, jax.Array]:
        key_adapt, key_draw = jax.random.split(key)
        adapt: Any = blackjax.window_adaptation(
            blackjax.hmc, log_density, num_integration_steps=100
        )
        (state, settings), _ = adapt.run(key_adapt, start, burn_in)
        step: Any = blackjax.hmc(log_density, **settings).step

        def one(state: Any, key: jax.Array) -> tuple[Any, tuple]:
            state, info = step(key, state)
            return state, (state.position, info.acceptance_rate)

        keys = jax.random.split(key_draw, n)
        return jax.lax.scan(one, state, keys)[1]

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(seed % 2**31), len(start))
        draws, accepted = jax.jit(
            lambda keys, start: jax.lax.map(lambda a: chain(*a), (keys, start))
        )(keys, jnp.asarray(start))
    return np.asarray(draws), np.asarray(accepted).mean(axis=1)


def thinned(draws: np.ndarray) -> np.ndarray:
    """The draws of every chain whose predictions are computed."""
    return draws[:, evenly_spaced_indices(draws.shape[1], PREDICTING)]


def reference_only(model: Network, draws: np.ndarray) -> Outcome:
    """Whether the reference has converged, and how wide the conditionals are in each array."""
    rhat = array_stats.rhat(
        predicted(model, thinned(draws)), chain_axis=0, draw_axis=1, method="rank"
    )
    spread, arrays = typical_spread(model), model.layer()
    return {
        "rhat": rounded(np.max(rhat)),
        "conditional_sd": {name: rounded(spread[arrays == k][0]) for k, name in enumerate(ARRAYS)},
    }


def predicted(model: Network, draws: np.ndarray) -> Float[np.ndarray, "chains draws data"]:
    """f(x) at some of the inputs, of draws (chains, draws, weights)."""
    inputs = jnp.asarray(model.inputs[evenly_spaced_indices(len(model.inputs), SHOWN_DATA)])
    with jax.enable_x64(True):
        each = jax.vmap(jax.vmap(lambda w: model.predict(w, inputs)))
        return np.asarray(each(jnp.asarray(draws)))


def predictions(model: Network, draws: np.ndarray) -> Outcome:
    """Mean and standard deviation of f(x) in every chain, and the chain's height."""
    values = predicted(model, draws)
    with jax.enable_x64(True):
        height = np.asarray(jax.vmap(jax.vmap(model.log_density))(jnp.asarray(draws)))
    return {
        "mean": [[rounded(v, 4) for v in chain] for chain in values.mean(axis=1)],
        "sd": [[rounded(v, 4) for v in chain] for chain in values.std(axis=1)],
        "log_posterior": [rounded(v) for v in height.mean(axis=1)],
    }


def some_weights(model: Network, most: int = WEIGHTS) -> tuple[np.ndarray, np.ndarray]:
    """Some weights of every array, and how many of all weights each of them stands for."""
    rng, arrays = np.random.default_rng(0), model.layer()
    every = [np.flatnonzero(arrays == one) for one in np.unique(arrays)]
    chosen = [np.sort(rng.permutation(one)[:most]) for one in every]
    shares = [np.full(len(c), len(one) / len(c)) for one, c in zip(every, chosen, strict=True)]
    return np.concatenate(chosen), np.concatenate(shares)


def discrepancies(
    model: Network, draws: np.ndarray, chosen: np.ndarray, standing_for: np.ndarray, seed: int
) -> dict[str, list[float]]:
    """Approximate KCC-SD of every chain, in the variants, scaled up to all weights."""
    target, spread = model.target(), typical_spread(model)[chosen]
    first = round(TRAIN * draws.shape[1])
    trained, tested = draws[:, :first], draws[:, first:]
    tested = tested[:, evenly_spaced_indices(tested.shape[1], TESTED)]
    found: dict[str, list[float]] = {}
    for name, (scaled, others, bins) in VARIANTS.items():
        unit = spread if scaled else np.ones(len(chosen))
        found[name] = []
        for c, x in enumerate(tested):
            source = np.delete(draws, c, axis=0) if others else trained[[c]]
            points, weights = histogram(source, chosen, bins, target, seed, x)
            scores = target.score(x)[:, chosen], target.line_scores(x, chosen, points)
            with jax.enable_x64(True):
                own, b, y, b_y, w = map(
                    jnp.asarray, (x[:, chosen], scores[0], points, scores[1], weights)
                )
                each = np.asarray(functional.kccsd_contributions(RBF(unit), own, b, y, b_y, w))
            # in units of the bandwidth: what sigma = 1 gives for weights that are divided by it
            found[name].append(rounded(np.sum(np.mean(each, axis=0) * unit**2 * standing_for)))
    return found


def histogram(
    source: np.ndarray, chosen: np.ndarray, bins: int, target: Any, seed: int, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Atoms and weights of the marginal histograms of the chosen weights."""
    rows = source[:, evenly_spaced_indices(source.shape[1], 500), :][..., chosen].reshape(
        -1, len(chosen)
    )
    labels = tuple(str(j) for j in chosen)
    blocks = tuple(np.array([j]) for j in range(len(chosen)))
    data = TrainingData(
        rows[::2], rows[1::2], blocks, labels, target, RunOptions(seed, progress=False)
    )
    atoms = Histogram(bins, hidden=1, epochs=0).fit(data).atoms(x[:, chosen], seed, 0)
    return np.array(atoms.points), atoms.weights


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """The chains of all repetitions; of what is one number for several chains, the largest.

    >>> one, other = {"sd": [1.0, 2.0], "rhat": 1.1}, {"sd": [3.0], "rhat": 1.2}
    >>> together([one, other])
    {'sd': [1.0, 2.0, 3.0], 'rhat': 1.2}
    """
    if any(outcome.get("diverged") for outcome in outcomes):
        return {"diverged": 1}
    found = {}
    for name, first in outcomes[0].items():
        values = [outcome[name] for outcome in outcomes]
        if isinstance(first, dict):
            found[name] = together(values)
        elif isinstance(first, list):
            found[name] = [value for each in values for value in each]
        else:
            found[name] = max(values)
    return found


def errors_among(reference: Outcome) -> Outcome:
    """Of every chain of the reference, against its others."""

    def of(chosen: Sequence[int]) -> Outcome:
        return {name: [reference[name][c] for c in chosen] for name in ("mean", "sd")}

    every = range(len(reference["mean"]))
    each = [errors(of([c]), of([other for other in every if other != c])) for c in every]
    return together(each)


def errors(outcome: Outcome, reference: Outcome) -> Outcome:
    """Of every chain's predictions: RMS error of the mean in reference sds, and of log sd."""
    means, sds = np.array(reference["mean"]), np.array(reference["sd"])
    mean = means.mean(axis=0)
    sd = np.sqrt((sds**2).mean(axis=0) + means.var(axis=0))
    away = (np.array(outcome["mean"]) - mean) / sd
    ratio = np.log(np.maximum(np.array(outcome["sd"]), 1e-6) / sd)
    return {
        "mean_error": [rounded(v) for v in np.sqrt((away**2).mean(axis=1))],
        "spread_error": [rounded(v) for v in np.sqrt((ratio**2).mean(axis=1))],
    }


PANEL = SgldNetwork(__name__, "sgld_network")
