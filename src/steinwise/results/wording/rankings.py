"""Comparisons and fits."""

COMPARISON_VERDICTS = {
    "best": "best",
    "worse": "worse than the best",
    "not told apart": "not told apart from the best",
    "too few draws": "too few independent draws to tell",
}

EVIDENCE_MEANING = (
    "The p-value, and how many coordinates are flagged, are those of a quick check of each set; "
    "the mean error and the sd ratio are the largest of all coordinates."
)


def comparison_closing(alpha: float) -> str:
    return f"Verdicts hold together at level {alpha}, whichever turned out best."


def fit_closing(converged: bool, discrepancy: float) -> str:
    state = "Converged" if converged else "NOT CONVERGED"
    return f"{state}; the squared discrepancy there is {discrepancy:.4g}."
