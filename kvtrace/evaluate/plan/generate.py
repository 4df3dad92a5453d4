"""Code generation: from instructions to one straight-line NumPy function.

    def run(buffers, numbers, cells, starts, extents): …

`buffers` are the storages as bytes, `numbers` the float arguments, `cells` the arrays for
intermediate results, `starts` and `extents` the chunk: first value and count along each program
axis. The code depends only on the instructions, and on whether PyTorch is imported; code/ writes
it. Numbers are the function's globals: calls of a kernel on other sizes share the compiled text.
"""

from __future__ import annotations

from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from kvtrace.evaluate.plan import torch_kernels
from kvtrace.evaluate.plan.code.blocks import write_block
from kvtrace.evaluate.plan.code.cells import GeneratedCode
from kvtrace.evaluate.plan.code.writer import Writer
from kvtrace.evaluate.plan.instructions import Instruction
from kvtrace.evaluate.plan.layouts import Layouts


def generated(
    instructions: list[Instruction],
    axes: tuple[int, ...],
    offsets: dict[int, int],
    *,
    torch: bool | None = None,
) -> GeneratedCode:
    """Return the compiled code of a region's instructions.

    `axes` are the symbols of the program axes; `offsets` has the byte offset of each tensor
    argument in its storage. `torch`: whether PyTorch runs the instructions at which it is faster;
    None: if the program has imported PyTorch.
    """
    with_torch = torch_kernels.is_available() if torch is None else torch
    layouts = Layouts(instructions, reduces_rows_slowly=not with_torch)
    writer = Writer(axes, offsets, layouts, with_torch)
    write_block(writer, instructions, 1, frozenset())
    head = ["def run(buffers, numbers, cells, starts, extents):"]
    head += [f" b{number} = buffers[{number}]" for number in sorted(writer.buffers)]
    head += [f" s{axis} = starts[{axis}]" for axis in range(len(axes))]
    head += [f" n{axis} = extents[{axis}]" for axis in range(len(axes))]
    if writer.cells:
        names = ", ".join(f"v{number}" for number in range(len(writer.cells)))
        head.append(f" {names}, = cells")
    source = "\n".join([*head, *writer.lines, " return", ""])
    scope: dict[str, Any] = {"nd": np.ndarray, "copyto": np.copyto, **writer.globals}
    run = FunctionType(_compiled(source), scope)
    return GeneratedCode(run, tuple(writer.cells), tuple(writer.made), source)


@lru_cache(maxsize=256)
def _compiled(source: str) -> CodeType:
    """Return the code object of `run`; launches of other sizes have the same text."""
    (code,) = (
        constant
        for constant in compile(source, "<plan>", "exec").co_consts
        if isinstance(constant, CodeType)
    )
    return code
