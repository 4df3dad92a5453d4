"""The kernel that the thread is running: target, grid, program, loops, allocations."""

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from kvtrace.addons.neuron import tensors
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import PARTITION_LIMIT, REFUSED, Finding
from kvtrace.addons.neuron.iterations import Iteration
from kvtrace.addons.neuron.memory import Life, Memory, Space, partitions_of, size_of
from kvtrace.addons.neuron.recorder import Recorder
from kvtrace.addons.neuron.targets import PARTITIONS, Target
from kvtrace.addons.neuron.tensors import Tensor

_thread: Final = threading.local()

#: The variable that makes errors of what a compiler refuses.
STRICT: Final = "KVTRACE_NKI_STRICT"
#: Neuron's variable; 0 keeps narrow floats unrounded, to tell a kernel's errors from roundings.
PRECISE: Final = "NKI_PRECISE_FP"


class Loop:
    """One execution of a loop: which iteration it is in, and what reductions over it hold."""

    __slots__ = ("accumulators", "calls", "parallel", "serial", "site", "trip")

    def __init__(self, site: int, parallel: bool) -> None:
        self.site = site
        #: Whether it promises that no iteration needs what another one wrote.
        self.parallel = parallel
        self.trip = -1
        #: Serial of the iteration: its place among all iterations of the run.
        self.serial = 0
        self.accumulators: dict[tuple[int, ...], Any] = {}
        #: How often this iteration has come by a call that reduces over loops, by its site.
        self.calls: dict[int, int] = {}


class LoopNumber(int):
    """The number of a loop's iteration, which knows its loop."""

    loop: Loop


class Run:
    """One launch on a grid. Programs run one after the other, each with separate on-chip memory.

    What is allocated as shared device memory is the same for all of them: the n-th such allocation
    of a program is the n-th of the first program.
    """

    def __init__(
        self, target: Target, kind: type[Tensor], grid: tuple[int, ...], recorder: Recorder
    ) -> None:
        self.target = target
        self.kind = kind
        self.grid = grid or (1,)
        #: Axes of the grid that the launch named.
        self.axes = len(grid)
        self.recorder = recorder
        self.program = 0
        self.programs = size_of(self.grid)
        self.loops: list[Loop] = []
        #: Every iteration by its serial; 0 is outside of all loops.
        self.iterations = recorder.iterations
        #: Findings of the op that ran last which are none if its result goes to that tensor.
        self.held: list[tuple[Finding, Tensor]] = []
        #: Whether what a compiler refuses is an error, and no finding.
        self.strict = os.environ.get(STRICT) == "1"
        #: Whether narrow floats are rounded when they are written.
        self.precise = os.environ.get(PRECISE) != "0"
        #: Operands by their traits that an instruction has refused nothing of.
        self.accepted: set[tuple[Any, ...]] = set()
        self._executions = 0
        self._shared: list[Memory] = []
        self._next_shared = 0
        self.random = np.random.default_rng(0)
        #: States of engines' random numbers, by program and engine.
        self.random_states: dict[tuple[int, str], Any] = {}
        #: What activations have added up, one number a partition.
        self.reduce_registers = np.zeros(PARTITIONS, np.float32)
        #: What instructions of the vector engine have reduced, one number a partition.
        self.vector_registers = np.zeros(PARTITIONS, np.float32)
        #: Waits for the other program of a pair, or for all others, at what it is given the name
        #: of; says whether the running one came last.
        self.meet: Callable[..., bool] = lambda *_: True
        #: What programs have sent and no one received yet, by sender, receiver and pipe.
        self.mail: dict[tuple[int, int, int], list[Any]] = {}
        #: Collectives that were begun and not ended, by program.
        self.prepared: dict[int, Any] = {}
        #: What programs have given to reductions over all of them, one after the other.
        self.given: dict[int, list[Any]] = {}

    # -- programs ---------------------------------------------------------------------------

    def begin_program(self, program: int) -> None:
        """Begin the next program; the first axis of the grid varies fastest."""
        self.program = program
        self.loops.clear()
        self.reduce_registers[:] = 0
        self.vector_registers[:] = 0
        self._next_shared = 0

    def leave(self) -> tuple[Any, ...]:
        """Give what is the running program's own, for another one to run; `enter` takes it."""
        registers = self.reduce_registers, self.vector_registers
        state = (self.program, self.loops, self.held, registers, self._next_shared)
        self.loops, self.held = [], []
        self.reduce_registers = np.zeros(PARTITIONS, np.float32)
        self.vector_registers = np.zeros(PARTITIONS, np.float32)
        return state

    def enter(self, state: tuple[Any, ...]) -> None:
        """Continue a program that was left."""
        self.program, self.loops, self.held, registers, self._next_shared = state
        self.reduce_registers, self.vector_registers = registers

    def coordinate(self, axis: int) -> int:
        """Return the running program's place along an axis of the grid."""
        if not 0 <= axis < len(self.grid):
            raise NkiError(f"the grid {self.grid} has no axis {axis}")
        return self.program // size_of(self.grid[:axis]) % self.grid[axis]

    # -- findings ---------------------------------------------------------------------------

    def find(self, finding: Finding) -> None:
        """Keep a finding.

        Raises:
            NkiError: it is of what a compiler refuses, and the run is strict.
        """
        if self.strict and finding.rule in REFUSED:
            raise NkiError(f"{finding.rule}: {finding.message}")
        self.recorder.find(finding)

    def let_go(self, written: Tensor | None = None) -> bool:
        """Keep the findings that were held, except for one that `written` makes a reduction of.

        Gives whether there was one.
        """
        held, self.held = self.held, []
        if len(held) == 1 and written is not None and written.same_elements(held[0][1]):
            return True
        for finding, _ in held:
            self.recorder.find(finding)
        return False

    # -- loops ------------------------------------------------------------------------------

    def iterate(self, kind: str, numbers: range) -> Iterator[LoopNumber]:
        """Return the numbers of a loop, and note its iterations."""
        loop = Loop(self._loop_site(kind), kind == "affine_range")
        around = self.serial
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
                iteration = Iteration(execution, around, loop.parallel, loop.site, trip)
                self.iterations.append(iteration)
                value = LoopNumber(number)
                value.loop = loop
                yield value
        finally:
            self.recorder.loops[loop.site].trips.append(loop.trip + 1)
            del self.loops[depth - 1 :]

    def _loop_site(self, kind: str) -> int:
        return self.recorder.loop(kind, self.loop_number)

    @property
    def serial(self) -> int:
        """The iteration that the op is in, 0 outside of all."""
        return self.loops[-1].serial if self.loops else 0

    @property
    def loop_number(self) -> int:
        """The site of the loop that the op is in, -1 outside of all."""
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
        """Allocate a buffer; `raw` are its bytes, if they are there already.

        One on chip that spans more partitions than there are is a finding.
        """
        if shared and self._next_shared < len(self._shared):
            return self._same_for_all(shape, dtype)
        if site is None:
            site = self.recorder.site("ndarray", "none", "allocate", self.loop_number)
        partitions = partitions_of(shape, partition) if space != "hbm" else 0
        called = name or self.recorder.sites[site].name
        life = Life(space, size_of(shape) * dtype.itemsize, partitions, called, site)
        memory = Memory(space, shape, dtype, partition if space != "hbm" else -1, life, raw)
        if not self.precise:
            memory.keep_unrounded()
        memory.number = len(self.recorder.buffers)
        memory.born = tuple(loop.serial for loop in self.loops)
        self.recorder.buffers.append(life)
        if self.recorder.keeps_tiles and space != "hbm" and self.program == 0:
            self.recorder.keep(memory)
        if space != "hbm" and shape and shape[partition] > PARTITIONS:
            text = (
                f"a tile of {shape} in {space} spans {shape[partition]} partitions of {PARTITIONS}"
            )
            self.find(Finding(PARTITION_LIMIT, site, text, program=self.program))
        if shared:
            memory.shared = True
            self._shared.append(memory)
            self._next_shared += 1
        return memory

    def _same_for_all(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Memory:
        memory = self._shared[self._next_shared]
        self._next_shared += 1
        if memory.shape != shape or memory.dtype != dtype:
            raise NkiError(
                f"program {self.program} allocates shared device memory of {shape} {dtype} where "
                f"program 0 allocated {memory.shape} {memory.dtype}"
            )
        return memory

    def tensor(self, memory: Memory) -> Tensor:
        """Return the whole of a memory as the running interface's tensor."""
        return tensors.whole(self.kind, memory)


def current() -> Run:
    """Return the run in progress in the thread.

    Raises:
        NkiError: none does.
    """
    run: Run | None = getattr(_thread, "run", None)
    if run is None:
        raise NkiError("ops of NKI run inside of a kernel only, which nki.jit makes of a function")
    return run


def going_on() -> Run | None:
    """Return the run in progress in the thread, if any."""
    return getattr(_thread, "run", None)


def set_current(run: Run | None) -> None:
    """Set the run in progress in the thread."""
    _thread.run = run
