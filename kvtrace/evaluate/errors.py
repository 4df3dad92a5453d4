"""What evaluation can refuse, each as one sentence that says where and what to do."""

from kvtrace.schema.errors import KvtraceError


class UnsupportedOp(KvtraceError):
    """The evaluator has no meaning for an op, or for one of the op's variants."""

    slug = "unsupported-op"


class BadArguments(KvtraceError):
    """Arguments do not fit the kernel's parameters, or a tensor does not fit its storage."""

    slug = "bad-arguments"


class TooLarge(KvtraceError):
    """Evaluating a launch takes more steps than it was given, or a tensor is larger than any is."""

    slug = "too-large"


class UnfitOp(KvtraceError):
    """An op of recorded IR is not as its dialect says, or kvtrace fails on it."""

    slug = "unfit-op"

    def __init__(self, kernel: str, error: Exception) -> None:
        super().__init__(
            f"the IR of kernel {kernel!r} is not as a compiler prints it, or kvtrace has a defect: "
            f"{place_of(error)}"
        )


def place_of(error: Exception) -> str:
    """Return the kind of an error that was raised, and the file and line that raised it."""
    # Imported late: a launch needs neither.
    from pathlib import Path
    from traceback import extract_tb

    at = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}"


UNFIT = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError,
    TypeError, ValueError,
)  # fmt: skip
"""What an op that lacks operands, attributes or the right types can end in."""


class Deadlock(KvtraceError):
    """A program waits for memory that no program will change any more."""

    slug = "deadlock"


class DeviceAssertion(KvtraceError):
    """A `tl.device_assert` of the kernel failed."""

    slug = "device-assertion"


class UnknownAddress(KvtraceError):
    """A kernel that is being executed touches memory behind a pointer that no argument explains."""

    slug = "unknown-address"


class Undecided(KvtraceError):
    """What a launch does may depend on roundings, or on an order, that a device chooses."""

    slug = "undecided"
