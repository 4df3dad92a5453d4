"""Cases of an attack on `kvtrace judge`, made from a candidate's file and entry."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.attacks.case import Answer, Case

HERE = Path(__file__).parent
ANSWERS = {"right": Answer.YES, "wrong": Answer.NO, "unjudged": Answer.UNKNOWN}


@dataclass(frozen=True)
class Question:
    """A candidate with its reference and inputs, for one run of `kvtrace judge`.

    Attributes:
        candidate: `FILE:NAME`, of a folder beside this file and without `.py`.
        reference: A name in `references.py`, or `FILE:NAME`.
        shapes: Each one case; none where a file's `inputs()` decides.
        options: More of the command line.
    """

    candidate: str
    reference: str
    shapes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def command(self, folder: str) -> list[str]:
        """Return the command line of `kvtrace judge` for the candidate in `folder`."""
        file, _, entry = self.candidate.partition(":")
        against = self.reference if ":" in self.reference else f"references.py:{self.reference}"
        shapes = [word for shape in self.shapes for word in ("--shapes", shape)]
        return [
            sys.executable, "-m", "kvtrace", "judge", str(HERE / folder / f"{file}.py"),
            "--entry", entry, "--reference", str(HERE / against), "--json", *shapes, *self.options,
        ]  # fmt: skip


def asking(question: Question, folder: str) -> Callable[[], tuple[Answer, str]]:
    """Return a function that runs `kvtrace judge`, and returns its answer and findings' rules."""

    def ask() -> tuple[Answer, str]:
        done = subprocess.run(
            question.command(folder), capture_output=True, text=True, check=False, cwd="/",
            env={**os.environ, "PYTHONPATH": str(HERE.parents[2])},
        )  # fmt: skip
        if not done.stdout:
            return Answer.UNKNOWN, done.stderr.strip().splitlines()[-1]
        report = json.loads(done.stdout)
        rules = {
            f"{finding['rule']} ({finding['severity']})": None for finding in report["findings"]
        }
        return ANSWERS[report["verdict"]], ", ".join(rules) or "nothing found"

    return ask


def cases(questions: list[Question], folder: str, *, right: bool) -> list[Case]:
    """Return cases whose reason is the first line of the entry's docstring."""
    cases = []
    for question in questions:
        file, _, entry = question.candidate.partition(":")
        tree = ast.parse((HERE / folder / f"{file}.py").read_text())
        entries = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == entry
        ]
        docstring = ast.get_docstring(entries[0]) if entries else None
        ask = asking(question, folder)
        name = " ".join((question.candidate, *question.shapes)) if right else question.candidate
        cases.append(Case(name, right, docstring or "", ask, evidence="read"))
    return cases
