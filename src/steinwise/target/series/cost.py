"""How much work a program is, from the sizes of its values."""

import numpy as np

from steinwise.target.series.program import Equation, Program, flatten

# Multiplications in the time of one function: roughly, as measured on CPUs in 64 bit.
FUNCTIONS = frozenset(
    [
        "exp",
        "exp2",
        "expm1",
        "log",
        "log1p",
        "logistic",
        "tanh",
        "tan",
        "sin",
        "cos",
        "sinh",
        "cosh",
        "asin",
        "acos",
        "atan",
        "asinh",
        "acosh",
        "atanh",
        "atan2",
        "pow",
        "cbrt",
        "erf",
        "erfc",
        "erf_inv",
        "lgamma",
        "digamma",
        "igamma",
        "igammac",
        "polygamma",
    ]
)
PER_FUNCTION = 10
PER_SLOW_FUNCTION = 50
SLOW = frozenset(["lgamma", "digamma", "erf_inv", "igamma", "igammac", "polygamma", "pow"])
# Multiplications in a matrix product that take the time of one in an elementwise function.
PRODUCTS_PER_OPERATION = 4


def work(program: Program) -> float:
    """The work of all equations that depend on the inputs, in elementwise multiplications.

    At least 1, so that constant functions can be compared too.
    """
    return 1.0 + sum(
        _work(program, equation)
        for equation in program.equations
        if not program.varying.isdisjoint(equation.inputs)
    )


def _work(program: Program, equation: Equation) -> float:
    name, params = equation.name, equation.params
    entries = max(program.size(i) for i in (*equation.inputs, *equation.outputs))
    if name == "dot_general":
        (contracting, _), _ = params["dimension_numbers"]
        shape = program.types[equation.inputs[0]].shape
        summed = np.prod([shape[a] for a in contracting], dtype=float)
        return program.size(equation.outputs[0]) * summed / PRODUCTS_PER_OPERATION
    if name == "scan":
        return params["length"] * work(flatten(params["jaxpr"]))
    if name == "while":
        return work(flatten(params["body_jaxpr"]))
    if name == "cond":
        return max(work(flatten(branch)) for branch in params["branches"])
    if name in ("cholesky", "triangular_solve", "lu"):
        n = program.types[equation.inputs[0]].shape[-1]
        return n * entries / PRODUCTS_PER_OPERATION
    if name in FUNCTIONS:
        return entries * (PER_SLOW_FUNCTION if name in SLOW else PER_FUNCTION)
    return float(entries)
