"""Instructions that find, choose and move elements within partitions."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import ENGINE_DTYPE, TILE_LIMIT
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.ops.accumulators import accumulate
from kvtrace.addons.neuron.ops.elementwise import column, reshaped
from kvtrace.addons.neuron.tensors import Tensor

#: Elements a partition that searches take, at least and at most (reference of `nki.isa`).
LEAST: Final = 8
MOST: Final = 16_384

#: Partitions that a shuffle moves among; and what leaves one as it is.
GROUP: Final = 32
UNCHANGED: Final = 255


def _flat(issue: Issue, operand: Any, mask: Any = None) -> NDArray[Any]:
    read = issue.read(operand, mask)
    flat = read.computed().reshape(read.values.shape[0], -1)
    if flat.shape[1] != LEAST:
        issue.limit(flat.shape[1], MOST, TILE_LIMIT, "the free size of a tile that is searched")
    return flat


@operation("nisa.max8", engine="vector", kind="reduce")
def max8(issue: Issue, src: Any, *, dtype: Any = None, mask: Any = None) -> Result:
    """Return the eight largest elements of each partition, in falling order."""
    flat = _flat(issue, src, mask)
    if flat.shape[1] < LEAST:
        raise NkiError(f"max8 takes at least {LEAST} elements a partition, not {flat.shape[1]}")
    given = src.dtype if dtype is None else dtype
    return issue.result(-np.sort(-flat, axis=1)[:, :LEAST], given)


def _places(flat: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each value is found in its partition, -1 where it is not.

    Equal values are found one after the other.
    """
    places = np.full(wanted.shape, -1, np.int64)
    for row, values in enumerate(wanted):
        for value in np.unique(values):
            slots = np.flatnonzero(values == value)
            found = np.flatnonzero(flat[row] == value)[: slots.size]
            places[row, slots[: found.size]] = found
    return places


def _all_ones(places: NDArray[np.int64], dtype: Any) -> NDArray[Any]:
    """Return places as an integer type holds them: all bits of one that is not there are set."""
    given = dtypes.as_dtype(dtype)
    return places.astype(given) if given.kind in "iu" else places


@operation("nisa.nc_find_index8", engine="vector", kind="other")
def nc_find_index8(
    issue: Issue, data: Any, vals: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Return where each of eight values is found in its partition; all ones where it is not.

    Equal values have the places of equal elements, in rising order.
    """
    flat, wanted = _flat(issue, data, mask), _flat(issue, vals)
    if wanted.shape[1] != LEAST:
        raise NkiError(f"nc_find_index8 takes {LEAST} values a partition, not {wanted.shape[1]}")
    if issue.destination is not None:
        dtype = issue.destination.dtype
    given = dtypes.uint32 if dtype is None else dtype
    return issue.result(_all_ones(_places(flat, wanted), given), given)


@operation("nisa.nc_match_replace8", engine="vector", kind="other")
def nc_match_replace8(
    issue: Issue,
    data: Any,
    vals: Any,
    imm: float,
    dst_idx: Any = None,
    *,
    dtype: Any = None,
    mask: Any = None,
) -> Result:
    """Replace the first place of each of eight values by a number; `dst_idx` gets the places.

    Values are taken from the last to the first: equal ones have their places in falling order.
    """
    tile = issue.read(data, mask)
    flat = np.array(tile.computed().reshape(tile.values.shape[0], -1))
    places = _places(flat, _flat(issue, vals)[:, ::-1])[:, ::-1]
    for row, found in enumerate(places):
        flat[row, found[found >= 0]] = imm
    if dst_idx is not None:
        issue.also(dst_idx, issue.result(_all_ones(places, dst_idx.dtype), dst_idx.dtype))
    return issue.result(flat.reshape(tile.values.shape), dtype, tile, mask=mask)


@operation("nisa.tensor_copy_predicated", engine="vector", kind="other")
def tensor_copy_predicated(
    issue: Issue,
    src: Any,
    dst: Any,
    predicate: Any,
    reverse_pred: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
) -> Result:
    """Copy elements to `dst` where a predicate is not zero; with `reverse_pred`, where it is."""
    del dtype
    chosen = issue.read(predicate, mask)
    if chosen.dtype not in (dtypes.uint8, dtypes.uint16, dtypes.uint32):
        issue.find(ENGINE_DTYPE, f"a predicate is uint8, uint16 or uint32, not {chosen.dtype}")
    read = issue.read(src, mask)
    if not isinstance(dst, Tensor):
        raise NkiError("dst of nisa.tensor_copy_predicated is a tile")
    issue.destination = dst
    lanes = (chosen.values == 0) if reverse_pred else (chosen.values != 0)
    values = read.values if read.is_number else reshaped(read, dst.shape).values
    whole = np.broadcast_to(values, dst.shape)
    return issue.result(whole, dst.dtype, mask=lanes.reshape(dst.shape))


@operation("nisa.select_reduce", engine="vector", kind="elementwise")
def select_reduce(
    issue: Issue,
    predicate: Any,
    on_true: Any,
    on_false: Any,
    reduce_res: Any = None,
    reduce_cmd: Any = None,
    reduce_op: Any = "maximum",
    reverse_pred: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
) -> Result:
    """Return `on_true` where a predicate is not zero, and a number or a column elsewhere.

    With `reduce_res` the greatest of each partition goes there as well.
    """
    chosen, tile = issue.read(predicate, mask), issue.read(on_true, mask)
    shape = tile.values.shape
    other = column(issue, on_false, shape, mask)
    lanes = (chosen.values == 0) if reverse_pred else (chosen.values != 0)
    values = np.where(lanes.reshape(shape), tile.computed(), other.computed())
    registers = issue.run.vector_registers
    operands = (tile, other)
    accumulate(
        issue, registers, reduce_cmd, reduce_op, values, operands, target=reduce_res, mask=mask
    )
    return issue.result(values, dtype, tile, other, mask=mask)


@operation("nisa.nc_stream_shuffle", engine="vector", kind="other")
def nc_stream_shuffle(
    issue: Issue, src: Any, dst: Any, shuffle_mask: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Move partitions within groups of 32: `dst[i]` is `src[shuffle_mask[i]]`, 255 leaves it."""
    del dtype, mask
    order = [int(place) for place in shuffle_mask]
    if len(order) != GROUP:
        raise NkiError(f"a shuffle names {GROUP} partitions, not {len(order)}")
    read = issue.read(src)
    count = read.values.shape[0]
    moved = [at for at in range(count) if order[at % GROUP] != UNCHANGED]
    values = np.array(read.values)
    values[moved] = read.values[[at - at % GROUP + order[at % GROUP] for at in moved]]
    lanes = np.zeros(read.values.shape, bool)
    lanes[moved] = True
    issue.destination = dst
    return issue.result(values, dst.dtype, mask=lanes)


@operation("nisa.dma_transpose", engine="dma", kind="other")
def dma_transpose(
    issue: Issue,
    src: Any,
    axes: Any = None,
    priority: Any = None,
    dge_mode: Any = None,
    oob_mode: Any = None,
    *,
    dtype: Any = None,
    mask: Any = None,
) -> Result:
    """Swap the first and the last dimension, or put them into the order of `axes`, by DMA.

    Of three dimensions and of four, those between stay where they are, as the reference has it.
    """
    del priority, dge_mode, oob_mode
    read = issue.read(src, mask, device=True)
    rank = read.values.ndim
    order = (rank - 1, *range(1, rank - 1), 0) if axes is None else tuple(axes)
    states = None if read.states is None else read.states.transpose(order)
    return issue.result(read.values.transpose(order), dtype, read, states=states)


@operation("nl.gather_flattened", engine="gpsimd", kind="other")
def gather_flattened(
    issue: Issue,
    data: Any,
    indices: Any,
    axis: int = 0,
    dtype: Any = None,
    *,
    mask: Any = None,
) -> Result:
    """Return elements of each partition by their places in it."""
    if axis != 0:
        raise NkiError(
            f"gather_flattened goes along axis 0, its free dimensions as one, not {axis}"
        )
    tile, places = issue.read(data), issue.read(indices, mask)
    flat = tile.values.reshape(tile.values.shape[0], -1)
    wanted = places.values.reshape(places.values.shape[0], -1).astype(np.int64)
    outside = (wanted < 0) | (wanted >= flat.shape[1])
    if outside.any():
        raise NkiError(f"gather_flattened takes places below {flat.shape[1]}, not {wanted.max()}")
    values = np.take_along_axis(flat, wanted, axis=1).reshape(places.values.shape)
    return issue.result(values, dtype, tile, mask=mask, states=None)


#: Partitions that a core of GpSimd reaches, and that a snake of `topk` runs through.
SNAKE: Final = 16


@operation("nisa.topk", engine="gpsimd", kind="reduce")
def find_top(
    issue: Issue,
    val_dst: Tensor,
    idx_dst: Tensor,
    src: Any,
    n: int,
    sorted: bool = False,  # noqa: A002 - the public name
) -> None:
    """Write the largest elements of each 16 partitions, and their places among `n`.

    Element `i` of such a group lies in partition `i % 16` at place `i // 16`, in the source and in
    the results. These are as many as `val_dst` has elements a partition, and rise; with `sorted`
    they fall. What is behind them in the last place that is written is padding.
    """
    read = issue.read(src)
    partitions = read.values.shape[0]
    count = val_dst.size // val_dst.shape[0]
    if partitions % SNAKE or val_dst.shape[0] != partitions or idx_dst.shape != val_dst.shape:
        raise NkiError(
            f"topk takes a multiple of {SNAKE} partitions, and results of as many and of one shape"
        )
    if not 0 < count <= n or n > SNAKE * (read.values.size // partitions):
        raise NkiError(f"topk finds {count} of {n} elements, src has {read.values.shape}")
    snakes = _snakes(read.computed())[:, :n]
    order = np.argsort(-snakes, axis=1, kind="stable")[:, :count]
    order = order if sorted else order[:, ::-1]
    issue.flops = snakes.size
    written = -(-count // SNAKE)
    results = ((val_dst, np.take_along_axis(snakes, order, axis=1)), (idx_dst, order))
    for target, values in results:
        padded = np.pad(values, ((0, 0), (0, written * SNAKE - count)), mode="edge")
        tile = padded.reshape(-1, written, SNAKE).transpose(0, 2, 1).reshape(partitions, written)
        issue.also(target[:, :written], issue.result(tile, target.dtype, states=None))


def _snakes(values: NDArray[Any]) -> NDArray[Any]:
    """Return a row for each 16 partitions, of their elements place after place."""
    flat = values.reshape(values.shape[0] // SNAKE, SNAKE, -1)
    return np.asarray(flat.transpose(0, 2, 1).reshape(flat.shape[0], -1))


@operation("nisa.sequence_bounds", engine="gpsimd", kind="other")
def sequence_bounds(
    issue: Issue, segment_ids: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Return where the run of equal numbers that an element is in begins, and where it ends.

    Elements of zero are padding: they begin at the number of elements, and end at -1.
    """
    read = issue.read(segment_ids, mask)
    rows = read.values.reshape(read.values.shape[0], -1)
    size = rows.shape[1]
    places = np.arange(size)
    changes = np.ones((rows.shape[0], size + 1), bool)
    changes[:, 1:-1] = rows[:, 1:] != rows[:, :-1]
    begins = np.maximum.accumulate(np.where(changes[:, :-1], places, 0), axis=1)
    ends = np.where(changes[:, 1:], places + 1, size)[:, ::-1]
    ends = np.minimum.accumulate(ends, axis=1)[:, ::-1]
    padding = rows == 0
    values = np.stack([np.where(padding, size, begins), np.where(padding, -1, ends)], axis=1)
    return issue.result(values.astype(np.float32), dtype, read, states=None)
