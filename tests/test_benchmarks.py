"""The benchmarks' runner: it resumes from its scratch file."""

import json

import numpy as np

from benchmarks.case_runner import run_case
from benchmarks.cases import Case, Outcome, Rule


def repeat(name: str, repetition: int) -> dict[str, Outcome]:
    return {name: {"hit": float(repetition % 4 == 0)}}


def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
    raise AssertionError("repeat stands for it here")


def test_an_interrupted_case_goes_on_where_it_was(tmp_path):
    """What is in the scratch file is believed; a line that was torn is run again."""
    scratch = tmp_path / "scratch" / "size toy.jsonl"
    scratch.parent.mkdir()
    finished = "".join(json.dumps({r: {"toy": {"hit": 1.0}}}) + "\n" for r in (0, 1))
    scratch.write_text(finished + '{"2": {"toy": {"hit"')
    found = run_case("toy", Case(run, Rule("shown")), repeat, 8, 1, scratch)
    assert found["rows"]["toy"]["verdicts"] == 8
    assert found["rows"]["toy"]["rate"] == 3 / 8  # 0 and 1 as they were, and 4
    assert not scratch.exists()
