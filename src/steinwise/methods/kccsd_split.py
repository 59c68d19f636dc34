"""How KCC-SD splits the draws: a part to learn from, a part to validate on, a part to test."""

import itertools

import numpy as np
from jaxtyping import Int

from steinwise._internal.random import stream
from steinwise._internal.validation import as_numbers
from steinwise.calibration.batch_plan import MIN_BATCHES
from steinwise.conditionals import AbstractConditional, AbstractFittedConditional, TrainingData
from steinwise.conditionals.marginal_density import marginal_losses
from steinwise.draws.samples import Samples, part_sizes
from steinwise.errors import InputError, TooFewDraws
from steinwise.results.learning import LearnedConditional, Learning

LEAST_SHARE = 0.001  # smaller ones would ask for more draws than anyone has


def check_split(split: object) -> None:
    """Three positive shares that sum to 1."""
    shares = as_numbers(split) if isinstance(split, (tuple, list)) else None
    three = shares is not None and shares.shape == (3,) and (shares >= LEAST_SHARE).all()
    if shares is None or not three or not abs(shares.sum() - 1) <= 1e-6:  # NaN is never below
        raise InputError(
            f"split is {split!r}: expected three positive shares that sum to 1, each at least "
            f"{LEAST_SHARE}, to learn from, to validate on and to test, such as (0.2, 0.1, 0.7)."
        )


def order_of_split(
    samples: Samples, split: tuple[float, float, float], seed: object, number: int, splits: int
) -> Int[np.ndarray, " draw"]:
    """The draws of a chain in the order train, validation, test.

    Independent draws are shuffled. Chains are not: what is learned from is one stretch of every
    chain, for split k of K the k-th of K evenly spaced ones.
    """
    if samples.independent:
        return stream(seed, "split", number).permutation(samples.n_draws)
    held_out = round((split[0] + split[1]) * samples.n_draws)
    start = round(number / splits * (samples.n_draws - held_out))
    every = np.arange(samples.n_draws)
    stretch = slice(start, start + held_out)
    return np.concatenate([every[stretch], every[:start], every[start + held_out :]])


def require_enough(
    conditional: AbstractConditional,
    split: tuple[float, float, float],
    samples: Samples,
    parts: tuple[Samples, Samples, Samples],
) -> None:
    """Enough draws to learn from, to validate on and to test."""
    least = conditional.least_train, conditional.least_validation, MIN_BATCHES
    if all(part.n >= count for part, count in zip(parts, least, strict=True)):
        return
    needed = next(
        samples.n_chains * n
        for n in itertools.count(samples.n_draws)
        if (samples.n_chains * np.array(part_sizes(split, n)) >= least).all()
    )
    counts = " / ".join(str(part.n) for part in parts)
    raise TooFewDraws(
        f"{samples.n} draws split into {counts} to learn from, to validate on and to test: "
        f"{conditional.describe()} needs at least {least[0]} / {least[1]} / {least[2]}, "
        f"which is {needed} draws in all with split={split}."
    )


def what_was_learned(
    fitted: AbstractFittedConditional,
    data: TrainingData,
    labels: tuple[str, ...],
    tested: int,
    splits: int,
) -> Learning:
    """The models of what is tested, and how well they predict next to the marginals."""
    log_density = fitted.log_density(data.validation)
    marginal = marginal_losses(data)
    losses = [None] * len(data.labels) if log_density is None else -log_density.mean(axis=0)
    models = fitted.chosen(len(data.labels))
    rows, wanted = zip(data.labels, models, losses, marginal, strict=True), set(labels)
    return Learning(
        train=len(data.train),
        validation=len(data.validation),
        tested=tested,
        splits=splits,
        rows=tuple(
            LearnedConditional(name, model, None if loss is None else float(loss), float(alone))
            for name, model, loss, alone in rows
            if name in wanted
        ),
    )
