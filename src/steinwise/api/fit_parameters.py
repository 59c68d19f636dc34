"""Parameters of a model by minimum discrepancy: no normalising constant, no draws of the model."""

from collections.abc import Callable, Sequence
from typing import Any

import steinwise
from steinwise._internal.notes import note
from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.validation import require_whole
from steinwise._internal.warn import warn_user
from steinwise.api.entry import enter_draws, enter_method, run_options
from steinwise.api.ksd_ranking import default_ksd
from steinwise.conditionals import Linear
from steinwise.conditionals.base import refuse_target
from steinwise.errors import InputError
from steinwise.kernels import AbstractKernel
from steinwise.methods.kccsd import KCCSD
from steinwise.methods.ksd import KSD
from steinwise.optimise.conditional_equations import conditional_problem
from steinwise.optimise.model import Model, ParameterLayout
from steinwise.optimise.pair_equations import pair_problem
from steinwise.optimise.solve import covariance, solve
from steinwise.results.fit import ParameterFit
from steinwise.results.wording import note_text

BY_NAME = {
    "ksd": default_ksd,
    "kccsd": lambda: KCCSD(Linear()),
}


@own_numpy_errors
def fit_parameters(
    log_density: Callable[[Any, Any], Any],
    draws: Any,
    theta0: Any,
    *,
    method: str | KSD | KCCSD = "ksd",
    max_iterations: int = 200,
    seed: Any = 0,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    memory: str | int = "1GiB",
    progress: bool | None = None,
) -> ParameterFit:
    r"""The parameters whose model is nearest to the draws, with standard errors.

    The estimate solves an unbiased first-order condition of the squared discrepancy: the mean over
    draws x, and over y, of

    .. math:: \partial_\theta b_\theta(y)^\top \{ b_\theta(x) k(x, y) + \nabla_x k(x, y) \} = 0

    Here y is another draw (KSD), or it is drawn, coordinate by coordinate, from a stand-in for
    `q(x_j | x_-j)` (KCC-SD). The stand-in is learned once, from a part of the draws: conditionals
    of the draws do not depend on the parameters. By Stein's identity in x the right parameter
    solves the equation whatever the distribution of y is, so an imperfect stand-in costs precision
    but adds no bias.

    Parameters
    ----------
    log_density
        ``log_density(theta, x)`` with x of shape (d,), JAX-traceable, up to a constant that may
        depend on theta. It must be twice differentiable in x and theta. It is compiled for every
        fit; for many fits of one model pass ``jax.jit(log_density)``, which is compiled once and,
        as always with `jax.jit`, keeps the data that it read from outside the first time.
    draws
        The data, as in `sw.check`.
    theta0
        Where to start: a number, a vector, or a pytree of arrays.
    method
        "ksd" (with an IMQ kernel), "kccsd" (with `conditionals.Linear`), or an object,
        `sw.methods.KSD(kernel)` or `sw.methods.KCCSD(conditional, kernel)`.
    max_iterations
        The most steps of the trust region search for a start of the equations.
    seed, names, independent, memory, progress
        As in `sw.check`.

    Returns
    -------
    ParameterFit
        Prints as a table; `.theta`, `.standard_errors`, `.covariance`, `.interval(0.95)`,
        `.discrepancy`, `.converged`, `.identified`.

    Examples
    --------
    A quartic energy, whose constant has no closed form: log p = -a x^4 - b x^2, up to a constant.

    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> grid = np.linspace(-4, 4, 4001)
    >>> mass = np.exp(-0.5 * grid**4 + grid**2)
    >>> draws = rng.choice(grid, size=(2000, 1), p=mass / mass.sum())
    >>> def log_density(theta, x):
    ...     return -theta["a"] * (x[0] ** 4) - theta["b"] * x[0] ** 2
    >>> fit = sw.fit_parameters(log_density, draws, {"a": 1.0, "b": 0.0})
    >>> low, high = fit.interval(0.999)
    >>> bool(low["a"] < 0.5 < high["a"] and low["b"] < -1 < high["b"])
    True
    """
    chosen = _enter_method(method)
    require_whole("max_iterations", max_iterations, least=1)
    run = run_options(seed=seed, memory=memory, progress=progress)
    samples = enter_draws(
        draws, run, names=names, independent=independent, held_by="sw.fit_parameters"
    )
    layout, start = ParameterLayout.of(theta0)
    model = Model.of(log_density, layout, start, samples.dim)
    model.try_draw(start, samples.rows[0])

    if isinstance(chosen, KSD):
        problem = pair_problem(chosen, model, samples, start, run)
    else:
        problem = conditional_problem(chosen, model, samples, run)
    solution = solve(problem.equations, start, layout.names, max_iterations)
    notes = [*problem.notes, *solution.notes]
    errors = None
    if solution.outcome == "solved":
        errors = covariance(problem, solution)
        if errors is None:
            notes.append(note("no standard errors"))
    sentences = tuple(note_text(each) for each in notes)
    for sentence in sentences:
        warn_user(sentence)
    return ParameterFit(
        vector=solution.theta,
        covariance=None if errors is None else errors.matrix,
        names=layout.names,
        discrepancy=problem.equations.discrepancy(solution.theta),
        converged=solution.outcome == "solved",
        identified=solution.outcome != "not identified",
        description=f"{chosen.describe()}, {problem.samples.n} draws",
        n_batches=0 if errors is None else errors.n_batches,
        notes=sentences,
        seed=seed,
        version=steinwise.__version__,
        tree=layout.tree,
    )


def _enter_method(method: Any) -> KSD | KCCSD:
    """The user's method, unless parameters cannot be fitted by it."""
    chosen = enter_method(
        method,
        BY_NAME,
        (KSD, KCCSD),
        "'ksd', 'kccsd', sw.methods.KSD(kernel) or sw.methods.KCCSD(conditional, kernel).",
    )
    if isinstance(chosen, KSD):
        if chosen.linear or chosen.bootstrap != "batches":
            raise InputError(
                f"method is {chosen.describe()}: parameters are fitted by the KSD of all pairs of "
                "draws, with errors from batches. Drop linear= and bootstrap=."
            )
        return chosen
    refuse_target(chosen.conditional)
    one_kernel = isinstance(chosen.kernel, AbstractKernel)
    plain = chosen.variant == "norm" and chosen.splits == 1
    all_coordinates = chosen.blocks is None and chosen.coordinates is None
    if not (plain and all_coordinates and one_kernel):
        raise InputError(
            f"method is {chosen.describe()}: parameters are fitted by the norm variant, with one "
            "split, one kernel (its bandwidth may be a vector), all coordinates and no blocks."
        )
    return chosen
