r"""FSSD: the finite set Stein discrepancy, linear in the number of draws.

Stein's operator is applied to a kernel whose other argument rests at locations v_1..v_J,

.. math::
    \tau_{jl}(x) = \frac{b_j(x) k(x, v_l) + \partial_{x_j} k(x, v_l)}{\sqrt{dJ}}, \qquad
    \mathrm{FSSD}^2 = |E \tau(x)|^2 = E \langle \tau(x), \tau(x') \rangle,

which is 0 when the draws come from p. The locations and the width of the kernel may be chosen on a
held-out part of the draws, so that the test has the largest power (FSSD-opt).

Jitkrittum, Xu, Szabo, Fukumizu and Gretton, "A linear-time kernel goodness-of-fit test", 2017.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from steinwise._internal.compiled import call_in_chunks, rows_of
from steinwise._internal.memory import even_size
from steinwise._internal.notes import Note
from steinwise._internal.random import stream
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import (
    as_points,
    is_whole,
    require_choice,
    require_flag,
    require_share,
)
from steinwise.calibration.batches import Batches
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, TooFewDraws
from steinwise.functional import fssd_features
from steinwise.kernels import RBF, AbstractKernel, AbstractRadial
from steinwise.kernels.base import require_kernel
from steinwise.kernels.precision import cast_centred
from steinwise.methods.bandwidth_notes import bandwidth_notes
from steinwise.methods.base import AbstractFitted, AbstractMethod, Evidence, scores_of
from steinwise.methods.chi_square_null import chi_square_calibration
from steinwise.methods.fssd_search import draws_of_fitted_gaussian, most_powerful
from steinwise.methods.statistics import AbstractStatistic, FeatureProduct
from steinwise.target import AbstractTarget

NULLS = ("covariance", "signs")
MOST_LOCATIONS = 10_000  # the covariance of their features is held whole
MOST_TRAINING_ROWS = 5000  # more change the optimum little
ROWS_PER_CHUNK = 4096
COPIES = 8  # of its features that a chunk of rows may take in memory


def _locations(value: Any) -> int | np.ndarray:
    if is_whole(value) and 0 < value <= MOST_LOCATIONS:
        return int(value)
    expected = "how many there are, such as 5, or an array (J, d) with one location per row"
    return as_points("locations", value, expected)


class FSSD(AbstractMethod):
    """The squared finite set Stein discrepancy, with learned or given locations.

    Parameters
    ----------
    kernel
        A kernel on R^d; RBF with the median heuristic by default. With `optimise` a radial one,
        around whose bandwidth the search for the width starts.
    locations
        How many there are, or an array (J, d). With `optimise` the search starts there; a number
        means that many draws from a Gaussian fitted to the held-out draws.
    optimise
        Whether locations and width maximise the power criterion on held-out draws. Without it the
        locations stay where they are, and nothing is held out if they are given.
    train
        The share of every chain, at its start, that is held out and not tested.
    null
        "covariance": for correct draws n FSSD^2 is distributed as sum_k lambda_k (Z_k^2 - 1),
        with lambda the eigenvalues of the features' covariance (in a chain, of the covariance of
        their batch sums). "signs" for signs per batch, which give every coordinate a p-value too.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 1.0, 1.5]
    >>> target = sw.Gaussian(np.zeros(3), np.eye(3))
    >>> sw.check(draws, target, method=sw.methods.FSSD()).rejected
    True
    >>> result = sw.check(draws, target, method=sw.methods.FSSD(null="signs"))
    >>> [c.name for c in result.coordinates if c.verdict == "misfit"]
    ['x[2]']
    """

    kernel: AbstractKernel = RBF("median")
    locations: int | np.ndarray = eqx.field(converter=_locations, default=5)
    optimise: bool = True
    train: float = 0.2
    null: Literal["covariance", "signs"] = "covariance"

    name: ClassVar[str] = "fssd"

    def __check_init__(self) -> None:
        require_kernel(self.kernel)
        require_flag("optimise", self.optimise)
        if self.optimise and not isinstance(self.kernel, AbstractRadial):
            raise InputError(
                f"the kernel is a {type(self.kernel).__name__}, and only the width of a radial one "
                "can be optimised: pass sw.kernels.RBF or IMQ; or locations, with optimise=False "
                "in sw.methods.FSSD."
            )
        require_share("train", self.train)
        require_choice("null", self.null, NULLS)

    def describe(self) -> str:
        count = self.locations if isinstance(self.locations, int) else len(self.locations)
        kind = "FSSD-opt" if self.optimise else "FSSD"
        return f"{kind} ({type(self.kernel).__name__} kernel, {count} locations, {self.null} null)"

    @property
    def elsewhere(self) -> str:
        return ""

    def prepare(
        self, samples: Samples, target: AbstractTarget, run: RunOptions
    ) -> "Iterator[FittedFSSD]":
        """Locations and width learned from the first draws, and the other draws."""
        if not self.optimise and not isinstance(self.locations, int):
            _require_columns(self.locations, samples.dim)
            kernel = self.kernel.resolve(samples.rows, run.seed, per_coordinate=False)
            yield FittedFSSD(self, samples, kernel, self.locations)
            return
        training, tested = samples.split(self.train, 1 - self.train)
        if min(training.n, tested.n) < 2:
            raise TooFewDraws(
                f"train={self.train} of {samples.n} draws leaves {training.n} to learn from and "
                f"{tested.n} to test: at least 2 of each are needed. Pass more draws, or an array "
                "of locations with optimise=False, which holds out none."
            )
        x = training.rows
        kernel = self.kernel.resolve(x, run.seed, per_coordinate=False)
        if isinstance(self.locations, int):
            locations = draws_of_fitted_gaussian(x, self.locations, run.seed)
        else:
            locations = self.locations
            _require_columns(locations, samples.dim)
        if self.optimise:
            assert isinstance(kernel, AbstractRadial)
            index = np.arange(0, training.n, -(-training.n // MOST_TRAINING_ROWS))
            score = scores_of(training, target, run, index)
            kernel, locations = most_powerful(kernel, locations, x[index], score)
        yield FittedFSSD(self, tested, kernel, locations)


def _require_columns(locations: Float[np.ndarray, "j d"], d: int) -> None:
    if locations.shape[1] != d:
        raise InputError(
            f"locations have shape {locations.shape}: expected (J, {d}), as the draws have {d} "
            "coordinates."
        )


@dataclass(frozen=True, eq=False)
class FittedFSSD(AbstractFitted[FSSD]):
    """FSSD with its locations and the width of its kernel, and the draws that it tests."""

    kernel: AbstractKernel
    locations: Float[np.ndarray, "j d"]

    @property
    def labels(self) -> tuple[str, ...]:
        return self.samples.names if self.method.null == "signs" else ()

    def notes(self) -> tuple[Note, ...]:
        return bandwidth_notes(self.kernel, self.samples.rows)

    def statistic(self, target: AbstractTarget, run: RunOptions) -> FeatureProduct:
        n, rows_of_draws = self.samples.n, self.samples.rows
        score = self.scores(target, run).astype(run.dtype)
        v, x = cast_centred(self.kernel, run.dtype, self.locations, rows_of_draws)
        most = int(np.clip(run.memory // (8 * COPIES * v.size), 1, ROWS_PER_CHUNK))
        size = even_size(n, most)
        shape = (1, *v.T.shape) if self.method.null == "signs" else (1, 1, v.size)

        def features(part: slice) -> tuple[np.ndarray, np.ndarray]:
            rows = rows_of(x[part], score[part])
            count = part.stop - part.start
            tau = call_in_chunks(lambda x, b: _features(self.kernel, x, b, v), rows, count, size)
            tau = tau.reshape(-1, *shape)
            return tau, tau

        return FeatureProduct(n, features, size)

    def test(
        self, statistic: AbstractStatistic, batches: Batches, n_bootstrap: int, seed: object
    ) -> Evidence:
        if self.method.null == "signs":
            return super().test(statistic, batches, n_bootstrap, seed)
        assert isinstance(statistic, FeatureProduct)
        width, rng = np.size(self.locations), stream(seed, "finite set null")
        calibration = chi_square_calibration(statistic, batches, width, n_bootstrap, rng)
        return Evidence(calibration, batches)


_features = jax.jit(fssd_features)
