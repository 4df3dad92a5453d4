"""Problems of a judged candidate, as the processes that examine it write them down as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge.request import EXAMINED
from kvtrace.schema.errors import KvtraceError

#: The rule of problems that only cases beyond the given inputs show.
BEYOND_GIVEN: Final = "beyond-given"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, or cannot be decided, with where and what to do.

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
    """All that the examiner found."""

    problems: list[Problem] = field(default_factory=list)
    cases: list[dict[str, Any]] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)
    generic: list[dict[str, Any]] = field(default_factory=list)
    rules: dict[str, int] = field(default_factory=dict)


def beyond_given(problem: Problem, case: str) -> Problem:
    """Return a candidate's error as unjudged: only a case beyond the given inputs shows it."""
    return replace(
        problem,
        rule=BEYOND_GIVEN,
        severity="unjudged",
        message=f"wrong for inputs that the given ones do not ask for, as {case}: "
        f"{problem.message}",
        hint="follow the inputs, raise an error for those that it is not for, or name equal "
        "extents in annotations of the reference",
        case=case,
    )


@contextmanager
def collected_result(folder: Path) -> Iterator[ExaminerResult]:
    """Yield an empty `ExaminerResult` to fill, then write it into a folder as JSON."""
    found = ExaminerResult()
    try:
        yield found
    except KvtraceError as error:
        found.problems.append(Problem("cannot-judge", "unjudged", str(error)))
    (folder / EXAMINED).write_text(json.dumps(asdict(found)), encoding="utf-8")
