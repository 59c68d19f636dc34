"""Measurements of size, power, speed and memory; each module runs with ``python -m``."""
