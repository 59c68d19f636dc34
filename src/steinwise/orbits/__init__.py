"""The target along a line through a draw: where the draw stands on it, and its quantiles."""
