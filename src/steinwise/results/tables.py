"""A result as a table of its coordinates: a pandas DataFrame, or an xarray Dataset."""

from typing import TYPE_CHECKING, Any

import numpy as np

from steinwise._internal.optional import require

if TYPE_CHECKING:
    from steinwise.results.check import CheckResult

DIMENSION = "coordinate"
WORDS = ("verdict", "kind", "partners", "model")  # columns of text, the others are numbers
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


def columns_of(result: "CheckResult") -> dict[str, np.ndarray]:
    """What is known of each coordinate: numbers, NaN where there is none, and text."""
    effects = [c.effect or (np.nan, np.nan) for c in result.coordinates]
    columns: dict[str, list[Any]] = {
        "value": [c.value for c in result.coordinates],
        "pvalue": [c.pvalue for c in result.coordinates],
        "adjusted_pvalue": [c.adjusted_pvalue for c in result.coordinates],
        "shift": [effect[0] for effect in effects],
        "spread": [effect[1] for effect in effects],
        "verdict": [c.verdict for c in result.coordinates],
        "kind": [c.kind for c in result.coordinates],
        "partners": [", ".join(c.partners) for c in result.coordinates],
    }
    if result.learnt:
        columns |= {
            "model": [row.model for row in result.learnt],
            "validation_loss": [row.validation_loss for row in result.learnt],
            "marginal_loss": [row.marginal_loss for row in result.learnt],
        }
    return {
        name: np.array(column, dtype=object if name in WORDS else float)
        for name, column in columns.items()
    }


def dataframe_of(result: "CheckResult") -> Any:
    """One row per coordinate, indexed by its name."""
    pandas = require("pandas", "io", "to_dataframe")
    names = pandas.Index([c.name for c in result.coordinates], name="name")
    return pandas.DataFrame(columns_of(result), index=names)


def dataset_of(result: "CheckResult") -> Any:
    """One variable per column, along the coordinates; the rest as attributes."""
    xarray = require("xarray", "io", "to_dataset")
    plain = result.to_dict()
    attributes = {name: plain[name] for name in ATTRIBUTES}
    # a file has neither booleans nor lists of text
    attributes |= {"rejected": int(result.rejected), "notes": "\n".join(result.notes)}
    variables = {name: (DIMENSION, column) for name, column in columns_of(result).items()}
    names = np.array([c.name for c in result.coordinates], dtype=object)
    return xarray.Dataset(variables, {DIMENSION: names}, attributes)
