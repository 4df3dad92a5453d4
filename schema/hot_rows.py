"""Launch rows of the hot path as columns of the table `launches`, without NumPy.

`_hot_rows.h` implements `columns_in_python` in C, ten times as fast.
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
_UNEVEN: Final = 10_000_000
#: The number of `graph_capture` in `PHASES`.
_GRAPH_CAPTURE: Final = PHASES.index("graph_capture")

_PHASES = array_of(PHASES, pa.string())
_TYPES: Final = {"q": pa.int64(), "i": pa.int32()}


class LaunchRows(NamedTuple):
    """Launches by column, as memory for Arrow, and further facts of the rows.

    `fields` are the columns of `FIELDS`, the phase without the graph's number. `on_device` and
    `in_graph` are bit masks, None if all bits are set. `copied` lists launches with copied
    contents: number of the copy, launch, call.
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
        """Columns of `launches`; device, stream and graph are null without one."""
        valid = {"device": self.on_device, "stream": self.on_device}
        columns = {
            name: integers(content, _TYPES[kind], valid.get(name))
            for (name, kind), content in zip(FIELDS.items(), self.fields, strict=True)
            if name != "contents"
        }
        phase = pa.DictionaryArray.from_arrays(columns["phase"], _PHASES)
        graph = integers(self.graph, valid=self.in_graph)
        return columns | {"seq": integers(self.seq), "phase": phase, "graph_id": graph}


def columns_in_python(rows: bytes, first: int, last_exit: int) -> LaunchRows:
    """Return launches by column; `first` is the first row's number.

    `last_exit` is the end of the launch before. Rows are in the order in which launches ended. An
    end before its begin becomes the begin; `stepped_back` says that the clock was set back.
    """
    listed = zip(*ROW.iter_unpack(rows), strict=True) if rows else ((),) * len(FIELDS)
    fields = {
        name: array(kind, values)
        for (name, kind), values in zip(FIELDS.items(), listed, strict=True)
    }
    enter, leave, call, threads = (fields[n] for n in ("enter", "exit", "call_id", "thread"))
    graph = array("q", (phase >> GRAPH_SHIFT for phase in fields["phase"]))
    fields["phase"] = array("i", (phase & PHASE_MASK for phase in fields["phase"]))
    steps = (after - before for before, after in pairwise((last_exit, *leave)))
    took = (end - begin for begin, end in zip(enter, leave, strict=True))
    fields["exit"] = array("q", map(max, enter, leave))
    seq = range(first, first + len(enter))
    return LaunchRows(
        tuple(values.tobytes() for values in fields.values()),
        array("q", seq).tobytes(),
        graph.tobytes(),
        _bits([device >= 0 for device in fields["device"]]),
        _bits(list(map(bool, graph))),
        set(threads),
        [copied for copied in zip(fields["contents"], seq, call, strict=True) if copied[0]],
        _GRAPH_CAPTURE in fields["phase"],
        min((*steps, *took), default=0) < -_UNEVEN,
    )


def integers(content: Any, kind: Any = None, valid: bytes | None = None) -> pa.Array:
    """Return memory as an array of type `kind` (default int64); null where `valid` has a 0."""
    kind, numbers = kind or pa.int64(), pa.py_buffer(content)
    flags = None if valid is None else pa.py_buffer(valid)
    return pa.Array.from_buffers(kind, numbers.size * 8 // kind.bit_width, [flags, numbers])


def _bits(flags: Iterable[bool]) -> bytes | None:
    content = bytes(flags)
    return packed(content) if 0 in content else None
