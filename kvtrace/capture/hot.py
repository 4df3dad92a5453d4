"""The launch hot path in Python: same behavior as `_hot.c`, for when that is not built or usable.

A recorder wraps a launching function. Each launch costs two clock reads, a look-up from the exact
metadata of its arguments to a call id, and an append of its row. Adapters record what is new.
"""

import threading
import time
import weakref
from array import array
from collections.abc import Callable, Sequence
from typing import Any, Final

from kvtrace.capture.adapters import Adapter, Describe, Problem
from kvtrace.capture.arguments import unseen
from kvtrace.capture.hot_key import CallKeys, Pointers
from kvtrace.capture.records import GRAPH_CAPTURE, GRAPH_NUMBERS, RUN
from kvtrace.schema.spool import FIELDS, GRAPH_SHIFT, ROW
from kvtrace.surroundings import Local

#: Most launches that wait for the background thread; further launches are counted as dropped.
ROWS_LIMIT: Final = 1 << 22

#: DLPack's numbers for kinds of devices.
NO_DEVICE, CUDA, ROCM, ONEAPI = 0, 2, 10, 14

#: Kind of device by the name of Triton's backend, which is Inductor's device type, too.
DEVICE_KINDS: Final = {"cuda": CUDA, "hip": ROCM, "xpu": ONEAPI}

#: The grid of calls whose grid follows from kernel and arguments.
NO_GRID: Final = (0, 0, 0)

#: One of so many launches is timed; a prime, as programs repeat themselves in periods.
TIMED_EACH: Final = 31

#: Nanoseconds beyond which a timing is discarded: another thread had the processor.
_INTERRUPTED: Final = 1_000_000

#: Most bits of a stream's handle.
_HANDLE_BITS: Final = 63


class _Thread(Local):
    """State of the running thread.

    `contents` is the number of the next launch's copies; `launching` the id of the object in whose
    launch the thread is; `theirs` the duration, in ns, of the last recorded launch, or -1.
    `pointers` are the distinct data pointers of the launch whose key was made last, and `places`
    the places in them of the arguments of a call that is being recorded (`Recorder.place`).
    """

    def __init__(self) -> None:
        self.id = threading.get_native_id()
        self.phase = RUN
        self.contents = 0
        self.launching = 0
        self.theirs = -1
        self.pointers: Pointers = {}
        self.places: tuple[int, ...] | None = None


class StoringGrid:
    """A callable that evaluates the program's callable grid and stores the result in `value`."""

    __slots__ = ("function", "value")

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function
        self.value: Any = None

    def __call__(self, meta: Any) -> Any:
        """Return the grid for a launch, and store it."""
        self.value = self.function(meta)
        return self.value


class Recorder:
    """The launch hot path: maps launches to calls and stores their rows until `drain`.

    Threads may launch at once: each step that touches shared state is one atomic operation of a
    built-in type, or is harmless when done twice.
    """

    name: Final = "python"

    def __init__(
        self,
        describe: Describe,
        problem: Problem,
        tensor_types: tuple[type, ...],
        max_calls: int,
        *,
        stream_of: Callable[[int, int], int] | None = None,
        graph_of: Callable[[int], int | None] | None = None,
    ) -> None:
        """Make a recorder that is active at once.

        `tensor_types` are the exact types that are read as torch tensors; `stream_of` returns the
        current stream of a device (kind, index); `graph_of` returns the number of the graph that
        a stream is captured into (0: number unknown; None: no capture).
        """
        self.active = True
        self.dropped = 0
        self._ending = False
        self.overflows = 0
        self._until_timed = 0
        self._timed = self._timed_ns = self._quickest_ns = self._new_ns = 0
        self._problem = problem
        self._keys = CallKeys(tensor_types, describe)
        self._max_calls = max_calls
        self._stream_of = stream_of
        self._graph_of = graph_of
        self._thread = _Thread()
        self._rows: list[int] = []
        self._calls: dict[tuple[Any, ...], int] = {}
        self._keeps_addresses = False
        #: By key: the place of each argument's data pointer among the key's; None: not known.
        self._places: dict[tuple[Any, ...], tuple[int, ...] | None] = {}
        self._addresses: list[tuple[int, ...] | None] = []
        #: id of a kernel object → (kernel id, device kind, device index, reference that unlists it)
        self._kernels: dict[int, tuple[int, int, int, Any]] = {}
        self._apart: set[int] = set()

    # -- wrapping ---------------------------------------------------------------------------

    def wrap(self, function: Callable[..., Any], adapter: Adapter) -> Callable[..., Any]:
        """Wrap a method `run(self, *args, grid, warmup, **kwargs)` that returns the kernel."""
        recorder = self
        clock = time.time_ns

        def run(self: Any, /, *args: Any, grid: Any, warmup: Any, **kwargs: Any) -> Any:
            if not recorder.active:
                recorder.dropped += recorder._ending
                return function(self, *args, grid=grid, warmup=warmup, **kwargs)
            timing = recorder._begin_timing()
            thread = recorder._thread
            thread.contents = 0  # of an earlier launch that failed after its copies
            outer, thread.launching = thread.launching, id(self)
            probe = None
            if callable(grid):
                probe = grid = StoringGrid(grid)
            try:
                enter = clock()
                kernel = function(self, *args, grid=grid, warmup=warmup, **kwargs)
                leave = clock()
            finally:
                thread.launching = outer
            if probe is not None:
                grid = probe.value
            try:
                if kernel is None:
                    pass  # a hook of Triton's took the launch over
                elif warmup:
                    recorder.kernel(adapter, self, kernel)
                else:
                    recorder.record(adapter, self, kernel, grid, args, kwargs, enter, leave)
            except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                recorder._problem(error)
            if timing:
                recorder._end_timing(*timing)
            return kernel

        return _like(run, function)

    def wrap_choosing(
        self,
        function: Callable[..., Any],
        adapter: Adapter,
        uncommon: Callable[..., Any],
    ) -> Callable[..., Any]:
        """Return a recording `run(self, *args, stream)`, which launches by one of `self.launchers`.

        The only launcher is recorded as the kernel, and (0, 0, 0) as the grid, which launcher and
        arguments determine; while there are several launchers, nothing is recorded. Calls with
        other keyword arguments, and of kernels that the adapter sets apart, call `uncommon` instead
        of `function`.
        """
        recorder = self
        clock = time.time_ns

        def run(self: Any, /, *args: Any, stream: Any, **kwargs: Any) -> Any:
            if not recorder.active:
                recorder.dropped += recorder._ending
                return function(self, *args, stream=stream, **kwargs)
            timing = recorder._begin_timing()
            if kwargs or (recorder._apart and recorder._is_apart(self)):
                result = uncommon(self, *args, stream=stream, **kwargs)
                if timing:
                    recorder._end_timing(*timing)
                return result
            recorder._thread.contents = 0
            enter = clock()
            result = function(self, *args, stream=stream)
            leave = clock()
            try:
                launchers = self.launchers
                if len(launchers) == 1:
                    recorder.record(
                        adapter, self, launchers[0], NO_GRID, args, {}, enter, leave, stream
                    )
            except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                recorder._problem(error)
            if timing:
                recorder._end_timing(*timing)
            return result

        return _like(run, function)

    def wrap_getitem(self, function: Callable[..., Any], adapter: Adapter) -> Callable[..., Any]:
        """Wrap the `__getitem__` of compiled kernels, which returns a launcher for a grid."""
        recorder = self
        clock = time.time_ns

        def __getitem__(self: Any, grid: Any) -> Any:  # noqa: N807 - replaces the method
            launch = function(self, grid)

            def recorded(*args: Any, **kwargs: Any) -> Any:
                if not recorder.active:  # the launcher may outlive the window of the recording
                    recorder.dropped += recorder._ending
                    return launch(*args, **kwargs)
                thread = recorder._thread
                thread.contents = 0
                outer, thread.launching = thread.launching, owner_of(self)
                try:
                    enter = clock()
                    result = launch(*args, **kwargs)
                    leave = clock()
                finally:
                    thread.launching = outer
                try:
                    recorder.record(adapter, self, self, grid, args, {}, enter, leave)
                except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                    recorder._problem(error)
                return result

            return recorded

        return _like(__getitem__, function)

    def _is_apart(self, owner: Any) -> bool:
        launchers: Any = getattr(owner, "launchers", ())
        return len(launchers) == 1 and id(launchers[0]) in self._apart

    # -- what it costs ----------------------------------------------------------------------

    @property
    def costs(self) -> tuple[int, int, int, int]:
        """Ns for new kernels and calls; timed launches, their ns, and ns of the quickest."""
        return self._new_ns, self._timed, self._timed_ns, self._quickest_ns

    def _begin_timing(self) -> tuple[int, int] | None:
        """Return the values for `_end_timing` if the next launch is timed, else None."""
        self._until_timed -= 1
        if self._until_timed >= 0:
            return None
        self._until_timed = TIMED_EACH - 1
        self._thread.theirs = -1
        return time.time_ns(), self._new_ns

    def _end_timing(self, begin: int, new_ns: int) -> None:
        """Count a timed launch and the ns that recording added to it.

        A launch that was not recorded, or had a new kernel or call, does not count.
        """
        launch_ns = self._thread.theirs
        recording_ns = time.time_ns() - begin - launch_ns
        if launch_ns >= 0 and 0 <= recording_ns <= _INTERRUPTED and self._new_ns == new_ns:
            if recording_ns < self._quickest_ns or not self._timed:
                self._quickest_ns = recording_ns
            self._timed += 1
            self._timed_ns += recording_ns

    # -- recording --------------------------------------------------------------------------

    @unseen
    def record(
        self,
        adapter: Adapter,
        owner: Any,
        kernel: Any,
        grid: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        enter: int,
        leave: int,
        stream: Any = None,
    ) -> None:
        """Record one launch that has returned, and its kernel and call if they are new.

        `stream` is the handle of the launch's stream; if it is not a number, torch's current stream
        is recorded. The copies for the launch (`tag`) are dropped if the launch is not recorded.
        """
        try:
            kernel_id, device_kind, device, _ = self.kernel(adapter, owner, kernel)
            if kernel_id < 0:
                return
            pointers: Pointers = {}
            self._thread.pointers = pointers
            key = self._keys.of(kernel_id, grid, args, kwargs, pointers)
            call_id = self._calls.get(key)
            if call_id is None:
                full_grid = (key[1], key[2], key[3])
                begin = time.time_ns()
                self._thread.places = None
                call_id = adapter.new_call(owner, kernel, kernel_id, full_grid, args, kwargs)
                self._thread.pointers = pointers  # `new_call` may have launched a kernel
                self._new_ns += time.time_ns() - begin
                if len(self._calls) >= self._max_calls:
                    self.overflows += 1
                    self._calls.clear()
                    self._places.clear()
                self._calls[key] = call_id
                if self._keeps_addresses:
                    self._places[key] = self._thread.places
            if call_id < 0:
                return
            contents = self._thread.contents
            if self._keeps_addresses:
                places = self._places.get(key)
                found = [*pointers]
                self._thread.places = places and tuple(found[place] for place in places)
            if device_kind == NO_DEVICE:
                self.append(call_id, enter, leave, contents=contents)
                return
            if type(stream) is not int or stream.bit_length() > _HANDLE_BITS:
                stream = 0 if self._stream_of is None else self._stream_of(device_kind, device)
            self.append(call_id, enter, leave, device, stream, contents)
        finally:
            self._thread.contents = 0

    def append(
        self,
        call_id: int,
        enter: int,
        leave: int,
        device: int = -1,
        stream: int = 0,
        contents: int = 0,
    ) -> None:
        """Store the row of a launch of a recorded call, with the running thread's id and phase.

        `contents` is the number of the launch's copies, or 0. A full store counts it as dropped.
        """
        if len(self._rows) >= ROWS_LIMIT * len(FIELDS):
            self.dropped += 1
            return
        thread = self._thread
        phase = thread.phase
        if stream and self._graph_of is not None:
            graph = self._graph_of(stream)
            if graph is not None:
                phase = GRAPH_CAPTURE | (graph & GRAPH_NUMBERS) << GRAPH_SHIFT
        thread.theirs = leave - enter
        if self._keeps_addresses:
            self._addresses.append(thread.places)
            thread.places = None
        # In the order of `FIELDS`.
        self._rows += (enter, leave, call_id, stream, thread.id, contents, device, phase)

    @property
    def keeps_addresses(self) -> bool:
        """The addresses of launches' tensors are kept; set before the first launch."""
        return self._keeps_addresses

    @keeps_addresses.setter
    def keeps_addresses(self, keeps: bool) -> None:
        if keeps != self._keeps_addresses:
            self._calls.clear()
        self._keeps_addresses = keeps
        self._addresses.clear()

    def place(self, addresses: tuple[int, ...]) -> None:
        """Say the data pointers of the call that the thread is recording, in its arguments' order.

        Launches of equal keys have their addresses in the same order. Where an address is not one
        of the launch's tensors, the call's launches have no addresses.
        """
        pointers = self._thread.pointers
        places = tuple(pointers[a][0] for a in addresses if a in pointers)
        self._thread.places = places if len(places) == len(addresses) else None

    def tag(self, contents: int) -> int:
        """Set the number of the copies for the running thread's current launch.

        The launch's row, recorded later, has this number. Return the previous number.
        """
        previous, self._thread.contents = self._thread.contents, contents
        return previous

    @property
    def launching(self) -> int:
        """The `id` of the object whose wrapped launch the running thread is in; 0 outside."""
        return self._thread.launching

    @launching.setter
    def launching(self, owner: int) -> None:
        self._thread.launching = owner

    def swap_phase(self, phase: int) -> int:
        """Set the phase of the running thread's launches; return the previous phase."""
        thread = self._thread
        previous = thread.phase
        thread.phase = phase
        return previous

    # -- for the background thread ----------------------------------------------------------

    def drain(self) -> bytes:
        """Remove the waiting launches and return their rows, each packed by `ROW`."""
        count = len(self._rows)
        values = self._rows[:count]
        del self._rows[:count]
        pack, size = ROW.pack, len(FIELDS)
        return b"".join(pack(*values[i : i + size]) for i in range(0, count, size))

    def drain_addresses(self, launches: int) -> tuple[bytes, bytes, bytes]:
        """Remove the addresses of the first launches, which `drain` has returned.

        Return offsets (32 bits, one more than launches) and addresses (64 bits), as an Arrow list
        has them, and for each launch a byte: 1, or 0 where the addresses are not known.
        """
        kept = self._addresses[:launches]
        del self._addresses[:launches]
        kept += [None] * (launches - len(kept))
        offsets, addresses = array("i", [0]), array("q")
        for launch in kept:
            addresses.extend(launch or ())
            offsets.append(len(addresses))
        known = bytes(launch is not None for launch in kept)
        return offsets.tobytes(), addresses.tobytes(), known

    @property
    def known_calls(self) -> int:
        """Number of unique calls that are remembered."""
        return len(self._calls)

    def end(self) -> None:
        """Stop recording, as the process ends; further launches are counted as dropped."""
        self._ending = self.active
        self.active = False

    def forget(self) -> None:
        """Forget kernels, calls and launches: another run begins, perhaps in a forked process."""
        self._rows.clear()
        self._calls.clear()
        self._places.clear()
        self._addresses.clear()
        self._kernels.clear()
        self._apart.clear()
        self._thread = _Thread()
        self.dropped = 0
        self._ending = False
        self.overflows = 0
        self._timed = self._timed_ns = self._quickest_ns = self._new_ns = 0

    # -- identity ---------------------------------------------------------------------------

    def kernel(self, adapter: Adapter, owner: Any, kernel: Any) -> tuple[int, int, int, Any]:
        """Return a kernel's id, device kind, device index and reference.

        A new kernel is recorded by the adapter; -1 as id: not to be recorded.
        """
        entry = self._kernels.get(id(kernel))
        if entry is not None:
            return entry
        begin = time.time_ns()
        facts: Sequence[int] = adapter.new_kernel(owner, kernel)
        self._new_ns += time.time_ns() - begin
        kernel_id, device_kind, device = facts[0], facts[1], facts[2]
        address, kernels = id(kernel), self._kernels
        if len(facts) == 4 and facts[3] is True:
            self._apart.add(address)
        reference: Any

        def died(_: Any) -> None:
            kernels.pop(address, None)
            self._apart.discard(address)

        try:
            reference = weakref.ref(kernel, died)
        except TypeError:
            reference = kernel  # kept alive, or its address could become another's
        entry = (kernel_id, device_kind, device, reference)
        kernels[address] = entry
        return entry


def _like(run: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Copy the name and docstring of `function` to its wrapper `run`, and return the wrapper."""
    run.__wrapped__ = function  # type: ignore[attr-defined]
    run.__name__ = getattr(function, "__name__", "run")
    run.__qualname__ = getattr(function, "__qualname__", "run")
    run.__doc__ = function.__doc__
    return run


def owner_of(kernel: Any) -> int:
    """Return `Recorder.launching` during a kernel's launch: the `id` of its function or kernel."""
    function = getattr(kernel.src, "fn", None)
    return id(kernel if function is None else function)
