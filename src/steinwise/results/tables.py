"""A result as a table of its coordinates: a pandas DataFrame, or an xarray Dataset."""

from typing import Any

import numpy as np

from steinwise._internal.optional import require
from steinwise.results.misfit import Effect, Marginal
from steinwise.results.record import CheckRecord

DIMENSION = "coordinate"
ESTIMATED = Marginal._fields[2:]  # mean and sd of the draws are those of az.summary
TEXTS = ("verdict", "kind", "partners", "model")  # columns of text, the others are numbers
ATTRIBUTES = (
    "schema_version",
    "version",
    "method",
    "description",
    "seed",
    "statistic",
    "pvalue",
    "alpha",
    "n_bootstrap",
    "dtype",
)


def columns(record: CheckRecord) -> dict[str, np.ndarray]:
    """What is known of each coordinate: numbers, NaN where there is none, and text."""
    effects = [c.effect or Effect(np.nan, np.nan) for c in record.coordinates]
    marginals = [c.marginal or Marginal(*(np.nan,) * 8) for c in record.coordinates]
    table: dict[str, list[Any]] = {
        "value": [c.value for c in record.coordinates],
        "pvalue": [c.pvalue for c in record.coordinates],
        "adjusted_pvalue": [c.adjusted_pvalue for c in record.coordinates],
        **{name: [getattr(one, name) for one in marginals] for name in ESTIMATED},
        **{name: [getattr(one, name) for one in effects] for name in Effect._fields},
        "verdict": [c.verdict for c in record.coordinates],
        "kind": [c.kind for c in record.coordinates],
        "partners": [", ".join(c.partners) for c in record.coordinates],
    }
    if record.learned:
        learned = {row.name: row for row in record.learned}
        rows = [learned[c.name] for c in record.coordinates]
        table |= {
            "model": [row.model for row in rows],
            "validation_loss": [row.validation_loss for row in rows],
            "marginal_loss": [row.marginal_loss for row in rows],
        }
    return {
        name: np.array(column, dtype=object if name in TEXTS else float)
        for name, column in table.items()
    }


def dataframe(record: CheckRecord) -> Any:
    """One row per coordinate, indexed by its name, the worst first."""
    pandas = require("pandas", "io", "to_dataframe")
    names = pandas.Index([c.name for c in record.coordinates], name="name")
    return pandas.DataFrame(columns(record), index=names)


def dataset(record: CheckRecord) -> Any:
    """One variable per column, along the coordinates; the rest as attributes."""
    xarray = require("xarray", "io", "to_dataset")
    plain = record.to_dict()
    attributes = {name: plain[name] for name in ATTRIBUTES}
    # a file has neither booleans nor lists of text
    attributes |= {"rejected": int(record.rejected), "notes": "\n".join(record.notes)}
    variables = {name: (DIMENSION, column) for name, column in columns(record).items()}
    names = np.array([c.name for c in record.coordinates], dtype=object)
    return xarray.Dataset(variables, {DIMENSION: names}, attributes)
