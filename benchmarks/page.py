"""All that was measured of cost, on one page.

``python -m benchmarks.page`` prints what is in ``benchmarks/results``; ``--measure`` measures it
anew first, in about half an hour, best on a machine without other work.
"""

import json
import subprocess
import sys

import click

from benchmarks import cost, growth, peers, scale

PARTS = {  # what is printed above each table
    "benchmarks.cost": ("Ratios to a plain NumPy KSD with 1000 bootstraps", cost.RESULTS, cost),
    "benchmarks.scale": ("The default check: growth, memory, its hot loop", scale.PATH, scale),
    "benchmarks.growth": ("Every method, over two decades of n and d", growth.PATH, growth),
    "benchmarks.peers": ("The same jobs by other packages", peers.PATH, peers),
}


@click.command()
@click.option("--measure", is_flag=True, help="Measure first.")
def main(measure: bool) -> None:
    """Print the page."""
    if measure:
        for module in PARTS:
            command = [sys.executable, "-m", module]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    missing = [path.name for _, path, _ in PARTS.values() if not path.exists()]
    if missing:
        raise click.ClickException(f"there is no {', '.join(missing)}: run with --measure.")
    machine = json.loads(scale.PATH.read_text())["machine"]
    click.echo(", ".join(f"{key} {value}" for key, value in machine.items()))
    for number, (title, path, part) in enumerate(PARTS.values(), 1):
        click.echo(f"\n{number}. {title}\n\n{part.table(json.loads(path.read_text()))}")


if __name__ == "__main__":
    main()
