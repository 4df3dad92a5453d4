"""The launch hot path as the rest of the recorder sees it; `_hot.c` is what runs.

A recorder wraps a launching function. Each launch costs two clock reads, a look-up from the exact
metadata of its arguments to a call id, and an append of its row. Adapters record what is new.

The identity of a call is made of values and types, never of the `id` of an object that may die:
kernels are numbered, and a number is forgotten when its kernel dies. Example: `add[(8,)](x, 1024)`
with kernel number 3 is told apart by 3, the grid (8, 1, 1), x's shape, strides, dtype and device,
x's address modulo 16, 0 as x is the first distinct pointer, int, and 1024. The distance of tensors
that overlap is part of it; a view that moves through its storage, apart from all others, makes no
new call.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

from kvtrace.capture.adapters import Adapter

#: DLPack's numbers for kinds of devices.
NO_DEVICE, CUDA, ROCM, ONEAPI = 0, 2, 10, 14

#: Kind of device by the name of Triton's backend, which is Inductor's device type, too.
DEVICE_KINDS: Final = {"cuda": CUDA, "hip": ROCM, "xpu": ONEAPI}

#: The grid of calls whose grid follows from kernel and arguments.
NO_GRID: Final = (0, 0, 0)


class Recorder(Protocol):
    """The launch hot path (`_hot.c`): maps launches to calls and keeps their rows until `drain`.

    Threads may launch at once.
    """

    active: bool
    #: Launches that found no room among the rows that wait, or came as the process ended.
    dropped: int
    #: How often the table of unique calls was full, and was cleared.
    overflows: int
    #: Number of unique calls that are remembered.
    known_calls: int
    #: The addresses of launches' tensors are kept; set before the first launch.
    keeps_addresses: bool
    #: The `id` of the object whose wrapped launch the running thread is in; 0 outside.
    launching: int

    @property
    def costs(self) -> tuple[int, int, int, int]:
        """Ns for new kernels and calls; timed launches, their ns, and ns of the quickest."""

    def wrap(self, function: Callable[..., Any], adapter: Adapter, /) -> Callable[..., Any]:
        """Wrap a method `run(self, *args, grid, warmup, **kwargs)` that returns the kernel."""

    def wrap_choosing(
        self, function: Callable[..., Any], adapter: Adapter, uncommon: Callable[..., Any], /
    ) -> Callable[..., Any]:
        """Return a recording `run(self, *args, stream)` of an autotuned kernel of Inductor.

        While it has several `launchers`, nothing is recorded; then the one left is the kernel, and
        (0, 0, 0) the grid, which launcher and arguments determine. Calls with other keyword
        arguments, and of kernels that the adapter sets apart, call `uncommon` instead of
        `function`.
        """

    def wrap_getitem(self, function: Callable[..., Any], adapter: Adapter, /) -> Callable[..., Any]:
        """Wrap the `__getitem__` of compiled kernels, which returns a launcher for a grid."""

    def watched_property(self, before: property, first_mark: Callable[[Any], Any], /) -> Any:
        """Return `CompiledKernel.run`, whose launchers copy tensors where a kernel has a watch."""

    def looks(self, *facts: Any) -> Any:
        """Make the copier of tensors; see `copied_contents.py`."""

    def look(self, looks: Any, watch: Any, targets: Any, /, *launched: Any) -> Any:
        """Make the inspector of a kernel's launches; see `contents_to_copy.py`."""

    def record(
        self, adapter: Adapter, owner: Any, kernel: Any, grid: Any, args: tuple[Any, ...],
        kwargs: dict[str, Any], enter: int, leave: int, /,
    ) -> None:  # fmt: skip
        """Record one launch that has returned, and its kernel and call if they are new.

        The copies for the launch (`tag`) are dropped if the launch is not recorded.
        """

    def append(
        self, call_id: int, enter: int, leave: int, device: int = -1, stream: int = 0, /
    ) -> None:
        """Store the row of a launch of a recorded call, with the running thread's id and phase."""

    def place(self, addresses: tuple[int, ...], /) -> None:
        """Say the data pointers of the call that the thread is recording, in its arguments' order.

        Launches of equal calls have their addresses in the same order. Where an address is not one
        of the launch's tensors, the call's launches have no addresses.
        """

    def tag(self, contents: int, /) -> int:
        """Set the number of the copies for the running thread's current launch.

        The launch's row, recorded later, has this number. Return the previous number.
        """

    def swap_phase(self, phase: int, /) -> int:
        """Set the phase of the running thread's launches; return the previous phase."""

    def drain(self) -> bytes:
        """Remove the waiting launches and return their rows, each packed by `ROW`."""

    def drain_addresses(self, launches: int, /) -> tuple[bytes, bytes, bytes]:
        """Remove the addresses of the first launches, which `drain` has returned.

        Return offsets (32 bits, one more than launches) and addresses (64 bits), as an Arrow list
        has them, and for each launch a byte: 1, or 0 where the addresses are not known.
        """

    def spool_begin(self, folder: bytes, memory: bytes, place: bytes, run: bytes, /) -> bool:
        """Begin a spool; see `spool.py`, as for the other functions of spools."""

    def spool_add(self, frame: bytes, /) -> None:
        """Write a frame's content to the spool."""

    def spool_write(self) -> None:
        """Return once all that was added outlives the process, or after 20 ms."""

    def spool_switch(self) -> None:
        """Begin to write to the second of the two files."""

    def spool_empty(self) -> None:
        """Empty the file that was written before the switch."""

    def spool_end(self) -> None:
        """Write waiting records, and close the files."""

    def end(self) -> None:
        """Stop recording, as the process ends; further launches are counted as dropped."""

    def forget(self) -> None:
        """Forget kernels, calls and launches: another run begins, perhaps in a forked process."""


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


def owner_of(kernel: Any) -> int:
    """Return `Recorder.launching` during a kernel's launch: the `id` of its function or kernel."""
    function = getattr(kernel.src, "fn", None)
    return id(kernel if function is None else function)
