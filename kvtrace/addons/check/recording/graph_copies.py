"""Copies of device memory as nodes of a CUDA graph, made at the graph's first replay.

A launch captured into a graph is surrounded by two nodes that launch kvtrace's kernel. At the first
replay both copy memory into pinned memory, and the second one sets a flag there. At later replays
they end at once, so that the copies do not change while they are read.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from struct import Struct
from typing import Final

from kvtrace.addons.check.recording.device_code import THREADS, VECTOR
from kvtrace.addons.check.recording.device_kernels import DeviceKernels, Piece, device_kernels
from kvtrace.capture.device_copies import Copy
from kvtrace.forks import Lock

#: Most pinned memory for launches in graphs that were not replayed, or not read, yet.
GRAPH_BYTES: Final = 256 << 20

#: States of launches in graphs allocated at a time: 8 bytes each.
_STATES: Final = 4096

#: Most rows of blocks; with more spans, a row processes several.
_ROWS: Final = 512

#: Bytes of the answer, before the tables.
_ANSWER: Final = 64

_head: Final = Struct("<QQQII")
_row: Final = Struct("<QQII")

PTX: Final = f"""// kvtrace
.version 6.4
.target sm_70
.address_size 64

.visible .entry kvtrace_keep(.param .align 8 .b8 check[{_head.size}])
{{
    .reg .b64 %check, %state, %table, %answer, %span, %from, %to, %a0, %b0, %x, %y;
    .reg .b32 %number, %spans, %thread, %row, %rows, %vectors, %start, %stride, %i, %m, %n;
    .reg .pred %p;

    mov.b64         %check, check;
    ld.param.b64    %state, [%check];       // how many blocks are done, and whether all ever were
    ld.param.b64    %table, [%check+8];     // in pinned memory
    ld.param.b64    %answer, [%check+16];   // in pinned memory; 0: there is more to come
    ld.param.b32    %spans, [%check+24];
    ld.param.b32    %number, [%check+28];   // what the answer has when all is there
    ld.volatile.global.b32 %n, [%state+4];
    setp.ne.u32     %p, %n, 0;
    @%p ret;                                // an earlier replay's was taken
    mov.u32         %thread, %tid.x;
    mov.u32         %row, %ctaid.y;
    mov.u32         %rows, %nctaid.y;
    mov.u32         %start, %ctaid.x;
    mad.lo.u32      %start, %start, {THREADS}, %thread;
    mov.u32         %stride, %nctaid.x;
    mul.lo.u32      %stride, %stride, {THREADS};
ROW:
    setp.ge.u32     %p, %row, %spans;
    @%p bra         DONE;
    mul.wide.u32    %span, %row, {_row.size};
    add.s64         %span, %span, %table;
    ld.global.b64   %from, [%span];
    ld.global.b64   %to, [%span+8];
    ld.global.b32   %vectors, [%span+16];
    add.u32         %row, %row, %rows;
    mov.b32         %i, %start;
NEXT:
    setp.ge.u32     %p, %i, %vectors;
    @%p bra         ROW;
    mul.wide.u32    %x, %i, {VECTOR};
    add.s64         %y, %x, %to;
    add.s64         %x, %x, %from;
    ld.global.v2.b64 {{%a0, %b0}}, [%x];
    st.global.v2.b64 [%y], {{%a0, %b0}};
    add.u32         %i, %i, %stride;
    bra             NEXT;
DONE:
    setp.eq.u64     %p, %answer, 0;
    @%p ret;
    fence.acq_rel.sys;
    bar.sync        0;
    setp.ne.u32     %p, %thread, 0;
    @%p ret;
    mov.u32         %m, %nctaid.x;
    mul.lo.u32      %m, %m, %rows;
    sub.u32         %m, %m, 1;
    atom.global.inc.u32 %n, [%state], %m;
    setp.ne.u32     %p, %n, %m;
    @%p ret;                                // not the last block
    mov.b32         %n, 1;
    st.volatile.global.b32 [%state+4], %n;
    fence.acq_rel.sys;
    st.volatile.global.b32 [%answer], %number;
    ret;
}}
"""


@dataclass(frozen=True, slots=True)
class _Table:
    """Address and number of rows of a table in the kernel's format, a row per piece of memory.

    `vectors` is the number of vectors of the largest piece.
    """

    address: int
    rows: int
    vectors: int


@dataclass(frozen=True, slots=True)
class FirstReplay:
    """Copies of a launch's memory that are complete after the first replay of its graph.

    `room` is address and size of the pinned memory; `state` is the address of the kernel's counters
    on the device; `tables` list the memory to copy before and after the launch.
    """

    before: Copy
    after: Copy
    room: tuple[int, int]
    state: int
    tables: tuple[_Table, _Table]


class GraphCopies:
    """Copies for launches in graphs, in one CUDA context. Methods may be called in any thread.

    All methods raise CopyFailed if the driver refuses.
    """

    def __init__(self, kernels: DeviceKernels) -> None:
        self._kernels = kernels
        self._lock = Lock()
        (self._keep,) = kernels.relaxed(lambda: kernels.load(PTX, "kvtrace_keep"))
        self._allocated_bytes = 0
        self._free: list[tuple[int, int]] = []
        self._states: list[int] = []
        self._number = 0

    def before(
        self,
        before: Sequence[tuple[int, int]],
        after: Sequence[tuple[int, int]],
        stream: int,
    ) -> FirstReplay | None:
        """Add a node that copies the spans `before` (address, size) to the graph being captured.

        Also reserves memory for the spans `after`, which the method `after` copies. Returns None if
        not enough memory is free.
        """
        pieces_by_time = [[Piece(*span) for span in spans] for spans in (before, after)]
        size = _ANSWER + sum(
            _table_size(pieces) + sum(VECTOR * p.vectors for p in pieces)
            for pieces in pieces_by_time
        )
        with self._lock:
            room = self._take_room(size)
            if room is None:
                return None
            if not self._states:
                base = self._kernels.relaxed(lambda: self._kernels.on_device(8 * _STATES))
                self._states = [base + 8 * table_address for table_address in range(_STATES)]
            state = self._states.pop()
            self._number = self._number + 1 & 0xFFFFFFFF or 1
            number = self._number
        answer = room[0]
        ctypes.c_uint32.from_address(answer).value = 0
        table_address = answer + _ANSWER
        copies: list[Copy] = []
        tables: list[_Table] = []
        for pieces in pieces_by_time:
            table, locations, table_address = _write_table(pieces, table_address)
            tables.append(table)
            copies.append(Copy(locations, answer, number, stream, 0))
        first_replay = FirstReplay(copies[0], copies[1], room, state, (tables[0], tables[1]))
        self._launch(first_replay, tables[0], 0, stream)
        return first_replay

    def after(self, first_replay: FirstReplay, stream: int) -> None:
        """Add the node that copies the spans after the launch to the graph being captured."""
        self._launch(first_replay, first_replay.tables[1], first_replay.after.flag, stream)

    def release(self, first_replay: FirstReplay) -> None:
        """Free the pinned memory of copies that were read; later replays do not write there."""
        with self._lock:
            self._free.append(first_replay.room)

    def _launch(self, first_replay: FirstReplay, table: _Table, answer: int, stream: int) -> None:
        parameter = _head.pack(
            first_replay.state, table.address, answer, table.rows, first_replay.after.number
        )
        rows = max(1, min(table.rows, _ROWS))
        most_blocks = -(-table.vectors // THREADS)
        blocks = max(1, min(most_blocks, self._kernels.blocks // rows))
        self._kernels.launch(self._keep, parameter, (blocks, rows), stream)

    def _take_room(self, size: int) -> tuple[int, int] | None:
        """Return address and size of at least `size` bytes of pinned memory, reused or new.

        None if GRAPH_BYTES are in use.
        """
        fitting = [room for room in self._free if room[1] >= size]
        if fitting:
            room = min(fitting, key=lambda room: room[1])
            self._free.remove(room)
            return room
        if self._allocated_bytes + size > GRAPH_BYTES:
            return None
        self._allocated_bytes += size
        return self._kernels.relaxed(lambda: self._kernels.pinned(size)), size


def _write_table(
    pieces: Sequence[Piece], address: int
) -> tuple[_Table, tuple[tuple[int, int], ...], int]:
    """Write a table of pieces at `address`, with room for their copies behind it.

    Returns the table, address and size of each piece's copy, and the address behind the last copy.
    A copy has the same offset in its first vector as in device memory, so that whole vectors are
    copied; the outer vectors may reach beyond the piece, but not into another page.
    """
    table, locations, rows = address, [], []
    address += _table_size(pieces)
    for piece in pieces:
        leading_bytes = piece.address % VECTOR
        rows.append(_row.pack(piece.address - leading_bytes, address, piece.vectors, 0))
        locations.append((address + leading_bytes, piece.size))
        address += VECTOR * piece.vectors
    ctypes.memmove(table, b"".join(rows), _row.size * len(rows))
    largest = max((piece.vectors for piece in pieces), default=0)
    return _Table(table, len(pieces), largest), tuple(locations), address


def _table_size(pieces: Sequence[Piece]) -> int:
    """Return the size of a table, padded to an even number of rows, so that vectors are aligned."""
    return _row.size * -(-len(pieces) // 2) * 2


_of_kernels: Final = cache(GraphCopies)


def graph_copies() -> GraphCopies | None:
    """Return the `GraphCopies` of the thread's CUDA context; None if the thread has no context.

    Raises:
        CopyFailed: there is no driver, or it refuses.
    """
    kernels = device_kernels()
    return None if kernels is None else _of_kernels(kernels)


__all__ = ["GRAPH_BYTES", "FirstReplay", "GraphCopies", "graph_copies"]
