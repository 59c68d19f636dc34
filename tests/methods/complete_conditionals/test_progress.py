"""Bars that say in words what is done, and move before half of the work is over."""

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.methods.complete_conditionals import statistic
from steinwise.methods.complete_conditionals.slab_pass import MORE_SLAB_LINES, SlabPass, slab_rows


def test_bars_say_what_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    """Catches the name of a class where a sentence belongs."""
    draws = np.random.default_rng(0).normal(size=(200, 2))
    sw.check(draws, lambda x: -jnp.sum(x**2) / 2, progress=True, n_bootstrap=99)
    shown = capsys.readouterr().err
    stages = (
        "compiling the density ...",
        "looking for modes of the density ...",
        "compiling what follows the density along lines ...",
        "following the density along lines",
        "estimating the errors of means and sds ...",
    )
    at = [shown.index(stage) for stage in stages]
    assert at == sorted(at)  # a first check compiles for seconds: these too must not be silent
    sw.check(draws, lambda x: -jnp.sum(x**2) / 2, n_bootstrap=99)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("n", "d"), [(2000, 30), (20_000, 10), (1000, 200)])
def test_a_slab_is_a_small_part_of_long_work(n: int, d: int) -> None:
    """Catches a first slab that is half of the work, before which nothing can be estimated."""
    rows = slab_rows(n, d, d, 2**30)
    assert rows * d <= max(MORE_SLAB_LINES, n * d / 20 + d)
    assert rows <= n / 3


def test_a_bar_moves_every_few_seconds_of_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches few lines of a slow density in one slab, whose bar stands still until the end."""
    draws, target = np.random.default_rng(0).normal(size=(500, 2)), sw.Gaussian([0, 0], np.eye(2))
    whole, slabs = SlabPass.__call__, []

    def counted(self: SlabPass, start: int, x: np.ndarray, *args, **options):
        slabs.append(len(x))
        return whole(self, start, x, *args, **options)

    monkeypatch.setattr(SlabPass, "__call__", counted)
    quiet = sw.check(draws, target, n_bootstrap=99)
    assert slabs == [500]
    slabs.clear()
    monkeypatch.setattr(statistic, "seconds_ahead", lambda *_: 100.0)
    shown = sw.check(draws, target, n_bootstrap=99, progress=True)
    assert sum(slabs) == 500
    assert len(slabs) >= 25
    assert max(slabs) <= 20  # fewer where slabs end with batches
    assert shown.pvalue == quiet.pvalue
    assert shown.statistic == pytest.approx(quiet.statistic, rel=1e-12)
