"""State of a running launch: target, grid, current program, loops and allocations."""

import threading
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from msgspec import Struct

from kvtrace.addons.neuron import tensors
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import PARTITION_LIMIT, Finding
from kvtrace.addons.neuron.memory import BufferLife, Memory, Space, garbage, partitions_of, size_of
from kvtrace.addons.neuron.recorder import Recorder
from kvtrace.addons.neuron.targets import PARTITIONS, Target
from kvtrace.addons.neuron.tensors import Tensor

_thread: Final = threading.local()


class Loop(Struct, eq=False):
    """One execution of a loop, and its current iteration."""

    site: int
    #: The loop is an `affine_range`: no iteration may need another's results.
    parallel: bool
    trip: int = -1


class Run:
    """One launch on a grid. Programs run one after the other, each with its own on-chip memory.

    Programs share allocations in shared device memory: the n-th such allocation of any program is
    the n-th of the first program.
    """

    def __init__(
        self,
        target: Target,
        kind: type[Tensor],
        interface: str,
        grid: tuple[int, ...],
        recorder: Recorder,
    ) -> None:
        self.target = target
        #: Class of the kernel's tensors.
        self.kind = kind
        self.interface = interface
        self.grid = grid or (1,)
        #: Number of axes of the grid that the launch passed.
        self.axes = len(grid)
        self.recorder = recorder
        self.program = 0
        self.programs = size_of(self.grid)
        self.loops: list[Loop] = []
        self._shared: list[Memory] = []
        self._next_shared = 0

    # -- programs ---------------------------------------------------------------------------

    def begin_program(self, program: int) -> None:
        """Set the current program, and clear the loops; the first axis varies fastest."""
        self.program = program
        self.loops.clear()
        self._next_shared = 0

    def coordinate(self, axis: int) -> int:
        """Return the running program's index along an axis of the grid."""
        if not 0 <= axis < len(self.grid):
            raise NkiError(f"the grid {self.grid} has no axis {axis}")
        return self.program // size_of(self.grid[:axis]) % self.grid[axis]

    # -- findings ---------------------------------------------------------------------------

    def report(self, finding: Finding) -> None:
        """Add a finding to the record."""
        self.recorder.add_finding(finding)

    # -- loops ------------------------------------------------------------------------------

    def iterate(self, kind: str, numbers: range) -> Iterator[int]:
        """Yield the numbers of a loop, and record how many there are."""
        loop = Loop(self.recorder.loop(kind), kind == "affine_range")
        self.loops.append(loop)
        depth = len(self.loops)
        try:
            for trip, number in enumerate(numbers):
                del self.loops[depth:]  # loops that were left by `break`
                loop.trip = trip
                yield number
        finally:
            self.recorder.loops[loop.site].trips.append(loop.trip + 1)
            del self.loops[depth - 1 :]

    @property
    def loop_number(self) -> int:
        """Index of the innermost loop's site, -1 outside of loops."""
        return self.loops[-1].site if self.loops else -1

    # -- allocations ------------------------------------------------------------------------

    def allocate(
        self,
        space: Space,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        partition: int = 0,
        name: str = "",
        shared: bool = False,
        raw: Any = None,
        site: int | None = None,
    ) -> Memory:
        """Return a memory with bytes `raw`, or garbage; programs share `shared` allocations."""
        if shared and self._next_shared < len(self._shared):
            return self._shared_allocation(shape, dtype)
        if site is None:
            site = self.recorder.site("ndarray", "none", "allocate", self.loop_number)
        partitions = partitions_of(shape, partition) if space != "hbm" else 0
        buffer_name = name or self.recorder.sites[site].name
        life = BufferLife(space, size_of(shape) * dtype.itemsize, partitions, buffer_name, site)
        stored, written = garbage(shape, dtype) if raw is None else (raw, None)
        memory = Memory(
            space,
            shape,
            dtype,
            partition if space != "hbm" else -1,
            life,
            stored,
            written,
            number=len(self.recorder.buffers),
        )
        self.recorder.buffers.append(life)
        if space != "hbm" and shape and shape[partition] > PARTITIONS:
            message = (
                f"a tile of {shape} in {space} spans {shape[partition]} partitions of {PARTITIONS}"
            )
            self.report(Finding(PARTITION_LIMIT, site, message, program=self.program))
        if shared:
            self._shared.append(memory)
            self._next_shared += 1
        return memory

    def _shared_allocation(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Memory:
        memory = self._shared[self._next_shared]
        self._next_shared += 1
        if memory.shape != shape or memory.dtype != dtype:
            raise NkiError(
                f"program {self.program} allocates shared device memory of {shape} {dtype} where "
                f"program 0 allocated {memory.shape} {memory.dtype}"
            )
        return memory

    def tensor(self, memory: Memory) -> Tensor:
        """Return a tensor of the kernel's interface that views a whole memory."""
        return tensors.whole(self.kind, memory)


def current() -> Run:
    """Return the run in progress of this thread.

    Raises:
        NkiError: no kernel is running.
    """
    run: Run | None = getattr(_thread, "run", None)
    if run is None:
        raise NkiError("NKI ops can only be called inside of a kernel: decorate it with nki.jit")
    return run


def current_or_none() -> Run | None:
    """Return the run in progress of this thread, or None."""
    return getattr(_thread, "run", None)


def set_current(run: Run | None) -> None:
    """Set the run in progress of this thread; None for none."""
    _thread.run = run
