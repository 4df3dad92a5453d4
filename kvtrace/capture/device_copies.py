"""Asynchronous copies of device memory: on the launch's stream, into pinned host memory.

The CUDA driver is called directly, so that neither torch's dispatcher nor its allocator sees a
copy. After each copy the stream writes the copy's number into host memory. A reader waits for that
number instead of querying the driver, which would disturb a graph capture in another thread.

The pinned memory is a ring buffer: copies are allocated at the head and freed at the tail, in
order. Example with 1 MiB: a copy of two tensors of 100 bytes allocates 128 + 128 + 64 bytes (each
size is rounded up to 64, and the number takes 64); a copy that would cross the end of the buffer
begins at its start.
"""

import ctypes
import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from kvtrace.forks import Lock
from kvtrace.schema.errors import KvtraceError

#: Bytes of pinned memory, allocated once in a process and never freed: that would synchronize.
ARENA_BYTES: Final = 16 << 20

_ALIGNMENT: Final = 64
_PORTABLE: Final = 1
_MAPPED: Final = 2
#: Of <sys/mman.h>: `PROT_READ | PROT_WRITE`, `MAP_SHARED | MAP_ANONYMOUS`, `MAP_FAILED`.
_READ_WRITE: Final = 3
_SHARED_ANONYMOUS: Final = 0x21
_MAP_FAILED: Final = ctypes.c_void_p(-1).value
_RELAXED: Final = 2

#: The driver's results for a stream that has not failed: work done, or in progress. Results that
#: tell nothing, because the thread has no context (as the journal's) or a graph is being captured,
#: are no failure either.
_NOT_FAILED: Final = frozenset((0, 600, 201, *range(900, 910)))

#: Fewest spans that are copied by one 2D call, and the largest distance between two spans.
_FEWEST_ROWS: Final = 4
_MOST_PITCH: Final = (1 << 31) - 1

_HOST: Final = 1
_UNIFIED: Final = 4


class _Rows(ctypes.Structure):
    """`CUDA_MEMCPY2D` of cuda.h."""

    _fields_ = (
        ("srcXInBytes", ctypes.c_size_t),
        ("srcY", ctypes.c_size_t),
        ("srcMemoryType", ctypes.c_int),
        ("srcHost", ctypes.c_void_p),
        ("srcDevice", ctypes.c_uint64),
        ("srcArray", ctypes.c_void_p),
        ("srcPitch", ctypes.c_size_t),
        ("dstXInBytes", ctypes.c_size_t),
        ("dstY", ctypes.c_size_t),
        ("dstMemoryType", ctypes.c_int),
        ("dstHost", ctypes.c_void_p),
        ("dstDevice", ctypes.c_uint64),
        ("dstArray", ctypes.c_void_p),
        ("dstPitch", ctypes.c_size_t),
        ("WidthInBytes", ctypes.c_size_t),
        ("Height", ctypes.c_size_t),
    )


class CopyFailed(KvtraceError):
    """The driver refused to copy."""

    slug = "copy-failed"


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of some tensors that the stream has not completed, or whose bytes are not read yet.

    `parts` has (address, size) of each tensor's bytes in host memory; the stream writes `number` to
    the address `flag` after the bytes. `end` is the ring buffer's head after the copy.
    """

    parts: tuple[tuple[int, int], ...]
    flag: int
    number: int
    stream: int
    end: int

    @property
    def done(self) -> bool:
        """All bytes have arrived in host memory."""
        return ctypes.c_uint32.from_address(self.flag).value == self.number

    def read(self) -> tuple[bytes, ...]:
        """Return the bytes of each tensor; valid only once the copy is done."""
        return tuple(ctypes.string_at(address, size) for address, size in self.parts)


class DeviceCopies:
    """Copier from a process's CUDA devices to the host. Methods may be called from any thread."""

    def __init__(self, size: int = ARENA_BYTES) -> None:
        """Allocate the pinned host memory that copies go to.

        Raises:
            CopyFailed: there is no CUDA driver, or the driver allocates no memory.

        """
        try:
            self._driver = ctypes.CDLL("libcuda.so.1")
            self._write = self._driver.cuStreamWriteValue32_v2
        except (OSError, AttributeError) as error:
            raise CopyFailed(f"the CUDA driver cannot be called: {error}") from error
        self._lock = Lock()
        self._number = 0
        self._head = self._tail = 0  # bytes taken and given back since the start
        self._ends: deque[int] = deque()  # of copies whose room is taken, in order
        self._released: set[int] = set()  # ends of those that are not the oldest
        self._size = size
        self._base = pinned_memory(size)
        if self._base <= 0:
            raise CopyFailed(f"cuMemHostAlloc failed with error {-self._base}")

    def copy(self, spans: Sequence[tuple[int, int]], stream: int) -> Copy | None:
        """Enqueue a copy of ranges of memory (address, bytes) on the stream, and return the copy.

        None if the stream is captured into a graph, the thread has no context yet, or the pinned
        memory is full.

        Raises:
            CopyFailed: the driver reported an error.

        """
        if not self._may_copy(stream):
            return None
        with self._lock:
            copy = self._allocated([size for _, size in spans], stream)
            if copy is None:
                return None
            self._enqueue(spans, [target for target, _ in copy.parts], stream)
            failed = self._write(
                ctypes.c_void_p(stream), ctypes.c_uint64(copy.flag), ctypes.c_uint32(copy.number), 0
            )
            if failed:
                raise CopyFailed(f"cuStreamWriteValue32 failed with error {failed}")
            self._commit(copy)
        return copy

    def copied(self, spans: Sequence[tuple[int, int]], stream: int) -> tuple[bytes, ...] | None:
        """Copy ranges of memory, wait for the stream, and return the bytes; None as `copy`.

        Raises:
            CopyFailed: the driver reported an error.

        """
        if not self._may_copy(stream):
            return None
        sizes = [size for _, size in spans]
        memory = ctypes.create_string_buffer(sum(sizes))
        begin = ctypes.addressof(memory)
        targets = [begin + offset for offset in itertools.accumulate(sizes[:-1], initial=0)]
        with relaxed_capture(self._driver):
            self._enqueue(spans, targets, stream)
            call_driver(self._driver, "cuStreamSynchronize", ctypes.c_void_p(stream))
        return tuple(map(ctypes.string_at, targets, sizes))

    def _enqueue(
        self, spans: Sequence[tuple[int, int]], targets: Sequence[int], stream: int
    ) -> None:
        """Enqueue a copy of each range to its target address, by one call for a regular run."""
        handle = ctypes.c_void_p(stream)
        for first, count in _regular_runs(spans, targets):
            (source, size), target = spans[first], targets[first]
            if count == 1:
                call_driver(
                    self._driver, "cuMemcpyAsync", ctypes.c_uint64(target), ctypes.c_uint64(source),
                    ctypes.c_size_t(size), handle,
                )  # fmt: skip
                continue
            rows = _Rows(
                srcMemoryType=_UNIFIED, srcDevice=source, srcPitch=spans[first + 1][0] - source,
                dstMemoryType=_HOST, dstHost=target, dstPitch=targets[first + 1] - target,
                WidthInBytes=size, Height=count,
            )  # fmt: skip
            call_driver(self._driver, "cuMemcpy2DAsync_v2", ctypes.byref(rows), handle)

    def release(self, copy: Copy) -> None:
        """Free the pinned memory of a copy that has been read or is not needed."""
        with self._lock:
            self._released.add(copy.end)
            while self._ends and self._ends[0] in self._released:
                self._tail = self._ends.popleft()
                self._released.discard(self._tail)

    def _commit(self, copy: Copy) -> None:
        self._head = copy.end
        self._ends.append(copy.end)

    def is_lost(self, copy: Copy) -> bool:
        """Return whether a copy can never complete because its stream has failed."""
        with relaxed_capture(self._driver):
            result = self._driver.cuStreamQuery(ctypes.c_void_p(copy.stream))
        return has_failed(result) and not copy.done

    def has_context(self) -> bool:
        """Return whether the calling thread has a context of a device yet."""
        context = ctypes.c_void_p()
        return not self._driver.cuCtxGetCurrent(ctypes.byref(context)) and bool(context.value)

    def is_capturing(self, stream: int) -> bool:
        """Return whether launches on a stream are captured into a graph."""
        status = ctypes.c_int()
        # An error also means that a capture is in progress.
        failed = self._driver.cuStreamIsCapturing(ctypes.c_void_p(stream), ctypes.byref(status))
        return bool(failed or status.value)

    def _may_copy(self, stream: int) -> bool:
        return self.has_context() and not self.is_capturing(stream)

    def _allocated(self, sizes: Sequence[int], stream: int) -> Copy | None:
        """Return a copy with pinned memory for these sizes and the number; None if it is full.

        The head does not advance: see `_commit`.
        """
        rounded = [-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes]
        total = sum(rounded) + _ALIGNMENT
        begin = self._head
        if begin % self._size + total > self._size:
            begin += self._size - begin % self._size
        if total > self._size or begin + total - self._tail > self._size:
            return None
        address, parts = self._base + begin % self._size, []
        for size, step in zip(sizes, rounded, strict=True):
            parts.append((address, size))
            address += step
        self._number = (self._number + 1) % (1 << 32) or 1
        ctypes.c_uint32.from_address(address).value = 0
        return Copy(tuple(parts), address, self._number, stream, begin + total)


def call_driver(driver: ctypes.CDLL, name: str, *arguments: object) -> None:
    """Call a function of CUDA's driver; raise CopyFailed if it fails."""
    failed = getattr(driver, name)(*arguments)
    if failed:
        raise CopyFailed(f"{name} failed with error {failed}")


@contextmanager
def relaxed_capture(driver: ctypes.CDLL) -> Iterator[None]:
    """Prevent this thread's calls in a `with` block from disturbing another's graph capture."""
    mode = ctypes.c_int(_RELAXED)
    driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
    try:
        yield
    finally:
        driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))


def pinned_memory(size: int) -> int:
    """Return the address of pinned host memory, or minus the driver's error if there is none.

    The memory has `size` bytes, and is valid under that address on devices, too. It is never freed.
    Needs a thread with a context.

    Memory that the driver allocates lies among the program's tensors, and moves those that are
    allocated later: a program that leaves a tensor could then fail only while it is recorded. So
    this is memory of the process, far from where the driver allocates, which the driver pins.
    """
    driver = ctypes.CDLL("libcuda.so.1")
    with relaxed_capture(driver):
        return _registered(driver, size) or _allocated_by(driver, size)


def _registered(driver: ctypes.CDLL, size: int) -> int:
    """Return the address of memory of the process that the driver has pinned; 0 if it refuses."""
    address = _mapped(size)
    if not address:
        return 0
    host, on_device = ctypes.c_void_p(address), ctypes.c_uint64()
    if driver.cuMemHostRegister_v2(host, ctypes.c_size_t(size), _PORTABLE | _MAPPED):
        return 0
    driver.cuMemHostGetDevicePointer_v2(ctypes.byref(on_device), host, 0)
    if on_device.value == address:
        return address
    driver.cuMemHostUnregister(host)
    return 0


def _allocated_by(driver: ctypes.CDLL, size: int) -> int:
    memory = ctypes.c_void_p()
    failed = driver.cuMemHostAlloc(ctypes.byref(memory), ctypes.c_size_t(size), _PORTABLE)
    return -int(failed) if failed else memory.value or 0


def _mapped(size: int) -> int:
    """Return the address of new memory that is never freed, 0 if there is none.

    The device goes on writing there as Python ends. The memory is shared, since a fork would
    otherwise move pages from under the device.
    """
    system = ctypes.CDLL(None)
    system.mmap.restype = ctypes.c_void_p
    address = system.mmap(
        ctypes.c_void_p(next(_far_addresses)), ctypes.c_size_t(size), _READ_WRITE,
        _SHARED_ANONYMOUS, -1, ctypes.c_long(0),
    )  # fmt: skip
    return 0 if address in (None, _MAP_FAILED) else int(address)


def has_failed(result: int) -> bool:
    """Return whether a result of `cuStreamQuery` means that the stream has failed."""
    return result not in _NOT_FAILED


def _regular_runs(
    spans: Sequence[tuple[int, int]], targets: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield first index and length of runs of ranges that one 2D copy can copy.

    Their sizes are equal, and their sources and targets evenly spaced. Shorter runs than
    `_FEWEST_ROWS` are yielded range by range.
    """
    first = 0
    while first < len(spans):
        source, size = spans[first]
        count = 1
        if first + 1 < len(spans):
            pitch, step = spans[first + 1][0] - source, targets[first + 1] - targets[first]
            while (
                size <= pitch <= _MOST_PITCH
                and first + count < len(spans)
                and spans[first + count] == (source + count * pitch, size)
                and targets[first + count] == targets[first] + count * step
            ):
                count += 1
        if count < _FEWEST_ROWS:
            yield from ((row, 1) for row in range(first, first + count))
        else:
            yield first, count
        first += count


def driver_addresses() -> tuple[int, ...]:
    """Return addresses of the driver's functions that `_hot_copies.h` calls; 0 without a driver."""
    names = (
        "cuCtxGetCurrent", "cuStreamIsCapturing", "cuMemcpyAsync", "cuStreamWriteValue32_v2",
        "cuThreadExchangeStreamCaptureMode", "cuStreamQuery",
    )  # fmt: skip
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        return tuple(
            ctypes.cast(getattr(driver, name), ctypes.c_void_p).value or 0 for name in names
        )
    except (OSError, AttributeError):
        return (0,) * len(names)


#: Addresses at which Linux and CUDA put nothing by themselves, below programs and their heaps; if
#: they are taken, Linux chooses others.
_far_addresses: Final = itertools.count(0x5000_0000_0000, 1 << 30)
_copies_by_size: dict[int, DeviceCopies] = {}


def device_copies(size: int = ARENA_BYTES) -> DeviceCopies:
    """Return the process's shared copier with `size` bytes of pinned memory.

    The first call makes the copier, and needs a thread that has a context.

    Raises:
        CopyFailed: as `DeviceCopies`.

    """
    if size not in _copies_by_size:
        _copies_by_size[size] = DeviceCopies(size)
    return _copies_by_size[size]
