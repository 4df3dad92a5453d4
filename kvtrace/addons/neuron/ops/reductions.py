"""Reductions over free dimensions and partitions; means, variances, norms and softmax.

A reduced tile keeps its partitions; reduced to one dimension, its shape is (partitions, 1).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.access import Values
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.indices import lanes_of
from kvtrace.addons.neuron.operations import Issue, Operation, Result, operation
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import NEUTRAL, token_of

Array = NDArray[Any]


def reduced(op: Any, values: Array, axes: tuple[int, ...], mask: Any, keepdims: bool) -> Array:
    """Return values reduced over free axes; masked-off lanes are ignored.

    Raises:
        NkiError: the operation is not a reduction.
    """
    token = token_of(op, 2)
    ufunc = getattr(np, token.name, None)
    if not isinstance(ufunc, np.ufunc):
        raise NkiError(f"nl.{token.name} cannot be used to reduce")
    if mask is not None:
        lanes = np.broadcast_to(lanes_of(mask), values.shape)
        values = np.where(lanes, values, np.float32(NEUTRAL.get(token.name, 0.0)))
    shape = reduced_shape(values.shape, axes, keepdims)
    return np.asarray(ufunc.reduce(values, axis=axes)).reshape(shape)


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """Return the shape of a tile reduced over axes, of at least two dimensions."""
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    remaining = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    return remaining if len(remaining) > 1 else (*remaining, 1)


def reduce_into(issue: Issue, target: Tensor, op: Any, values: Array, mask: Any = None) -> None:
    """Reduce values over their free dimensions, and write the column to `target`.

    Masked-off lanes are ignored.
    """
    rows = values.reshape(values.shape[0], -1)
    lanes = active = None
    if mask is not None:
        lanes = np.broadcast_to(lanes_of(mask), values.shape).reshape(rows.shape)
        active = np.any(lanes, axis=1, keepdims=True)
    column = reduced(op, rows, (1,), lanes, keepdims=True)
    issue.flops += values.size
    issue.add_result(target, issue.result(column, target.dtype, mask=active))


def free_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Return the axes to reduce, sorted and counted from 0; they must be free dimensions.

    Raises:
        NkiError: an axis is the partition dimension, or does not exist.
    """
    requested = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    axes = sorted({int(number) + rank if number < 0 else int(number) for number in requested})
    if any(not 0 < number < rank for number in axes):
        raise NkiError(
            f"axis {axis} of a tile of {rank} dimensions cannot be reduced: only free dimensions "
            f"can, 1 to {rank - 1}; transpose the tile to reduce over partitions"
        )
    return tuple(axes)


def _reduced(op: Any, tile: Values, axes: tuple[int, ...], mask: Any, keepdims: bool) -> Array:
    """Return a tile's values reduced over free axes; masked-off lanes are ignored."""
    values = tile.values if token_of(op).kind == "bits" else tile.computed()
    return reduced(op, values, axes, mask, keepdims)


def _language_reduction(
    name: str, token_name: str, after: Callable[[Array, Array], Array] | None = None
) -> Operation:
    """Return the op `nl.<name>`: a reduction by a token, and then `after(total, lane count)`."""

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
        values = _reduced(token_name, tile, axes, mask, keepdims)
        issue.flops = tile.values.size
        if after is not None:
            values = after(values, _lane_counts(tile.values.shape, axes, mask, values.shape))
        result = issue.result(values, dtype, tile)
        result.has_added_axis = not keepdims and tile.values.ndim - len(axes) == 1
        return result

    reduce.__doc__ = f"Return the {name} over free dimensions."
    return operation(f"nl.{name}", engine="vector", kind="reduce")(reduce)


def _lane_counts(
    shape: tuple[int, ...], axes: tuple[int, ...], mask: Any, result: tuple[int, ...]
) -> Array:
    lanes = np.broadcast_to(True if mask is None else lanes_of(mask), shape)
    return np.asarray(lanes.sum(axis=axes, dtype=np.float32)).reshape(result)


sum_ = _language_reduction("sum", "add")
max_ = _language_reduction("max", "maximum")
min_ = _language_reduction("min", "minimum")
prod = _language_reduction("prod", "multiply")
mean = _language_reduction("mean", "add", lambda total, count: total / count)
all_ = _language_reduction("all", "logical_and")


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
    """Return a tile reduced over free dimensions; `negate` changes the sign of the result."""
    tile = issue.read(data, mask)
    axes = free_axes(axis, tile.values.ndim)
    values = _reduced(op, tile, axes, mask, keepdims)
    issue.flops = tile.values.size
    return issue.result(-values if negate else values, dtype, tile)
