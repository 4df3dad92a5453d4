"""Accumulation registers of engines, one number per partition, and reductions into columns."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.access import Values, combined_states
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.indices import lanes_of
from kvtrace.addons.neuron.memory import DEFINED
from kvtrace.addons.neuron.operations import Issue
from kvtrace.addons.neuron.ops.elementwise import column
from kvtrace.addons.neuron.targets import PARTITIONS
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import NEUTRAL, token_of

Array = NDArray[Any]

#: Reductions without a NumPy function → the function that reduces the magnitudes.
_MAGNITUDE_REDUCTIONS: Final = {"abs_max": "maximum", "abs_min": "minimum"}


def reduced(
    op: Any, values: Array, states: Array | None, axes: tuple[int, ...], mask: Any, keepdims: bool
) -> tuple[Array, Array | None]:
    """Return values and states reduced over free axes; masked-off lanes are ignored.

    Raises:
        NkiError: the operation is not a reduction.
    """
    token = token_of(op, 2)
    name = _MAGNITUDE_REDUCTIONS.get(token.name, token.name)
    if name != token.name:
        values = np.abs(values)
    ufunc = getattr(np, name, None)
    if not isinstance(ufunc, np.ufunc):
        raise NkiError(f"nl.{token.name} cannot be used to reduce")
    if mask is not None:
        lanes = np.broadcast_to(lanes_of(mask), values.shape)
        values = np.where(lanes, values, np.float32(NEUTRAL.get(name, 0.0)))
        states = None if states is None else np.where(lanes, states, np.uint8(DEFINED))
    shape = reduced_shape(values.shape, axes, keepdims)
    reduced_values = np.asarray(ufunc.reduce(values, axis=axes)).reshape(shape)
    if states is None or states.min() == DEFINED:
        return reduced_values, None
    return reduced_values, states.min(axis=axes).reshape(shape)


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """Return the shape of a tile reduced over axes, of at least two dimensions."""
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    remaining = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    return remaining if len(remaining) > 1 else (*remaining, 1)


def _reduced_column(
    op: Any, values: Array, operands: Sequence[Values], mask: Any
) -> tuple[Array, Array | None, Array | None]:
    """Return values and states as a column, and the partitions with active lanes (None: all)."""
    rows = (values.shape[0], -1)
    states = combined_states(values.shape, tuple(operands))
    states = None if states is None else states.reshape(rows)
    lanes = None
    if mask is not None:
        lanes = np.broadcast_to(lanes_of(mask), values.shape).reshape(rows)
    column, states = reduced(op, values.reshape(rows), states, (1,), lanes, keepdims=True)
    active = None if lanes is None else np.any(lanes, axis=1, keepdims=True)
    return column, states, active


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
    """Reduce values over their free dimensions, write the column to `target`, and return it.

    The reduction begins with `start`, a number or a column. Masked-off lanes are ignored; `negate`
    changes the sign of the written column only.
    """
    column, states, active_rows = _reduced_column(op, values, operands, mask)
    if start is not None:
        column = token_of(op, 2).apply(np.asarray(start, np.float32), column)
    issue.flops += values.size
    written = -column if negate else column
    issue.add_result(target, issue.result(written, target.dtype, states=states, mask=active_rows))
    return column


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
    """Execute a `reduce_cmd` on an engine's registers, and write the reduction to `target`.

    `load_reduce` begins with `start`, `reduce` with the registers. Without a command, and with
    `idle`, the registers do not change, and `target` gets the reduction of this instruction alone.
    """
    name = getattr(command, "name", "")
    if target is None and name in ("", "idle"):
        return
    registers_view = registers[: min(values.shape[0], PARTITIONS)].reshape(-1, 1)
    neutral = NEUTRAL.get(token_of(op, 2).name, 0.0)
    if name == "reset":
        registers_view[:] = neutral
        if target is not None:
            written_column = -registers_view if negate else registers_view.copy()
            issue.add_result(target, issue.result(written_column, target.dtype, states=None))
        return
    initial: Any = None
    if name == "reduce":
        initial = registers_view.copy()
    elif name == "load_reduce":
        initial = column(issue, start, values.shape).computed().reshape(-1, 1)
    if target is not None:
        total = reduce_into(issue, target, op, values, operands, initial, mask, negate)
    else:
        total, _, _ = _reduced_column(op, values, operands, mask)
        total = total if initial is None else token_of(op, 2).apply(initial, total)
    if name in ("reduce", "reset_reduce", "load_reduce"):
        registers_view[:] = total
