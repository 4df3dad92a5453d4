"""Launches of kvtrace's GPU kernels on the program's streams, with slots for their answers.

The CUDA driver is called directly, without torch's dispatcher, its allocator or Triton. A launch
waits for nothing and allocates no memory; captured into a graph, it becomes a node that answers at
each replay. Answers are read from host memory.
"""

import ctypes
import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import Any, Final, NamedTuple

from kvtrace.addons.check.recording.device_answers import Answer, DigestAnswer
from kvtrace.addons.check.recording.device_code import (
    CHECKED,
    FORMATS,
    HEAD,
    HEAD_FORMAT,
    PTX,
    ROW,
    ROW_FORMAT,
    SPANS,
    THREADS,
    UNROLLED,
    VECTOR,
)
from kvtrace.capture.device_copies import CopyFailed, call_driver, has_failed, relaxed_capture
from kvtrace.forks import Lock
from kvtrace.surroundings import Local

#: Most launches with unread answers; half of them may be nodes of graphs.
FINITE_SLOTS: Final = 1 << 16
DIGEST_SLOTS: Final = 1 << 15

#: Pinned memory for a launch's inputs, one reserve for NaNs and one for infinities.
RESERVE_BYTES: Final = 64 << 20

#: Memory per stream for tensors that its next launch will change, and most such streams.
ASIDE_BYTES: Final = 4 << 20
_ASIDES: Final = 8

#: Most bytes of a checked tensor: 31 bits number its vectors.
LARGEST: Final = 32 << 30

#: Most blocks of a tensor per multiprocessor.
_BLOCKS: Final = 4

_SUMS: Final = 8 * (1 + SPANS)  # an answer of `digest`, and its state: a number and the sums
_PORTABLE: Final = 1
_NON_BLOCKING: Final = 1
_MULTIPROCESSORS: Final = 16
_NO_OFFSET: Final = (1 << 64) - 1
_NEVER: Final = 0xFFFFFFFF
_ALL: Final = (1 << 64) - 1

_head = Struct(HEAD_FORMAT)
_row = Struct(ROW_FORMAT)
_parameter = ctypes.c_char * (HEAD + SPANS * ROW)


class Piece(NamedTuple):
    """Device memory to examine: `dtype` names its float type; None for other types.

    Of every `lines` lines of 128 bytes, the first is digested.
    """

    address: int
    size: int
    dtype: str | None = None
    lines: int = 1

    @property
    def vectors(self) -> int:
        """The number of aligned vectors that contain the memory."""
        return (self.address + self.size - 1) // VECTOR - self.address // VECTOR + 1


@dataclass(frozen=True, slots=True)
class Table:
    """Up to 16 tensors in the kernels' parameter format, reused for launches on the same memory.

    Attributes:
        rows: the bytes of the table, a row for each tensor.
        spans: the number of tensors.
        checked: the number of tensors that the kernel examines; others are only stored.
        vectors: the number of vectors of the largest examined tensor.
        offsets: the byte offset of each tensor in a reserve; empty if they do not fit.
    """

    rows: bytes
    spans: int
    checked: int
    vectors: int
    offsets: tuple[int, ...] = ()


def finite_table(written: Sequence[Piece], read: Sequence[Piece]) -> Table:
    """Return the table for `finite`: the first 8 outputs to examine, and inputs to store too."""
    pieces = [*written[:CHECKED], *read[: SPANS - CHECKED]]
    offsets, total_size = _reserve_offsets(pieces)
    fits = len(read) <= SPANS - CHECKED and total_size <= RESERVE_BYTES
    row_offsets = offsets if fits else itertools.repeat(_NO_OFFSET)
    rows = b"".join(_table_row(*row) for row in zip(pieces, row_offsets, strict=False))
    checked = min(len(written), CHECKED)
    vectors = max(piece.vectors for piece in written[:CHECKED])
    return Table(rows, len(pieces), checked, vectors, offsets if fits else ())


def digest_table(pieces: Sequence[Piece]) -> Table:
    """Return the table with which `digest` computes digests of the first 16 tensors."""
    pieces = pieces[:SPANS]
    rows = b"".join(_table_row(piece, _NO_OFFSET) for piece in pieces)
    vectors = max(piece.vectors // piece.lines for piece in pieces)
    return Table(rows, len(pieces), len(pieces), vectors)


class _ThreadBuffers(Local):
    """Buffers for calls of the driver, one set per thread."""

    def __init__(self) -> None:
        self._memory = _parameter()
        self.memory = memoryview(self._memory).cast("B")
        self.pointers = (ctypes.c_void_p * 1)(ctypes.addressof(self._memory))
        self.context, self.status = ctypes.c_void_p(), ctypes.c_int()


_buffers: Final = _ThreadBuffers()


@dataclass(slots=True)
class Reserve:
    """Pinned memory that stores one launch's tensors at a time.

    A launch is enqueued with the host's `turn`, and stores its tensors only if a word on the device
    (the first of two; the second counts attempts) equals it. Example: the first launch of turn 6
    that has a NaN turns the word from 6 to 7, so that no other of turn 6 stores any. Once the host
    has read the tensors, it follows to turn 7.
    """

    address: int
    turn: int = 0


@dataclass(slots=True)
class _Ring:
    """Slots for answers: addresses of pinned memory and of state on the device.

    A slot has `size` bytes in both; `free` are the free slots' numbers, `nodes` counts the slots of
    graphs' nodes.
    """

    answers: int
    states: int
    size: int
    free: deque[int]
    nodes: int = 0


class DeviceKernels:
    """kvtrace's kernels in one CUDA context. Methods may be called from any thread.

    Created in a thread that has the context. All methods raise CopyFailed if the driver refuses.
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self._numbers = itertools.count(1)
        self._lock = Lock()
        self._sums: _Ring | None = None
        self._control = 0
        self._asides: dict[int, int] = {}
        self.reserves: tuple[Reserve, ...] = ()
        with relaxed_capture(driver):
            self.blocks = _BLOCKS * self._multiprocessors()
            self._finite, self._digest = self.load(PTX, "kvtrace_finite", "kvtrace_digest")
            self._flags = self._new_ring(FINITE_SLOTS, 8)

    # -- launches ---------------------------------------------------------------------------

    def finite(
        self,
        table: Table,
        stream: int,
        captured: bool = False,
        keep: tuple[bool, bool] = (True, True),
    ) -> Answer | None:
        """Enqueue a search of a table's tensors for NaNs and infinities, and return the answer.

        `keep`: the launch's memory is stored in a free reserve if an output has a NaN and no input
        has one (first), or if an output has an infinity and no input has one or a NaN (second).
        `captured`: the stream is being captured into a graph. Returns None if no slot for the
        answer is free.
        """
        ring = self._flags
        slot = self._take_slot(ring, captured)
        if slot is None:
            return None
        number = next(self._numbers) & 0xFFFFFFFF
        address, state = ring.answers + 8 * slot, ring.states + 8 * slot
        turns, reserves = (0, 0), 0  # without an address, the device stores nothing
        if self.reserves:
            nan, infinite = self.reserves
            turns = nan.turn if keep[0] else _NEVER, infinite.turn if keep[1] else _NEVER
            if table.offsets and (keep[0] or keep[1]):
                reserves = nan.address  # that for infinities follows
        table_head = (  # in the order of HEAD_FORMAT
            address, state, self._control, reserves, RESERVE_BYTES,
            number, table.spans, table.checked, captured, *turns,
        )  # fmt: skip
        self._launch(self._finite, table_head, table, stream)
        stored_at = table.offsets if reserves else ()
        return Answer(address, number, stream, captured, table.checked, stored_at, turns)

    def digest(self, table: Table, stream: int) -> DigestAnswer | None:
        """Enqueue digests of a table's tensors; None if no slot for the answer is free."""
        if self._sums is None:
            self._sums = self.relaxed(lambda: self._new_ring(DIGEST_SLOTS, _SUMS))
        ring = self._sums
        slot = self._take_slot(ring, False)
        if slot is None:
            return None
        number = next(self._numbers) & 0xFFFFFFFF
        address, state = ring.answers + _SUMS * slot, ring.states + _SUMS * slot
        table_head = (address, state, 0, 0, 0, number, table.spans, table.spans, 0, 0, 0)
        self._launch(self._digest, table_head, table, stream)
        return DigestAnswer(address, number, stream, False, table.spans)

    def release(self, answer: Answer) -> None:
        """Free the slot of an answer that has arrived; nodes of graphs keep their slots."""
        if answer.captured:
            return
        ring = self._sums if isinstance(answer, DigestAnswer) else self._flags
        assert ring is not None
        ring.free.append((answer.address - ring.answers) // ring.size)

    def _launch(self, function: Any, head: tuple[int, ...], table: Table, stream: int) -> None:
        buffers = _buffers
        _head.pack_into(buffers.memory, 0, *head)
        buffers.memory[HEAD : HEAD + len(table.rows)] = table.rows
        blocks = max(1, min(self.blocks, -(-table.vectors // (THREADS * UNROLLED))))
        self._launch_blocks(function, (blocks, table.checked), stream)

    def launch(self, function: Any, parameter: bytes, blocks: tuple[int, int], stream: int) -> None:
        """Launch one of kvtrace's kernels with one parameter, on blocks of `THREADS`."""
        _buffers.memory[: len(parameter)] = parameter
        self._launch_blocks(function, blocks, stream)

    def _launch_blocks(self, function: Any, blocks: tuple[int, int], stream: int) -> None:
        size = (*blocks, 1, THREADS, 1, 1)
        handle = ctypes.c_void_p(stream)
        self.call("cuLaunchKernel", function, *size, 0, handle, _buffers.pointers, None)

    def _take_slot(self, ring: _Ring, captured: bool) -> int | None:
        if captured:
            if ring.nodes >= FINITE_SLOTS // 2:
                return None
            ring.nodes += 1
        try:
            return ring.free.popleft()
        except IndexError:
            return None

    def aside(self, pieces: Sequence[Piece], stream: int) -> tuple[Piece, ...] | None:
        """Enqueue copies of memory that the next launch will change, and return the copies.

        They are examined after the launch. Each stream has one buffer, which the copies for its
        next launch overwrite. Returns None if the buffer is too small, or for more than 8 streams.
        """
        base = self._asides.get(stream)
        if base is None:
            if len(self._asides) >= _ASIDES:
                return None
            base = self.relaxed(lambda: self.on_device(ASIDE_BYTES))
            self._asides[stream] = base
        copied_pieces, copies = _copies_aside(tuple(pieces), base)
        handle = ctypes.c_void_p(stream)
        for copy in copies:
            self.call("cuMemcpyDtoDAsync_v2", *copy, handle)
        return copied_pieces

    def is_lost(self, answer: Answer) -> bool:
        """Return whether an answer will never arrive, because its stream has failed."""
        query = self._driver.cuStreamQuery
        status = self.relaxed(lambda: query(ctypes.c_void_p(answer.stream)))
        return has_failed(status) and not answer.done

    # -- what is kept -----------------------------------------------------------------------

    def reserve(self) -> None:
        """Allocate the reserves; if they exist, begin new turns, which invalidates old contents."""
        self.relaxed(self._renew_reserves)

    def _renew_reserves(self) -> None:
        if self.reserves:
            for kind, reserve in enumerate(self.reserves):
                turn_word = self._control + 8 * kind
                reserve.turn += 2  # the word is at this turn, or the next if a launch has stored
                self._set(turn_word, reserve.turn, 1)
                self._set(turn_word + 4, 0, 1)  # attempts
            return
        self._control = self.on_device(16)  # both words of both reserves
        base = self.pinned(2 * RESERVE_BYTES)
        self.reserves = (Reserve(base), Reserve(base + RESERVE_BYTES))

    def holds(self, kind: int, answer: Answer) -> bool:
        """Return whether the reserve `kind` (0: NaNs) still has the answer's launch."""
        return self.reserves[kind].turn == answer.turns[kind]

    def free(self, kind: int) -> None:
        """Follow the reserve `kind` (0: NaNs), whose contents were read, to the device's turn."""
        self.reserves[kind].turn += 1

    # -- the driver -------------------------------------------------------------------------

    def relaxed(self, work: Any) -> Any:
        """Return `work()`, which may allocate memory even if another thread captures a graph."""
        with self._lock, relaxed_capture(self._driver):
            return work()

    def load(self, text: str, *names: str) -> list[Any]:
        """Load a PTX text into the context, and return the handles of its named kernels."""
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(text.encode()))
        functions = []
        for name in names:
            function = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
            functions.append(function)
        return functions

    def _new_ring(self, slots: int, size: int) -> _Ring:
        answers = self.pinned(slots * size)
        ctypes.memset(answers, 0, slots * size)
        return _Ring(answers, self.on_device(slots * size), size, deque(range(slots)))

    def _multiprocessors(self) -> int:
        device, count = ctypes.c_int(), ctypes.c_int()
        self.call("cuCtxGetDevice", ctypes.byref(device))
        self.call("cuDeviceGetAttribute", ctypes.byref(count), _MULTIPROCESSORS, device)
        return count.value

    def pinned(self, size: int) -> int:
        """Allocate pinned host memory, and return its address, which is valid on devices too."""
        pointer = ctypes.c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(pointer), ctypes.c_size_t(size), _PORTABLE)
        assert pointer.value is not None
        return pointer.value

    def on_device(self, size: int) -> int:
        """Allocate zeroed device memory, and return its address."""
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        self._set(pointer.value, 0, size // 4)
        return pointer.value

    def _set(self, address: int, word: int, count: int) -> None:
        """Set `count` words of device memory, and wait for that, on a separate stream."""
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), _NON_BLOCKING)
        self.call(
            "cuMemsetD32Async", ctypes.c_uint64(address), ctypes.c_uint(word),
            ctypes.c_size_t(count), stream,
        )  # fmt: skip
        self.call("cuStreamSynchronize", stream)
        self.call("cuStreamDestroy_v2", stream)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function of the driver; raise CopyFailed if it fails."""
        call_driver(self._driver, name, *arguments)


@lru_cache(maxsize=4096)
def _table_row(piece: Piece, offset: int) -> bytes:
    """Return a tensor's row of the table; `offset` is its offset in a reserve."""
    float_format = FORMATS.get(piece.dtype or "")
    leading_bytes, end_in_vector = piece.address % VECTOR, (piece.address + piece.size) % VECTOR
    bits = (
        (_ALL, 0, 0)
        if float_format is None
        else (float_format.mask, float_format.nan, float_format.limit)
    )
    return _row.pack(
        piece.address - leading_bytes, piece.vectors, piece.lines, 8 * leading_bytes,
        8 * (-end_in_vector % VECTOR),
        *bits, offset,
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _copies_aside(
    pieces: tuple[Piece, ...], base: int
) -> tuple[tuple[Piece, ...] | None, tuple[tuple[Any, ...], ...]]:
    """Return the copies of pieces in the buffer at `base`, and arguments of cuMemcpyDtoDAsync.

    None and no arguments if the buffer is too small.
    """
    offsets, total_size = _reserve_offsets(pieces)
    if total_size > ASIDE_BYTES:
        return None, ()
    copies = tuple(
        Piece(base + offset + piece.address % VECTOR, piece.size, piece.dtype)
        for piece, offset in zip(pieces, offsets, strict=True)
    )
    return copies, tuple(
        (ctypes.c_uint64(to.address), ctypes.c_uint64(piece.address), ctypes.c_size_t(piece.size))
        for piece, to in zip(pieces, copies, strict=True)
    )


def _reserve_offsets(pieces: Sequence[Piece]) -> tuple[tuple[int, ...], int]:
    """Return the byte offset of each piece if stored one after another, and their total size."""
    offsets, end = [], 0
    for piece in pieces:
        offsets.append(end)
        end += piece.vectors * VECTOR
    return tuple(offsets), end


_by_context: dict[int, DeviceKernels] = {}
_driver: Any = None


def device_kernels() -> DeviceKernels | None:
    """Return kvtrace's kernels for the thread's CUDA context, loaded on first use.

    None if the thread has no context yet.

    Raises:
        CopyFailed: there is no driver, or it refuses.
    """
    global _driver
    if _driver is None:
        try:
            _driver = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise CopyFailed(f"the CUDA driver cannot be called: {error}") from error
    context = _buffers.context
    if _driver.cuCtxGetCurrent(ctypes.byref(context)) or not context.value:
        return None
    kernels = _by_context.get(context.value)
    if kernels is None:
        kernels = _by_context[context.value] = DeviceKernels(_driver)
    return kernels


def is_capturing(stream: int) -> bool | None:
    """Return whether a stream is being captured into a graph; None if the driver does not say."""
    status = _buffers.status
    failed = _driver.cuStreamIsCapturing(ctypes.c_void_p(stream), ctypes.byref(status))
    return None if failed else bool(status.value)
