"""Helpers that every package uses and no user sees."""
