"""Errors about a kernel: one sentence that ends with the file and line of the user's code."""

from kvtrace.schema.errors import KvtraceError


class NkiError(KvtraceError):
    """The kernel cannot continue: it uses something that NKI, or kvtrace's part of NKI, lacks."""

    slug = "nki-program"
