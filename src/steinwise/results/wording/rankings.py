"""Comparisons and fits."""

COMPARISON_VERDICTS = {
    "best": "best",
    "worse": "worse than the best",
    "not told apart": "not told apart from the best",
    "too few draws": "too few independent draws to tell",
}

EVIDENCE_MEANING = (
    "The p-value, and how many coordinates are flagged, are those of a quick check of each set; "
    "the mean error and the sd ratio are the largest of all coordinates. The order is that of the "
    "value, a distance from the density, in which one wrong coordinate among many counts for "
    "little."
)


def comparison_verdict(standing: str, misfit: bool) -> str:
    """How something compares with the best; whether that one fits is another question.

    >>> comparison_verdict("best", misfit=False), comparison_verdict("best", misfit=True)
    ('best', 'best of these, but does not fit')
    """
    if standing == "best" and misfit:
        return "best of these, but does not fit"
    return COMPARISON_VERDICTS[standing]


def comparison_closing(alpha: float) -> str:
    return f"Verdicts hold together at level {alpha}, whichever turned out best."


def fit_closing(converged: bool, discrepancy: float) -> str:
    state = "Converged" if converged else "NOT CONVERGED"
    return f"{state}; the squared discrepancy there is {discrepancy:.4g}."
