"""What tiles of the first program held at the end, as far as it is kept: with KVTRACE_TENSORS=all.

Of each tile a corner is kept, so that what is kept of a call stays below 1 MiB.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.memory import DEFINED, Memory, size_of
from kvtrace.addons.neuron.recorder import Recorder

#: Elements that are kept of a tile, and of one partition of it.
ELEMENTS: Final = 1024
_ALONG: Final = 32


class TileSample(NamedTuple):
    """The first `rows` partitions of a tile, of each the first elements, row by row.

    A value is None where the element was never written, or is what a mask left out.
    """

    buffer: int
    dtype: str
    partitions: int
    elements: int
    rows: int
    values: list[float | None]


def samples_of(recorder: Recorder) -> list[TileSample]:
    """Return what the kept tiles hold, and let the tiles go."""
    kept, recorder.tiles = recorder.tiles, {}
    return [_sample(memory) for memory in kept.values() if memory.dtype.names is None]


def _sample(memory: Memory) -> TileSample:
    values = _by_partition(memory, memory.raw.view(memory.dtype))
    columns = min(values.shape[1], _ALONG)
    rows = min(values.shape[0], ELEMENTS // max(columns, 1))
    corner = values[:rows, :columns].astype(np.float64).reshape(-1)
    known = np.ones(corner.shape, np.bool_)
    if memory.states is not None:
        states = _by_partition(memory, memory.states)[:rows, :columns]
        known = states.reshape(-1) == DEFINED
    kept = [
        float(value) if is_known else None for value, is_known in zip(corner, known, strict=True)
    ]
    dtype = dtypes.short_name(memory.dtype)
    return TileSample(memory.number, dtype, len(values), values.shape[1], rows, kept)


def _by_partition(memory: Memory, flat: NDArray[Any]) -> NDArray[Any]:
    """Return elements with partitions first, and all else of a partition in one dimension."""
    shaped = np.moveaxis(flat.reshape(memory.shape or (1,)), max(memory.partition, 0), 0)
    return shaped.reshape(len(shaped), size_of(shaped.shape[1:]))
