"""Minimising a discrepancy: over parameters, over subsets of the draws, over new points."""
