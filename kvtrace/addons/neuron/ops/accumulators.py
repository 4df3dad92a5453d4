"""Registers that engines reduce into, a number a partition, and columns that hold a reduction."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.access import Values
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.indices import lanes_of
from kvtrace.addons.neuron.memory import DEFINED
from kvtrace.addons.neuron.operations import Issue
from kvtrace.addons.neuron.ops.elementwise import column
from kvtrace.addons.neuron.targets import PARTITIONS
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import NEUTRAL, token_of

Array = NDArray[Any]

#: Reducing operations that NumPy has no function for, by one that reduces magnitudes.
_OF_MAGNITUDES: Final = {"abs_max": "maximum", "abs_min": "minimum"}


def reduced_columns(
    op: Any, values: Array, mask: Any = None
) -> tuple[Array, NDArray[np.bool_] | None]:
    """Reduce values over their free dimensions; give a column, and the lanes of a mask.

    Raises:
        NkiError: the operation is none to reduce with.
    """
    token = token_of(op, 2)
    name = _OF_MAGNITUDES.get(token.name, token.name)
    if name != token.name:
        values = np.abs(values)
    ufunc = getattr(np, name, None)
    if not isinstance(ufunc, np.ufunc):
        raise NkiError(f"nl.{token.name} is not an operation to reduce with")
    lanes = None
    if mask is not None:
        lanes = np.broadcast_to(lanes_of(mask), values.shape)
        values = np.where(lanes, values, np.float32(NEUTRAL.get(name, 0.0)))
    flat = values.reshape(values.shape[0], -1)
    return np.asarray(ufunc.reduce(flat, axis=1)).reshape(-1, 1), lanes


def reduce_into(
    issue: Issue,
    target: Tensor,
    op: Any,
    values: Array,
    operands: Sequence[Values],
    start: Any = None,
    mask: Any = None,
    negate: bool = False,
) -> Array:
    """Reduce an op's result over its free dimensions into a column, from `start` on.

    `start` is a number or a column. Lanes that a mask leaves out take no part. Gives the column.
    """
    states = issue.result(values, dtypes.float32, *operands).states
    total, lanes = reduced_columns(op, values, mask)
    rows = None
    if lanes is not None:
        states = None if states is None else np.where(lanes, states, np.uint8(DEFINED))
        rows = lanes.reshape(lanes.shape[0], -1).any(axis=1).reshape(-1, 1)
    if states is not None:
        states = states.reshape(values.shape[0], -1).min(axis=1).reshape(-1, 1)
    if start is not None:
        total = token_of(op, 2).apply(np.asarray(start, np.float32), total)
    issue.flops += values.size
    told = -total if negate else total
    issue.also(target, issue.result(told, target.dtype, states=states, mask=rows))
    return total


def accumulate(
    issue: Issue,
    registers: NDArray[np.float32],
    command: Any,
    op: Any,
    values: Array,
    operands: Sequence[Values],
    *,
    target: Tensor | None = None,
    start: Any = None,
    mask: Any = None,
    negate: bool = False,
) -> None:
    """Do what a `reduce_cmd` says with an engine's registers; `target` gets what they hold.

    `start` is what `load_reduce` loads. Without a command, and with `idle`, the registers stay as
    they are, and `target` gets the reduction of this instruction alone.
    """
    name = getattr(command, "name", "")
    if target is None and name in ("", "idle"):
        return
    mine = registers[: min(values.shape[0], PARTITIONS)].reshape(-1, 1)
    neutral = NEUTRAL.get(token_of(op, 2).name, 0.0)
    if name == "reset":
        mine[:] = neutral
        if target is not None:
            held = -mine if negate else mine.copy()
            issue.also(target, issue.result(held, target.dtype, states=None))
        return
    first: Any = None
    if name == "reduce":
        first = mine.copy()
    elif name == "load_reduce":
        first = column(issue, start, values.shape).computed().reshape(-1, 1)
    if target is not None:
        total = reduce_into(issue, target, op, values, operands, first, mask, negate)
    else:
        total, _ = reduced_columns(op, values, mask)
        total = total if first is None else token_of(op, 2).apply(first, total)
    if name in ("reduce", "reset_reduce", "load_reduce"):
        mine[:] = total
