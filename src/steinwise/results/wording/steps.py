"""Whether the steps of a sampler leave a distribution as it is."""

from steinwise._internal.counting import counted
from steinwise._internal.escaping import printable
from steinwise.results.wording.phrases import two_digits
from steinwise.results.wording.verdicts import adjusted, p_is, pvalue


def invariance_head(
    subject: str,
    target: str,
    passed: bool,
    p: float | None,
    false_alarm: float,
    both_ways: bool = False,
) -> str:
    """The verdict on steps from exact draws, or on posterior draws given simulated data.

    >>> invariance_head("steps", "funnel", False, 3.2e-7, 1e-5)
    'the steps change the distribution of funnel: p = 3e-07 (false alarm rate 1e-05)'
    >>> invariance_head("steps", "funnel", False, 3.2e-7, 1e-5, both_ways=True)[:72]
    'the steps are not in detailed balance with their reverse, or change the '
    """
    unbalanced = "are not in detailed balance with their reverse, or " * both_ways
    change = {
        "steps": (f"{unbalanced}change", "were not found to change"),
        "posterior draws": ("do not have", "were not found to differ from"),
    }[subject][passed]
    verdict = f"the {subject} {change} the distribution of {printable(target)}"
    if p is None:  # no ranks were looked at
        return verdict
    return f"{verdict}: {p_is(pvalue(p))} (false alarm rate {false_alarm:g})"


def invariance_effort(subject: str, steps: int, chains: int) -> str:
    """How many steps, or draws, the verdict is from.

    >>> invariance_effort("steps", 10, 1000)
    ', after 10000 steps in 1000 chains'
    """
    if subject == "steps":
        return f", after {counted(steps * chains, 'step')} in {counted(chains, 'chain')}"
    return f", with {counted(steps, 'draw')} for each of {chains} data sets"


TRY_ONE_WAY = (
    "Chains were run both ways. The same test with forward steps alone (without reverse=, or with "
    "balanced=False) tells whether the distribution changes."
)


def invariance_change(
    name: str, kind: str, shift: float, ratio: float, p: float, subject: str = "steps"
) -> str:
    """What the steps do to one function of a draw, or how posterior draws are off in it.

    >>> invariance_change("mu", "spread", 0.3, 1.2, 1e-7)
    'mu: spread, becomes too wide (1.2 times the spread of the target), adjusted p = 1e-07'
    >>> invariance_change("mu", "not finite", 0.0, 1.0, 0.0, "posterior draws")
    'mu: posterior draws are NaN or infinite'
    """
    way = "large" if shift > 0 else "small"
    amount = f"by {two_digits(abs(shift))} sd"
    along = "the slope of the log density along it"
    steps = subject == "steps"
    # "become" of what steps change, "be" of draws that are as they are
    become = "becomes" if steps else "is"
    said = {
        "shift": f"shift, {become} too {way} {amount}",
        "spread": f"spread, {become} too {'wide' if ratio > 1 else 'narrow'} "
        f"({ratio:.3g} times the spread of the target)",
        "shape": "shape, mean and spread are about right, its distribution is not",
        "dependence": f"dependence, their product {become} too {way} {amount}",
        "score": f"{along} {become} too {way} {amount}",
        "squared score": f"{along}, squared, {become} too {way} {amount}",
        "value times score": f"{along}, times its value, {become} too {way} {amount}",
        "log density": f"draws {'move to places' if steps else 'lie'} where it is too {way} "
        f"{amount}",
        "function": f"{become} too {way} {amount}",
        "not finite": f"{'steps lead to' if steps else 'posterior draws are'} NaN or infinite"
        f"{' values' if steps else ''}",
    }[kind]
    return f"{printable(name)}: {said}" + ("" if kind == "not finite" else f", {adjusted(p)}")
