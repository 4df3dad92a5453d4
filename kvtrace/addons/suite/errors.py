"""Errors of judging a suite's calls."""

from typing import ClassVar

from kvtrace.schema.errors import KvtraceError


class CannotJudgeCall(KvtraceError):
    """A candidate cannot be judged on a call; the sentence says why."""

    slug: ClassVar[str] = "cannot-judge-call"
