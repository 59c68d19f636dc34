"""All tests run with the array shapes of steinwise's annotations checked."""

import sys
from pathlib import Path

import hypothesis
import jax
import jaxtyping

import tests.shapes as shapes

# code with checks in it must not stay behind where `make demo` finds it: runpy would cache it there
sys.dont_write_bytecode = True
jaxtyping.install_import_hook("steinwise", f"{shapes.__name__}.{shapes.check_shapes.__name__}")

# the same few cases in every run of `make test-border`; new ones, and many, in `make test-fuzz`
PHASES = (hypothesis.Phase.explicit, hypothesis.Phase.generate)  # shrinking runs a hundred checks
COMMON = {"phases": PHASES, "database": None, "deadline": None}
hypothesis.settings.register_profile("few", max_examples=3, derandomize=True, **COMMON)
hypothesis.settings.register_profile("fuzz", max_examples=100, print_blob=True, **COMMON)
hypothesis.settings.load_profile("few")

# compiling takes half of the time: what one worker or an earlier run has compiled serves them all
jax.config.update("jax_compilation_cache_dir", str(Path(__file__).parents[1] / "out" / "compiled"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
