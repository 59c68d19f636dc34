"""Estimated parameters: numbers with errors, in the form the user has them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from steinwise._internal.optional import require
from steinwise._internal.random import plain_seed
from steinwise._internal.validation import require_share
from steinwise.errors import InputError
from steinwise.results import text, wording
from steinwise.results.record import SCHEMA_VERSION
from steinwise.results.shown import Shown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class ParameterFit(Shown):
    """The answer of `sw.fit_parameters`.

    `covariance` is None where there is none: parameters that are not identified, an equation that
    was not solved, or draws too few for an error; `notes` says which.
    """

    vector: Float[np.ndarray, " p"]
    covariance: Float[np.ndarray, "p p"] | None
    names: tuple[str, ...]
    discrepancy: float  # squared, at the estimate; an unbiased estimate can be negative near 0
    converged: bool
    identified: bool
    description: str
    n_batches: int  # behind the covariance
    notes: tuple[str, ...]
    seed: Any
    version: str
    tree: Callable[[np.ndarray], Any] = field(repr=False)

    @property
    def theta(self) -> Any:
        """The estimate, in the form of `theta0`."""
        return self.tree(self.vector)

    @property
    def standard_errors(self) -> Any:
        """Of every parameter, in the form of `theta0`; None where there are none."""
        return None if self.covariance is None else self.tree(self._errors())

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Lower and upper ends, in the form of `theta0`, each with this coverage by itself."""
        low, high = self._ends(level)
        return self.tree(low), self.tree(high)

    def _errors(self) -> Float[np.ndarray, " p"]:
        assert self.covariance is not None
        return np.sqrt(np.diagonal(self.covariance))

    def _ends(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        from scipy import stats

        require_share("level", level)
        if self.covariance is None:
            raise InputError(f"there are no standard errors: {' '.join(self.notes)}")
        reach = stats.t.isf((1 - level) / 2, self.n_batches - 1) * self._errors()
        return self.vector - reach, self.vector + reach

    def to_dict(self) -> dict[str, Any]:
        """The fit as plain Python objects."""
        known = self.covariance is not None
        return {
            "schema_version": SCHEMA_VERSION,
            "description": self.description,
            "parameters": dict(zip(self.names, self.vector.tolist(), strict=True)),
            "standard_errors": dict(zip(self.names, self._errors().tolist(), strict=True))
            if known
            else None,
            "covariance": None if self.covariance is None else self.covariance.tolist(),
            "discrepancy": float(self.discrepancy),
            "converged": self.converged,
            "identified": self.identified,
            "n_batches": self.n_batches,
            "notes": list(self.notes),
            "seed": plain_seed(self.seed),
            "version": self.version,
        }

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per parameter, indexed by its name. Needs pandas."""
        pandas = require("pandas", "io", "to_dataframe")
        missing = np.full(len(self.names), np.nan)
        errors = missing if self.covariance is None else self._errors()
        table = {"estimate": self.vector, "standard_error": errors}
        return pandas.DataFrame(table, index=pandas.Index(self.names, name="name"))

    def __str__(self) -> str:
        closing = wording.fit_closing(self.converged, self.discrepancy)
        return text.fit(self.description, list(self._rows()), self.notes, closing)

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        if self.covariance is None:
            for name, estimate in zip(self.names, self.vector, strict=True):
                yield name, f"{estimate:.5g}", "-", "-"
            return
        low, high = self._ends(0.95)
        columns = zip(self.names, self.vector, self._errors(), low, high, strict=True)
        for name, estimate, error, lower, upper in columns:
            yield name, f"{estimate:.5g}", f"{error:.2g}", f"{lower:.4g} to {upper:.4g}"
