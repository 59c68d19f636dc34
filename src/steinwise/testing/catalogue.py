"""The targets with exact draws, by name, for the parameters of tests."""

from collections.abc import Callable
from functools import cache
from typing import Any

from steinwise.errors import InputError
from steinwise.testing import closed_forms, posteriors
from steinwise.testing.exact_target import ExactTarget

MAKERS: dict[str, Callable[[], ExactTarget]] = {
    "normal": closed_forms.normal,
    "correlated normal": closed_forms.correlated_normal,
    "ill-conditioned normal": closed_forms.ill_conditioned_normal,
    "Student t": closed_forms.student_t,
    "funnel": closed_forms.funnel,
    "banana": closed_forms.banana,
    "mixture": closed_forms.mixture,
    "logistic regression": posteriors.logistic_regression,
    "hierarchical model": posteriors.hierarchical_model,
    "positive": closed_forms.positive,
    "bounded": closed_forms.bounded,
    "discrete": closed_forms.discrete,
}
_made = cache(lambda name: MAKERS[name]())


def targets(*names: str) -> list[ExactTarget]:
    """Targets with exact draws: those with these names, or all that live on all of R^d.

    ====================== ==================================================================
    normal                 2 independent standard normals
    correlated normal      3 coordinates in different units, correlations 0.9 and 0.5
    ill-conditioned normal 4 coordinates, condition number 10,000, directions at random
    Student t              2 coordinates with 5 degrees of freedom, large together
    funnel                 Neal's: v has sd 3, two coordinates have sd exp(v / 2) given v
    banana                 y given x is normal around x^2
    mixture                two normals, 8 sds apart, with weights 0.7 and 0.3
    logistic regression    intercept and slope, normal priors, 20 data from the prior
    hierarchical model     mu, log tau and 4 group effects, centred, data from the prior
    positive               a gamma, and a gamma whose scale is one over the first
    bounded                two betas, one whose density is infinite at both ends
    discrete               a Poisson count, and how many of them are kept with chance 0.4
    ====================== ==================================================================

    All draws are exact and independent. Those of the two posteriors are made by rejection from the
    prior, of all coefficients or of log tau; the group effects then have normal conditionals.

    Examples
    --------
    >>> import pytest, steinwise as sw
    >>> @pytest.mark.parametrize("target", sw.testing.targets())
    ... def test_my_sampler(target): ...
    >>> sw.testing.targets("funnel", "discrete")
    [ExactTarget('funnel', 3 coordinates), ExactTarget('discrete', 2 coordinates)]
    """
    for name in names:
        require_known(name)
    if names:
        return [_made(name) for name in names]
    return [_made(name) for name in MAKERS if name not in ("positive", "bounded", "discrete")]


def require_known(name: Any) -> None:
    """Require the name of a target."""
    if not isinstance(name, str) or name not in MAKERS:
        raise InputError(f"there is no target {name!r}: expected one of {', '.join(MAKERS)}.")
