"""From exact draws, and draws that a sampler made of them, to a verdict."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.random import stream
from steinwise.results.invariance import InvarianceResult
from steinwise.testing.effects import change_of, not_finite, without_shapes
from steinwise.testing.exact_target import ExactTarget
from steinwise.testing.rank_test import GROWTH, grouped, look_again, uniform_ranks, uniformity
from steinwise.testing.ranked_functions import SCORE_KINDS, RankedFunction, RankedFunctions

MIN_CHAINS = 10
CLEARER = 1e-3  # of p-values: a factor that is more than chance between two views of one error
ULPS = 32  # relative errors that a step may add to a function without changing it
NAMED = 1e-3  # the adjusted p-value up to which a function is named, once there is an alarm


class Points(NamedTuple):
    """Per chain, exact draws and draws that steps have moved; one of the two is a single draw.

    That one is ranked among the others.
    """

    moved: Float[np.ndarray, "n k d"]
    exact: Float[np.ndarray, "n m d"]


def judge(
    run: Callable[[int, int], Points],
    functions: RankedFunctions,
    *,
    target: ExactTarget,
    false_alarm: float,
    chains: int,
    steps: int,
    both_ways: bool,
    seed: Any,
    subject: str = "steps",
    precision: float = 0.0,
) -> InvarianceResult:
    """Rank, look again where it is suspicious, and say what has changed.

    `run(stage, block)` makes the points of `chains` new chains, with steps that round in this
    relative precision.
    """
    rounding = functions.rounding(precision) * ULPS * (1 + steps)
    looked_at: list[tuple[Points, Points]] = []  # of every stage: the points, and their values
    blocks_used = 0

    def pvalues_of_stage(stage: int) -> Float[np.ndarray, " f"]:
        nonlocal blocks_used
        blocks = [run(stage, block) for block in range(1 if stage == 0 else GROWTH)]
        blocks_used += len(blocks)
        points = Points(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))
        if not np.isfinite(points.moved).all():
            looked_at.append((points, points))
            return np.zeros(1)  # no invariant step does that, at any level
        together = functions(np.concatenate(points, axis=1))
        values = Points(*np.split(together, [points.moved.shape[1]], axis=1))
        looked_at.append((points, values))
        return uniformity(_ranks(values, rounding, stream(seed, "ranks", stage)))

    verdict = look_again(pvalues_of_stage, false_alarm)
    points, values = looked_at[-1]
    changes = not_finite(target.names, points.moved)
    if verdict.alarm and not changes:
        changes = without_shapes(
            change_of(functions.listed[f], values.moved[..., f], values.exact[..., f], p)
            for f, p in _named(functions.listed, verdict.pvalues)
        )
    return InvarianceResult(
        subject=subject,
        target=target.name,
        passed=not verdict.alarm,
        pvalue=float(verdict.pvalues.min()),
        false_alarm=float(false_alarm),
        changes=changes,
        functions=tuple(str(function) for function in functions.listed),
        steps=int(steps),
        chains=int(chains * blocks_used),
        stages=verdict.stages,
        both_ways=both_ways,
        seed=seed,
    )


def _named(
    listed: Sequence[RankedFunction], pvalues: Float[np.ndarray, " f"]
) -> Iterator[tuple[int, float]]:
    """What stands out, the clearest first.

    A score is left out where the coordinate itself stands out nearly as much, and says it better.
    """
    least = max(NAMED, pvalues.min())
    plain: dict[str, float] = {}
    for function, p in zip(listed, pvalues, strict=True):
        if function.kind in ("value", "square") and p <= least:
            plain[function.name] = min(p, plain.get(function.name, 1.0))
    for f in np.argsort(pvalues, kind="stable"):
        needed = listed[f].kind not in SCORE_KINDS or (
            pvalues[f] < CLEARER * plain.get(listed[f].name, np.inf)
        )
        if pvalues[f] <= least and needed:
            yield int(f), float(pvalues[f])


def _ranks(
    values: Points, rounding: Float[np.ndarray, " f"], rng: np.random.Generator
) -> Float[np.ndarray, "n f"]:
    one, others = values if values.moved.shape[1] == 1 else values[::-1]
    together = np.concatenate([one, others], axis=1)
    columns = []
    for f, room in enumerate(rounding):
        groups = grouped(together[:, :, f], room)
        columns.append(uniform_ranks(groups[:, 0], groups[:, 1:], rng))
    return np.stack(columns, axis=1)
