"""An assertion for the test suites of people who write samplers."""

from typing import Any

import numpy as np

from steinwise._internal.validation import require_level
from steinwise.api.check import check
from steinwise.results.check import CheckResult
from steinwise.results.check_text import failed_assertion

NAMED = 10  # coordinates in the message
BOOTSTRAPS_PER_LEVEL = 10


def assert_fits(
    draws: Any, target: Any = None, *, alpha: float = 1e-3, **options: Any
) -> CheckResult:
    """Raise AssertionError if the draws do not fit the density, naming the coordinates.

    A right sampler fails with probability `alpha` over seeds of the sampler; with a fixed seed it
    always passes or never. A pass does not prove the sampler right: the result that is returned
    says what would have been found.

    Parameters
    ----------
    draws, target
        As in `sw.check`.
    alpha
        The level. A suite that runs often wants it small.
    options
        Those of `sw.check`. With `tolerance=`, only errors of means and sds beyond it are failures:
        a sampler that is biased by design can be held to how biased it may be. Where these errors
        cannot be estimated, any misfit is a failure. By default there are 10 / alpha bootstraps, so
        that a p-value at the level is known to a third of itself.

    Returns
    -------
    CheckResult

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> target = sw.Gaussian([0, 0], np.eye(2))
    >>> result = sw.assert_fits(rng.normal(size=(300, 2)), target)
    >>> sw.assert_fits(rng.normal(size=(300, 2)) * [1, 2], target, names=["mu", "log_tau"])
    Traceback (most recent call last):
    AssertionError: the draws do not fit the density: p = ... at level 0.001
      log_tau: draws are too wide (sd ..., about 1.0 expected), adjusted p = ...
    """
    require_level(alpha)
    options.setdefault("n_bootstrap", int(np.ceil(BOOTSTRAPS_PER_LEVEL / alpha)))
    result = check(draws, target, alpha=alpha, **options)
    if not result.acceptable:
        raise AssertionError(failed_assertion(result, NAMED))
    return result
