"""Answers follow from the trace alone: not from questions before in the process, nor hashes."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.support.tree import ROOT

QUESTIONS = [
    ("sizes", "missing_mask"),
    ("sanitize", "missing_mask"),
    ("invariance", "missing_mask"),
    ("sanitize", "faults/gather_index_graph"),
    ("sizes", "triton_versions/3.7.1"),
    ("profile", "h200/planted/recompiles"),
]
PROGRAM = """
import contextlib, io, json, os, sys
from kvtrace.cli import main

for folder, questions in json.load(sys.stdin):
    os.chdir(folder)
    answers = {}
    for question in questions:
        with contextlib.redirect_stdout(io.StringIO()) as answer:
            main([*question, "--json"])
        answers[str(question)] = json.loads(answer.getvalue())
    print(json.dumps(answers))
"""


def answers(tmp_path, seed, *rounds):
    """Return the answers of one process to each round of questions, about traces of their own."""
    asked = [(str(tmp_path / f"{seed}-{n}"), questions) for n, questions in enumerate(rounds)]
    for folder, questions in asked:
        for trace in {trace for _, trace in questions}:
            shutil.copytree(ROOT / "tests/fixtures" / trace, f"{folder}/{trace}")
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(asked), text=True, check=True, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )  # fmt: skip
    return [json.loads(line) for line in process.stdout.splitlines()]


@pytest.mark.process
@pytest.mark.costly("judges three traces, in two processes")
def test_answers_are_equal_in_other_orders_and_with_other_hashes(tmp_path):
    first, repeated = answers(tmp_path, "1", QUESTIONS, QUESTIONS[::-1])

    assert repeated == first
    assert answers(tmp_path, "2", QUESTIONS) == [first]
