"""Measurements of level, power, time and memory; each command runs with ``python -m``."""

from pathlib import Path

RESULTS = Path(__file__).parent / "results"
"""The folder that every benchmark writes its JSON file to."""
