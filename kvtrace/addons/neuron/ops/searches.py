"""Instructions that search, select and move elements within partitions."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import TILE_LIMIT
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.ops.accumulators import accumulate
from kvtrace.addons.neuron.ops.elementwise import column
from kvtrace.addons.neuron.tensors import Tensor

#: Minimum and maximum elements per partition of searched tiles (reference of `nki.isa`).
MIN_SIZE: Final = 8
MAX_SIZE: Final = 16_384

#: Partitions among which a shuffle moves, and the entry that leaves a partition unchanged.
GROUP: Final = 32
UNCHANGED: Final = 255


def _searched_rows(issue: Issue, operand: Any, mask: Any = None) -> NDArray[Any]:
    source = issue.read(operand, mask)
    rows = source.computed().reshape(source.values.shape[0], -1)
    if rows.shape[1] != MIN_SIZE:
        text = "the free size of a tile that is searched"
        issue.limit(rows.shape[1], MAX_SIZE, TILE_LIMIT, text)
    return rows


@operation("nisa.max8", engine="vector", kind="reduce")
def max8(issue: Issue, src: Any, *, dtype: Any = None, mask: Any = None) -> Result:
    """Return the eight largest elements of each partition, in descending order."""
    rows = _searched_rows(issue, src, mask)
    if rows.shape[1] < MIN_SIZE:
        raise NkiError(
            f"max8 needs at least {MIN_SIZE} elements per partition, not {rows.shape[1]}"
        )
    result_dtype = src.dtype if dtype is None else dtype
    return issue.result(-np.sort(-rows, axis=1)[:, :MIN_SIZE], result_dtype)


def _match_indices(rows: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the index of each value in its partition, or -1 if it does not occur.

    If a value is searched several times, each match is used once, in ascending order.
    """
    indices = np.full(values.shape, -1, np.int64)
    for row, row_values in enumerate(values):
        for value in np.unique(row_values):
            slots = np.flatnonzero(row_values == value)
            matches = np.flatnonzero(rows[row] == value)[: slots.size]
            indices[row, slots[: matches.size]] = matches
    return indices


def _as_type(indices: NDArray[np.int64], dtype: Any) -> NDArray[Any]:
    """Return indices converted to an integer type, in which -1 sets all bits."""
    index_type = dtypes.as_dtype(dtype)
    return indices.astype(index_type) if index_type.kind in "iu" else indices


@operation("nisa.nc_find_index8", engine="vector", kind="other")
def nc_find_index8(
    issue: Issue, data: Any, vals: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Return the index of each of eight values in its partition; all bits set if it is missing.

    Equal values get the indices of equal elements, in ascending order.
    """
    rows, values = _searched_rows(issue, data, mask), _searched_rows(issue, vals)
    if values.shape[1] != MIN_SIZE:
        raise NkiError(
            f"nc_find_index8 needs {MIN_SIZE} values per partition, not {values.shape[1]}"
        )
    if issue.destination is not None:
        dtype = issue.destination.dtype
    result_dtype = dtypes.uint32 if dtype is None else dtype
    return issue.result(_as_type(_match_indices(rows, values), result_dtype), result_dtype)


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
    """Return a tile in which the first match of each of eight values is replaced by `imm`.

    `dst_idx` gets the matches' indices. Values are matched from the last to the first: equal values
    get descending indices.
    """
    tile = issue.read(data, mask)
    rows = np.array(tile.computed().reshape(tile.values.shape[0], -1))
    indices = _match_indices(rows, _searched_rows(issue, vals)[:, ::-1])[:, ::-1]
    for row, row_indices in enumerate(indices):
        rows[row, row_indices[row_indices >= 0]] = imm
    if dst_idx is not None:
        issue.add_result(dst_idx, issue.result(_as_type(indices, dst_idx.dtype), dst_idx.dtype))
    return issue.result(rows.reshape(tile.values.shape), dtype, tile, mask=mask)


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
    """Copy elements to `dst` where the predicate is nonzero (`reverse_pred`: zero)."""
    del dtype
    predicates = issue.read(predicate, mask)
    source = issue.read(src, mask)
    if not isinstance(dst, Tensor):
        raise NkiError("dst of nisa.tensor_copy_predicated must be a tile")
    issue.destination = dst
    lanes = (predicates.values == 0) if reverse_pred else (predicates.values != 0)
    values = source.values if source.is_number else source.values.reshape(dst.shape)
    broadcast_values = np.broadcast_to(values, dst.shape)
    return issue.result(broadcast_values, dst.dtype, mask=lanes.reshape(dst.shape))


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
    """Return `on_true` where the predicate is nonzero, else `on_false`, a number or a column.

    `reduce_res` gets the reduction of each partition.
    """
    predicates, tile = issue.read(predicate, mask), issue.read(on_true, mask)
    shape = tile.values.shape
    alternative = column(issue, on_false, shape, mask)
    lanes = (predicates.values == 0) if reverse_pred else (predicates.values != 0)
    values = np.where(lanes.reshape(shape), tile.computed(), alternative.computed())
    registers = issue.run.vector_registers
    operands = (tile, alternative)
    accumulate(
        issue, registers, reduce_cmd, reduce_op, values, operands, target=reduce_res, mask=mask
    )
    return issue.result(values, dtype, tile, alternative, mask=mask)


@operation("nisa.nc_stream_shuffle", engine="vector", kind="other")
def nc_stream_shuffle(
    issue: Issue, src: Any, dst: Any, shuffle_mask: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Copy partition `shuffle_mask[i]` of each 32 to partition i; 255 leaves it unchanged."""
    del dtype, mask
    sources = [int(source) for source in shuffle_mask]
    if len(sources) != GROUP:
        raise NkiError(f"a shuffle mask must have {GROUP} entries, not {len(sources)}")
    tile = issue.read(src)
    count = tile.values.shape[0]
    moved = [row for row in range(count) if sources[row % GROUP] != UNCHANGED]
    values = np.array(tile.values)
    values[moved] = tile.values[[row - row % GROUP + sources[row % GROUP] for row in moved]]
    lanes = np.zeros(tile.values.shape, bool)
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
    """Return a tensor with first and last dimension swapped, or dimensions permuted by `axes`.

    Dimensions between the first and the last stay where they are, as in the reference.
    """
    del priority, dge_mode, oob_mode
    source = issue.read(src, mask, device=True)
    rank = source.values.ndim
    order = (rank - 1, *range(1, rank - 1), 0) if axes is None else tuple(axes)
    transposed = source.moved(lambda array: array.transpose(order))
    return issue.result(transposed.values, dtype, transposed)


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
    """Return the elements of each partition at the indices in the same partition."""
    if axis != 0:
        raise NkiError(
            f"gather_flattened can gather along axis 0 only, the joined free dimensions, not {axis}"
        )
    tile, index_tile = issue.read(data), issue.read(indices, mask)
    rows = tile.values.reshape(tile.values.shape[0], -1)
    element_indices = index_tile.values.reshape(index_tile.values.shape[0], -1).astype(np.int64)
    is_outside = (element_indices < 0) | (element_indices >= rows.shape[1])
    if is_outside.any():
        raise NkiError(
            f"gather_flattened needs indices below {rows.shape[1]}, not {element_indices.max()}"
        )
    values = np.take_along_axis(rows, element_indices, axis=1).reshape(index_tile.values.shape)
    return issue.result(values, dtype, tile, mask=mask, states=None)


#: Partitions of a GpSimd core, through which a snake of `topk` runs: its element `i` is in
#: partition `i % 16` at column `i // 16`.
SNAKE: Final = 16


@operation("nisa.topk", engine="gpsimd", kind="reduce")
def find_top(
    issue: Issue,
    val_dst: Tensor,
    idx_dst: Tensor,
    src: Any,
    n: int,
    sorted: bool = False,  # noqa: A002 - the public name
    name: Any = None,
) -> None:
    """Write the largest of the first `n` elements of each 16 partitions, and their indices.

    Element `i` of a group is in partition `i % 16` at column `i // 16`, in the source and in the
    results. The number of results is that of elements per partition of `val_dst`; their order is
    ascending, or descending with `sorted`. The rest of the last written column is padding.
    """
    del name
    source = issue.read(src)
    partitions = source.values.shape[0]
    result_count = val_dst.size // val_dst.shape[0]
    if partitions % SNAKE or val_dst.shape[0] != partitions or idx_dst.shape != val_dst.shape:
        raise NkiError(
            f"topk needs a multiple of {SNAKE} partitions, and two results of one shape with "
            "equally many"
        )
    if not 0 < result_count <= n or n > SNAKE * (source.values.size // partitions):
        raise NkiError(
            f"topk needs 1 to n results, and n up to the elements of 16 partitions; here "
            f"{result_count} results, n = {n}, and src of {source.values.shape}"
        )
    snakes = _snake_rows(source.computed())[:, :n]
    indices = np.argsort(-snakes, axis=1, kind="stable")[:, :result_count]
    indices = indices if sorted else indices[:, ::-1]
    issue.flops = snakes.size
    columns = -(-result_count // SNAKE)
    results = ((val_dst, np.take_along_axis(snakes, indices, axis=1)), (idx_dst, indices))
    for target, values in results:
        padded_row = np.pad(values, ((0, 0), (0, columns * SNAKE - result_count)), mode="edge")
        tile = (
            padded_row.reshape(-1, columns, SNAKE).transpose(0, 2, 1).reshape(partitions, columns)
        )
        issue.add_result(target[:, :columns], issue.result(tile, target.dtype, states=None))


def _snake_rows(values: NDArray[Any]) -> NDArray[Any]:
    """Return a row for each 16 partitions, with their elements column by column."""
    groups = values.reshape(values.shape[0] // SNAKE, SNAKE, -1)
    return np.asarray(groups.transpose(0, 2, 1).reshape(groups.shape[0], -1))


@operation("nisa.sequence_bounds", engine="gpsimd", kind="other")
def sequence_bounds(
    issue: Issue, segment_ids: Any, *, dtype: Any = None, mask: Any = None
) -> Result:
    """Return begin and end of the run of equal numbers that contains each element.

    Zeros are padding: their begin is the number of elements, their end -1.
    """
    source = issue.read(segment_ids, mask)
    rows = source.values.reshape(source.values.shape[0], -1)
    size = rows.shape[1]
    column_indices = np.arange(size)
    is_boundary = np.ones((rows.shape[0], size + 1), bool)
    is_boundary[:, 1:-1] = rows[:, 1:] != rows[:, :-1]
    begins = np.maximum.accumulate(np.where(is_boundary[:, :-1], column_indices, 0), axis=1)
    ends = np.where(is_boundary[:, 1:], column_indices + 1, size)[:, ::-1]
    ends = np.minimum.accumulate(ends, axis=1)[:, ::-1]
    padding = rows == 0
    values = np.stack([np.where(padding, size, begins), np.where(padding, -1, ends)], axis=1)
    return issue.result(values.astype(np.float32), dtype, source, states=None)
