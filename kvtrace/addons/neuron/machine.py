"""State of a running launch: target, grid, current program, loops and allocations."""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from kvtrace.addons.neuron import tensors
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import PARTITION_LIMIT, REFUSED, Finding
from kvtrace.addons.neuron.iterations import Iteration
from kvtrace.addons.neuron.memory import BufferLife, Memory, Space, garbage, partitions_of, size_of
from kvtrace.addons.neuron.recorder import Recorder
from kvtrace.addons.neuron.targets import PARTITIONS, Target
from kvtrace.addons.neuron.tensors import Tensor

_thread: Final = threading.local()

#: The variable that turns findings of rules that a compiler enforces into errors.
STRICT: Final = "KVTRACE_NKI_STRICT"


@dataclass(slots=True, eq=False)
class Loop:
    """One execution of a loop: its current iteration, and the accumulators of its reductions."""

    site: int
    #: The loop is an `affine_range`: no iteration may need another's results.
    parallel: bool
    trip: int = -1
    #: Serial of the current iteration: its index among all iterations of the run.
    serial: int = 0
    accumulators: dict[tuple[int, ...], Any] = field(default_factory=dict)
    #: Site of a call of `loop_reduce` → how often this iteration has called it.
    calls: dict[int, int] = field(default_factory=dict)


class LoopNumber(int):
    """The value of a loop variable; `loop` is the loop that counts it."""

    loop: Loop


class Run:
    """One launch on a grid. Programs run one after the other, each with its own on-chip memory.

    Programs share allocations in shared device memory: the n-th such allocation of any program is
    the n-th of the first program.
    """

    def __init__(
        self, target: Target, kind: type[Tensor], grid: tuple[int, ...], recorder: Recorder
    ) -> None:
        self.target = target
        self.kind = kind
        self.grid = grid or (1,)
        #: Number of axes of the grid that the launch passed.
        self.axes = len(grid)
        self.recorder = recorder
        self.program = 0
        self.programs = size_of(self.grid)
        self.loops: list[Loop] = []
        #: Every iteration by its serial; 0 is outside of all loops.
        self.iterations = recorder.iterations
        #: Findings of the last op, dropped if its result is then assigned to the paired tensor.
        self.pending_findings: list[tuple[Finding, Tensor]] = []
        #: Violations of rules that a compiler enforces are errors, not findings.
        self.strict = os.environ.get(STRICT) == "1"
        #: Instructions and traits of operands that meet all requirements.
        self.accepted_operands: set[tuple[Any, ...]] = set()
        self._executions = 0
        self._shared: list[Memory] = []
        self._next_shared = 0
        self.random = np.random.default_rng(0)
        #: (program, engine) → state of the engine's random number generators.
        self.random_states: dict[tuple[int, str], Any] = {}
        #: Registers of the scalar engine, which sum activations: one number per partition.
        self.reduce_registers = np.zeros(PARTITIONS, np.float32)
        #: Registers of the vector engine for reductions: one number per partition.
        self.vector_registers = np.zeros(PARTITIONS, np.float32)
        #: Waits until the other programs have reached the named op; see `Cores.wait_for_others`.
        self.wait_for_others: Callable[..., bool] = lambda *_: True
        #: (sender, receiver, pipe) → tiles that were sent but not yet received.
        self.mail: dict[tuple[int, int, int], list[Any]] = {}
        #: Program → its collective that was prepared but not yet triggered.
        self.prepared_collectives: dict[int, Any] = {}
        #: Program → its tiles passed to `nl.all_reduce`, call by call.
        self.reduction_inputs: dict[int, list[Any]] = {}

    # -- programs ---------------------------------------------------------------------------

    def begin_program(self, program: int) -> None:
        """Set the current program, and clear loops and registers; the first axis varies fastest."""
        self.program = program
        self.loops.clear()
        self.reduce_registers[:] = 0
        self.vector_registers[:] = 0
        self._next_shared = 0

    def suspend(self) -> tuple[Any, ...]:
        """Return the running program's state and clear it, so that another program can run."""
        registers = self.reduce_registers, self.vector_registers
        state = (self.program, self.loops, self.pending_findings, registers, self._next_shared)
        self.loops, self.pending_findings = [], []
        self.reduce_registers = np.zeros(PARTITIONS, np.float32)
        self.vector_registers = np.zeros(PARTITIONS, np.float32)
        return state

    def resume(self, state: tuple[Any, ...]) -> None:
        """Restore the state of a suspended program."""
        self.program, self.loops, self.pending_findings, registers, self._next_shared = state
        self.reduce_registers, self.vector_registers = registers

    def coordinate(self, axis: int) -> int:
        """Return the running program's index along an axis of the grid."""
        if not 0 <= axis < len(self.grid):
            raise NkiError(f"the grid {self.grid} has no axis {axis}")
        return self.program // size_of(self.grid[:axis]) % self.grid[axis]

    # -- findings ---------------------------------------------------------------------------

    def report(self, finding: Finding) -> None:
        """Add a finding to the record.

        Raises:
            NkiError: the run is strict, and a compiler would refuse the kernel.
        """
        if self.strict and finding.rule in REFUSED:
            raise NkiError(f"{finding.rule}: {finding.message}")
        self.recorder.add_finding(finding)

    def flush_findings(self, written: Tensor | None = None) -> bool:
        """Add the pending findings to the record; return whether the last op is a reduction.

        It is one, and its single finding is dropped, if `written`, to which its result is assigned,
        is the tensor that it read.
        """
        findings, self.pending_findings = self.pending_findings, []
        if len(findings) == 1 and written is not None and written.same_elements(findings[0][1]):
            return True
        for finding, _ in findings:
            self.recorder.add_finding(finding)
        return False

    # -- loops ------------------------------------------------------------------------------

    def iterate(self, kind: str, numbers: range) -> Iterator[LoopNumber]:
        """Yield the numbers of a loop, each with its loop, and record each iteration."""
        loop = Loop(self._loop_site(kind), kind == "affine_range")
        enclosing_serial = self.serial
        self._executions += 1
        execution = self._executions
        self.loops.append(loop)
        depth = len(self.loops)
        try:
            for trip, number in enumerate(numbers):
                del self.loops[depth:]  # loops that were left by `break`
                loop.trip = trip
                loop.calls.clear()
                loop.serial = len(self.iterations)
                iteration = Iteration(execution, enclosing_serial, loop.parallel, loop.site, trip)
                self.iterations.append(iteration)
                loop_number = LoopNumber(number)
                loop_number.loop = loop
                yield loop_number
        finally:
            self.recorder.loops[loop.site].trips.append(loop.trip + 1)
            del self.loops[depth - 1 :]

    def _loop_site(self, kind: str) -> int:
        return self.recorder.loop(kind, self.loop_number)

    @property
    def serial(self) -> int:
        """Serial of the innermost loop's current iteration, 0 outside of loops."""
        return self.loops[-1].serial if self.loops else 0

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
        stored, states = garbage(shape, dtype) if raw is None else (raw, None)
        memory = Memory(
            space,
            shape,
            dtype,
            partition if space != "hbm" else -1,
            life,
            stored,
            states,
            number=len(self.recorder.buffers),
            allocation_serials=tuple(loop.serial for loop in self.loops),
        )
        self.recorder.buffers.append(life)
        if self.recorder.keeps_tiles and space != "hbm" and self.program == 0:
            self.recorder.keep_tile(memory)
        if space != "hbm" and shape and shape[partition] > PARTITIONS:
            message = (
                f"a tile of {shape} in {space} spans {shape[partition]} partitions of {PARTITIONS}"
            )
            self.report(Finding(PARTITION_LIMIT, site, message, program=self.program))
        if shared:
            memory.shared = True
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
