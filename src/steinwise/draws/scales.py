"""On which scale coordinates are: that of their parameter, its logarithm, or another one."""

import numpy as np
from jaxtyping import Float

from steinwise.draws.samples import Samples

COMPARED = 20  # draws on both scales
CLOSE = 1e-4  # float32 models among them


def label(name: str, scale: str) -> str:
    """A name as it is printed.

    >>> label("tau", "log"), label("mu", "")
    ('log(tau)', 'mu')
    """
    return f"{scale}({name})" if scale else name


def coordinate_labels(samples: Samples) -> tuple[str, ...]:
    """The names of coordinates as they are printed."""
    scales = coordinate_scales(samples)
    return tuple(label(name, scales.get(name, "")) for name in samples.names)


def coordinate_scales(samples: Samples) -> dict[str, str]:
    """The scale of each coordinate that an adapter took to the real line: "log", "logit" or, where
    it is neither, "unconstrained".

    >>> import numpy as np, steinwise as sw
    >>> from dataclasses import replace
    >>> from steinwise.draws.samples import ConstrainedScale
    >>> samples = sw.Samples.of(np.random.default_rng(0).normal(size=(100, 2)), names=["mu", "tau"])
    >>> scale = ConstrainedScale(("tau",), lambda x: np.exp(x[:, 1:]))
    >>> coordinate_scales(replace(samples, constrained=scale))
    {'tau': 'log'}
    """
    if samples.constrained is None:
        return {}
    x = samples.evenly_spaced(COMPARED)
    values = dict(zip(samples.constrained.names, samples.constrained.values(x).T, strict=True))
    return {
        name: _scale(x[:, j], values[name])
        for j, name in enumerate(samples.names)
        if name in values
    }


def _scale(coordinate: Float[np.ndarray, " m"], parameter: Float[np.ndarray, " m"]) -> str:
    with np.errstate(divide="ignore", invalid="ignore"):
        known = {"log": np.log(parameter), "logit": np.log(parameter / (1 - parameter))}
    for scale, expected in known.items():
        if np.allclose(coordinate, expected, rtol=CLOSE, atol=CLOSE):
            return scale
    return "unconstrained"
