"""Activation functions on the scalar engine."""

from typing import Any

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.ops.elementwise import applied, column
from kvtrace.addons.neuron.ops.reductions import reduce_into
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
) -> Result:
    """Return `op(data × scale + bias)`; scale and bias are numbers or columns.

    With `reduce_res` the results are also reduced over the free dimensions, into that column.
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
    values = applied(token_of(op, 1), values)
    issue.flops += values.size
    if getattr(reduce_cmd, "name", "reset_reduce") != "reset_reduce":
        raise NkiError(f"kvtrace does not run nki.isa.{reduce_cmd}; use nki.simulate")
    if reduce_res is not None:
        reduce_into(issue, reduce_res, reduce_op or "add", values, mask)
    return issue.result(values, dtype, *operands, mask=mask)


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
