"""Which types of numbers draws may have."""

import numpy as np

from steinwise.errors import InputError

# why integers are refused, in arrays as in tables
DISCRETE = (
    "Draws are floats, also where they are whole numbers: draws.astype(float), or 1.0 instead of 1 "
    "in a text file. Say which parameters are discrete in the target, as in "
    "support=sw.support.integers(0, 1)."
)


def require_float(dtype: np.dtype, subject: str = "draws have") -> None:
    """Refuse all types but float32 and float64."""
    if dtype.kind in "iub":
        raise InputError(f"{subject} dtype {dtype}: expected floats. {DISCRETE}")
    if dtype.kind != "f" or dtype.itemsize > 8:
        raise InputError(
            f"{subject} dtype {dtype}: expected float32 or float64. Convert them yourself: a "
            "conversion here could lose digits unnoticed."
        )
