"""The README's picture, from the README's own example: python docs/pictures/readme.py"""

import doctest
from pathlib import Path


def main() -> None:
    here = Path(__file__).parent
    text = (here.parents[1] / "README.md").read_text()
    found: dict = {}
    for example in doctest.DocTestParser().get_examples(text):
        exec(example.source, found)
    found["result"].plot().savefig(here / "readme.png", dpi=80)


if __name__ == "__main__":
    main()
