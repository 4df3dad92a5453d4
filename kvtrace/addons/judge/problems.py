"""Problems of a judged candidate, and the JSON file in which an examining process writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge.request import EXAMINED
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import write_whole

#: The rule of problems that show only in cases beyond the given inputs.
BEYOND_GIVEN: Final = "beyond-given"


@dataclass(frozen=True, slots=True)
class Problem:
    """A defect of a candidate, or an open question on it, with its source line and a hint.

    `severity`: error (the candidate is wrong), warning, note, or unjudged (no verdict is possible).
    """

    rule: str
    severity: str
    message: str
    hint: str = ""
    case: str | None = None
    kernel: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass
class ExaminerResult:
    """Problems, cases and figures found by one examining process."""

    problems: list[Problem] = field(default_factory=list)
    cases: list[dict[str, Any]] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)
    generic: list[dict[str, Any]] = field(default_factory=list)
    rules: dict[str, int] = field(default_factory=dict)


def beyond_given(problem: Problem, case: str) -> Problem:
    """Return an error as an unjudged problem: it occurs only for inputs beyond the given ones.

    `case` is the label of such inputs.
    """
    return replace(
        problem,
        rule=BEYOND_GIVEN,
        severity="unjudged",
        message=f"wrong for inputs beyond the given ones, such as {case}: {problem.message}",
        hint="support such inputs, raise an error for them, or name equal "
        "extents in annotations of the reference",
        case=case,
    )


@contextmanager
def collected_result(folder: Path) -> Iterator[ExaminerResult]:
    """Yield an empty result, and write it as JSON into the folder when the block ends.

    An error of kvtrace in the block becomes an unjudged problem.
    """
    result = ExaminerResult()
    try:
        yield result
    except KvtraceError as error:
        result.problems.append(Problem("cannot-judge", "unjudged", str(error)))
    store_result(result, folder)


def store_result(result: ExaminerResult, folder: Path) -> None:
    """Write a result so far into the folder, where it stays if the process is killed later."""
    text = json.dumps(asdict(result))
    write_whole(folder / EXAMINED, partial(Path.write_text, data=text))
