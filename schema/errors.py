"""Errors that a user can act on. The text is one sentence: what was found, where, what to do."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

#: What kvtrace declares to need besides pyarrow, which alone records: names of imports, and pip's.
PACKAGES: Final[Mapping[str, str]] = {
    "duckdb": "duckdb",
    "ml_dtypes": "ml_dtypes",
    "numpy": "numpy",
    "threadpoolctl": "threadpoolctl",
    "z3": "z3-solver",
}


class KvtraceError(Exception):
    """Base of every error that the command line reports in one sentence, with exit code 2."""

    slug: ClassVar[str] = "error"


class TraceNotFound(KvtraceError):
    """The path holds no trace, or does not exist."""

    slug = "trace-not-found"


class EmptyTrace(KvtraceError):
    """The directory is a trace's, but no run in it can be read."""

    slug = "empty-trace"


class DamagedFile(KvtraceError):
    """A file of the trace cannot be read: truncated, or not what its name says."""

    slug = "damaged-file"


class NewerFormat(KvtraceError):
    """A file was written with a newer major version of the format."""

    slug = "newer-format"


class UnknownRun(KvtraceError):
    """No run matches what was asked for."""

    slug = "unknown-run"


class SchemaMismatch(KvtraceError):
    """Columns do not fit the table they were written to."""

    slug = "schema-mismatch"


class RecordingUnavailable(KvtraceError):
    """Programs are not recorded on this system."""

    slug = "recording-unavailable"


class BadSetting(KvtraceError):
    """A setting or an option has a value that is not possible."""

    slug = "bad-setting"


class MissingPackage(KvtraceError):
    """A package is asked for that is not installed here."""

    slug = "missing-package"


def missing_package(problem: BaseException) -> str | None:
    """Say which of kvtrace's own packages an import lacks; None where the problem is another."""
    name = (problem.name or "").split(".")[0] if isinstance(problem, ModuleNotFoundError) else ""
    if name not in PACKAGES:
        return None
    return f"needs {name}, which is not installed here; pip install kvtrace installs it."


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'race'?)` where a name is like one that is known, else nothing."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


class OlderFormat(KvtraceError):
    """A file was written with an older major version than this reader reads."""

    slug = "older-format"


class TraceWriteError(KvtraceError):
    """The trace cannot be written on, as on a full disk; what is on disk stays readable."""

    slug = "trace-write"


class KernelDefect(KvtraceError):
    """A call has a defect, and the setting `sanitize` asked to raise on it.

    It was not launched, unless it is a launch without a GPU that was seen to have the defect.

    The text is that of `kvtrace sanitize`, of one or more lines. `findings` are the defects, each
    as `kvtrace sanitize --json` gives them.
    """

    slug = "kernel-defect"

    def __init__(self, text: str, findings: Sequence[Mapping[str, Any]] = ()) -> None:
        """Make the error of its text."""
        super().__init__(text)
        self.findings = tuple(findings)
