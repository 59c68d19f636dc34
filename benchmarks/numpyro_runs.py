"""NUTS of NumPyro on a model, chain after chain, as the benchmarks of its adapter run it."""

# the users' libraries are in .venv-adapters
# pyright: reportMissingImports=false

from collections.abc import Callable

from numpyro.infer import MCMC, NUTS


def nuts(model: Callable[[], object], *, chains: int, warm_up: int, draws: int) -> MCMC:
    """NUTS with its defaults, yet to be run."""
    return MCMC(
        NUTS(model),
        num_warmup=warm_up,
        num_samples=draws,
        num_chains=chains,
        chain_method="sequential",
        progress_bar=False,
    )
