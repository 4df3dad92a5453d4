"""Scans along the free dimension, and instructions that return a tile and its reduction."""

from typing import Any, Final

import numpy as np

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.ops.accumulators import accumulate
from kvtrace.addons.neuron.ops.elementwise import applied, column, staged
from kvtrace.addons.neuron.tokens import NEUTRAL, token_of

#: Token → initial value of a scan.
_INITIAL: Final = {**NEUTRAL, "subtract": 0.0}


@operation("nisa.tensor_tensor_scan", engine="vector", kind="scan")
def tensor_tensor_scan(
    issue: Issue,
    data0: Any,
    data1: Any,
    initial: Any,
    op0: Any,
    op1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
) -> Result:
    """Return `op1(op0(data0[i], result[i - 1]), data1[i])` along the free dimension.

    `initial`, a number or a column, stands for `result[-1]`. `reverse0` and `reverse1` swap the
    operands of `op0` and `op1`.
    """
    left, right = issue.read(data0, mask), issue.read(data1, mask)
    right = right.reshaped(*left.values.shape)
    if left.values.ndim != 2:
        raise NkiError(f"tensor_tensor_scan needs tiles of two dimensions, not {left.values.shape}")
    initial_ = column(issue, initial, left.values.shape, mask)
    carry = np.broadcast_to(initial_.computed().reshape(-1), left.values.shape[:1])
    inner_op, outer_op = token_of(op0, 2), token_of(op1, 2)
    if "bits" in (inner_op.kind, outer_op.kind):
        raise NkiError(
            f"ops of tensor_tensor_scan must be arithmetic, not {inner_op!r} and {outer_op!r}"
        )
    factors, addends = left.computed(), right.computed()
    values = np.empty(factors.shape, np.float32)
    for column_index in range(factors.shape[1]):
        pair = (carry, factors[:, column_index]) if reverse0 else (factors[:, column_index], carry)
        inner = inner_op.apply(*pair)
        pair = (addends[:, column_index], inner) if reverse1 else (inner, addends[:, column_index])
        carry = outer_op.apply(*pair)
        values[:, column_index] = carry
    issue.flops = 2 * values.size
    states = None
    if any(operand.states is not None for operand in (left, right, initial_)):
        result_states = issue.result(values, None, left, right, initial_).states
        states = np.minimum.accumulate(result_states, axis=1) if result_states is not None else None
    return issue.result(values, dtype, left, states=states, mask=mask)


@operation("nisa.tensor_scalar_reduce", engine="vector", kind="reduce")
def tensor_scalar_reduce(
    issue: Issue,
    data: Any,
    op0: Any,
    operand0: Any,
    reduce_op: Any,
    reduce_res: Any = None,
    reverse0: bool = False,
    reduce_cmd: Any = None,
    reduce_init: Any = None,
    reduce_res_negate: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
) -> Result:
    """Return `op0` of a tile and a number or column; write its reduction to `reduce_res`.

    `reduce_cmd` controls the vector engine's registers, whose contents `reduce_res` gets;
    `reduce_res_negate` changes their sign.
    """
    tile = issue.read(data, mask)
    operands = [tile]
    values = staged(issue, op0, tile.values, operand0, reverse0, operands, mask)
    registers = issue.run.vector_registers
    accumulate(
        issue,
        registers,
        reduce_cmd,
        reduce_op,
        values,
        operands,
        target=reduce_res,
        start=reduce_init,
        mask=mask,
        negate=reduce_res_negate,
    )
    return issue.result(values, dtype, *operands, mask=mask)


@operation("nisa.range_select", engine="vector", kind="reduce")
def range_select(
    issue: Issue,
    on_true_tile: Any,
    comp_op0: Any,
    comp_op1: Any,
    bound0: Any,
    bound1: Any,
    reduce_cmd: Any = None,
    reduce_res: Any = None,
    reduce_op: Any = "maximum",
    range_start: float = 0.0,
    on_false_value: float = float(np.finfo(np.float32).min),
    *,
    dtype: Any = None,
    mask: Any = None,
) -> Result:
    """Return elements whose index plus `range_start` is within two bounds, else a number."""
    tile = issue.read(on_true_tile, mask)
    shape = tile.values.shape
    bounds = [column(issue, bound, (shape[0], 1)) for bound in (bound0, bound1)]
    rows = tile.computed().reshape(shape[0], -1)
    indices = np.float32(range_start) + np.arange(rows.shape[1], dtype=np.float32)[None, :]
    is_in_range = np.logical_and(
        *(
            applied(token_of(op, 2), indices, bound.computed())
            for op, bound in zip((comp_op0, comp_op1), bounds, strict=True)
        )
    )
    values = np.where(is_in_range, rows, np.float32(on_false_value)).reshape(shape)
    issue.flops = 2 * values.size
    registers = issue.run.vector_registers
    accumulate(
        issue, registers, reduce_cmd, reduce_op, values, (tile,), target=reduce_res, mask=mask
    )
    return issue.result(values, dtype, tile, mask=mask)


@operation("nisa.tensor_scalar_cumulative", engine="vector", kind="scan")
def tensor_scalar_cumulative(
    issue: Issue,
    src: Any,
    op0: Any,
    op1: Any,
    imm0: Any,
    imm1: Any = None,
    reduce_cmd: Any = None,
) -> Result:
    """Return `op1(op0(src[i], imm0), result[i - 1])` along the free dimensions.

    `result[-1]` is the neutral element of `op1`, or `imm1` with `reduce_cmd.load_reduce`.
    """
    tile = issue.read(src)
    shape = tile.values.shape
    matrix_shape = (shape[0], -1)
    operand_column = column(issue, imm0, shape)
    inner_op, outer_op = token_of(op0, 2), token_of(op1, 2)
    command = getattr(reduce_cmd, "name", "reset_reduce")
    operands = [tile, operand_column]
    if command == "load_reduce":
        initial_column = column(issue, imm1, (shape[0], 1))
        operands.append(initial_column)
        carry = np.broadcast_to(initial_column.computed(), (shape[0], 1)).reshape(-1)
    elif command == "reset_reduce" and outer_op.name in _INITIAL:
        carry = np.full(shape[0], _INITIAL[outer_op.name], np.float32)
    else:
        raise NkiError(
            f"tensor_scalar_cumulative has no op1 {outer_op!r} with reduce_cmd {command}: "
            f"op1 is one of {', '.join(_INITIAL)}, and reduce_cmd reset_reduce or load_reduce"
        )
    factors = applied(inner_op, tile, operand_column).reshape(matrix_shape)
    values = np.empty(factors.shape, np.float32)
    for column_index in range(factors.shape[1]):
        carry = outer_op.apply(factors[:, column_index], carry)
        values[:, column_index] = carry
    issue.flops = 2 * values.size
    result_states = issue.result(values.reshape(shape), None, *operands).states
    states = None
    if result_states is not None:
        states = np.minimum.accumulate(result_states.reshape(matrix_shape), axis=1).reshape(shape)
    return issue.result(values.reshape(shape), None, tile, states=states)
