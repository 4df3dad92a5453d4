"""Intermediate representation: parser and model of MLIR's generic form, and source stacks of ops.

Imports only `kvtrace.schema.errors` of kvtrace, and neither Triton nor NumPy.

    module = parse(text)
    for op in module.ops:
        print(op.index, op.name, source_stack(op))
"""

# Imported when first used: a launch needs few of these files.
from typing import TYPE_CHECKING, Any

from kvtrace.lazy import public_name

if TYPE_CHECKING:
    from kvtrace.ir.errors import IRSyntaxError as IRSyntaxError
    from kvtrace.ir.locations import Frame as Frame
    from kvtrace.ir.model import Block as Block
    from kvtrace.ir.model import Function as Function
    from kvtrace.ir.model import Module as Module
    from kvtrace.ir.model import NoKernel as NoKernel
    from kvtrace.ir.model import Op as Op
    from kvtrace.ir.model import Region as Region
    from kvtrace.ir.model import Value as Value
    from kvtrace.ir.model import source_stack as source_stack
    from kvtrace.ir.parser import parse as parse

_HOMES = {
    "Block": "kvtrace.ir.model",
    "Frame": "kvtrace.ir.locations",
    "Function": "kvtrace.ir.model",
    "IRSyntaxError": "kvtrace.ir.errors",
    "Module": "kvtrace.ir.model",
    "NoKernel": "kvtrace.ir.model",
    "Op": "kvtrace.ir.model",
    "Region": "kvtrace.ir.model",
    "Value": "kvtrace.ir.model",
    "parse": "kvtrace.ir.parser",
    "source_stack": "kvtrace.ir.model",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    return public_name(globals(), _HOMES, name)
