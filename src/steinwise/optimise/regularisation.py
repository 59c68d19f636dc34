r"""What keeps chosen points away from saddles and gives modes their weights.

Plain Stein thinning has two pathologies (Benard, Staber and Da Veiga, "Kernel Stein discrepancy
thinning: a theoretical perspective of pathologies and a practical fix with regularization", 2023).
The score is 0, and k_0(x, x) smallest, at every stationary point of p: saddles and minima between
modes are chosen as readily as modes. And k_0 of two draws in modes far apart is almost 0: the KSD
hardly notices how much mass each mode has. The regularised objective adds

.. math:: \sum_j \max(0, \partial_j^2 \log p(x)) - \lambda (t + 1) \log p(x), \quad \lambda = 1/m.

The first term is 0 at modes and positive where p is convex. The second prefers the higher of two
modes, with a weight that is as small as the KSD itself, O(1/m).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from steinwise._internal.counting import by_count
from steinwise._internal.validation import require_at_least, require_flag
from steinwise.errors import InputError, TargetError
from steinwise.optimise.preconditioned import ScaledSpace
from steinwise.target import AbstractTarget


@dataclass(frozen=True)
class Regularisation:
    """Whether the objective is regularised, and the weight of its entropic term."""

    active: bool
    entropy: float

    @classmethod
    def of(cls, regularised: Any, entropy: Any, m: int) -> "Regularisation":
        """The user's options for m points."""
        require_flag("regularised", regularised)
        if entropy is None:
            return cls(regularised, 1 / m if regularised else 0.0)
        require_at_least("entropy", entropy, 0)
        if not regularised:
            raise InputError(
                "entropy= is a part of the regularisation: pass regularised=True with it."
            )
        return cls(True, float(entropy))


def describe(what: str, space: ScaledSpace, standardise: bool, rule: Regularisation) -> str:
    """The name of a set of points, with the options that it was made with."""
    details = [space.description]
    if standardise:
        details.append("standardised")
    if rule.active:
        details.append(f"regularised with entropy {rule.entropy:.3g}")
    return f"{what} ({', '.join(details)})"


def require_log_density(
    target: AbstractTarget, x: Float[np.ndarray, "n d"], memory: int
) -> Float[np.ndarray, " n"]:
    """log p of every row, up to a constant; refused where the target has only scores."""
    values = target.log_values(x, memory=memory)
    if values is None:
        raise TargetError(
            "the target has scores but no log density, which regularised=True needs: pass "
            "sw.Target.from_score(score, log_density), or regularised=False."
        )
    bad = ~np.isfinite(values)
    if bad.any():
        raise TargetError(
            f"{bad.sum()} of {len(x)} values of the log density {by_count(bad.sum(), 'is', 'are')} "
            f"not finite; the first is {values[bad][0]} at draw {int(np.argmax(bad))}. The "
            "density must be positive at every draw."
        )
    return values
