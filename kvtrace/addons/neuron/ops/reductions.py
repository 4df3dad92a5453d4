"""Reductions over free dimensions, partitions and loops; means, variances, norms and softmax.

A reduced tile keeps its partitions; reduced to one dimension, its shape is (partitions, 1).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import targets
from kvtrace.addons.neuron.access import Values
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import TILE_LIMIT
from kvtrace.addons.neuron.indices import lanes_of
from kvtrace.addons.neuron.machine import Loop, LoopNumber
from kvtrace.addons.neuron.operations import Issue, Operation, Result, operation
from kvtrace.addons.neuron.ops.accumulators import reduced, reduced_shape
from kvtrace.addons.neuron.selections import lanes_within
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import token_of

Array = NDArray[Any]


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


def _reduced(
    op: Any, tile: Values, axes: tuple[int, ...], mask: Any, keepdims: bool
) -> tuple[Array, Array | None]:
    """Return values and states of a tile reduced over free axes; masked-off lanes are ignored."""
    values = tile.values if token_of(op).kind == "bits" else tile.computed()
    return reduced(op, values, tile.states, axes, mask, keepdims)


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
        values, states = _reduced(token_name, tile, axes, mask, keepdims)
        issue.flops = tile.values.size
        if after is not None:
            values = after(values, _lane_counts(tile.values.shape, axes, mask, values.shape))
        result = issue.result(values, dtype, tile, states=states)
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


@operation("nl.var", engine="vector", kind="reduce")
def var(
    issue: Issue, x: Any, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False
) -> Result:
    """Return the variance over free dimensions."""
    tile = issue.read(x, mask)
    axes = free_axes(axis, tile.values.ndim)
    shape = reduced_shape(tile.values.shape, axes, keepdims)
    lanes = True if mask is None else np.broadcast_to(lanes_of(mask), tile.values.shape)
    values = np.var(tile.computed(), axis=axes, where=lanes).reshape(shape)
    issue.flops = 4 * tile.values.size
    _, states = _reduced("add", tile, axes, mask, keepdims)
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
    """Return a tile reduced over free dimensions; `negate` changes the sign of the result."""
    tile = issue.read(data, mask)
    axes = free_axes(axis, tile.values.ndim)
    values, states = _reduced(op, tile, axes, mask, keepdims)
    issue.flops = tile.values.size
    return issue.result(-values if negate else values, dtype, tile, states=states)


@operation("nisa.tensor_partition_reduce", engine="gpsimd", kind="reduce")
def tensor_partition_reduce(
    issue: Issue, op: Any, data: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Return a tile reduced over its partitions, of one partition."""
    tile = issue.read(data, mask)
    partitions_last = tile.moved(lambda array: np.moveaxis(array, 0, -1))
    lanes = (
        None
        if mask is None
        else np.moveaxis(np.broadcast_to(lanes_of(mask), tile.values.shape), 0, -1)
    )
    rank = partitions_last.values.ndim
    values, states = _reduced(op, partitions_last, (rank - 1,), lanes, keepdims=True)
    issue.flops = tile.values.size
    shape = (1, *tile.values.shape[1:])
    reduced_states = None if states is None else states.reshape(shape)
    return issue.result(values.reshape(shape), dtype, tile, states=reduced_states)


def _accumulator_key(issue: Issue, outermost: Loop, reduced: list[Loop]) -> tuple[int, ...]:
    """Return the key of the accumulator of a call of `loop_reduce`.

    There is an accumulator for each iteration of the loops that are not reduced. Python's own loops
    are unknown; the number of earlier calls at the site in the innermost iteration stands for their
    iterations.
    """
    running = issue.run.loops
    inner_loops = running[running.index(outermost) :]
    trips = tuple(loop.trip for loop in inner_loops if loop not in reduced)
    calls = running[-1].calls
    call_index = calls[issue.site] = calls.get(issue.site, -1) + 1
    return (issue.site, call_index, *trips)


@operation("nl.loop_reduce", engine="vector", kind="reduce")
def loop_reduce(
    issue: Issue, x: Any, op: Any, loop_indices: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Return a tile reduced over the iterations of loops so far; in the last, it is complete.

    Raises:
        NkiError: `loop_indices` are not loop variables of `affine_range` and others.
    """
    tile = issue.read(x, mask)
    variables = loop_indices if isinstance(loop_indices, tuple | list) else [loop_indices]
    loops = [variable.loop for variable in variables if isinstance(variable, LoopNumber)]
    if not loops or len(loops) != len(variables):
        raise NkiError("loop_indices must be loop variables of affine_range or another NKI range")
    outermost = min(loops, key=issue.run.loops.index)
    token = token_of(op, 2)
    values = tile.computed()
    accumulator_key = _accumulator_key(issue, outermost, loops)
    total_before = outermost.accumulators.get(accumulator_key)
    if total_before is not None:
        values = token.apply(total_before, values)
        issue.flops = values.size
    outermost.accumulators[accumulator_key] = np.array(values)
    return issue.result(values, dtype, tile, mask=mask)


@operation("nisa.bn_stats", engine="vector", kind="reduce")
def bn_stats(issue: Issue, data: Any, *, dtype: Any = None, mask: Any = None) -> Result:
    """Return count, mean and count × variance of the even elements, then of the odd elements."""
    tile = issue.read(data, mask)
    rows = tile.computed().reshape(tile.values.shape[0], -1)
    issue.limit(
        rows.shape[1], targets.BN_STATS_FREE, TILE_LIMIT, "the free size of a tile for bn_stats"
    )
    triples = []
    for part in (rows[:, 0::2], rows[:, 1::2]):
        count = part.shape[1]
        mean = part.mean(axis=1) if count else np.zeros(rows.shape[0], np.float32)
        scaled_variance = part.var(axis=1) * count if count else np.zeros(rows.shape[0], np.float32)
        triples += [np.full(rows.shape[0], count, np.float32), mean, scaled_variance]
    issue.flops = 4 * rows.size
    return issue.result(
        np.stack(triples, axis=1), dtype, tile, states=_lowest_states(tile.states, 6)
    )


@operation("nisa.bn_aggr", engine="vector", kind="reduce")
def bn_aggr(issue: Issue, data: Any, *, dtype: Any = None, mask: Any = None) -> Result:
    """Return mean and variance per partition, from triples that `bn_stats` returns."""
    tile = issue.read(data, mask)
    rows = tile.computed().reshape(tile.values.shape[0], -1)
    if rows.shape[1] % 3:
        raise NkiError(f"bn_aggr needs triples, not {rows.shape[1]} elements per partition")
    counts, means, scaled_variances = (rows[:, offset::3] for offset in range(3))
    total_count = counts.sum(axis=1, keepdims=True)
    mean = (counts * means).sum(axis=1, keepdims=True) / total_count
    variance_of_means = (counts * (means - mean) ** 2).sum(axis=1, keepdims=True)
    variance = (scaled_variances.sum(axis=1, keepdims=True) + variance_of_means) / total_count
    issue.flops = 6 * counts.size
    values = np.concatenate([mean, variance], axis=1)
    return issue.result(values, dtype, tile, states=_lowest_states(tile.states, 2))


def _lowest_states(states: Any, count: int) -> Any:
    """Return the lowest state of each partition, repeated `count` times; None stays None."""
    if states is None:
        return None
    lowest = states.reshape(states.shape[0], -1).min(axis=1, keepdims=True)
    return np.repeat(lowest, count, axis=1)


@operation("nl.softmax", engine="scalar", kind="reduce")
def softmax(
    issue: Issue,
    x: Any,
    axis: Any,
    *,
    dtype: Any = None,
    compute_dtype: Any = None,
    mask: Any = None,
) -> Result:
    """Return `exp(x - max) / sum` over free dimensions."""
    del compute_dtype
    tile = issue.read(x, mask)
    axes = free_axes(axis, tile.values.ndim)
    greatest, states = _reduced("maximum", tile, axes, mask, keepdims=True)
    powers = np.exp(tile.computed() - greatest)
    weights = powers if mask is None else np.where(_lanes(mask, powers.shape), powers, 0)
    total = weights.sum(axis=axes, keepdims=True)
    issue.flops = 4 * powers.size
    result_states = None if states is None else np.broadcast_to(states, powers.shape)
    return issue.result(powers / total, dtype, tile, states=result_states, mask=mask)


@operation("nl.rms_norm", engine="vector", kind="reduce")
def rms_norm(
    issue: Issue,
    x: Any,
    w: Any,
    axis: Any,
    n: Any,
    epsilon: float = 1e-6,
    *,
    dtype: Any = None,
    compute_dtype: Any = None,
    mask: Any = None,
) -> Result:
    """Return `x × w / sqrt(sum(x²) / n + epsilon)` over free dimensions."""
    del compute_dtype
    tile = issue.read(x, mask)
    weights = issue.read(w, _operand_mask(mask, tile.values.shape, w))
    axes = free_axes(axis, tile.values.ndim)
    values = tile.computed()
    squares = values * values
    if mask is not None:
        squares = np.where(_lanes(mask, squares.shape), squares, 0)
    scale = 1 / np.sqrt(squares.sum(axis=axes, keepdims=True) / np.float32(n) + np.float32(epsilon))
    issue.flops = 4 * values.size
    return issue.result(values * scale * weights.computed(), dtype, tile, weights, mask=mask)


def _operand_mask(mask: Any, shape: tuple[int, ...], operand: Any) -> Any:
    return lanes_within(mask, shape, operand.shape) if isinstance(operand, Tensor) else None


def _lanes(mask: Any, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(lanes_of(mask), shape)


@operation("nl.dropout", engine="vector", kind="elementwise")
def dropout(issue: Issue, x: Any, rate: Any, *, dtype: Any = None, mask: Any = None) -> Result:
    """Return a tile with elements set to zero with probability `rate`, equally in every run."""
    return _dropped_out(issue, x, rate, dtype, mask)


def _dropped_out(issue: Issue, data: Any, probabilities: Any, dtype: Any, mask: Any) -> Result:
    tile = issue.read(data, mask)
    probability = issue.read(probabilities, _operand_mask(mask, tile.values.shape, probabilities))
    is_kept = issue.run.random.random(tile.values.shape) >= probability.computed()
    return issue.result(np.where(is_kept, tile.computed(), 0), dtype, tile, probability, mask=mask)


@operation("nisa.dropout", engine="vector", kind="elementwise")
def dropout_by_chance(
    issue: Issue, data: Any, prob: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Return a tile with elements set to zero with probability `prob`, a number or column."""
    return _dropped_out(issue, data, prob, dtype, mask)
