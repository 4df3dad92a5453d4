"""Reductions over free dimensions, in the language and as instructions.

What is left of a tile keeps its partitions; reduced to one dimension it is (partitions, 1).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.access import Values
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.indices import lanes_of
from kvtrace.addons.neuron.machine import Loop, LoopNumber
from kvtrace.addons.neuron.memory import DEFINED
from kvtrace.addons.neuron.operations import Issue, Operation, Result, operation
from kvtrace.addons.neuron.tokens import NEUTRAL, Token, token_of

Array = NDArray[Any]


def free_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Return the axes to reduce, each of them free, in order.

    Raises:
        NkiError: it is the partition dimension, or there is no such axis.
    """
    listed = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    found = sorted({int(each) + rank if each < 0 else int(each) for each in listed})
    if any(not 0 < each < rank for each in found):
        raise NkiError(
            f"axis {axis} of a tile of {rank} dimensions cannot be reduced: only free dimensions "
            f"can, 1 to {rank - 1}; transpose the tile to reduce over partitions"
        )
    return tuple(found)


def reduced(
    token: Token, tile: Values, axes: tuple[int, ...], mask: Any, keepdims: bool
) -> tuple[Array, NDArray[np.uint8] | None]:
    """Reduce a tile; elements that a mask leaves out take no part. Gives values and states."""
    ufunc = getattr(np, token.name, None)
    if not isinstance(ufunc, np.ufunc):
        raise NkiError(f"nl.{token.name} is not an operation to reduce with")
    values = tile.computed() if token.kind != "bits" else tile.values
    states = tile.states
    if mask is not None:
        lanes = np.broadcast_to(lanes_of(mask), values.shape)
        values = np.where(lanes, values, np.float32(NEUTRAL.get(token.name, 0.0)))
        states = None if states is None else np.where(lanes, states, np.uint8(DEFINED))
    shape = _shape_of(values.shape, axes, keepdims)
    total = np.asarray(ufunc.reduce(values, axis=axes)).reshape(shape)
    if states is None or states.min() == DEFINED:
        return total, None
    return total, states.min(axis=axes).reshape(shape)


def _shape_of(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    left = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    return left if len(left) > 1 else (*left, 1)


def _language_reduction(
    name: str, over: str, after: Callable[[Array, Array], Array] | None = None
) -> Operation:
    """Make `nl.<name>`: a reduction with the token `over`, and what is done with the total."""

    def reduce(
        issue: Issue,
        x: Any,
        axis: Any,
        *,
        dtype: Any = None,
        mask: Any = None,
        keepdims: bool = False,
    ) -> Result:
        tile = issue.read(x, mask)
        axes = free_axes(axis, tile.values.ndim)
        values, states = reduced(token_of(over, 2), tile, axes, mask, keepdims)
        issue.flops = tile.values.size
        if after is not None:
            values = after(values, _counted(tile.values.shape, axes, mask, values.shape))
        result = issue.result(values, dtype, tile, states=states)
        result.flat = not keepdims and tile.values.ndim - len(axes) == 1
        return result

    reduce.__doc__ = f"Give the {name} over free dimensions."
    return operation(f"nl.{name}", engine="vector", kind="reduce")(reduce)


def _counted(
    shape: tuple[int, ...], axes: tuple[int, ...], mask: Any, result: tuple[int, ...]
) -> Array:
    """Return how many elements each of the results is of: those that a mask lets through."""
    lanes = np.broadcast_to(True if mask is None else lanes_of(mask), shape)
    return np.asarray(lanes.sum(axis=axes, dtype=np.float32)).reshape(result)


sum_ = _language_reduction("sum", "add")
max_ = _language_reduction("max", "maximum")
min_ = _language_reduction("min", "minimum")
prod = _language_reduction("prod", "multiply")
mean = _language_reduction("mean", "add", lambda total, count: total / count)
all_ = _language_reduction("all", "logical_and")


@operation("nl.var", engine="vector", kind="reduce")
def var(
    issue: Issue, x: Any, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False
) -> Result:
    """Return the variance over free dimensions."""
    tile = issue.read(x, mask)
    axes = free_axes(axis, tile.values.ndim)
    shape = _shape_of(tile.values.shape, axes, keepdims)
    lanes = True if mask is None else np.broadcast_to(lanes_of(mask), tile.values.shape)
    values = np.var(tile.computed(), axis=axes, where=lanes).reshape(shape)
    issue.flops = 4 * tile.values.size
    _, states = reduced(token_of("add", 2), tile, axes, mask, keepdims)
    return issue.result(values, dtype, tile, states=states)


@operation("nisa.tensor_reduce", engine="vector", kind="reduce")
def tensor_reduce(
    issue: Issue,
    op: Any,
    data: Any,
    axis: Any,
    *,
    dtype: Any = None,
    mask: Any = None,
    negate: bool = False,
    keepdims: bool = False,
) -> Result:
    """Reduce a tile over free dimensions; `negate` turns the sign of the result."""
    tile = issue.read(data, mask)
    axes = free_axes(axis, tile.values.ndim)
    values, states = reduced(token_of(op, 2), tile, axes, mask, keepdims)
    issue.flops = tile.values.size
    return issue.result(-values if negate else values, dtype, tile, states=states)


@operation("nisa.tensor_partition_reduce", engine="gpsimd", kind="reduce")
def tensor_partition_reduce(
    issue: Issue, op: Any, data: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Reduce a tile over its partitions, to one of them."""
    tile = issue.read(data, mask)
    turned = Values(
        np.moveaxis(tile.values, 0, -1),
        None if tile.states is None else np.moveaxis(tile.states, 0, -1),
        tile.dtype,
        tile.space,
    )
    lanes = (
        None
        if mask is None
        else np.moveaxis(np.broadcast_to(lanes_of(mask), tile.values.shape), 0, -1)
    )
    rank = turned.values.ndim
    values, states = reduced(token_of(op, 2), turned, (rank - 1,), lanes, keepdims=True)
    issue.flops = tile.values.size
    shape = (1, *tile.values.shape[1:])
    kept = None if states is None else states.reshape(shape)
    return issue.result(values.reshape(shape), dtype, tile, states=kept)


def _accumulator(issue: Issue, outermost: Loop, reduced: list[Loop]) -> tuple[int, ...]:
    """Return which of a call's accumulators is selected: each turn of other loops has its own.

    Those of Python's loops are recognized by how often the innermost iteration has come by the
    call.
    """
    going_on = issue.run.loops
    innermost = going_on[-1]
    within = going_on[going_on.index(outermost) :]
    others = tuple(loop.trip for loop in within if loop not in reduced)
    calls = innermost.calls
    turn = calls[issue.site] = calls.get(issue.site, -1) + 1
    return (issue.site, turn, *others)


@operation("nl.loop_reduce", engine="vector", kind="reduce")
def loop_reduce(
    issue: Issue, x: Any, op: Any, loop_indices: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Reduce a tile over the iterations of loops; after the last of them the result is whole.

    Raises:
        NkiError: `loop_indices` are not numbers of loops of the language.
    """
    tile = issue.read(x, mask)
    listed = loop_indices if isinstance(loop_indices, tuple | list) else [loop_indices]
    loops = [index.loop for index in listed if isinstance(index, LoopNumber)]
    if not loops or len(loops) != len(listed):
        raise NkiError("loop_indices are the numbers that affine_range or another range gives")
    outermost = min(loops, key=issue.run.loops.index)
    token = token_of(op, 2)
    values = tile.computed()
    accumulator = _accumulator(issue, outermost, loops)
    before = outermost.accumulators.get(accumulator)
    if before is not None:
        values = token.apply(before, values)
        issue.flops = values.size
    outermost.accumulators[accumulator] = np.array(values)
    return issue.result(values, dtype, tile, mask=mask)
