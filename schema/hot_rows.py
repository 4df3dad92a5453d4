"""Conversion of the hot path's launch rows to columns of the table `launches`, without NumPy.

`_hot_rows.h` does the same in C, ten times as fast as `columns_in_python`.
"""

from array import array
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kvtrace.schema.arrays import array_of, packed
from kvtrace.schema.spool import FIELDS, GRAPH_SHIFT, PHASE_MASK, PHASES, ROW

#: Nanoseconds by which ends of launches may be out of order without a clock set back, as threads
#: append rows in another order than they read the clock.
_MOST_DISORDER_NS: Final = 10_000_000
#: The number of `graph_capture` in `PHASES`.
_GRAPH_CAPTURE: Final = PHASES.index("graph_capture")

#: A byte of -1, the number of no device; small numbers of devices do not have it.
_NO_DEVICE: Final = b"\xff"

_PHASES = array_of(PHASES, pa.string())
_TYPES: Final = {"q": pa.int64(), "i": pa.int32()}


class LaunchRows(NamedTuple):
    """Launches as columns of bytes in Arrow's layout.

    `fields` are the columns of `FIELDS`. `graph` has the number of each launch's CUDA graph, which
    the hot path packs into the phase. `on_device` and `in_graph` are bit masks of launches with a
    device, and with a graph; None if all have one. `threads` are the ids of launching threads.
    `copied` lists (number of the copy, `seq`, call id) of launches whose tensors were copied.
    `stepped_back`: the clock was set back.
    """

    fields: tuple[bytes, ...]
    seq: bytes
    graph: bytes
    on_device: bytes | None
    in_graph: bytes | None
    threads: set[int]
    copied: list[tuple[int, int, int]]
    saw_graph_capture: bool
    stepped_back: bool

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of `launches` by name; device, stream and graph may be null."""
        validity = {"device": self.on_device, "stream": self.on_device}
        columns = {
            name: integers(content, _TYPES[kind], validity.get(name))
            for (name, kind), content in zip(FIELDS.items(), self.fields, strict=True)
            if name != "contents"
        }
        phases = pa.DictionaryArray.from_arrays(columns["phase"], _PHASES)
        graph_ids = integers(self.graph, valid=self.in_graph)
        return columns | {"seq": integers(self.seq), "phase": phases, "graph_id": graph_ids}


def columns_in_python(rows: bytes, first: int, last_exit: int) -> LaunchRows:
    """Return the launches in `rows` (packed as `ROW`) by column; `first` is the first one's `seq`.

    `last_exit` is the end of the launch before, in ns. Rows are in the order in which launches
    ended. An end before its begin becomes the begin; `stepped_back` says that the clock was set
    back.
    """
    columns = zip(*ROW.iter_unpack(rows), strict=True) if rows else ((),) * len(FIELDS)
    fields = {
        name: array(kind, values)
        for (name, kind), values in zip(FIELDS.items(), columns, strict=True)
    }
    enter_times, exit_times = fields["enter"], fields["exit"]
    graph_ids = array("q", (phase >> GRAPH_SHIFT for phase in fields["phase"]))
    fields["phase"] = array("i", (phase & PHASE_MASK for phase in fields["phase"]))
    steps = (
        next_exit - previous_exit for previous_exit, next_exit in pairwise((last_exit, *exit_times))
    )
    durations = (end - begin for begin, end in zip(enter_times, exit_times, strict=True))
    fields["exit"] = array("q", map(max, enter_times, exit_times))
    return launch_rows(
        tuple(values.tobytes() for values in fields.values()),
        array("q", range(first, first + len(enter_times))).tobytes(),
        graph_ids.tobytes(),
        _GRAPH_CAPTURE in fields["phase"],
        min((*steps, *durations), default=0) < -_MOST_DISORDER_NS,
    )


def launch_rows(
    fields: tuple[bytes, ...],
    seq: bytes,
    graph: bytes,
    saw_graph_capture: bool,
    stepped_back: bool,
) -> LaunchRows:
    """Return the columns with masks, threads and copies; the parameters come from C or Python.

    Columns are nearly always equal in all launches, which comparing their bytes tells at once: then
    no number is unpacked.
    """
    columns, zeros = dict(zip(FIELDS, fields, strict=True)), bytes(len(seq))
    rows = len(zeros) // 8
    device, thread, copies = columns["device"], columns["thread"], columns["contents"]
    copied: Iterable[tuple[int, ...]] = ()
    if copies != zeros:
        copied = zip(*map(_numbers, (copies, seq, columns["call_id"])), strict=True)
    if thread == thread[:8] * rows:
        thread = thread[:8]
    return LaunchRows(
        fields,
        seq,
        graph,
        _bits(n >= 0 for n in memoryview(device).cast("i")) if _NO_DEVICE in device else None,
        bytes(-(-rows // 8)) or None if graph == zeros else _bits(map(bool, _numbers(graph))),
        set(_numbers(thread)),
        [(copy, number, call) for copy, number, call in copied if copy],
        saw_graph_capture,
        stepped_back,
    )


def _numbers(content: bytes) -> "memoryview[int]":
    return memoryview(content).cast("q")


def integers(content: Any, kind: Any = None, valid: bytes | None = None) -> pa.Array:
    """Return a buffer as an array of `kind` (default int64), null where a bit of `valid` is 0."""
    kind, numbers = kind or pa.int64(), pa.py_buffer(content)
    flags = None if valid is None else pa.py_buffer(valid)
    return pa.Array.from_buffers(kind, numbers.size * 8 // kind.bit_width, [flags, numbers])


def address_lists(offsets: bytes, addresses: bytes, known: bytes) -> pa.ListArray:
    """Return lists of 64-bit integers from Arrow's offsets and values; null where `known` is 0."""
    values = integers(addresses)
    valid = None if 0 not in known else pa.py_buffer(packed(known))
    return pa.ListArray.from_buffers(
        pa.list_(pa.int64()), len(known), [valid, pa.py_buffer(offsets)], children=[values]
    )


def _bits(flags: Iterable[bool]) -> bytes | None:
    content = bytes(flags)
    return packed(content) if 0 in content else None
