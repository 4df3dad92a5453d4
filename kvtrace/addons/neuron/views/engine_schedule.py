"""When engines of a Neuron core could run ops at the soonest, by published rates: derived.

Each engine takes its ops in their order. An op begins when its engine is free, what it reads has
been written, and what it overwrites is not in use any more. All programs run on one core.
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.addons.neuron.views.engine_times import least_ns
from kvtrace.converters.profile.device_limits import limits_for_target

#: Executed ops of a call that are drawn with flows and as a schedule; of more, neither is.
LIMIT: Final = 100_000

#: Buffers read by one op that flows lead to it for.
_READS: Final = 4


def _rows(rows: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows[name].to_pylist() for name in names), strict=True)


def least_schedule(
    rows: pa.Table, target: str, types: Mapping[int, str]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Return begin and duration of each executed op, in nanoseconds from the first.

    `types` are the element types of ops. An op of an engine without a published rate takes 1 ns.
    None where nothing is known of the target, or there are too many ops.
    """
    limits = limits_for_target(f"neuron:{target}")
    if limits is None or rows.num_rows > LIMIT:
        return None
    free: dict[str, float] = {}
    written: dict[int, float] = {}
    used: dict[int, float] = {}
    begins, durations = (np.empty(rows.num_rows, np.int64) for _ in range(2))
    columns = ("engine", "op_index", "elements", "flops", "device_bytes", "read", "written")
    for place, (engine, op, elements, flops, nbytes, read, target_buffer) in enumerate(
        _rows(rows, *columns)
    ):
        ns = least_ns(engine, types.get(op), elements or 0, flops or 0, nbytes or 0, limits)
        duration = max(ns or 0.0, 1.0)
        begin = max([free.get(engine, 0.0), *(written.get(each, 0.0) for each in read or ())])
        begin = max(begin, used.get(target_buffer, 0.0), written.get(target_buffer, 0.0))
        end = begin + duration
        free[engine] = end
        for each in read or ():
            used[each] = max(used.get(each, 0.0), end)
        if target_buffer is not None:
            written[target_buffer] = end
        begins[place], durations[place] = round(begin), max(round(end) - round(begin), 1)
    return begins, durations


def buffer_flows(rows: pa.Table, key: str) -> npt.NDArray[np.uint64] | None:
    """Return the flows of each executed op: that of what it writes, and those of what it reads.

    A flow is of one write, and of all ops that read it before the next; 0 represents none. `key`
    keeps apart flows of different calls. None where there are too many ops.
    """
    if rows.num_rows > LIMIT or not rows.num_rows:
        return None
    digest = blake2b(key.encode(), digest_size=4).digest()
    first = int.from_bytes(digest, "little") << 32
    flows = np.zeros((rows.num_rows, 1 + _READS), np.uint64)
    writer: dict[int, int] = {}
    for place, (read, target) in enumerate(_rows(rows, "read", "written")):
        known = [writer[each] for each in dict.fromkeys(read or ()) if each in writer]
        for column, source in enumerate(known[:_READS]):
            flows[place, 1 + column] = flows[source, 0] = first + source + 1
        if target is not None:
            writer[target] = place
    return flows
