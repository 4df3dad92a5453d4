"""Errors of an evaluation.

Each error has one sentence that says where and what to do.
"""

from kvtrace.schema.errors import KvtraceError


class UnsupportedOp(KvtraceError):
    """The evaluator does not implement an op, or a variant of the op."""

    slug = "unsupported-op"


class BadArguments(KvtraceError):
    """Arguments do not fit the kernel's parameters, or a tensor does not fit its storage."""

    slug = "bad-arguments"


class TooLarge(KvtraceError):
    """An evaluation needs more steps than its limit, or a tensor is larger than any real one."""

    slug = "too-large"


class UnfitOp(KvtraceError):
    """An op of recorded IR lacks the form that its dialect requires, or kvtrace has a defect."""

    slug = "unfit-op"

    def __init__(self, kernel: str, error: Exception) -> None:
        super().__init__(
            f"the IR of kernel {kernel!r} is not what a compiler prints, or kvtrace has a defect: "
            f"{place_of(error)}"
        )


def place_of(error: Exception) -> str:
    """Return an error's class with the file name and line that raised it: `KeyError at x.py:3`."""
    # Imported late: a launch needs neither module.
    from pathlib import Path
    from traceback import extract_tb

    frame = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"


UNFIT = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError,
    TypeError, ValueError,
)  # fmt: skip
"""Errors that an op can raise if it lacks operands, attributes or the right types."""


class Deadlock(KvtraceError):
    """A program waits for memory that no program will change."""

    slug = "deadlock"


class DeviceAssertion(KvtraceError):
    """A `tl.device_assert` of the kernel failed."""

    slug = "device-assertion"


class UnknownAddress(KvtraceError):
    """An executed kernel accesses memory through a pointer that comes from no argument."""

    slug = "unknown-address"


class Undecided(KvtraceError):
    """The result of a launch may depend on roundings or an order that a device chooses."""

    slug = "undecided"
