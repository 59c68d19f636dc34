"""The target's conditional along a line through a draw: the draw's place on it, and its quantiles.

`lines` holds what is known of a set of lines, `quadrature` computes it, `nodes` says where the
density is evaluated, `curves` interpolates between those nodes, and `error_bounds` says how wrong
the interpolation may be.
"""
