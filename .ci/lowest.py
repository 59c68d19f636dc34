"""Print pip constraints that pin an extra to its lower bounds in pyproject.toml.

`make test-lowest` installs with them, so that the bounds are written once, where users' installers
read them: ``python .ci/lowest.py test`` turns ``"numpy>=2.0"`` into ``numpy==2.0``.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[(?P<extras>.*)\])?(>=(?P<bound>[\d.]+))?")


def lower_bounds(requirements: list[str]) -> Iterator[str]:
    """``name==bound`` of every requirement, with those of the extras that they name."""
    for requirement in requirements:
        parsed = REQUIREMENT.match(requirement)
        assert parsed is not None, f"not understood: {requirement}"
        if parsed["name"] == PROJECT["name"]:
            for extra in parsed["extras"].split(","):
                yield from lower_bounds(PROJECT["optional-dependencies"][extra])
        elif parsed["bound"] is not None:
            yield f"{parsed['name']}=={parsed['bound']}"


if __name__ == "__main__":
    extras = [f"{PROJECT['name']}[{extra}]" for extra in sys.argv[1:]]
    print(*sorted(set(lower_bounds(PROJECT["dependencies"] + extras))), sep="\n")
