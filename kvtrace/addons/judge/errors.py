"""Why a file cannot be judged, as an error."""

from kvtrace.schema.errors import KvtraceError


class CannotJudge(KvtraceError):
    """A file cannot be judged."""

    slug = "cannot-judge"
