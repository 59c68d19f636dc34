"""How series go through JAX's primitives, one family of primitives a file."""

from steinwise.target.series.rules import (
    analytic,
    arithmetic,
    control,
    linear,
    matrix,
    piecewise,
    reductions,
    special,
    structural,
)

ELEMENTWISE = {
    **arithmetic.ELEMENTWISE,
    **analytic.ELEMENTWISE,
    **special.ELEMENTWISE,
    **piecewise.ELEMENTWISE,
    **linear.ELEMENTWISE,
}
STRUCTURAL = frozenset(structural.RULES)
RULES = {
    **arithmetic.RULES,
    **structural.RULES,
    **linear.RULES,
    **reductions.RULES,
    **matrix.RULES,
    **control.RULES,
}

# those that are linear far from the draw too, as abs or max, piece by piece, are not; products and
# quotients only of one value that moves
LINEAR = STRUCTURAL.union(linear.RULES, arithmetic.RULES, arithmetic.ELEMENTWISE)

__all__ = ["ELEMENTWISE", "LINEAR", "RULES", "STRUCTURAL"]
