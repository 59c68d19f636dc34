"""How far a mistake of the museum moves each function that the invariance test ranks.

``python -m benchmarks.museum_distances --only boundary`` takes the steps of the test from 100,000
exact draws, and prints the largest distance between the distribution functions before and after.
A first stage of n chains is suspicious in most tests if this is well above 1.6 / sqrt(n): the
distance whose p-value, times the number of functions (about twelve), is 0.15.
"""

import click
import numpy as np
from scipy import stats

from benchmarks.museum_pieces import PIECES, Piece
from steinwise.testing.chains import JaxChains, Kernel
from steinwise.testing.ranked_functions import RankedFunctions

CHAINS = 100_000


def distances(piece: Piece, chains: int = CHAINS) -> dict[str, float]:
    """By function; 0.006 of them is noise with 100,000 chains."""
    wrong, ranked = piece.make(True), RankedFunctions(piece.target, None, host=False)
    kernel = Kernel(
        wrong.step, None, wrong.init or (lambda _, x: x), wrong.position or (lambda x: x)
    )
    run = JaxChains(kernel, piece.steps, piece.target.dim)
    start, fresh = piece.target.draw(0, chains), piece.target.draw(1, chains)
    moved = run(start, np.zeros(chains, int), np.random.default_rng(0))
    after, before = ranked(moved)[:, 0], ranked(fresh[:, None])[:, 0]
    return {
        str(function): float(stats.ks_2samp(after[:, f], before[:, f]).statistic)  # pyright: ignore
        for f, function in enumerate(ranked.listed)
    }


@click.command(help=__doc__)
@click.option("--only", default="", help="Pieces whose names contain this.")
def main(only: str) -> None:
    for piece in PIECES:
        if only in piece.name:
            found = sorted(distances(piece).items(), key=lambda item: -item[1])
            text = "; ".join(f"{name} {distance:.4f}" for name, distance in found)
            click.echo(f"{piece.name}: {text}")


if __name__ == "__main__":
    main()
