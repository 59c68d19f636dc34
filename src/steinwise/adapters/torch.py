"""PyTorch: the score of a log density by autograd, on the host."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from steinwise._internal.escaping import clause_of
from steinwise._internal.optional import require
from steinwise._internal.options import known_options
from steinwise._internal.warn import warn_user
from steinwise.adapters.common import host_target
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, TargetError
from steinwise.target import AbstractTarget


@known_options
def from_torch(
    draws: Any,
    log_prob: Callable[[Any], Any],
    *,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
) -> tuple[Samples, AbstractTarget]:
    """Draws and density in PyTorch, both on the unconstrained space.

    Parameters
    ----------
    draws
        A tensor (n, d) of independent draws, or (chain, draw, d).
    log_prob
        The log density of one draw (d,) as a scalar, or of a batch (n, d) as (n,). It is called
        with tensors of the dtype and on the device of the draws: float64 gives scores with more
        digits. It transforms bounded parameters itself, Jacobian included.
    names, independent
        As in `sw.check`.

    Examples
    --------
    >>> import steinwise as sw
    >>> import torch
    >>> generator = torch.Generator().manual_seed(0)
    >>> draws = torch.randn(500, 2, generator=generator, dtype=torch.float64)
    >>> samples, target = sw.from_torch(draws, lambda x: -(x**2).sum() / 2)
    >>> sw.check(samples, target).rejected
    False
    """
    torch = require("torch", "torch", "from_torch")
    tensor = torch.as_tensor(draws).detach()
    samples = Samples.of(tensor.cpu().numpy(), names=names, independent=independent)
    if not callable(log_prob):
        raise InputError(f"log_prob is of type {type(log_prob).__name__}: expected a function.")
    values_and_scores = _differentiable(torch, log_prob, tensor.reshape(-1, samples.dim))

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = torch.tensor(x, dtype=tensor.dtype, device=tensor.device)  # a copy
        values, scores = (result.detach().cpu().numpy() for result in values_and_scores(at))
        return values.astype(np.float64), scores.astype(np.float64)

    return samples, host_target(evaluate)


def _differentiable(torch: Any, log_prob: Callable, rows: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Log densities and scores of a batch, by the first of three ways that works on a few rows."""

    def summed(x: Any) -> tuple[Any, Any]:
        x = x.detach().requires_grad_(True)
        with torch.enable_grad():
            values = log_prob(x.clone())  # which log_prob may write into
            (scores,) = torch.autograd.grad(values.sum(), x)
        return values, scores

    vectorised = torch.func.vmap(torch.func.grad_and_value(lambda x: log_prob(x.clone())))

    def mapped(x: Any) -> tuple[Any, Any]:
        scores, values = vectorised(x)
        return values, scores

    def looped(x: Any) -> tuple[Any, Any]:
        each = [summed(row) for row in x]
        return torch.stack([v for v, _ in each]), torch.stack([s for _, s in each])

    d = rows.shape[1]
    few = rows[: d + 1] if len(rows) > d else rows[:1].expand(d + 1, d).clone()
    if _takes_batches(torch, log_prob, few):
        return summed
    try:
        value = log_prob(few[0].clone())
    except Exception as error:
        raise TargetError(
            f"log_prob failed on one draw of shape ({d},) and dtype {rows.dtype}: "
            f"{type(error).__name__}: {clause_of(error)}. Draws and parameters must "
            "share their dtype."
        ) from error
    if getattr(value, "shape", None) != ():
        raise TargetError(
            f"log_prob returned shape {tuple(getattr(value, 'shape', ()))} for one draw of shape "
            f"({d},): expected a scalar, or shape (n,) for a batch (n, {d}). Sum over the "
            "coordinates."
        )
    try:
        mapped(few)
    except RuntimeError as error:
        first = str(error).strip().splitlines()[0]
        warn_user(
            f"log_prob cannot be vectorised and is called draw by draw, which is slow: {first} "
            "Likely causes: .item(), or a branch on a value (use torch.where). A log_prob of a "
            "batch, (n, d) to (n,), needs no vectorising."
        )
        return looped
    return mapped


def _takes_batches(torch: Any, log_prob: Callable, rows: Any) -> bool:
    """Whether log_prob maps (n, d) to (n,), row by row; the n of the trial must not be d."""
    try:
        values, first = log_prob(rows.clone()), log_prob(rows[:1].clone())
    except Exception:  # a function of one draw may refuse a batch
        return False
    shapes = getattr(values, "shape", None), getattr(first, "shape", None)
    if shapes != ((len(rows),), (1,)):
        return False
    return bool(torch.allclose(values[:1], first, rtol=1e-4, atol=1e-6))
