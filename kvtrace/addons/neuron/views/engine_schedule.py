"""Earliest times at which engines of a Neuron core can run ops, derived from published rates.

This is list scheduling: each engine runs its ops in program order. An op begins when its engine is
free, the buffers that it reads are written, and the buffer that it writes is no longer in use.
Example: a load of 5 ns (dma), a product of 3 ns that reads the loaded tile (tensor), and a second
load of 5 ns to another tile begin at 0, 5 and 5 ns. All programs run on one core.
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.addons.neuron.views.engine_times import shortest_ns
from kvtrace.converters.profile.device_limits import limits_for_target

#: Maximum number of executed ops of a call for which flows and a schedule are made.
LIMIT: Final = 100_000

#: Maximum number of flows that lead to an op, one for each buffer read.
_READS: Final = 4


def _rows(rows: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows[name].to_pylist() for name in names), strict=True)


def earliest_schedule(
    rows: pa.Table, target: str, types: Mapping[int, str]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Return start and duration of each executed op, in nanoseconds after the first op.

    `rows` are executions in order, `types` maps an op to its element type. An op of an engine
    without a published rate takes 1 ns. The result is None if the target has no published rates, or
    there are too many ops.
    """
    limits = limits_for_target(f"neuron:{target}")
    if limits is None or rows.num_rows > LIMIT:
        return None
    engine_free_at: dict[str, float] = {}
    written_at: dict[int, float] = {}
    last_read_at: dict[int, float] = {}
    begins, durations = (np.empty(rows.num_rows, np.int64) for _ in range(2))
    columns = ("engine", "op_index", "elements", "flops", "device_bytes", "read", "written")
    for order, (engine, op, elements, flops, nbytes, read_buffers, target_buffer) in enumerate(
        _rows(rows, *columns)
    ):
        ns = shortest_ns(engine, types.get(op), elements or 0, flops or 0, nbytes or 0, limits)
        duration = max(ns or 0.0, 1.0)
        begin = max(
            [
                engine_free_at.get(engine, 0.0),
                *(written_at.get(buffer, 0.0) for buffer in read_buffers or ()),
            ]
        )
        begin = max(begin, last_read_at.get(target_buffer, 0.0), written_at.get(target_buffer, 0.0))
        end = begin + duration
        engine_free_at[engine] = end
        for buffer in read_buffers or ():
            last_read_at[buffer] = max(last_read_at.get(buffer, 0.0), end)
        if target_buffer is not None:
            written_at[target_buffer] = end
        begins[order], durations[order] = round(begin), max(round(end) - round(begin), 1)
    return begins, durations


def buffer_flows(rows: pa.Table, key: str) -> npt.NDArray[np.uint64] | None:
    """Return the flow ids of each executed op: of the buffer it writes, and of those it reads.

    A flow connects a write with all reads before the next write; 0 stands for no flow. `key`
    distinguishes the flows of different calls. The result is None without ops, or if there are too
    many.
    """
    if rows.num_rows > LIMIT or not rows.num_rows:
        return None
    digest = blake2b(key.encode(), digest_size=4).digest()
    base_id = int.from_bytes(digest, "little") << 32
    flows = np.zeros((rows.num_rows, 1 + _READS), np.uint64)
    writer: dict[int, int] = {}
    for order, (read_buffers, target) in enumerate(_rows(rows, "read", "written")):
        sources = [
            writer[buffer] for buffer in dict.fromkeys(read_buffers or ()) if buffer in writer
        ]
        for column, source in enumerate(sources[:_READS]):
            flows[order, 1 + column] = flows[source, 0] = base_id + source + 1
        if target is not None:
            writer[target] = order
    return flows
