"""What `benchmarks.size` measures: correct draws of every kind, and what a verdict says of them."""

import warnings

import numpy as np

import steinwise as sw
from benchmarks import simulate, targets
from benchmarks.cases import LEVEL, Case, Outcome, Rule, generator
from benchmarks.statistic_kinds import Problem, banana_problem, gaussian_problem
from steinwise.methods import AbstractMethod

DIM = 10
CHAINS, DRAWS = 4, 2500

Draws = np.ndarray | sw.Samples


def repeat(name: str, repetition: int) -> dict[str, Outcome]:
    """One repetition of a case."""
    return CASES[name].run(generator(name, repetition), repetition)


def verdict(
    draws: Draws, problem: Problem, method: AbstractMethod, seed: int, n_bootstrap: int = 499
) -> Outcome:
    """Whether a check rejects, and what its summary of the draws says."""
    with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
        try:
            result = sw.check(
                draws,
                problem.target,
                method=method,
                alpha=LEVEL,
                n_bootstrap=n_bootstrap,
                seed=seed,
                progress=False,
            )
        except sw.TooFewDraws:
            return {"refused": 1.0}
    return {
        "hit": float(result.rejected),
        "refused": 0.0,
        "noted": float(bool(result.notes)),
        "batches": float(result.draws.n_batches),
        "length": float(result.draws.batch_length),
        "effective": result.draws.effective_draws,
    }


def verdicts(draws: Draws, problem: Problem, seed: int) -> dict[str, Outcome]:
    """One verdict from each kind of statistic, on the same draws."""
    return {name: verdict(draws, problem, method, seed) for name, method in problem.methods.items()}


def independent_draws(rng: np.random.Generator, covariance: np.ndarray, n: int) -> sw.Samples:
    """Independent draws, declared as such: four in a thousand look like a chain."""
    return sw.Samples.of(simulate.independent(rng, covariance, n), independent=True)


def independent(n: int) -> Case:
    problem = gaussian_problem(targets.correlated(DIM))

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        covariance = targets.correlated(DIM).covariance
        return verdicts(independent_draws(rng, covariance, n), problem, seed)

    return Case(run, Rule("level"))


def autoregressive(rho: np.ndarray, draws: int = DRAWS) -> Case:
    problem = gaussian_problem(targets.standard(len(rho)))

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        return verdicts(simulate.autoregressive(rng, rho, CHAINS, draws), problem, seed)

    return Case(run, Rule("level"))


def metropolis_gaussian() -> Case:
    target = targets.correlated(5)

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        start = simulate.independent(rng, target.covariance, CHAINS)
        density = targets.correlated_log_density
        draws = simulate.metropolis(rng, density, start, DRAWS, step=0.8)
        return verdicts(draws, gaussian_problem(target), seed)

    return Case(run, Rule("level"))


def metropolis_banana() -> Case:
    problem = banana_problem()

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        start = targets.banana_draws(rng, CHAINS, 3)
        density = targets.banana_log_density
        draws = simulate.metropolis(rng, density, start, DRAWS, step=1.2)
        return verdicts(draws, problem, seed)

    return Case(run, Rule("level"))


def nuts() -> Case:
    target = targets.correlated(DIM)

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        start = simulate.independent(rng, target.covariance, CHAINS)
        draws = simulate.nuts(rng, targets.correlated_log_density, start, DRAWS, step=0.5)
        return verdicts(draws, gaussian_problem(target), seed)

    return Case(run, Rule("level"))


def too_wide(rho: float, factor: float = 1.2) -> Case:
    """Power for chains with one coordinate too wide.

    For comparison, the same test on as many independent draws as the chains are worth.
    """
    target = targets.standard(DIM)
    wide = targets.wider(target, factor)
    problem = gaussian_problem(target, wide)

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        draws = simulate.autoregressive(rng, np.full(DIM, rho), CHAINS, DRAWS)
        draws[..., 0] *= factor
        out = {}
        for name, method in problem.methods.items():
            out[name] = of_chains = verdict(draws, problem, method, seed)
            if "effective" in of_chains:
                n = max(20, round(of_chains["effective"]))
                equivalent = independent_draws(rng, wide.covariance, n)
                out[f"{name}, independent"] = verdict(equivalent, problem, method, seed)
        return out

    return Case(run, Rule("shown"))


def warm_up() -> Case:
    """Chains that start 20 standard deviations away, with and without their warm-up.

    The result must have a note about warm-up that was left in.
    """
    problem = gaussian_problem(targets.standard(DIM))

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        settled = simulate.autoregressive(rng, np.full(DIM, 0.9), CHAINS, DRAWS)
        decay = 20 * 0.9 ** np.arange(DRAWS)[:, None]
        out = {}
        for name, draws in (("settled", settled), ("warm-up left in", settled + decay)):
            outcome = verdict(draws, problem, problem.methods["Gram (KSD)"], seed)
            out[f"{name}: noted"] = {**outcome, "hit": outcome.get("noted", 1.0)}
            out[f"{name}: rejected"] = outcome
        return out

    rules = {
        "settled: noted": Rule("at most", 0.01),
        "settled: rejected": Rule("level"),
        "warm-up left in: noted": Rule("at least", 0.99),
        "warm-up left in: rejected": Rule("shown"),
    }
    return Case(run, rules)


def refusal() -> Case:
    """A single chain passed as if its draws were independent: is it refused?"""

    def refused(draws: np.ndarray) -> Outcome:
        try:
            sw.Samples.of(draws)
        except sw.InputError:
            return {"hit": 1.0}
        return {"hit": 0.0}

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:  # noqa: ARG001
        out = {}
        for d in (1, 2, DIM):
            for name, rho in (("chain", 0.1), ("independent", 0.0)):
                draws = simulate.autoregressive(rng, np.full(d, rho), 1, 1000)[0]
                out[f"{name}, d = {d}"] = refused(draws)
        return out

    rules = {f"independent, d = {d}": Rule("at most", 0.01) for d in (1, 2, DIM)}
    # no rule for d = 1: even the best test of level 0.01 has power 0.8 there, less than 0.95
    rules |= {f"chain, d = {d}": Rule("shown") for d in (1, 2)}
    rules[f"chain, d = {DIM}"] = Rule("at least", 0.95)
    return Case(run, rules)


def step_down() -> Case:
    """One of ten independent coordinates is 30 % too wide: are right coordinates flagged?"""
    target = targets.standard(DIM)
    wide = targets.wider(target, 1.3)
    problem = gaussian_problem(target, wide)

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        samples = independent_draws(rng, wide.covariance, 1000)
        out = {}
        for name in ("mean (KCC-SD)", "features"):
            method = problem.methods[name]
            result = sw.check(samples, target, method=method, seed=seed, progress=False)
            adjusted = np.array([c.adjusted_pvalue for c in result.findings.coordinates])
            out[f"{name}: a right one"] = {"hit": float((adjusted[1:] <= LEVEL).any())}
            out[f"{name}: the wrong one"] = {"hit": float(adjusted[0] <= LEVEL)}
        return out

    rules = {f"{name}: a right one": Rule("at most", 0.07) for name in problem.methods}
    rules |= {f"{name}: the wrong one": Rule("shown") for name in problem.methods}
    return Case(run, rules)


CASES: dict[str, Case] = {
    "refusal": refusal(),
    "step-down": step_down(),
    "independent-50": independent(50),
    "independent-200": independent(200),
    "independent-1000": independent(1000),
    "metropolis-banana": metropolis_banana(),
    "metropolis-gaussian": metropolis_gaussian(),
    "ar-0.95": autoregressive(np.full(DIM, 0.95)),
    "ar-0.9": autoregressive(np.full(DIM, 0.9)),
    "ar-0.5": autoregressive(np.full(DIM, 0.5)),
    "ar-0": autoregressive(np.full(DIM, 0.0)),
    "nuts": nuts(),
    "warm-up": warm_up(),
    "wide-ar-0": too_wide(0.0),
    "wide-ar-0.5": too_wide(0.5),
    "wide-ar-0.9": too_wide(0.9),
    "wide-ar-0.95": too_wide(0.95),
    "ar-0.99-one": autoregressive(np.array([0.99] + [0.5] * (DIM - 1)), draws=10_000),
}
