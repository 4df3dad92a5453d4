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


class Deadlock(KvtraceError):
    """A program waits for memory that no program will change any more."""

    slug = "deadlock"


class DeviceAssertion(KvtraceError):
    """A `tl.device_assert` of the kernel failed."""

    slug = "device-assertion"


class UnknownAddress(KvtraceError):
    """A kernel that is being executed touches memory behind a pointer that no argument explains."""

    slug = "unknown-address"
