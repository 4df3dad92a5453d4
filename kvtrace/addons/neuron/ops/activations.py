"""Activation functions on the scalar engine, and exponentials on the vector engine."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.ops.accumulators import accumulate, reduce_into
from kvtrace.addons.neuron.ops.elementwise import applied, column, staged
from kvtrace.addons.neuron.targets import PARTITIONS
from kvtrace.addons.neuron.tokens import token_of


@operation("nisa.activation", engine="scalar", kind="elementwise")
def activation(
    issue: Issue,
    op: Any,
    data: Any,
    *,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: Any = None,
    reduce_cmd: Any = None,
    engine: Any = None,
    mask: Any = None,
    dtype: Any = None,
    relu_param: Any = 0.0,
) -> Result:
    """Return `op(data × scale + bias)`; scale and bias are numbers or columns.

    With `reduce_res` the results are also reduced over the free dimensions, into that column,
    starting from the engine's registers as `reduce_cmd` sets them.
    """
    issue.choose_engine(engine)
    tile = issue.read(data, mask)
    shape = tile.values.shape
    operands = [tile]
    values = tile.computed()
    if not (isinstance(scale, int | float) and scale == 1):
        factor = column(issue, scale, shape, mask)
        operands.append(factor)
        values = values * factor.computed()
        issue.flops += values.size
    if bias is not None:
        addend = column(issue, bias, shape, mask)
        operands.append(addend)
        values = values + addend.computed()
        issue.flops += values.size
    values = _activated(issue, op, values, relu_param)
    issue.flops += values.size
    command = getattr(reduce_cmd, "name", "")
    start = None
    if command and shape[0] <= PARTITIONS:
        start = _registers_before(issue, command, values)
    if reduce_res is not None:
        reduced_values = np.zeros_like(values) if command in ("idle", "reset") else values
        reduce_into(issue, reduce_res, reduce_op or "add", reduced_values, operands, start, mask)
    return issue.result(values, dtype, *operands, mask=mask)


def _activated(issue: Issue, op: Any, values: Any, relu_param: Any) -> Any:
    """Return the values of an activation function; `relu_param` is the slope of `prelu` below 0."""
    token = token_of(op, 1)
    if token.name != "prelu":
        return applied(token, values)
    slope = column(issue, relu_param, values.shape)
    return token.apply(values, slope.computed())


def _registers_before(issue: Issue, command: str, values: NDArray[Any]) -> Any:
    """Execute a `reduce_cmd` on the scalar engine's registers; return their earlier column.

    The column is zero if the command resets the registers first.
    """
    registers = issue.run.reduce_registers
    if command in ("reset", "reset_reduce"):
        registers[:] = 0
    registers_view = registers[: values.shape[0]]
    earlier_column = registers_view.reshape(-1, 1).copy()
    if command in ("reduce", "reset_reduce"):
        registers_view += values.reshape(values.shape[0], -1).sum(axis=1, dtype=np.float32)
    return earlier_column


@operation("nisa.activation_reduce", engine="scalar", kind="reduce")
def activation_reduce(
    issue: Issue,
    op: Any,
    data: Any,
    *,
    reduce_op: Any,
    reduce_res: Any,
    bias: Any = None,
    scale: Any = 1.0,
    mask: Any = None,
    dtype: Any = None,
) -> Result | None:
    """Return `op(data × scale + bias)`, and write its reduction by `reduce_op` to `reduce_res`."""
    return activation.function(
        issue,
        op,
        data,
        bias=bias,
        scale=scale,
        reduce_op=reduce_op,
        reduce_res=reduce_res,
        mask=mask,
        dtype=dtype,
    )


@operation("nisa.activate2", engine="scalar", kind="elementwise")
def activate2(
    issue: Issue,
    op: Any,
    data: Any,
    imm0: Any,
    imm1: Any,
    op0: Any,
    op1: Any,
    relu_param: Any = 0.0,
    reverse0: bool = False,
    reverse1: bool = False,
    reduce_op: Any = None,
    reduce_res: Any = None,
    reduce_cmd: Any = None,
) -> Result:
    """Return `op((data op0 imm0) op1 imm1)`, and reduce the results into the engine's registers."""
    tile = issue.read(data)
    operands = [tile]
    values = tile.computed()
    for stage, operand, swapped in ((op0, imm0, reverse0), (op1, imm1, reverse1)):
        values = staged(issue, stage, values, operand, swapped, operands)
    values = _activated(issue, op, values, relu_param)
    issue.flops += values.size
    accumulate(
        issue,
        issue.run.reduce_registers,
        reduce_cmd,
        reduce_op or "add",
        values,
        operands,
        target=reduce_res,
    )
    return issue.result(values, None, *operands)


@operation("nisa.exponential", engine="vector", kind="elementwise")
def exponential(
    issue: Issue,
    src: Any,
    max_value: Any = 0.0,
    reduce_res: Any = None,
    reduce_cmd: Any = None,
    reduce_init: float = 0.0,
) -> Result:
    """Return `exp(src - max_value)`; with `reduce_res`, also write the sum per partition."""
    tile = issue.read(src)
    shape = tile.values.shape
    subtracted = column(issue, max_value, shape)
    values = np.exp(tile.computed() - subtracted.computed())
    issue.flops = 2 * values.size
    accumulate(
        issue,
        issue.run.vector_registers,
        reduce_cmd,
        "add",
        values,
        (tile, subtracted),
        target=reduce_res,
        start=reduce_init,
    )
    return issue.result(values, None, tile, subtracted)
