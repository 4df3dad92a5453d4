"""What is wrong with a program, said in one sentence that ends with the user's line."""

from kvtrace.schema.errors import KvtraceError


class NkiError(KvtraceError):
    """A kernel does what the interface does not have, and cannot go on."""

    slug = "nki-program"
