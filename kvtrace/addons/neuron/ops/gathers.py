"""GpSimd instructions that gather elements by index, or find indices of elements."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.access import Values
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import OUT_OF_BOUNDS
from kvtrace.addons.neuron.memory import DEFINED, GARBAGE
from kvtrace.addons.neuron.operations import Issue, Result, operation

Array = NDArray[Any]

#: Partitions of SBUF that one core of GpSimd reaches (reference of `nki.isa.local_gather`).
CORE_PARTITIONS: Final = 16

#: Numbers of elements that one index may stand for (the same reference).
ELEMENTS_PER_INDEX: Final = (1, 2, 4, 8, 16, 32)


def _gathered(issue: Issue, data: Values, indices: NDArray[np.int64]) -> tuple[Array, Array | None]:
    """Return each partition's elements at its indices, and states; report indices out of bounds."""
    size = data.values.shape[1]
    is_outside = (indices < 0) | (indices >= size)
    valid = np.where(is_outside, 0, indices)
    values = np.take_along_axis(data.values, valid, axis=1)
    states = None if data.states is None else np.take_along_axis(data.states, valid, axis=1)
    if not is_outside.any():
        return values, states
    lane = tuple(int(index) for index in np.argwhere(is_outside)[0])
    message = f"{issue.operation.name} reads element {int(indices[lane])} of {size} per partition"
    issue.report(OUT_OF_BOUNDS, message, access="load", lane=lane, lanes=int(is_outside.sum()))
    known_states = np.full(values.shape, DEFINED, np.uint8) if states is None else states
    garbage = np.asarray(dtypes.poison(data.dtype), data.dtype)
    return np.where(is_outside, garbage, values), np.where(
        is_outside, np.uint8(GARBAGE), known_states
    )


@operation("nisa.nc_n_gather", engine="gpsimd", kind="other")
def nc_n_gather(issue: Issue, data: Any, indices: Any) -> Result:
    """Return the elements of each partition at the indices in the same partition."""
    tile, index_tile = issue.read(data).as_matrix(), issue.read(indices).as_matrix()
    if tile.values.shape[0] != index_tile.values.shape[0]:
        raise NkiError(
            f"nc_n_gather needs tiles with as many partitions, not {tile.values.shape[0]} and "
            f"{index_tile.values.shape[0]}"
        )
    values, states = _gathered(issue, tile, index_tile.values.astype(np.int64))
    return issue.result(values, tile.dtype, states=states)


@operation("nisa.local_gather", engine="gpsimd", kind="other")
def local_gather(
    issue: Issue,
    src_buffer: Any,
    index: Any,
    num_elem_per_idx: int = 1,
    num_valid_indices: int | None = None,
    *,
    mask: Any = None,
) -> Result:
    """Return elements of all partitions by the indices in each group of 16 partitions.

    A group's indices are read column by column. Each stands for `num_elem_per_idx` consecutive
    elements; only the first `num_valid_indices` are used.
    """
    tile, index_tile = issue.read(src_buffer).as_matrix(), issue.read(index).as_matrix()
    partitions, columns = index_tile.values.shape
    if tile.values.shape[0] != partitions or partitions % CORE_PARTITIONS:
        raise NkiError(
            f"local_gather needs tiles with as many partitions, a multiple of "
            f"{CORE_PARTITIONS}, not {tile.values.shape[0]} and {partitions}"
        )
    if num_elem_per_idx not in ELEMENTS_PER_INDEX:
        raise NkiError(
            f"num_elem_per_idx must be one of {ELEMENTS_PER_INDEX}, not {num_elem_per_idx}"
        )
    index_limit = CORE_PARTITIONS * columns
    count = index_limit if num_valid_indices is None else int(num_valid_indices)
    if not 0 < count <= index_limit:
        raise NkiError(f"num_valid_indices must be from 1 to {index_limit}, not {count}")
    indices_by_group = index_tile.values.astype(np.int64).reshape(-1, CORE_PARTITIONS, columns)
    first_ids = indices_by_group.transpose(0, 2, 1).reshape(-1, index_limit)[:, :count]
    element_indices = (first_ids[:, :, None] + np.arange(num_elem_per_idx)).reshape(
        first_ids.shape[0], -1
    )
    values, states = _gathered(issue, tile, np.repeat(element_indices, CORE_PARTITIONS, axis=0))
    shape = (partitions, count, num_elem_per_idx) if num_elem_per_idx > 1 else (partitions, count)
    states = None if states is None else states.reshape(shape)
    return issue.result(values.reshape(shape), tile.dtype, states=states, mask=mask)


@operation("nisa.nonzero_with_count", engine="gpsimd", kind="other")
def nonzero_with_count(
    issue: Issue, src: Any, index_offset: int = 0, padding_val: int = -1
) -> Result:
    """Return the indices of nonzero elements, padding, and in the last element their number.

    Only the first of each 16 partitions is read and written.
    """
    destination = issue.destination
    assert destination is not None
    tile = issue.read(src[::CORE_PARTITIONS]).as_matrix()
    free_size = tile.values.shape[1]
    partitions = destination.shape[0]
    if src.shape[0] != partitions or destination.size != partitions * (free_size + 1):
        raise NkiError(
            f"nonzero_with_count writes {free_size + 1} elements per partition, "
            f"dst is {destination.shape}"
        )
    values = np.full((partitions, free_size + 1), int(padding_val), np.int32)
    for row, elements in enumerate(tile.values):
        indices = np.flatnonzero(elements) + int(index_offset)
        values[row * CORE_PARTITIONS, : indices.size] = indices
        values[row * CORE_PARTITIONS, free_size] = indices.size
    states = None
    if tile.states is not None:
        lowest_states = tile.states.min(axis=1, keepdims=True)
        states = np.repeat(
            np.repeat(lowest_states, CORE_PARTITIONS, axis=0)[:partitions], free_size + 1, axis=1
        )
    is_written_partition = (np.arange(partitions) % CORE_PARTITIONS == 0).reshape(-1, 1)
    lanes = np.broadcast_to(is_written_partition, values.shape).reshape(destination.shape)
    return issue.result(values, destination.dtype, states=states, mask=lanes)
