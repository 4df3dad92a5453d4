"""Scans along the free dimension, and instructions that return a tile and its reduction."""

from typing import Any

import numpy as np

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.ops.elementwise import column, staged
from kvtrace.addons.neuron.ops.reductions import reduce_into
from kvtrace.addons.neuron.tokens import token_of


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
    return issue.result(values, dtype, left, mask=mask)


@operation("nisa.tensor_scalar_reduce", engine="vector", kind="reduce")
def tensor_scalar_reduce(
    issue: Issue,
    data: Any,
    op0: Any,
    operand0: Any,
    reduce_op: Any,
    reduce_res: Any = None,
    reverse0: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
) -> Result:
    """Return `op0` of a tile and a number or column; write its reduction to `reduce_res`."""
    tile = issue.read(data, mask)
    operands = [tile]
    values = staged(issue, op0, tile.values, operand0, reverse0, operands, mask)
    if reduce_res is not None:
        reduce_into(issue, reduce_res, reduce_op, values, mask)
    return issue.result(values, dtype, *operands, mask=mask)
