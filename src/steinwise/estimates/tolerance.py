r"""Whether any mean or sd of draws is further off than someone is willing to accept.

The errors e of all means, in sds of the target, and of all sds, as ratios less 1, are estimated
together with their standard errors. With a tolerance t,

- some error is beyond it if an interval e +- c se lies outside of [-t, t], with the c for which all
  intervals cover together: the quantile of the largest of \|t\| values, over random signs of the
  batches' deviations;
- every error is within it if every e - z se and e + z se lies inside, with the one-sided z. All of
  many one-sided tests must agree, so none needs a correction (intersection-union);
- otherwise there are too few draws, if more of them would make the intervals short enough. They
  need not where an error cannot be estimated, or where an interval is long because more Stein
  functions would explain more: then the answer is not known.

Signs about 0 would not do: they say how often such an e comes from an error of 0, not of t.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from steinwise._internal.memory import chunks
from steinwise._internal.random import stream
from steinwise.calibration.jackknife import jackknife_errors
from steinwise.estimates.marginals import known_errors
from steinwise.estimates.moments import MomentErrors
from steinwise.results.tolerance import Answer, Moment, ToleranceAnswer

# Random sign vectors for the quantile of the largest |t|: at least SIGNS, and enough to have
# SIGNS_BEYOND beyond it, which gives the probability beyond it to a fifth or so. Where that takes
# more than MOST_SIGNS in all, Bonferroni's bound is used instead.
SIGNS, SIGNS_BEYOND, MOST_SIGNS = 2000, 20, 200_000
QUANTITIES: tuple[Moment, ...] = ("mean", "sd")


def judge_tolerance(
    errors: MomentErrors | None,
    names: tuple[str, ...],
    tolerance: float,
    alpha: float,
    seed: object,
) -> ToleranceAnswer:
    """Compare the errors of all means and sds with a tolerance.

    Parameters
    ----------
    errors
        Of every coordinate; None where none can be estimated.
    names
        Of the coordinates.
    tolerance, alpha
        The largest error that is accepted, and the level of either answer.
    seed
        Of the random signs.
    """
    known, unknown = known_errors(errors, names)
    if errors is None or not known.any():
        nothing = {"coordinate": "", "error": np.nan, "low": np.nan, "high": np.nan}
        return ToleranceAnswer(
            tolerance, alpha, "unknown", quantity="mean", unknown=unknown, **nothing
        )
    estimates = np.stack([errors.mean_error, errors.sd_ratio - 1], axis=1)[known].ravel()
    without = np.stack([errors.mean_error_without, errors.sd_ratio_without], axis=2)
    without = without[:, known].reshape(len(without), -1)
    se = jackknife_errors(without)
    doubt = np.stack([errors.mean_doubt, errors.sd_doubt], axis=1)[known].ravel()
    width = largest_t(without, alpha, seed) * se + doubt
    one_sided = stdtrit(len(without) - 1, 1 - alpha) * se + doubt
    surely, possibly = np.abs(estimates) - width, np.abs(estimates) + one_sided
    # doubt stays as draws become more: where it is more than chance, they would not help
    in_doubt = (np.abs(np.abs(estimates) - tolerance) <= doubt) & (doubt > width / 2)
    answer: Answer
    if surely.max() > tolerance:
        # of those that are surely beyond, the largest; not the one that is known best
        answer, worst = "beyond", int(np.argmax(np.where(surely > tolerance, abs(estimates), 0)))
    elif unknown or in_doubt.any():
        answer = "unknown"
        worst = int(np.argmax(np.where(in_doubt | bool(unknown), possibly, 0)))
    else:
        worst = int(np.argmax(possibly))
        answer = "within" if possibly[worst] < tolerance else "too few draws"
    coordinate, quantity = divmod(worst, len(QUANTITIES))
    half = (one_sided if answer == "within" else width)[worst]  # what the answer rests on
    return ToleranceAnswer(
        tolerance=tolerance,
        alpha=alpha,
        answer=answer,
        coordinate=np.asarray(names, dtype=object)[known][coordinate],
        quantity=QUANTITIES[quantity],
        error=float(estimates[worst]),
        low=float(estimates[worst] - half),
        high=float(estimates[worst] + half),
        unknown=unknown,
    )


def largest_t(without: Float[np.ndarray, "batch k"], alpha: float, seed: object) -> float:
    r"""The 1 - alpha quantile of max_k \|t_k\|, t_k the mean of a column's deviations over its se.

    With random signs, which keep how the columns depend on each other.
    """
    deviations = without - without.mean(axis=0)
    count, columns = deviations.shape
    vectors = max(SIGNS, int(np.ceil(SIGNS_BEYOND / alpha)))
    if vectors > MOST_SIGNS:
        return float(stdtrit(count - 1, 1 - alpha / (2 * columns)))
    rng, squares = stream(seed, "tolerance"), (deviations**2).sum(axis=0)
    largest = np.empty(vectors)
    for part in chunks(vectors, SIGNS):
        sums = rng.choice([-1.0, 1.0], size=(part.stop - part.start, count)) @ deviations
        variance = (squares - sums**2 / count) * count / (count - 1)
        t = np.abs(sums) / np.sqrt(np.where(variance > 0, variance, np.inf))
        largest[part] = t.max(axis=1)
    return float(np.quantile(largest, 1 - alpha))
