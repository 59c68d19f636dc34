"""Modes of a density: looking for them, maps between them, their masses."""
