"""Series through the largest entry, products of entries, and sorting."""

from collections.abc import Sequence
from functools import reduce

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from steinwise.target.series.interpreter import Interpreter, Step
from steinwise.target.series.moving import Moving, Series, expanded, full
from steinwise.target.series.recurrences import product


def _extreme(_: Interpreter, step: Step) -> Sequence[Moving]:
    """The series of the entry that is the largest, or the smallest; at ties, of the first one."""
    value, axes = expanded(step.moving[0]), step.equation.params["axes"]
    find = jnp.argmax if step.equation.name == "reduce_max" else jnp.argmin
    kept = [axis for axis in range(value.base.ndim) if axis not in axes]
    shape = step.results[0].shape

    def entries_last(array: Array) -> Array:
        return array.transpose(*kept, *axes).reshape(*shape, -1)

    place = find(entries_last(value.base), axis=-1)[..., None]
    found = [jnp.take_along_axis(entries_last(c), place, axis=-1)[..., 0] for c in full(value)[1:]]
    return [Moving(step.results[0], tuple(found))]


def _running_product(_: Interpreter, step: Step) -> Sequence[Moving]:
    params = step.equation.params
    products = lax.associative_scan(
        lambda a, b: tuple(product(a, b)),
        tuple(full(step.moving[0])),
        reverse=params["reverse"],
        axis=params["axis"],
    )
    return [Moving(step.results[0], tuple(products[1:]))]


def _product(_: Interpreter, step: Step) -> Sequence[Moving]:
    series: Series = full(step.moving[0])
    for axis in sorted(step.equation.params["axes"], reverse=True):
        n = series[0].shape[axis]
        entries = [[lax.index_in_dim(c, i, axis, keepdims=False) for c in series] for i in range(n)]
        series = reduce(lambda a, b: product(a, b), entries)
    return [Moving(step.results[0], tuple(series[1:]))]


def _sort(_: Interpreter, step: Step) -> Sequence[Moving | None]:
    """Coefficients follow the entries that they belong to."""
    params = step.equation.params
    axis, n_keys = params["dimension"], params["num_keys"]
    bases = [v.base if isinstance(v, Moving) else v for v in step.operands]
    numbers = lax.broadcasted_iota(jnp.int32, bases[0].shape, axis)
    order = lax.sort((*bases, numbers), dimension=axis, num_keys=n_keys)[-1]
    return [
        Moving(
            result,
            tuple(jnp.take_along_axis(c, order, axis=axis) for c in full(operand)[1:]),
        )
        if isinstance(operand, Moving)
        else None
        for operand, result in zip(step.operands, step.results, strict=True)
    ]


RULES = {
    "reduce_max": _extreme,
    "reduce_min": _extreme,
    "reduce_prod": _product,
    "cumprod": _running_product,
    "sort": _sort,
}
