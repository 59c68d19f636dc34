"""Parameters of a model by minimum discrepancy: no normalising constant, no draws of the model."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

import steinwise
from steinwise._internal.compiled import precision
from steinwise._internal.memory import budget_bytes
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import require_whole
from steinwise.calibration.batch_plan import FEWEST_BATCHES, BatchPlan, plan_for_error
from steinwise.calibration.batches import Batches, cut_evenly, cut_into
from steinwise.conditionals import Linear
from steinwise.conditionals.base import refuse_target
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, SteinwiseWarning, TargetError
from steinwise.kernels import IMQ, RBF, AbstractKernel
from steinwise.methods import KCCSD, KSD
from steinwise.methods.ksd import draws_and_scores
from steinwise.optimise.equations import (
    AbstractEquations,
    ConditionalEquations,
    Matrix,
    Model,
    PairEquations,
    Vector,
)
from steinwise.results.fit import ParameterFit
from steinwise.target import Target
from steinwise.target.base import require_finite
from steinwise.target.differentiation import DifferentiationPlan, plan_differentiation

ROUNDS, EVALUATIONS = 30, 100  # of the equations with fixed weights, and in each
SMALL_STEP = 1e-7  # relative to the parameters
STUCK = (
    "not converged: the score does not change there to first order with one of the parameters, as "
    "where the density is symmetric in it. Start elsewhere."
)
SINGULAR = 1e-8  # of the largest singular value, parameters in units of their own curvature


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

    The estimate solves the first-order condition of the squared discrepancy, without bias: the mean
    over draws x, and over y, of

    .. math:: \partial_\theta b_\theta(y)^\top \{ b_\theta(x) k(x, y) + \nabla_x k(x, y) \} = 0

    y is another draw (KSD), or, coordinate by coordinate, drawn from a stand-in for
    `q(x_j | x_-j)` that is learnt once, from a part of the draws (KCC-SD): conditionals of the
    draws do not depend on the parameters. By Stein's identity in x the right parameter solves it
    whatever the law of y is, so an imperfect stand-in costs precision, and no bias.

    Parameters
    ----------
    log_density
        ``log_density(theta, x)`` with x of shape (d,), JAX-traceable; known up to a constant that
        may depend on theta. Twice differentiable in x and theta.
    draws
        The data, as in `sw.check`.
    theta0
        Where to start: a number, a vector, or a pytree of arrays.
    method
        "ksd" (with an IMQ kernel), "kccsd" (with `conditionals.Linear`), or an object,
        `sw.methods.KSD(kernel)` or `sw.methods.KCCSD(conditional, kernel)`.
    max_iterations
        Steps of the trust region method that finds a start for the equations.
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
    chosen = _method(method)
    require_whole("max_iterations", max_iterations, least=1)
    run = RunOptions(seed, budget_bytes(memory), progress=progress)
    samples = Samples.of(draws, names=names, independent=independent)
    samples = samples.loaded(run.memory, "sw.fit_parameters")
    model, labels, start = _parameters(log_density, theta0)
    plan = _plan(model, start, samples)

    if isinstance(chosen, KSD):
        equations, cut, notes = _pairs(chosen, model, plan, samples, start, run)
        tested, batches = samples, cut
    else:
        equations, tested, notes = _conditional(chosen, model, plan, samples, run)
        batches = None
    found = _solve(equations, start, labels, max_iterations)
    notes = [*notes, *found.notes]
    covariance, count = None, 0
    if found.identified and found.solved:
        contributions = equations.rows(found.theta)
        if batches is None:
            along = _batch_plan(tested, contributions, most=1000)
            batches = None if along is None else along.batches
        if batches is None:
            notes.append("the draws are too few, or too dependent, for standard errors.")
        else:
            covariance, count = _sandwich(contributions, found.slope, batches), batches.count
    for note in notes:
        warnings.warn(note, SteinwiseWarning, stacklevel=2)
    return ParameterFit(
        vector=found.theta,
        covariance=covariance,
        names=labels,
        discrepancy=equations.discrepancy(found.theta),
        converged=found.solved and found.identified,
        identified=found.identified,
        description=f"{chosen.describe()}, {tested.n} draws",
        n_batches=count,
        notes=tuple(notes),
        seed=seed,
        version=steinwise.__version__,
        tree=model.tree,
    )


def _method(method: Any) -> KSD | KCCSD:
    if isinstance(method, str) and method == "ksd":
        return KSD(IMQ("median"))
    if isinstance(method, str) and method == "kccsd":
        return KCCSD(Linear(), RBF("median"))
    if isinstance(method, KSD) and not method.linear and method.bootstrap == "batches":
        return method
    if not isinstance(method, KCCSD):
        raise InputError(
            f"method is {method!r}: expected 'ksd', 'kccsd', sw.methods.KSD(kernel) or "
            "sw.methods.KCCSD(conditional, kernel)."
        )
    refuse_target(method.conditional)
    one_kernel = isinstance(method.kernel, AbstractKernel)
    plain = method.variant == "norm" and method.splits == 1
    every = method.blocks is None and method.coordinates is None
    if not (plain and every and one_kernel):
        raise InputError(
            f"method is {method.describe()}: parameters are fitted by the norm variant, with one "
            "split, one kernel (its bandwidth may be a vector), all coordinates and no blocks."
        )
    return method


def _parameters(
    log_density: Callable[[Any, Any], Any], theta0: Any
) -> tuple[Model, tuple[str, ...], Vector]:
    if not callable(log_density):
        raise InputError(
            f"log_density is of type {type(log_density).__name__}: expected a function of "
            "(theta, x)."
        )
    paths, structure = jax.tree_util.tree_flatten_with_path(theta0)
    leaves, labels = [], []
    for path, leaf in paths:
        try:
            array = np.asarray(leaf, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"theta0 has {leaf!r} in it: expected numbers or arrays.") from error
        name = jax.tree_util.keystr(path, simple=True, separator=".") or "theta"
        index = [""] if array.ndim == 0 else [str(list(i)) for i in np.ndindex(array.shape)]
        labels += [name + place for place in index]
        leaves.append(array)
    vector = np.concatenate([leaf.ravel() for leaf in leaves]) if leaves else np.empty(0)
    if not vector.size or not np.isfinite(vector).all():
        raise InputError(f"theta0 is {theta0!r}: expected at least one number, all of them finite.")
    shapes = tuple(leaf.shape for leaf in leaves)
    return Model(log_density, structure, shapes), tuple(labels), vector


def _plan(model: Model, start: Vector, samples: Samples) -> DifferentiationPlan:
    """How the density can be differentiated; in theta as well as in x."""
    d = samples.dim
    plan = plan_differentiation(lambda x: model(jax.numpy.asarray(start, x.dtype), x), d)

    def curvature(theta: Any, x: Any) -> Any:
        score = lambda t: model.score(plan.score, t, x).sum()  # noqa: E731
        return jax.jacfwd(jax.grad(score))(theta)

    number = np.float64 if plan.wide else np.float32
    with precision(plan.wide):
        try:
            arguments = [jax.ShapeDtypeStruct((size,), number) for size in (len(start), d)]
            jax.eval_shape(curvature, *arguments)
        except Exception as error:
            raise TargetError(
                "the log density cannot be differentiated twice in theta and once in x: "
                f"{(str(error).splitlines() or [''])[0]} Is there a while_loop, or NumPy in place "
                "of jax.numpy?"
            ) from error
    return plan


def _pairs(
    method: KSD,
    model: Model,
    plan: DifferentiationPlan,
    samples: Samples,
    start: Vector,
    run: RunOptions,
) -> tuple[AbstractEquations, Batches | None, list[str]]:
    x = samples.rows
    kernel = method.kernel.resolve(x, run.seed, per_coordinate=False)
    whole = cut_evenly(samples, samples.n_draws)
    scores = PairEquations(model, plan, kernel, x, whole, run.memory).scores(start)
    require_finite(scores, x, 0, np.arange(samples.dim), axis=1)
    cut = _batch_plan(samples, draws_and_scores(x, scores), most=250)
    batches = cut_into(samples, FEWEST_BATCHES) if cut is None else cut.batches
    equations = PairEquations(model, plan, kernel, x, batches, run.memory)
    return equations, None if cut is None else batches, [] if cut is None else list(cut.notes)


def _conditional(
    method: KCCSD, model: Model, plan: DifferentiationPlan, samples: Samples, run: RunOptions
) -> tuple[AbstractEquations, Samples, list[str]]:
    unused = Target(jax.numpy.sum)  # the stand-in does not look at the model
    fitted, tested = next(method.prepare(samples, unused, run))
    x = tested.rows
    assert isinstance(fitted.kernel, AbstractKernel)
    kernel = fitted.kernel.resolve(x, run.seed, per_coordinate=True)
    equations = ConditionalEquations(model, plan, kernel, fitted.conditional, x, run)
    notes = () if fitted.learning is None else fitted.learning.notes()
    return equations, tested, list(notes)


class _Solution(NamedTuple):
    theta: Vector
    slope: Matrix
    solved: bool
    identified: bool
    notes: list[str]


def _solve(
    equations: AbstractEquations, start: Vector, labels: tuple[str, ...], max_iterations: int
) -> _Solution:
    """A trust region on the form that is never negative, then the roots of the unbiased equations.

    Flat densities have a finite discrepancy: a method whose steps are not held back, as those of
    L-BFGS, can end among them, where nothing leads back.
    """
    from scipy.optimize import minimize

    def objective(theta: Vector) -> tuple[float, Vector]:
        value, slope = equations.objective(theta)
        usable = np.isfinite(value) and np.isfinite(slope).all()
        return (value, slope) if usable else (np.inf, np.zeros_like(theta))

    first, _ = objective(start)
    if not np.isfinite(first):
        raise TargetError(
            "the discrepancy is not finite at theta0: the log density or its derivatives overflow "
            "there. Start elsewhere."
        )
    rough = minimize(
        objective,
        start,
        jac=True,
        hess=equations.curvature,
        method="trust-exact",
        options={"maxiter": max_iterations, "gtol": 1e-6 * max(first, 1e-6)},
    )
    theta = np.asarray(rough.x, dtype=np.float64)
    for _ in range(ROUNDS):
        weak = _unidentified(equations.slope(theta), labels)
        if weak:
            return _Solution(theta, equations.slope(theta), bool(rough.success), False, [weak])
        root = _root(equations, theta)
        if root is None:
            return _Solution(theta, equations.slope(theta), False, True, [STUCK])
        moved, solved = root
        step, theta = np.abs(moved - theta).max(), moved
        if solved and step <= SMALL_STEP * (1 + np.abs(theta).max()):
            slope = equations.slope(theta)
            return _Solution(theta, slope, True, True, _saddle(slope))
    note = (
        f"not converged after {rough.nit} trust region steps ({rough.message}) and {ROUNDS} rounds "
        "on the equations. Start nearer, rescale the parameters so that they are of order 1, or "
        "raise max_iterations."
    )
    return _Solution(theta, equations.slope(theta), False, True, [note])


def _root(equations: AbstractEquations, weights: Vector) -> tuple[Vector, bool] | None:
    """Where the equation with these weights is 0, from there; and whether it is. None if stuck.

    With the y-side held fixed the equation is a fixed number of Stein's identities: flat densities,
    whose scores are 0 on both sides, do not solve it.
    """
    from scipy.optimize import least_squares

    memo: dict[bytes, tuple[Vector, Matrix]] = {}

    def at(theta: Vector) -> tuple[Vector, Matrix]:
        key = theta.tobytes()
        if key not in memo:
            memo.clear()
            memo[key] = equations.equation(theta, weights)
        return memo[key]

    curvature = np.abs(np.diagonal(at(weights)[1]))
    if not curvature.all():
        return None
    scale = 1 / np.sqrt(curvature)
    found = least_squares(
        lambda theta: at(theta)[0] * scale,
        weights,
        jac=lambda theta: at(theta)[1] * scale[:, None],  # pyright: ignore[reportArgumentType]
        x_scale=scale,
        xtol=SMALL_STEP / 10,
        ftol=None,  # pyright: ignore[reportArgumentType]
        gtol=None,  # pyright: ignore[reportArgumentType]
        max_nfev=EVALUATIONS,
    )
    error = np.linalg.solve(found.jac, found.fun)
    return found.x, bool(np.abs(error).max() <= SMALL_STEP * (1 + np.abs(found.x).max()))


def _unidentified(slope: Matrix, labels: tuple[str, ...]) -> str:
    """What the draws cannot tell, in words; nothing where all parameters are identified."""
    largest = np.abs(slope).max()
    if not np.isfinite(largest):
        return "the curvature of the discrepancy is not finite: the density overflows there."
    own = np.sqrt(np.abs(np.diagonal(slope)))
    dead = [name for name, one in zip(labels, own, strict=True) if one**2 <= SINGULAR**2 * largest]
    if dead:
        return (
            f"not identified: {', '.join(dead[:5])} does not change the score anywhere near the "
            "draws. A factor of the density that does not depend on x is part of its constant."
        )
    _, values, vectors = np.linalg.svd(slope / np.outer(own, own))
    if values[-1] > SINGULAR * values[0]:
        return ""
    direction = np.abs(vectors[-1])
    together = [name for name, one in zip(labels, direction, strict=True) if one > 0.1]
    return (
        f"not identified: the score depends on {', '.join(together[:5])} through a combination of "
        "them only. Fix one of them, or write the model in terms of the combination."
    )


def _saddle(slope: Matrix) -> list[str]:
    own = np.sqrt(np.abs(np.diagonal(slope)))
    scaled = slope / np.outer(own, own)
    if np.linalg.eigvalsh((scaled + scaled.T) / 2)[0] > 0:
        return []
    return [
        "this solves the first-order condition but is no minimum of the discrepancy: a saddle, or "
        "draws too few to tell. Try other starts."
    ]


def _batch_plan(samples: Samples, columns: np.ndarray, most: int) -> BatchPlan | None:
    """Batches long enough for what is averaged; None where too few are left."""

    def averaged(start: int, x: np.ndarray) -> np.ndarray:
        return columns[start : start + len(x)]

    return plan_for_error(samples, averaged, most=most)


def _sandwich(contributions: np.ndarray, slope: Matrix, batches: Batches) -> Matrix:
    """M^-1 S M^-T, with S the covariance of the mean contribution, from batch sums."""
    n = len(contributions)
    sums = batches.sums(contributions - contributions.mean(axis=0))
    spread = sums.T @ sums / n**2 * batches.count / (batches.count - 1)
    inverse = np.linalg.inv(slope)
    return inverse @ spread @ inverse.T
