"""Draws: their shape and names, where they are stored, and how they depend on each other."""
