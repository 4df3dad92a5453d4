"""Intermediate representation: parser and model of MLIR's generic form, locations to source stacks.

Imports nothing of kvtrace but `kvtrace.schema.errors`, and neither Triton nor NumPy.

    module = parse(text)
    for op in module.ops:
        print(op.index, op.name, source_stack(op))
"""

from kvtrace.ir.errors import IRSyntaxError
from kvtrace.ir.locations import Frame
from kvtrace.ir.model import Block, Function, Module, NoKernel, Op, Region, Value, source_stack
from kvtrace.ir.parser import parse

__all__ = [
    "Block",
    "Frame",
    "Function",
    "IRSyntaxError",
    "Module",
    "NoKernel",
    "Op",
    "Region",
    "Value",
    "parse",
    "source_stack",
]
