"""One stream of random numbers for each purpose, from NumPy's Philox.

The numbers depend on the seed and the purpose alone: not on JAX's configuration, not on the
size of the chunks that the draws are cut into, and not on which other streams were used.
"""

import zlib

import numpy as np

from steinwise._internal.validation import is_whole
from steinwise.errors import InputError


def seed_words(seed: object) -> list[int]:
    """The seed as integers: itself, or the words of a JAX key (old or new style)."""
    if is_whole(seed):
        if seed < 0:
            raise InputError(f"seed is {seed}: expected a non-negative integer or a JAX key.")
        return [int(seed)]
    if hasattr(seed, "dtype"):
        import jax

        words = seed
        if jax.dtypes.issubdtype(seed.dtype, jax.dtypes.prng_key):  # type: ignore[attr-defined]
            words = jax.random.key_data(seed)  # type: ignore[arg-type]
        words = np.asarray(words)
        if words.dtype == np.uint32 and words.ndim == 1 and words.size:
            return [int(word) for word in words]
    raise InputError(
        f"seed is {seed!r} of type {type(seed).__name__}: expected a non-negative integer or "
        "one JAX key. A NumPy Generator has a state that changes with use; pass an integer."
    )


def stream(seed: object, purpose: str, *index: int) -> np.random.Generator:
    """The generator for one purpose (and, within it, one index)."""
    entropy = [*seed_words(seed), zlib.crc32(purpose.encode()), *index]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))


def plain_seed(seed: object) -> int | list[int]:
    """The seed in a form that JSON can hold: an integer, or the words of a JAX key."""
    words = seed_words(seed)
    return words[0] if len(words) == 1 else words
