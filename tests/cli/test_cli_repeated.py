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
import json, sys
from kvtrace.cli import main
for question in json.loads(sys.argv[1]):
    main([*question, "--json"])
"""


@pytest.mark.process
@pytest.mark.costly("judges three traces here and in a process")
def test_answers_are_equal_in_other_orders_and_with_other_hashes(kvtrace, tmp_path):
    other_folder = tmp_path / "other"  # with no results of the first
    for trace in {trace for _, trace in QUESTIONS}:
        for folder in (tmp_path, other_folder):
            shutil.copytree(ROOT / "tests/fixtures" / trace, folder / trace)
    answers = {question: kvtrace(*question, "--json")[1] for question in QUESTIONS[::-1]}
    command = [sys.executable, "-c", PROGRAM, json.dumps(QUESTIONS)]
    surroundings = {**os.environ, "PYTHONHASHSEED": "1"}

    other_answers = subprocess.check_output(command, env=surroundings, text=True, cwd=other_folder)

    assert other_answers == "".join(answers[question] for question in QUESTIONS)
