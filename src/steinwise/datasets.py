"""A result as an xarray Dataset, to stand beside the draws in the user's own file."""

from typing import TYPE_CHECKING, Any

import numpy as np

from steinwise.optional import require

if TYPE_CHECKING:
    from steinwise.results import CheckResult

DIMENSION = "coordinate"
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


def dataset_of(result: "CheckResult") -> Any:
    """One variable per column of `to_dataframe`, along the coordinates; the rest as attributes."""
    xarray = require("xarray", "io", "to_dataset")
    plain = result.to_dict()
    attributes = {name: plain[name] for name in ATTRIBUTES}
    # a file has neither booleans nor lists of text
    attributes |= {"rejected": int(result.rejected), "notes": "\n".join(result.notes)}
    effects = [c.effect or (np.nan, np.nan) for c in result.coordinates]
    columns = {
        "value": [c.value for c in result.coordinates],
        "pvalue": [c.pvalue for c in result.coordinates],
        "adjusted_pvalue": [c.adjusted_pvalue for c in result.coordinates],
        "shift": [effect[0] for effect in effects],
        "spread": [effect[1] for effect in effects],
    }
    words = {
        "verdict": [c.verdict for c in result.coordinates],
        "kind": [c.kind for c in result.coordinates],
        "partners": [", ".join(c.partners) for c in result.coordinates],
    }
    if result.learnt:
        columns |= {
            "validation_loss": [row.validation_loss for row in result.learnt],
            "marginal_loss": [row.marginal_loss for row in result.learnt],
        }
        words |= {"model": [row.model for row in result.learnt]}
    variables = {name: (DIMENSION, np.array(column, float)) for name, column in columns.items()}
    variables |= {name: (DIMENSION, np.array(c, dtype=object)) for name, c in words.items()}
    names = np.array([c.name for c in result.coordinates], dtype=object)
    return xarray.Dataset(variables, {DIMENSION: names}, attributes)
