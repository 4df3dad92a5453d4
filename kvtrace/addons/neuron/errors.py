"""What is wrong with a program, said in one sentence that ends with the user's line."""

from kvtrace.schema.errors import KvtraceError


class NkiError(KvtraceError):
    """A kernel uses something that the interface lacks, and cannot continue."""

    slug = "nki-program"
