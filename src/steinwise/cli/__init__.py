"""The command line: ``steinwise check DRAWS --target FILE.py:NAME``.

Nothing but click is loaded before the arguments are known to be right.
"""

from steinwise.cli.commands import cli
from steinwise.cli.entry import main, run

__all__ = ["cli", "main", "run"]
