"""Final contents of tiles of the first program, recorded with KVTRACE_TENSORS=all.

Only a corner of each tile is kept, so that samples of a call take less than 1 MiB.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.memory import DEFINED, Memory, size_of
from kvtrace.addons.neuron.recorder import Recorder

#: Maximum number of elements kept per tile, and per partition of a tile.
ELEMENTS: Final = 1024
_PARTITION_ELEMENTS: Final = 32


class TileSample(NamedTuple):
    """The first elements of the first `rows` partitions of a tile, partition by partition.

    A value is None if the element was never written, or masked off.
    """

    buffer: int
    dtype: str
    partitions: int
    elements: int
    rows: int
    values: list[float | None]


def samples_of(recorder: Recorder) -> list[TileSample]:
    """Return samples of the tiles that the recorder kept, and release the tiles."""
    tiles, recorder.tiles = recorder.tiles, {}
    return [_sample(memory) for memory in tiles.values() if memory.dtype.names is None]


def _sample(memory: Memory) -> TileSample:
    values = _rows_by_partition(memory, memory.raw.view(memory.dtype))
    column_count = min(values.shape[1], _PARTITION_ELEMENTS)
    row_count = min(values.shape[0], ELEMENTS // max(column_count, 1))
    corner = values[:row_count, :column_count].astype(np.float64).reshape(-1)
    is_defined = np.ones(corner.shape, np.bool_)
    if memory.states is not None:
        states = _rows_by_partition(memory, memory.states)[:row_count, :column_count]
        is_defined = states.reshape(-1) == DEFINED
    values_or_none = [
        float(value) if is_known else None
        for value, is_known in zip(corner, is_defined, strict=True)
    ]
    dtype = dtypes.short_name(memory.dtype)
    return TileSample(memory.number, dtype, len(values), values.shape[1], row_count, values_or_none)


def _rows_by_partition(memory: Memory, elements: NDArray[Any]) -> NDArray[Any]:
    partitions_first = np.moveaxis(
        elements.reshape(memory.shape or (1,)), max(memory.partition, 0), 0
    )
    return partitions_first.reshape(len(partitions_first), size_of(partitions_first.shape[1:]))
