"""Pairs of programs that attack `kvtrace diff`: are their results the same?

Whoever wrote them had read the user pages alone. The truth was written down first, by argument, and
all without autotuning or tf32 ran in Triton's interpreter on special numbers.
"""

import json
import sys
import tempfile
import textwrap
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import kvtrace
from corpus.case import Answer, Case
from corpus.questions.bodies import answer_of_kernels
from corpus.questions.templates import HEAD, TEMPLATES


def _text(template: str, parts: list[str]) -> str:
    """Return a version's program, with its parts in the places of a template."""
    text, *rest = TEMPLATES[template].replace("%d", "%s").split("%s")
    for part, following in zip(parts, rest, strict=True):
        text += (textwrap.indent(part, "    ") if text.endswith("\n") else part) + following
    return HEAD + text


def _recorded(folder: Path, text: str) -> str:
    folder.mkdir()
    (folder / "case.py").write_text(text)
    spec = spec_from_file_location("case", folder / "case.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["case"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    with kvtrace.capture(folder / "trace"):
        module.run()
    return str(folder / "trace")


def _ask(case: dict[str, Any]) -> tuple[Answer, str]:
    with tempfile.TemporaryDirectory() as folder:
        sides = [
            _recorded(Path(folder) / side, _text(case["template"], case[side]))
            for side in ("before", "after")
        ]
        answers = {answer.question: answer for answer in kvtrace.diff(*sides).data.answers}
    answer = answers["same results"]
    return answer_of_kernels(answer), answer.evidence


def cases_of(lines: Path) -> list[Case]:
    """Return the cases of a file with one JSON object a line."""
    return [
        Case(case["name"], case["right"], case["why"], partial(_ask, case), evidence="interpreted")
        for case in map(json.loads, lines.read_text(encoding="utf-8").splitlines())
    ]
