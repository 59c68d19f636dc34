"""Series through matrix factorisations and triangular systems, order by order.

If F(A, X) = 0 defines X, the terms of order k of F, set to zero, are a linear equation for X_k with
the matrices of order 0, and the lower orders on its right-hand side. It is solved by the inverse of
a triangle, computed once: many small calls of LAPACK, batched over draws and lines, are slow, and
have been seen to wait for each other forever where XLA has two threads.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from steinwise.target.series.interpreter import Interpreter, Operand, Step
from steinwise.target.series.moving import Moving, full
from steinwise.target.series.program import flatten


def _triangular_solve(interpreter: Interpreter, step: Step) -> Sequence[Moving]:
    """A X = B (or X A = B): A_0 X_k = B_k - sum_{i > 0} A_i X_{k-i}."""
    matrix, right = step.operands
    params = step.equation.params
    b = _packed(right, interpreter.order)
    if not isinstance(matrix, Moving):  # all orders are solved at once
        axis = -1 if params["left_side"] else -2
        solved = step.bind(matrix, jnp.concatenate(b[1:], axis=axis))[0]
        return [Moving(step.results[0], tuple(jnp.split(solved, interpreter.order, axis=axis)))]
    triangle = jnp.tril if params["lower"] else jnp.triu
    a = [triangle(c) for c in full(matrix)]
    if params["unit_diagonal"]:
        a = [c - _diagonal(c) for c in a]
    if params["transpose_a"]:
        a = [_transpose(c) for c in a]
    eye = jnp.broadcast_to(jnp.eye(a[0].shape[-1], dtype=a[0].dtype), a[0].shape)
    inverse = step.bind(matrix.base, eye)[0]
    solution = [step.results[0]]
    for k in range(1, interpreter.order + 1):
        if params["left_side"]:
            rest = b[k] - _sum_of_products(a[1 : k + 1], solution[::-1])
            solution.append(inverse @ rest)
        else:
            rest = b[k] - _sum_of_products(solution[::-1], a[1 : k + 1])
            solution.append(rest @ inverse)
    return [Moving(step.results[0], tuple(solution[1:]))]


def _cholesky(interpreter: Interpreter, step: Step) -> Sequence[Moving]:
    """L L' = A: with L = L_0 M and B = L_0^-1 A L_0^-T, M_k = half(B_k - sum M_i M'_{k-i}).

    The sum is over 0 < i < k; `half` keeps the lower triangle and half of the diagonal. Every pair
    of different orders is multiplied once: the sum is P + P'.
    """
    a = full(step.moving[0])
    root = jnp.tril(step.results[0])  # the primitive leaves what was there above the diagonal
    eye = jnp.broadcast_to(jnp.eye(root.shape[-1], dtype=root.dtype), root.shape)
    inverse = lax.linalg.triangular_solve(root, eye, left_side=True, lower=True)
    inner: list[Array] = []  # M_1, M_2, ...
    for k in range(1, interpreter.order + 1):
        rest = inverse @ ((a[k] + _transpose(a[k])) / 2) @ _transpose(inverse)
        if k > 1:
            smaller = [m / 2 if 2 * i == k else m for i, m in enumerate(inner[: k // 2], 1)]
            larger = [_transpose(m) for m in inner[::-1][: k // 2]]
            products = _sum_of_products(smaller, larger)
            rest = rest - products - _transpose(products)
        inner.append(jnp.tril(rest) - _diagonal(rest) / 2)
    return [Moving(step.results[0], tuple(root @ m for m in inner))]


def _lu(interpreter: Interpreter, step: Step) -> Sequence[Moving | None]:
    """P A = L U: with M = L_0^-1 (P A_k - sum_{0 < i < k} L_i U_{k-i}) U_0^-1, L_k and U_k are
    L_0 times M below the diagonal, and the rest of M times U_0."""
    packed, _, permutation = step.results
    n = packed.shape[-1]
    a = [jnp.take_along_axis(c, permutation[..., None], axis=-2) for c in full(step.moving[0])]
    eye = jnp.broadcast_to(jnp.eye(n, dtype=packed.dtype), packed.shape)
    lower, upper = [jnp.tril(packed, -1) + eye], [jnp.triu(packed)]
    inverse_lower = lax.linalg.triangular_solve(
        lower[0], eye, left_side=True, lower=True, unit_diagonal=True
    )
    inverse_upper = lax.linalg.triangular_solve(upper[0], eye, left_side=True, lower=False)
    for k in range(1, interpreter.order + 1):
        rest = a[k] if k == 1 else a[k] - _sum_of_products(lower[1:], upper[:0:-1])
        inner = inverse_lower @ rest @ inverse_upper
        lower.append(lower[0] @ jnp.tril(inner, -1))
        upper.append(jnp.triu(inner) @ upper[0])
    coefficients = tuple(low + up for low, up in zip(lower[1:], upper[1:], strict=True))
    return [Moving(packed, coefficients), None, None]


def _custom_linear_solve(interpreter: Interpreter, step: Step) -> Sequence[Moving | None]:
    """A(X) = B with A a linear function: A_0(X_k) = B_k - (terms of A(X) with X_0, ..., X_{k-1}).

    The solver inside is used at order 0 alone; JAX keeps derivatives from entering it.
    """
    lengths, jaxprs = step.equation.params["const_lengths"], step.equation.params["jaxprs"]
    function, solver = flatten(jaxprs.matvec), flatten(jaxprs.solve)
    of_function = step.operands[: lengths.matvec]
    first = lengths.matvec + lengths.vecmat
    of_solver = [_base(v) for v in step.operands[first : first + lengths.solve]]
    right = [_packed(v, interpreter.order) for v in step.operands[sum(lengths) :]]
    found: list[tuple] = [() for _ in step.results]
    for k in range(1, interpreter.order + 1):
        rest = (None,) * (interpreter.order - k + 1)
        so_far = [Moving(x, (*known, *rest)) for x, known in zip(step.results, found, strict=True)]
        images = interpreter.carry_through(function, [*of_function, *so_far])
        remainder = [
            b[k] - full(image)[k] if isinstance(image, Moving) else b[k]
            for b, image in zip(right, images, strict=True)
        ]
        values = solver.evaluate([*of_solver, *remainder])
        found = [(*known, values[i]) for known, i in zip(found, solver.outputs, strict=True)]
    return [Moving(x, known) for x, known in zip(step.results, found, strict=True)]


def _base(value: Operand) -> Array:
    return value.base if isinstance(value, Moving) else value


def _packed(value: Operand, order: int) -> list[Array]:
    return full(value) if isinstance(value, Moving) else [value] + [jnp.zeros_like(value)] * order


def _sum_of_products(a: Sequence[Array], b: Sequence[Array]) -> Array:
    """sum_i a_i b_i of matrices, as one product: there are fewer operations to compile."""
    return jnp.concatenate(a, axis=-1) @ jnp.concatenate(b, axis=-2)


def _transpose(matrix: Array) -> Array:
    return jnp.swapaxes(matrix, -1, -2)


def _diagonal(matrix: Array) -> Array:
    return matrix * jnp.eye(matrix.shape[-1], dtype=matrix.dtype)


RULES = {
    "triangular_solve": _triangular_solve,
    "cholesky": _cholesky,
    "lu": _lu,
    "custom_linear_solve": _custom_linear_solve,
}
