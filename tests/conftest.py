"""All tests run with the array shapes of steinwise's annotations checked."""

import jaxtyping

import tests.shapes as shapes

jaxtyping.install_import_hook("steinwise", f"{shapes.__name__}.{shapes.check_shapes.__name__}")
