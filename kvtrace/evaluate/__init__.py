"""The evaluator: runs a kernel's IR over its whole grid, as arrays over programs.

`evaluate` runs a launch; `parsed` caches modules by their text. One file per dialect under
`dialects/` computes the ops. May import `kvtrace.ir` and `kvtrace.schema.errors`, nothing else of
kvtrace.

    Storage(nbytes, data)                     # data None: contents unknown
    TensorArgument(name, storage, offset_bytes, dtype, shape, strides); ScalarArgument(name, value)
    evaluate(module, arguments, grid, observers=(), kernel="name")          # or UnsupportedOp

Lanes out of bounds touch no memory outside of their storage: loads give zero, or what `outside`
says, and stores are dropped. A kernel that follows addresses in memory has, after its arguments,
the tensors that they point to (`reach.py`). The whole grid runs at once, in chunks, or one program
at a time where their order matters (`engine.py`). What does not depend on data is computed once for
equal launches (`known.py`).

Observers (`observe.py`) are the only way to get facts out. They get batches of programs, never
single ones. What TTGIR has besides TTIR works on `shared_memory.py`. The first launch in a process
pays for little more than it needs: files of meanings are imported at first use, and nothing is kept
on disk.
"""

# Names are imported when first used: a launch needs few of these files.
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kvtrace.lazy import public_name

if TYPE_CHECKING:
    from kvtrace.evaluate.arguments import Argument as Argument
    from kvtrace.evaluate.arguments import ScalarArgument as ScalarArgument
    from kvtrace.evaluate.arguments import Storage as Storage
    from kvtrace.evaluate.arguments import TensorArgument as TensorArgument
    from kvtrace.evaluate.engine import evaluate as evaluate
    from kvtrace.evaluate.errors import BadArguments as BadArguments
    from kvtrace.evaluate.errors import Deadlock as Deadlock
    from kvtrace.evaluate.errors import DeviceAssertion as DeviceAssertion
    from kvtrace.evaluate.errors import UnknownAddress as UnknownAddress
    from kvtrace.evaluate.errors import UnsupportedOp as UnsupportedOp
    from kvtrace.evaluate.observe import Access as Access
    from kvtrace.evaluate.observe import FailedAssertion as FailedAssertion
    from kvtrace.evaluate.observe import Observer as Observer
    from kvtrace.evaluate.observe import OutOfBounds as OutOfBounds
    from kvtrace.evaluate.registry import assembly as assembly
    from kvtrace.ir.model import Module

_HOMES = {
    "Access": "kvtrace.evaluate.observe",
    "Argument": "kvtrace.evaluate.arguments",
    "BadArguments": "kvtrace.evaluate.errors",
    "Deadlock": "kvtrace.evaluate.errors",
    "DeviceAssertion": "kvtrace.evaluate.errors",
    "FailedAssertion": "kvtrace.evaluate.observe",
    "Observer": "kvtrace.evaluate.observe",
    "OutOfBounds": "kvtrace.evaluate.observe",
    "ScalarArgument": "kvtrace.evaluate.arguments",
    "Storage": "kvtrace.evaluate.arguments",
    "TensorArgument": "kvtrace.evaluate.arguments",
    "UnknownAddress": "kvtrace.evaluate.errors",
    "UnsupportedOp": "kvtrace.evaluate.errors",
    "assembly": "kvtrace.evaluate.registry",
    "evaluate": "kvtrace.evaluate.engine",
}

__all__ = [*_HOMES, "parsed"]


@lru_cache(maxsize=256)
def parsed(text: str, target: str = "") -> "Module":
    """Return the module parsed from generic IR for a target; modules are cached by both texts."""
    from kvtrace.ir.parser import parse  # not needed by a process that evaluates nothing

    return parse(text, target)


def __getattr__(name: str) -> Any:
    return public_name(globals(), _HOMES, name)
