"""Launch rows of the hot path as columns of the table `launches`, without NumPy.

`_hot_rows.h` does the same as `columns_in_python`, in a tenth of the time.
"""

import os
from array import array
from collections.abc import Iterable
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kvtrace.capture.records import GRAPH_CAPTURE
from kvtrace.schema.arrays import array_of, packed
from kvtrace.schema.spool import GRAPH_SHIFT, PHASES

PHASE_MASK: Final = (1 << GRAPH_SHIFT) - 1

#: Threads may note the ends of their launches in another order than they read the clock, so close.
_UNEVEN: Final = 10_000_000
#: 64-bit fields of `hot.ROW` in a row, 32-bit fields in a row, and where these two are.
_WIDE: Final = 7
_NARROW: Final = 14
_DEVICE, _PHASE = 12, 13

_PHASES = array_of(PHASES, pa.string())


class LaunchRows(NamedTuple):
    """Launches by column, as memory that Arrow takes over; what else their rows say.

    `on_device` and `in_graph` are bits, None where all are set. `copied` has what something was
    copied for: number of the copy, launch, call.
    """

    enter: bytes
    exit: bytes
    call_id: bytes
    stream: bytes
    thread: bytes
    seq: bytes
    graph: bytes
    device: bytes
    phase: bytes
    on_device: bytes | None
    in_graph: bytes | None
    threads: set[int]
    copied: list[tuple[int, int, int]]
    saw_graph_capture: bool
    stepped_back: bool

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of `launches`; device, stream and graph are null without one."""
        columns = {
            name: integers(getattr(self, name))
            for name in ("enter", "exit", "call_id", "thread", "seq")
        }
        columns["device"] = integers(self.device, pa.int32(), self.on_device)
        columns["stream"] = integers(self.stream, valid=self.on_device)
        columns["phase"] = pa.DictionaryArray.from_arrays(integers(self.phase, pa.int32()), _PHASES)
        columns["graph_id"] = integers(self.graph, valid=self.in_graph)
        return columns


def native() -> ModuleType | None:
    """Return the compiled part that knows rows, where it is built and wanted."""
    if os.environ.get("KVTRACE_NATIVE", "") == "0":
        return None
    try:
        return import_module("kvtrace.capture._hot")
    except ImportError:
        return None


def launch_rows(rows: bytes, first: int, last_exit: int) -> LaunchRows:
    """Return launches by column; the first has that number, and the one before ended then.

    No launch ends before it begins; `stepped_back` is whether the clock was set back. Rows
    are in the order in which launches ended.
    """
    compiled = native()
    if compiled is None:
        return columns_in_python(rows, first, last_exit)
    return LaunchRows(*compiled.launch_columns(rows, first, last_exit))


def columns_in_python(rows: bytes, first: int, last_exit: int) -> LaunchRows:
    """Return what `launch_rows` does, by the interpreter alone."""
    wide, narrow = memoryview(rows).cast("q"), memoryview(rows).cast("i")
    enter, leave, call, stream, thread, contents = (
        memoryview(wide[place::_WIDE].tobytes()).cast("q") for place in range(_WIDE - 1)
    )
    device, tagged = narrow[_DEVICE::_NARROW], narrow[_PHASE::_NARROW].tolist()
    phase = array("i", (each & PHASE_MASK for each in tagged))
    graph = array("q", (each >> GRAPH_SHIFT for each in tagged))
    steps = (after - before for before, after in pairwise((last_exit, *leave)))
    took = (end - begin for begin, end in zip(enter, leave, strict=True))
    seq = range(first, first + len(enter))
    return LaunchRows(
        enter.tobytes(),
        array("q", map(max, enter, leave)).tobytes(),
        call.tobytes(),
        stream.tobytes(),
        thread.tobytes(),
        array("q", seq).tobytes(),
        graph.tobytes(),
        device.tobytes(),
        phase.tobytes(),
        _bits([each >= 0 for each in device]),
        _bits(list(map(bool, graph))),
        set(thread),
        [each for each in zip(contents, seq, call, strict=True) if each[0]],
        GRAPH_CAPTURE in phase,
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
