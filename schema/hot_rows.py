"""Launch rows of the hot path as columns of the table `launches`, without NumPy.

`_hot_rows.h` does the same as `columns_in_python`, in a tenth of the time.
"""

from array import array
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kvtrace.schema.arrays import array_of, packed
from kvtrace.schema.spool import FIELDS, GRAPH_SHIFT, PHASE_MASK, PHASES, ROW

#: Threads may note the ends of their launches in another order than they read the clock, so close.
_UNEVEN: Final = 10_000_000
#: The number of `graph_capture` in `PHASES`.
_GRAPH_CAPTURE: Final = PHASES.index("graph_capture")

_PHASES = array_of(PHASES, pa.string())
_TYPES: Final = {"q": pa.int64(), "i": pa.int32()}


class LaunchRows(NamedTuple):
    """Launches by column, as memory that Arrow takes over; what else their rows say.

    `fields` are those of `FIELDS`, of which the phase has no graph's number. `on_device` and
    `in_graph` are bits, None where all are set. `copied` has what something was copied for: number
    of the copy, launch, call.
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
    """Return launches by column; the first has that number, and the one before ended then.

    No launch ends before it begins; `stepped_back` is whether the clock was set back. Rows
    are in the order in which launches ended.
    """
    listed = zip(*ROW.iter_unpack(rows), strict=True) if rows else ((),) * len(FIELDS)
    fields = {
        name: array(kind, values)
        for (name, kind), values in zip(FIELDS.items(), listed, strict=True)
    }
    enter, leave, call, threads = (fields[n] for n in ("enter", "exit", "call_id", "thread"))
    graph = array("q", (each >> GRAPH_SHIFT for each in fields["phase"]))
    fields["phase"] = array("i", (each & PHASE_MASK for each in fields["phase"]))
    steps = (after - before for before, after in pairwise((last_exit, *leave)))
    took = (end - begin for begin, end in zip(enter, leave, strict=True))
    fields["exit"] = array("q", map(max, enter, leave))
    seq = range(first, first + len(enter))
    return LaunchRows(
        tuple(values.tobytes() for values in fields.values()),
        array("q", seq).tobytes(),
        graph.tobytes(),
        _bits([each >= 0 for each in fields["device"]]),
        _bits(list(map(bool, graph))),
        set(threads),
        [each for each in zip(fields["contents"], seq, call, strict=True) if each[0]],
        _GRAPH_CAPTURE in fields["phase"],
        min((*steps, *took), default=0) < -_UNEVEN,
    )


def integers(content: Any, kind: Any = None, valid: bytes | None = None) -> pa.Array:
    """Return memory as an array of a type, 64 bits without one; null where `valid` has a 0."""
    kind, held = kind or pa.int64(), pa.py_buffer(content)
    flags = None if valid is None else pa.py_buffer(valid)
    return pa.Array.from_buffers(kind, held.size * 8 // kind.bit_width, [flags, held])


def _bits(flags: Iterable[bool]) -> bytes | None:
    content = bytes(flags)
    return packed(content) if 0 in content else None
