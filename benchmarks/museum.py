"""Which documented mistakes are found, by what, and after how many steps.

``python -m benchmarks.museum`` writes `results/museum.json` as it goes and resumes; more
``--seeds`` are added to those that are there. ``--table`` prints the file as a table.
``--right 1000`` counts the false alarms of a right Metropolis step over 1000 seeds, in
`results/museum_right.json`.
"""

import json
from typing import Any

import click
import numpy as np

import steinwise as sw
from benchmarks import RESULTS
from benchmarks.long_chains import chain_runner
from benchmarks.museum_pieces import PIECES, Piece
from steinwise.draws.chain_diagnostics import rhat
from steinwise.testing.invariance import repeatable

FILE = RESULTS / "museum.json"
RIGHT_FILE = RESULTS / "museum_right.json"
LEVEL = 1e-3  # of tests on chains, and of false alarms on right steps
EFFECTIVE = (1000, 10_000, 40_000)  # draws; the last where 10,000 show nothing
THINNING = (5, 40, 200, 1000)  # steps from one draw to the next, more where chains are slow
SPARE = 1.5  # draws for each effective one, of chains that are thinned enough
BLOCK = 25  # seeds from one writing of the file to the next; each compiles anew


def measure_chains(piece: Piece) -> dict[str, Any]:
    """What R-hat, KSD and the default check say of the wrong sampler, by its effective draws."""
    wrong, (short, usual, long) = piece.make(True), EFFECTIVE
    run, column = chain_runner(piece.target, wrong, round(SPARE * usual)), f"check at {usual}"
    draws, found = np.zeros((0, 0, 0)), {}
    for thin in THINNING:
        draws = run(thin)
        found = {"thinning": thin, **_verdict(column, piece, draws)}
        if found[column] is True or found.get("effective draws", 0) >= usual:
            break  # what fewer draws show, more would show too
    found["rhat"] = float(rhat(draws).max())
    effective = found.get("effective draws", usual)
    beginning = draws[:, : round(short / effective * draws.shape[1])]
    found[f"check at {short}"] = _verdict("check", piece, beginning)["check"]
    if piece.target.support == sw.support.real:
        found[f"ksd at {short}"] = _verdict("ksd", piece, beginning, method="ksd")["ksd"]
    if found[column] is False:
        draws = chain_runner(piece.target, wrong, round(SPARE * long))(found["thinning"])
        found[f"check at {long}"] = _verdict("check", piece, draws)["check"]
    return found


def _verdict(name: str, piece: Piece, draws: np.ndarray, **options: Any) -> dict[str, Any]:
    """Whether a check finds a misfit; or that the chains are too slow for a verdict."""
    target = piece.target.as_target()
    try:
        check = sw.check(draws, target, alpha=LEVEL, n_bootstrap=10_000, **options)
    except sw.TooFewDraws:
        return {name: "too slow"}
    return {name: check.rejected, "effective draws": check.draws.effective_draws}


def measure_steps(piece: Piece, seeds: range, known: dict[str, Any]) -> dict[str, Any]:
    """What is known of the invariance test, and what it says of the steps with these seeds.

    By seed: the steps that it took to find the wrong step, or None; whether it found the right one.
    """
    wrong, right = piece.make(True), piece.make(False)
    options = _options(piece)
    test = repeatable(wrong.step, piece.target, init=wrong.init, position=wrong.position, **options)
    results = [test(seed) for seed in seeds]
    test = repeatable(
        right.step,
        piece.target,
        init=right.init,
        position=right.position,
        false_alarm=LEVEL,
        **options,
    )
    first = next((str(r).splitlines()[1].strip() for r in results if r.changes), None)
    used = known.get("steps used", [])
    used += [None if result.passed else result.steps_used for result in results]
    alarms = known.get("alarms", []) + [not test(seed).passed for seed in seeds]
    found = [steps for steps in used if steps is not None]
    return {
        **options,
        "seeds": len(used),
        "found": len(found),
        "median steps": float(np.median(found)) if found else None,
        "false alarms": sum(alarms),
        "first change": known.get("first change") or first,
        "steps used": used,
        "alarms": alarms,
    }


def _options(piece: Piece) -> dict[str, Any]:
    return {"steps": piece.steps, "chains": piece.chains}


def measure_right(seeds: int) -> dict[str, Any]:
    """False alarms of a right step, run both ways and forwards, half of the seeds each."""
    piece = next(piece for piece in PIECES if piece.name.startswith("float32"))
    step = piece.make(False).step
    alarms = 0
    for reverse in (None, step):
        test = repeatable(step, piece.target, reverse=reverse, chains=1000, false_alarm=LEVEL)
        alarms += sum(not test(seed).passed for seed in range(seeds // 2))
    return {"seeds": seeds // 2 * 2, "level": LEVEL, "alarms": alarms}


SAID = {True: "found", False: "-", None: "", "too slow": "too slow"}


def table(results: dict[str, dict[str, Any]]) -> str:
    """The file as two Markdown tables: the invariance test, and long chains."""
    short, usual, long = (f"{n:,}" for n in EFFECTIVE)
    heads = (
        ("piece", "modelled on", "chains x steps", "found", "median steps", "false alarms"),
        ("piece", "R-hat", f"KSD, {short}", f"check, {short}", usual, long, "effective draws"),
    )
    made = [_step_cells, _chain_cells]
    parts = []
    for head, cells in zip(heads, made, strict=True):
        rows = [head, ["---"] * len(head), *((name, *cells(row)) for name, row in results.items())]
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join(parts)


def _step_cells(row: dict[str, Any]) -> tuple[str, ...]:
    steps = row["steps"]
    return (
        row["source"],
        f"{steps['chains']:,} x {steps['steps']}",
        f"{steps['found']} of {steps['seeds']}",
        "" if steps["median steps"] is None else f"{steps['median steps']:,.0f}",
        f"{steps['false alarms']} of {steps['seeds']}",
    )


def _chain_cells(row: dict[str, Any]) -> tuple[str, ...]:
    chains = row.get("chains", {})
    effective = chains.get("effective draws")
    columns = (f"ksd at {EFFECTIVE[0]}", *(f"check at {n}" for n in EFFECTIVE))
    return (
        f"{chains['rhat']:.3f}" if "rhat" in chains else "",
        *(SAID[chains.get(column)] for column in columns),
        "" if effective is None else f"{effective:,.0f}",
    )


@click.command(help=__doc__)
@click.option("--seeds", default=10, show_default=True, help="Seeds of the invariance test.")
@click.option("--only", default="", help="Pieces whose names contain this.")
@click.option("--chains/--no-chains", default=True, help="Look at long chains too.")
@click.option("--right", default=0, help="Only count false alarms, over this many seeds.")
@click.option("--table", "show", is_flag=True, help="Print the table of the file, and no more.")
def main(seeds: int, only: str, chains: bool, right: int, show: bool) -> None:
    if right:
        found = measure_right(right)
        RIGHT_FILE.write_text(json.dumps(found) + "\n")
        click.echo(str(found))
        return
    results = json.loads(FILE.read_text()) if FILE.exists() else {}
    pieces = [] if show else [piece for piece in PIECES if only in piece.name]

    def keep(piece: Piece, key: str, found: dict[str, Any]) -> None:
        results.setdefault(piece.name, {"source": piece.source})[key] = found
        FILE.write_text(json.dumps(results, indent=1) + "\n")
        click.echo(f"{piece.name}: {found}")

    for last in range(BLOCK, seeds + BLOCK, BLOCK):  # some seeds of all pieces, then some more
        for piece in pieces:
            known = results.get(piece.name, {}).get("steps", {})
            if not _options(piece).items() <= known.items():  # from before they were changed
                known = {}
            more = range(len(known.get("steps used", [])), min(last, seeds))
            if more:
                keep(piece, "steps", measure_steps(piece, more, known))
            if chains and "chains" not in results[piece.name]:
                keep(piece, "chains", measure_chains(piece))
    click.echo(table(results))


if __name__ == "__main__":
    main()
