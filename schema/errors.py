"""Errors that a user can act on. The text is one sentence: what was found, where, what to do."""

import errno
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

#: Packages that kvtrace requires besides pyarrow, which suffices to record: import and pip names.
PACKAGES: Final[Mapping[str, str]] = {
    "demangle": "demangle",
    "duckdb": "duckdb",
    "ml_dtypes": "ml_dtypes",
    "msgspec": "msgspec",
    "numpy": "numpy",
    "threadpoolctl": "threadpoolctl",
    "z3": "z3-solver",
}


def lacks_descriptor(error: BaseException) -> bool:
    """Return whether an error, or its cause, is that all file descriptors are in use."""
    return getattr(error.__cause__ or error, "errno", None) in (errno.EMFILE, errno.ENFILE)


class KvtraceError(Exception):
    """Base of every error that the command line reports in one sentence, with exit code 2."""

    slug: ClassVar[str] = "error"


class TraceNotFound(KvtraceError):
    """The path holds no trace, or does not exist."""

    slug = "trace-not-found"


class EmptyTrace(KvtraceError):
    """The directory is a trace, but has no readable run."""

    slug = "empty-trace"


class DamagedFile(KvtraceError):
    """A file of the trace cannot be read: it is truncated, or does not match its name."""

    slug = "damaged-file"


class NewerFormat(KvtraceError):
    """A file was written with a newer major version of the format."""

    slug = "newer-format"


class UnknownRun(KvtraceError):
    """No run matches the requested id."""

    slug = "unknown-run"


class SchemaMismatch(KvtraceError):
    """Columns do not fit the table they were written to."""

    slug = "schema-mismatch"


class RecordingUnavailable(KvtraceError):
    """Programs are not recorded on this system."""

    slug = "recording-unavailable"


class BadSetting(KvtraceError):
    """A setting or an option has an invalid value."""

    slug = "bad-setting"


class MissingPackage(KvtraceError):
    """A required package is not installed here."""

    slug = "missing-package"


def missing_package(problem: BaseException) -> str | None:
    """Return text for an import error of a package that kvtrace requires; None for other errors."""
    name = (problem.name or "").split(".")[0] if isinstance(problem, ModuleNotFoundError) else ""
    if name not in PACKAGES:
        return None
    return f"needs {name}, which is not installed here; pip install kvtrace installs it."


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'race'?)` if a name is similar to a known name, else ""."""
    from difflib import get_close_matches

    similar_names = get_close_matches(name, list(known), n=1)
    return f" (did you mean {similar_names[0]!r}?)" if similar_names else ""


class OlderFormat(KvtraceError):
    """A file was written with an older major version than this reader reads."""

    slug = "older-format"


class TraceWriteError(KvtraceError):
    """The trace cannot be written on, as on a full disk; rows already on disk stay readable."""

    slug = "trace-write"


class KernelDefect(KvtraceError):
    """A call has a defect, and the setting `sanitize` is `raise`.

    The call was not launched, unless a launch without a GPU showed the defect.

    The text is the output of `kvtrace sanitize`, of one or more lines. `findings` are the defects,
    as in `kvtrace sanitize --json`.
    """

    slug = "kernel-defect"

    def __init__(self, text: str, findings: Sequence[Mapping[str, Any]] = ()) -> None:
        """Store the error's text, and the findings it reports."""
        super().__init__(text)
        self.findings = tuple(findings)
