"""The level of a check with scores from minibatches."""

import steinwise as sw
from tests.methods.complete_conditionals.test_noisy_scores import Posterior


def test_right_draws_are_rejected_at_the_level() -> None:
    """Catches terms that are not linear in the score, whose mean the noise would shift.

    More than 20 of 200 rejections have probability 0.001 at level 0.05.
    """
    rejected = 0
    for seed in range(200):
        posterior = Posterior.of(100 + seed)
        target = sw.Target.from_score(posterior.fresh, noisy=True)
        options = {"method": "scores", "n_bootstrap": 199, "independent": True}
        rejected += sw.check(posterior.draws(200), target, **options).rejected
    assert rejected <= 20
