"""All measurements of cost on one page.

``python -m benchmarks.page`` prints what is in ``benchmarks/results``; ``--measure`` measures
everything again first, which takes about half an hour, preferably on an idle machine.
"""

import json
import subprocess
import sys

import click

from benchmarks import cost, growth, peers, scale

SECTIONS = {  # the title of each table, its file, and the module that prints it
    "benchmarks.cost": ("Ratios to a plain NumPy KSD with 1000 bootstraps", cost.PATH, cost),
    "benchmarks.scale": ("The default check: growth, memory, its hot loop", scale.PATH, scale),
    "benchmarks.growth": ("Every method, over two decades of n and d", growth.PATH, growth),
    "benchmarks.peers": ("The same jobs by other packages", peers.PATH, peers),
}


@click.command()
@click.option("--measure", is_flag=True, help="Measure first.")
def main(measure: bool) -> None:
    """Print the page."""
    if measure:
        for module in SECTIONS:
            command = [sys.executable, "-m", module]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    missing = [path.name for _, path, _ in SECTIONS.values() if not path.exists()]
    if missing:
        raise click.ClickException(f"there is no {', '.join(missing)}: run with --measure first.")
    machine = json.loads(scale.PATH.read_text())["machine"]
    click.echo(", ".join(f"{key} {value}" for key, value in machine.items()))
    for number, (title, path, module) in enumerate(SECTIONS.values(), 1):
        click.echo(f"\n{number}. {title}\n\n{module.table(json.loads(path.read_text()))}")


if __name__ == "__main__":
    main()
