"""The evaluator: runs a kernel's IR over its whole grid, as arrays over programs.

`evaluate` is the entry; `parsed` keeps modules by their text. One file per dialect under
`dialects/` says what ops mean. May import `kvtrace.ir` and `kvtrace.schema.errors`, nothing else
of ours.
"""

from kvtrace.evaluate.arguments import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.compiler import parsed
from kvtrace.evaluate.engine import evaluate
from kvtrace.evaluate.errors import (
    BadArguments,
    Deadlock,
    DeviceAssertion,
    UnknownAddress,
    UnsupportedOp,
)
from kvtrace.evaluate.observe import (
    Access,
    FailedAssertion,
    Observer,
    OutOfBounds,
    ProgramAccesses,
)
from kvtrace.evaluate.registry import assembly

__all__ = [
    "Access",
    "Argument",
    "BadArguments",
    "Deadlock",
    "DeviceAssertion",
    "FailedAssertion",
    "Observer",
    "OutOfBounds",
    "ProgramAccesses",
    "ScalarArgument",
    "Storage",
    "TensorArgument",
    "UnknownAddress",
    "UnsupportedOp",
    "assembly",
    "evaluate",
    "parsed",
]
