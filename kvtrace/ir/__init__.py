"""Intermediate representation: parser and model of MLIR's generic form, and source stacks of ops.

Imports only `kvtrace.schema` of kvtrace, and neither Triton nor NumPy.

    module = parse(text)
    for op in module.ops:
        print(op.index, op.name, source_stack(op))

`ops.py` has a row for each op: operands by name, kind, what it does to memory, what it computes
whatever the type, how it reads integers, and the file of its array meaning. Sets of ops (`READING`,
`LOOPS`, `MODULAR` …) are made of the rows. `flow.py` says how values pass through loops, branches,
blocks and calls, and which number a constant is. Data dependence, slices, parameters behind
pointers and deciding ops are a function of one op each on top of these. Nothing outside the files
of meanings names an op or an operand's position (`tests/test_architecture_of_ops.py`). What is
worked out of a module is kept with it by `model.once_per_module`.
"""

# Imported when first used: a launch needs few of these files.
from typing import TYPE_CHECKING, Any

from kvtrace.lazy import public_name

if TYPE_CHECKING:
    from kvtrace.ir.locations import Frame as Frame
    from kvtrace.ir.model import Block as Block
    from kvtrace.ir.model import Function as Function
    from kvtrace.ir.model import Module as Module
    from kvtrace.ir.model import NoKernel as NoKernel
    from kvtrace.ir.model import Op as Op
    from kvtrace.ir.model import Options as Options
    from kvtrace.ir.model import Region as Region
    from kvtrace.ir.model import Value as Value
    from kvtrace.ir.model import source_stack as source_stack
    from kvtrace.ir.parser import parse as parse
    from kvtrace.ir.scanner import IRSyntaxError as IRSyntaxError

_HOMES = {
    "Block": "kvtrace.ir.model",
    "Frame": "kvtrace.ir.locations",
    "Function": "kvtrace.ir.model",
    "IRSyntaxError": "kvtrace.ir.scanner",
    "Module": "kvtrace.ir.model",
    "NoKernel": "kvtrace.ir.model",
    "Op": "kvtrace.ir.model",
    "Options": "kvtrace.ir.model",
    "Region": "kvtrace.ir.model",
    "Value": "kvtrace.ir.model",
    "parse": "kvtrace.ir.parser",
    "source_stack": "kvtrace.ir.model",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    return public_name(globals(), _HOMES, name)
