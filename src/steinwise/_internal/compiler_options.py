"""How XLA compiles what every session compiles anew: a user's density, and functions of lines."""

import functools
from collections.abc import Callable
from typing import Any

import jax

# XLA's newer way of writing the loops of fused operations takes twice as long to compile as the one
# before it, and what comes out runs as fast, within a quarter. One part instead of 32, compiled at
# the first level instead of the third, takes another tenth less. CPU seconds to compile, and
# to run 1024 draws, of series along the coordinates of two of `benchmarks.numpyro_models`:
#
#                                  hierarchical logit     Dirichlet mixture
#   XLA's defaults                    2.35  0.025            7.4  0.056
#   without the newer emitters        1.25  0.019            4.2  0.068
#   all three                         1.10  0.018            4.0  0.064
#
# A gradient at every draw is the exception: with the newer loops, 4000 of a logistic regression
# with 5000 data take 0.33 CPU seconds in place of 0.43, and a tenth of a second more to compile.
QUICK_TO_COMPILE = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
    "xla_backend_optimization_level": 1,
}
NEWER_LOOPS = {"xla_cpu_use_fusion_emitters": True}


@functools.cache
def quick_to_compile() -> dict[str, Any]:
    """The `compiler_options` of `jax.jit` for functions that are compiled in most sessions.

    Empty off the CPU, and where this version of XLA does not know them, which only a trial tells:
    they are not among what XLA promises to keep.
    """
    if jax.default_backend() != "cpu":
        return {}
    try:
        jax.jit(lambda x: x, compiler_options=QUICK_TO_COMPILE).lower(0.0).compile()
    except Exception:  # of another type in every version
        return {}
    return QUICK_TO_COMPILE


def quickly_compiled(
    function: Callable, *, newer_loops: bool = False, **arguments: Any
) -> Callable:
    """`jax.jit` with these options; only the first call asks which of them XLA knows.

    `newer_loops` for what runs long enough to make up for compiling them. Not to be called inside
    another compiled function.
    """

    @functools.cache
    def compiled() -> Callable:
        options = quick_to_compile()
        if newer_loops and options:
            options = options | NEWER_LOOPS
        return jax.jit(function, compiler_options=options, **arguments)

    @functools.wraps(function)
    def call(*operands: Any) -> Any:
        return compiled()(*operands)

    return call
