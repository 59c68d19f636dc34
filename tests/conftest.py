"""All tests run with the array shapes of steinwise's annotations checked."""

import sys

import jaxtyping

import tests.shapes as shapes

# code with checks in it must not stay behind where `make demo` finds it: runpy would cache it there
sys.dont_write_bytecode = True
jaxtyping.install_import_hook("steinwise", f"{shapes.__name__}.{shapes.check_shapes.__name__}")
