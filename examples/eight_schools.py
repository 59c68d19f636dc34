"""Eight schools: NUTS fits the non-centred model, but not the centred one.

The centred posterior is a funnel, and NUTS with a step that suits its mouth does not enter the
neck, where tau is small. R-hat is 1.01, and in the sampler's own coordinates no line through a draw
leads into the neck: given the eight effects, tau is right. So the check has to look along other
lines: those of the same draws and the same model in the non-centred coordinates, where log tau
moves alone. There it reports that log_tau is shifted upwards.

There are sixteen chains because they get stuck at the neck for hundreds of draws. With five seeds,
all runs are rejected in the non-centred coordinates; one run has too few independent draws for a
verdict in the sampler's own coordinates, and the next seed is taken instead (which seed that is
depends on the processor, as chains are chaotic). With four chains, a third of the runs are refused.

Run with ``python examples/eight_schools.py [FOLDER]``; the figures go to FOLDER.
"""

import sys
from pathlib import Path

import blackjax
import jax
import jax.numpy as jnp

import steinwise as sw

EFFECT = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SEEDS = 5


def _hyperprior(position):
    """mu ~ N(0, 5), tau half-Cauchy with scale 5, on the scale of log tau."""
    tau = jnp.exp(position["log_tau"])
    prior = -0.5 * (position["mu"] / 5) ** 2
    return prior - jnp.log1p((tau / 5) ** 2) + position["log_tau"]


def non_centred(position):
    theta = position["mu"] + jnp.exp(position["log_tau"]) * position["z"]
    likelihood = -0.5 * jnp.sum(((EFFECT - theta) / ERROR) ** 2)
    return _hyperprior(position) - 0.5 * jnp.sum(position["z"] ** 2) + likelihood


def centred(position):
    tau = jnp.exp(position["log_tau"])
    z = (position["theta"] - position["mu"]) / tau
    likelihood = -0.5 * jnp.sum(((EFFECT - position["theta"]) / ERROR) ** 2)
    prior = -0.5 * jnp.sum(z**2) - 8 * position["log_tau"]
    return _hyperprior(position) + prior + likelihood


def nuts(log_density, start, key, n_chains=16, n_draws=1000, n_warmup=1000):
    """BlackJAX's recipe: adapt the step size and the mass matrix of each chain, then sample."""

    def chain(key):
        warm, run = jax.random.split(key)
        adaptation = blackjax.window_adaptation(blackjax.nuts, log_density)
        (state, parameters), _ = adaptation.run(warm, start, num_steps=n_warmup)
        kernel = blackjax.nuts(log_density, **parameters).step

        def step(state, key):
            state, _ = kernel(key, state)
            return state, state

        return jax.lax.scan(step, state, jax.random.split(run, n_draws))[1]

    return jax.jit(jax.vmap(chain))(jax.random.split(key, n_chains))


def standardised(position):
    """A centred position in the non-centred coordinates."""
    tau = jnp.exp(position["log_tau"])[..., None]
    z = (position["theta"] - position["mu"][..., None]) / tau
    return {"mu": position["mu"], "log_tau": position["log_tau"], "z": z}


def results(seed: int, n_draws: int = 1000) -> dict[str, sw.CheckResult]:
    """Three checks: of the good run, of the bad run, and of the bad run in the coordinates z."""
    start = {"mu": jnp.zeros(()), "log_tau": jnp.ones(())}
    key = jax.random.key(seed)
    good = nuts(non_centred, start | {"z": jnp.zeros(8)}, key, n_draws=n_draws).position
    bad = nuts(centred, start | {"theta": jnp.zeros(8)}, key, n_draws=n_draws).position
    runs = {
        "non_centred": (good, non_centred),
        "centred": (bad, centred),
        "centred_seen_along_z": (standardised(bad), non_centred),
    }
    return {
        name: sw.check(*sw.from_blackjax(draws, density, axes="chain draw"))
        for name, (draws, density) in runs.items()
    }


def first_verdicts() -> dict[str, sw.CheckResult]:
    """The results of the first seed whose bad run has enough independent draws for a verdict."""
    for seed in range(SEEDS):
        try:
            return results(seed)
        except sw.TooFewDraws as refusal:
            print(f"seed {seed}: {refusal}\n")
    raise SystemExit(f"none of {SEEDS} runs had enough independent draws for a verdict")


def main(folder: str = "out") -> None:
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    for name, result in first_verdicts().items():
        print(f"\n--- {name} ---\n\n{result}")
        result.plot().savefig(out / f"eight_schools_{name}.png", dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:2])
