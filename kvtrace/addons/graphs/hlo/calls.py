"""Kernels that are called while a function is traced: one op each, which runs the kernel.

A kernel that is given a traced tensor finds this by the tensor's method `_call_kernel`, and need
not know of graphs.
"""

from collections.abc import Callable, Sequence
from typing import Any

from kvtrace.addons.graphs.hlo.builder import current
from kvtrace.addons.graphs.hlo.dtypes import Dtype
from kvtrace.addons.graphs.hlo.primitives import lift
from kvtrace.addons.graphs.hlo.wrapper import Tensor


def call_kernel(
    name: str,
    calls: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    results: Sequence[tuple[tuple[int, ...], Dtype]],
    flops: int,
) -> tuple[Tensor, ...]:
    """Append a call of a kernel; `calls` gives its results as arrays, of those shapes and types."""
    attributes = {"call_target_name": name, "flops": flops}
    builder = current()
    lifted = [lift(each) for each in operands]
    made = builder.emit_several("custom_call", lifted, results, attributes)
    builder.ops[-1 - len(results)].calls = calls
    return made
