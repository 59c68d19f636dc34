"""Every argument of every public function refuses what it cannot use, at once and in our words."""

import pytest

from tests.border.entrances import entrances
from tests.border.roles import Bad

CASES = [
    pytest.param(name, argument, case, id=f"{name}-{argument}-{case.label}")
    for name, entrance in entrances().items()
    for argument, role in entrance.arguments.items()
    if role is not None
    for case in role.bad
]


def test_every_argument_has_a_role() -> None:
    """Catches a new function, or argument, that nobody tried bad values on."""
    without = [
        f"{name}({argument}=)"
        for name, entrance in entrances().items()
        for argument, role in entrance.arguments.items()
        if role is None
    ]
    assert not without, f"add a role in tests/border/entrances.py for {', '.join(without)}"


@pytest.mark.parametrize(("name", "argument", "case"), CASES)
def test_a_bad_value_is_refused(name: str, argument: str, case: Bad) -> None:
    """Catches a value that is taken for another, or that fails far inside another library."""
    with pytest.raises(case.error) as caught:
        entrances()[name].call(argument, case.value)
    assert type(caught.value) is case.error, f"{type(caught.value).__name__}: {caught.value}"
    message = str(caught.value)
    for word in case.words:
        assert word.replace("{argument}", argument) in message
