"""The error of a file that cannot be judged."""

from kvtrace.schema.errors import KvtraceError


class CannotJudge(KvtraceError):
    """The file cannot be judged; the text says why."""

    slug = "cannot-judge"
