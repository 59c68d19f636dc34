"""Whether the steps of a sampler leave a distribution as it is."""

from steinwise._internal.escaping import printable
from steinwise.results.wording.phrases import counted, two_digits
from steinwise.results.wording.verdicts import adjusted, pvalue


def invariance_head(subject: str, target: str, passed: bool, p: float, false_alarm: float) -> str:
    """The verdict on steps from exact draws, or on posterior draws given simulated data.

    >>> invariance_head("steps", "funnel", False, 3.2e-7, 1e-5)
    'the steps change the distribution of funnel: p = 3e-07 (false alarm rate 1e-05)'
    """
    change = {
        "steps": ("change", "were not found to change"),
        "posterior draws": ("do not have", "were not found to differ from"),
    }[subject][passed]
    return (
        f"the {subject} {change} the distribution of {printable(target)}: p = {pvalue(p)} "
        f"(false alarm rate {false_alarm:g})"
    )


def invariance_effort(subject: str, steps: int, chains: int) -> str:
    """How many steps, or draws, the verdict is from.

    >>> invariance_effort("steps", 10, 1000)
    ', after 10000 steps in 1000 chains'
    """
    if subject == "steps":
        return f", after {counted(steps * chains, 'step')} in {counted(chains, 'chain')}"
    return f", with {counted(steps, 'draw')} for each of {chains} data sets"


def invariance_change(name: str, kind: str, shift: float, ratio: float, p: float) -> str:
    """What the steps do to one function of a draw.

    >>> invariance_change("mu", "spread", 0.3, 1.2, 1e-7)
    'mu: spread, becomes too wide (1.2 times the spread of the target), adjusted p = 1e-07'
    """
    way = "large" if shift > 0 else "small"
    amount = f"by {two_digits(abs(shift))} sd"
    along = "the slope of the log density along it"
    said = {
        "shift": f"shift, becomes too {way} {amount}",
        "spread": f"spread, becomes too {'wide' if ratio > 1 else 'narrow'} "
        f"({ratio:.3g} times the spread of the target)",
        "shape": "shape, mean and spread are about right, its distribution is not",
        "dependence": f"dependence, their product becomes too {way} {amount}",
        "score": f"{along} becomes too {way} {amount}",
        "squared score": f"{along}, squared, becomes too {way} {amount}",
        "value times score": f"{along}, times its value, becomes too {way} {amount}",
        "log density": f"draws move to places where it is too {way} {amount}",
        "function": f"becomes too {way} {amount}",
        "not finite": "steps lead to NaN or infinite values",
    }[kind]
    return f"{printable(name)}: {said}, {adjusted(p)}"
