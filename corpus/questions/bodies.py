"""Comparison of two bodies of a kernel, recorded as versions of it, by `kvtrace diff`."""

import contextlib
import importlib.util
import io
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kvtrace
from corpus.case import Answer
from kvtrace.converters.diff import compare
from kvtrace.converters.diff.model import Answer as QuestionAnswer
from kvtrace.schema.trace import resolve

#: Launches one version: is given its kernel.
Launches = Callable[[Any], None]


def kernel_of(text: str, folder: Path) -> Any:
    """Write a program's text to a file in `folder`, import it, and return its kernel `changed`."""
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("versions", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.changed


def same_results(
    *versions: tuple[str, Launches, dict[str, Any]],
) -> tuple[Answer, str]:  # fmt: skip
    """Record both versions; return the answer to "same results?" and its evidence.

    Args:
        versions: (text of the program, function that launches its kernel, capture's options) each.

    """
    root = Path(tempfile.mkdtemp())
    try:
        folders = [root / name for name in ("before", "after")]
        for folder, (text, launch, settings) in zip(folders, versions, strict=True):
            folder.mkdir()
            kernel = kernel_of(text, folder)
            with (
                contextlib.redirect_stderr(io.StringIO()),
                kvtrace.capture(folder / "out", **settings),
            ):
                launch(kernel)
        same_results_answer = compare(*(resolve(folder / "out") for folder in folders)).answers[1]
    finally:
        shutil.rmtree(root)
    answer = answer_of_kernels(same_results_answer)
    return answer, re.sub(r"\s+", " ", same_results_answer.evidence)


def answer_of_kernels(answer: QuestionAnswer) -> Answer:
    """Return the answer to "same results?" of programs that give launches the same values.

    Whether they do is asked last, and not known of programs that a test runs.
    """
    is_same = answer.word == "yes" or answer.evidence.startswith("what its launches are given")
    return Answer.YES if is_same else Answer.NO if answer.word == "no" else Answer.UNKNOWN
