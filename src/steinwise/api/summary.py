"""`sw.summary`: how far off the means, sds and quantiles of draws are, and what they should be."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

import steinwise
from steinwise._internal.escaping import printable
from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import require_function, require_share, require_whole
from steinwise.api.entry import enter_draws, enter_target, named, run_options
from steinwise.api.options import known_options
from steinwise.api.recognition import recognised
from steinwise.calibration.batches import Batches
from steinwise.draws.samples import ConstrainedScale, Samples
from steinwise.errors import InputError, SteinwiseWarning, TooFewDraws
from steinwise.estimates.answers import (
    Quantiles,
    Way,
    function_moments_by_scores,
    moments_by_lines,
    moments_by_scores,
    quantiles_by_lines,
)
from steinwise.estimates.moments import is_determined
from steinwise.estimates.monte_carlo import monte_carlo_errors
from steinwise.estimates.refreshing import Sweep, refresh_sweeps
from steinwise.estimates.settling import TOO_SLOW, batches_for_errors
from steinwise.results.summary import Estimate, Quantity, Summary
from steinwise.results.wording import note_text
from steinwise.target import AbstractTarget

# Draws that are refreshed where there are more: at least this many, and less than twice as many.
REFRESHED_DRAWS = 1000
QUANTILES = (0.05, 0.5, 0.95)

Function = Callable[[np.ndarray], Any]


@known_options
@own_numpy_errors
def summary(
    draws: Any,
    target: Any = None,
    *,
    functions: Mapping[str, Function] | None = None,
    quantiles: Sequence[float] = QUANTILES,
    sweeps: int = 2,
    seed: Any = 0,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    memory: str | int = "1GiB",
    progress: bool | None = None,
) -> Summary:
    r"""Summaries of draws next to those of the density, with the error of each.

    For each coordinate, and each function of them, two estimates of the target's mean and sd:

    - *by scores*: the constant of a regression on functions whose mean under the target is 0
      (Stein's identity; semi-exact control functionals). Exact for a normal target, whatever the
      draws.
    - *by lines*: the mean over the target's conditionals through draws that were moved by exact
      Gibbs steps (`sw.refresh`).

    Both start from draws that were refreshed `sweeps` times. Half of an interval is two standard
    errors and the difference between the estimates before and after refreshing. A number is given
    by scores where the regression leaves at most 0.05 of the variance, else by lines where the
    draws have settled; none where neither holds, or where the two disagree. Neither can see a mode
    that no line through a draw reaches.

    Of more than 2000 draws, every k-th is refreshed, between 1000 and 2000 in all. The cost is
    about that of a check with as many lines, times the sweeps.

    Parameters
    ----------
    draws, target
        As in `sw.check`. The target must be one that can be followed along lines.
        Parameters that an adapter knows on the scale of their model (tau, where the draws have
        log tau) are summarised on it.
    functions
        Functions of the coordinates by name, each from an array of draws (n, d) to n numbers:
        ``{"ratio": lambda x: x[:, 0] / x[:, 1]}``.
    quantiles
        The probabilities of the quantiles.
    sweeps
        How often draws are refreshed. More help where draws have not settled.
    seed
        An integer or a JAX key. The same inputs and seed give the same numbers.
    names
        One name per coordinate.
    independent
        As in `sw.check`.
    memory
        The budget for working arrays. The draws themselves are held in memory.
    progress
        Show a progress bar; by default only on a terminal.

    Returns
    -------
    Summary
        Prints as a table; `.to_dataframe()`, `.to_dataset()`, `.plot()`, `.quantities`.

    Examples
    --------
    Mean-field draws of a correlated target, whose sds are 0.44 and should be 1:

    >>> import numpy as np, steinwise as sw
    >>> covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
    >>> draws = np.sqrt(0.19) * np.random.default_rng(0).normal(size=(1000, 2))
    >>> answers = sw.summary(draws, sw.Gaussian([0, 0], covariance), names=["a", "b"])
    >>> for quantity in answers.quantities:
    ...     print(f"{quantity.name}: {quantity.verdict}")
    a: sd too small: 0.444 instead of 1
    b: sd too small: 0.428 instead of 1
    """
    require_whole("sweeps", sweeps, least=1)
    draws, target = recognised(draws, target, independent)
    shares = _enter_shares(quantiles)
    run = run_options(seed=seed, memory=memory, progress=progress)
    given = enter_draws(draws, run, names=names, independent=independent, held_by="sw.summary")
    asked = _enter_functions(functions, given)
    density, samples = enter_target(target, given, "sw.summary", "follows the density along lines")
    used = samples.thinned(max(1, samples.n // REFRESHED_DRAWS))
    if not is_determined(used.n, used.dim):
        raise TooFewDraws(
            f"{used.n} draws do not determine the regressions of {used.dim} coordinates on their "
            "scores. Pass more draws; sw.refresh takes as few as there are."
        )
    batches, notes = batches_for_errors(samples)
    drawn = _drawn(samples, asked, shares, batches)
    by_scores, by_lines, quantile_estimates = _estimates(used, density, asked, shares, sweeps, run)
    sentences = tuple(note_text(one) for one in notes)
    for sentence in sentences:
        warnings.warn(sentence, SteinwiseWarning, stacklevel=4)
    # a parameter on its own scale takes the place of the coordinate that has its name
    place = {name: q for q, name in enumerate((*samples.names, *asked.names))}
    return Summary(
        quantities=tuple(
            _quantity(name, q, drawn, by_scores, by_lines, quantile_estimates)
            for name, q in place.items()
        ),
        shares=tuple(float(share) for share in shares),
        n=samples.n,
        refreshed=used.n,
        sweeps=sweeps,
        seed=seed,
        notes=sentences,
        version=steinwise.__version__,
    )


def _enter_shares(quantiles: Any) -> Float[np.ndarray, " p"]:
    if isinstance(quantiles, str) or not isinstance(quantiles, (Sequence, np.ndarray)):
        raise InputError(
            f"quantiles is {quantiles!r}: expected probabilities between 0 and 1, such as "
            f"{QUANTILES}."
        )
    if not len(quantiles):
        raise InputError(f"quantiles is {quantiles!r}: expected at least one probability.")
    for share in quantiles:
        require_share("quantiles", share)
    if len(set(quantiles)) < len(quantiles):
        raise InputError(f"quantiles is {quantiles!r}: expected each probability once.")
    return np.array(quantiles, dtype=float)


def _enter_functions(functions: Any, samples: Samples) -> "_Functions":
    """The user's functions, tried on a few draws, and parameters on their own scale."""
    if functions is None:
        return _Functions({}, samples.constrained)
    if not isinstance(functions, Mapping):
        raise InputError(
            f"functions is of type {type(functions).__name__}: expected a dict from names to "
            "functions, such as {'ratio': lambda x: x[:, 0] / x[:, 1]}."
        )
    asked = named(functions, "functions")
    for name, function in asked.items():
        require_function(f"functions[{printable(name)!r}]", function)
        own = () if samples.constrained is None else samples.constrained.names
        if name in (*samples.names, *own):
            raise InputError(
                f"functions has {printable(name)!r}, which is the name of a coordinate: expected "
                "another name."
            )
        _values(name, function, samples.take(np.arange(min(samples.n, samples.dim + 2))))
    return _Functions(asked, samples.constrained)


def _values(name: str, function: Function, x: Float[np.ndarray, "n d"]) -> np.ndarray:
    """A user's function at some draws."""
    values = np.asarray(function(x.copy()))
    if values.shape != (len(x),) or values.dtype.kind not in "fiub":
        raise InputError(
            f"functions[{printable(name)!r}] returned {values.dtype} of shape {values.shape} for "
            f"draws of shape {x.shape}: expected one real number per draw, shape ({len(x)},). It "
            "is called with an array of draws, one per row: the first coordinate is x[:, 0]."
        )
    values = values.astype(float)
    if not np.isfinite(values).all():
        first = int(np.argmin(np.isfinite(values)))
        raise InputError(
            f"functions[{printable(name)!r}] is {values[first]} where x = {x[first].tolist()}: "
            "expected a finite number at every draw."
        )
    return values


@dataclass(frozen=True, eq=False)
class _Functions:
    """What is summarised besides the coordinates: parameters on their own scale, and the user's."""

    of_users: dict[str, Function]
    constrained: ConstrainedScale | None

    @property
    def names(self) -> tuple[str, ...]:
        own = () if self.constrained is None else self.constrained.names
        return (*own, *self.of_users)

    def at(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n f"]:
        own = np.empty((len(x), 0)) if self.constrained is None else self.constrained.values(x)
        columns = [_values(name, function, x)[:, None] for name, function in self.of_users.items()]
        return np.concatenate([own, *columns], axis=1)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Summaries of the draws themselves, with their Monte Carlo errors."""

    mean: Float[np.ndarray, " q"]
    sd: Float[np.ndarray, " q"]
    mean_error: Float[np.ndarray, " q"]
    sd_error: Float[np.ndarray, " q"]
    quantiles: Float[np.ndarray, "q p"]


def _drawn(samples: Samples, asked: _Functions, shares: np.ndarray, batches: Batches) -> _Drawn:
    values = np.concatenate([samples.rows, asked.at(samples.rows)], axis=1)
    errors = monte_carlo_errors(values, samples, batches)
    quantiles = np.quantile(values, shares, axis=0).T
    return _Drawn(values.mean(axis=0), values.std(axis=0), *errors, quantiles)


def _estimates(
    used: Samples,
    density: AbstractTarget,
    asked: _Functions,
    shares: np.ndarray,
    sweeps: int,
    run: RunOptions,
) -> tuple[Way, Way, Quantiles]:
    """Both ways on the draws that are refreshed, and quantiles."""
    x = used.rows
    scores = used.scores_by(lambda rows: density.score(rows, memory=run.memory))
    batches, notes = batches_for_errors(used)
    reliable = all(one.kind != TOO_SLOW for one in notes)
    before = after = Sweep(x, x[..., None])
    for sweep in refresh_sweeps(density, x, scores, sweeps, run, np.arange(len(x))):
        before, after = after, sweep
    new_scores = density.score(after.x, memory=run.memory)
    drawn, refreshed = (x, scores), (after.x, new_scores)
    by_scores = moments_by_scores(drawn, refreshed, batches)
    by_lines = moments_by_lines(x, before.places, after.places, batches, reliable=reliable)
    found = quantiles_by_lines(before.places, after.places, by_lines.mean_given, shares, batches)
    if not asked.names:
        return by_scores, by_lines, found
    h, h_before, h_after = (asked.at(rows) for rows in (x, before.x, after.x))
    of_functions = function_moments_by_scores(h, h_after, drawn, refreshed, batches)
    of_lines = h_before[..., None], h_after[..., None]
    lines = moments_by_lines(h, *of_lines, batches, reliable=reliable)
    lines = replace(
        lines,
        mean_given=lines.mean_given & by_lines.mean_given.all(),
        sd_given=lines.sd_given & by_lines.sd_given.all(),
    )
    more = quantiles_by_lines(*of_lines, lines.mean_given, shares, batches)
    joined = Quantiles(
        np.concatenate([found.values, more.values]),
        np.concatenate([found.reach, more.reach]),
        np.concatenate([found.given, more.given]),
    )
    return by_scores.joined(of_functions), by_lines.joined(lines), joined


def _quantity(
    name: str, q: int, drawn: _Drawn, by_scores: Way, by_lines: Way, quantiles: Quantiles
) -> Quantity:
    def estimate(way: Way) -> Estimate:
        mean, sd = bool(way.mean_given[q]), bool(way.sd_given[q])
        return Estimate(
            state=way.state[q],
            mean=float(way.mean[q]) if mean else np.nan,
            mean_error=float(way.mean_error[q]) if mean else np.nan,
            mean_uncertainty=float(way.mean_reach[q]) if mean else np.nan,
            sd=float(way.sd[q]) if sd else np.nan,
            sd_error=float(way.sd_error[q]) if sd else np.nan,
            sd_uncertainty=float(way.sd_reach[q]) if sd else np.nan,
        )

    known = bool(quantiles.given[q])
    return Quantity(
        name=name,
        mean=float(drawn.mean[q]),
        sd=float(drawn.sd[q]),
        mcse_mean=float(drawn.mean_error[q]),
        mcse_sd=float(drawn.sd_error[q]),
        quantiles=tuple(drawn.quantiles[q].tolist()),
        corrected_quantiles=tuple(
            (quantiles.values[q] if known else np.full(drawn.quantiles.shape[1], np.nan)).tolist()
        ),
        quantile_uncertainties=tuple(
            (quantiles.reach[q] if known else np.full(drawn.quantiles.shape[1], np.nan)).tolist()
        ),
        by_scores=estimate(by_scores),
        by_lines=estimate(by_lines),
    )
