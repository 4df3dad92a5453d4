"""Shared memory of a program whose warps do different things, ordered by barriers alone.

Partitions (`warp_specialize`) run in turns, in a chosen order: one runs until it waits for a phase
of a barrier that has not ended. What orders accesses are vector clocks. A *component* is what ends
in a known order: the ops of a partition, the copies, stores or tensor-core products that it begins,
and the phases of one barrier. A clock has, by component, how much of it is known to have ended. An
arrival adds the partition's clock to the barrier's; a wait adds the barrier's to the partition's.
An access is early if its partition's clock lacks an earlier access to one of the elements.

Example: a copy for phase 0 of a barrier writes a buffer. It is an access of the barrier's component
at 1, so a partition that has not waited for phase 0, nor for an arrival of a partition that has,
reads the buffer early. Copies land at the end of their phase, as late as on any device.

Programs run one by one, as waits of several programs at once would hold each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, get_args

import numpy as np

from kvtrace.evaluate.clocks import (
    COMPONENTS,
    IN_ORDER,
    KINDS,
    MORE_ARRIVALS,
    MORE_BYTES,
    OVERWRITES,
    READS,
    UNFENCED,
    WRITES,
    Accesses,
    Barrier,
    Copy,
    EarlyAccess,
    Partition,
    Program,
    landed,
)
from kvtrace.evaluate.errors import Deadlock, TooLarge, UnsupportedOp
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.shared_memory import Buffer, SharedMemory
from kvtrace.evaluate.turns import Turns
from kvtrace.evaluate.types import ValueType
from kvtrace.evaluate.values import Array, SharedView, Unknown, constant_sum, unknown_of
from kvtrace.ir import Module, Op
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import PARTITIONED

Order = Literal["ascending", "descending", "handing over"]
ORDERS: Final[tuple[Order, ...]] = get_args(Order)


@once_per_module
def needs_clocks(module: Module) -> bool:
    """Return whether a module has ops that barriers alone order: partitions, arrivals, tcgen05."""
    return any(op.name in PARTITIONED for op in module.ops)


class _Current(threading.local):
    partition = 0


class PartitionedMemory(SharedMemory):
    """Shared memory with clocks; `early` has the accesses that come too early.

    `order` is that of turns: partitions begin in ascending or descending order, or in ascending
    order and let others run after each arrival (`handing over`). `stuck` are the waits that never
    end, once the evaluation has ended with a deadlock.
    """

    follows_products = True
    """Contents are numbers alone, of which the tensor core's products can be made."""

    def __init__(self, programs: int, order: Order = "ascending") -> None:
        super().__init__(programs)
        self.early: dict[tuple[str, int, int], EarlyAccess] = {}
        self.stuck: tuple[Op, ...] = ()
        self._order = order
        self._program_states: dict[int, Program] = {}
        self._program_of: dict[Buffer, Program] = {}
        self._accesses: dict[Buffer, Accesses] = {}
        self._barriers: dict[tuple[Buffer, int], Barrier] = {}
        self._ops: dict[int, Op] = {}
        self._current = _Current()

    # -- programs and partitions ---------------------------------------------------------------

    def _program(self, scope: Scope) -> Program:
        if scope.programs != 1:
            raise UnsupportedOp(
                "programs with barriers between partitions are evaluated one by one"
            )
        return self._program_states.setdefault(int(scope.linear[0]), Program())

    def _component(self, program: Program) -> int:
        program.components += 1
        if program.components > COMPONENTS:
            raise TooLarge(f"a program has more than {COMPONENTS} barriers and partitions")
        return program.components - 1

    def _partition(self, program: Program) -> Partition:
        number = self._current.partition
        partition = program.partitions.get(number)
        if partition is None:
            component = self._component(program)
            kinds = {kind: self._component(program) for kind in KINDS}
            clock, fenced = (np.zeros(COMPONENTS, np.int64) for _ in range(2))
            clock[component] = 1
            partition = Partition(component, clock, fenced, kinds)
            program.partitions[number] = partition
        return partition

    def run_partitions(self, scope: Scope, runs: Sequence[Callable[[], None]]) -> None:
        """Run functions as partitions, the first by the warps that run now, until all have ended.

        Raises:
            Deadlock: all partitions that have not ended wait.

        """
        program = self._program(scope)
        if program.turns is not None or not scope.certain:
            raise UnsupportedOp("partitions in partitions, or under an unknown condition")
        parent = self._partition(program)
        order = list(range(len(runs)))[:: -1 if self._order == "descending" else 1]

        def run(turn: int) -> None:
            self._current.partition = order[turn]
            try:
                if order[turn]:
                    partition = self._partition(program)
                    partition.join(parent.clock, parent.fenced)
                with np.errstate(all="ignore"):
                    runs[order[turn]]()
            finally:
                self._current.partition = 0

        parent.advance()
        memory = scope.launch.memory
        program.turns = Turns(len(runs), run, lambda: program.version + memory.version)
        try:
            program.turns.run_all()
        except Deadlock as error:
            self.stuck = self.stuck or tuple(op for op, _ in program.waits.values())
            texts = dict.fromkeys(text for _, text in program.waits.values())
            raise Deadlock("; ".join(texts) or str(error)) from None
        finally:
            program.turns = None
        for number in order:
            if number:
                partition = program.partitions[number]
                parent.join(partition.clock, partition.fenced)
                partition.advance()
        parent.advance()

    # -- ordinary accesses ---------------------------------------------------------------------

    def allocate(self, scope: Scope, type_: ValueType, places: Array | None = None) -> SharedView:
        """Return a new, unwritten buffer of one program."""
        view = super().allocate(scope, type_, places)
        count = len(view.buffer.arriving)
        self._program_of[view.buffer] = self._program(scope)
        writes = (np.zeros(count, np.int16), np.zeros(count, np.int64), np.zeros(count, np.int32))
        self._accesses[view.buffer] = Accesses(writes, np.zeros(count, np.bool_))
        return view

    def read(self, op: Op, view: Any, kind: str = "") -> Any:
        """Return a view's contents; `kind` is that of the operation in flight that reads them."""
        unknown = self._unknown_in(view)
        if not isinstance(view, SharedView) or self._unknown is not None:
            return unknown
        partition = self._partition(self._program_of[view.buffer.owner])
        self._check(op, view, partition, kind)
        component, stamp = self._stamp(partition, kind)
        reads, count = self._accesses[view.buffer.owner].reads, len(view.buffer.arriving)
        if component not in reads:
            reads[component] = np.zeros(count, np.int64), np.zeros(count, np.int32)
        stamps, ops = reads[component]
        stamps[view.units], ops[view.units] = stamp, op.index
        if unknown is not None:
            return unknown
        return self._joined(view.buffer.contents(view), np.zeros(1, np.bool_))

    def write(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, kind: str = ""
    ) -> None:
        """Write a tensor to a view; `kind` is that of the operation in flight that writes it."""
        if self._note_unknown_write(scope, view, None):
            return
        value = self._known(view, value, type_)
        partition = self._partition(self._program(scope))
        self._check(op, view, partition, kind, writes=True)
        self._record_write(op, view, *self._stamp(partition, kind), generic=not kind)
        for plane, stored in zip(view.buffer.planes, self._planes(value, type_), strict=True):
            plane[view.places] = stored

    def _known(self, view: SharedView, value: Any, type_: ValueType) -> Any:
        """Return a value, or zero for one that is not known: order does not depend on it."""
        if not isinstance(value, Unknown):
            return value
        view.buffer.owner.unknown = value
        return np.zeros((1,) * (len(type_.shape) + 1), type_.element.value)

    def _stamp(self, partition: Partition, kind: str) -> tuple[int, int]:
        if not kind:
            return partition.component, int(partition.clock[partition.component])
        return partition.kinds[kind], partition.begun[kind] + 1

    def _record_write(
        self, op: Op, view: SharedView, component: int, stamp: int, *, generic: bool
    ) -> None:
        accesses, places = self._accesses[view.buffer.owner], view.units
        for plane, number in zip(accesses.writes, (component, stamp, op.index), strict=True):
            plane[places] = number
        accesses.generic[places] = generic
        self._ops[op.index] = op

    def _check(
        self, op: Op, view: SharedView, partition: Partition, kind: str, *, writes: bool = False
    ) -> None:
        """Note an early access if the partition's clock lacks an access to an element."""
        self._ops[op.index] = op
        accesses, places, clock = self._accesses[view.buffer.owner], view.units, partition.clock
        if kind in IN_ORDER:
            clock = clock.copy()
            clock[partition.kinds[kind]] = np.iinfo(np.int64).max
        component, stamp, writer = (plane[places] for plane in accesses.writes)
        late = clock[component] < stamp
        if late.any():
            self._note_early(op, writer[late], OVERWRITES if writes else READS)
        elif kind and kind != "tiles" and not writes:
            is_foreign = accesses.generic[places] & (component != partition.component)
            unfenced = is_foreign & (partition.fenced[component] < stamp)
            if unfenced.any():
                self._note_early(op, writer[unfenced], UNFENCED)
        for reader, (stamps, ops) in accesses.reads.items() if writes else ():
            late = clock[reader] < stamps[places]
            if late.any():
                self._note_early(op, ops[places][late], WRITES)

    def _note_early(self, op: Op, others: Array, text: str) -> None:
        other = self._ops[int(others.reshape(-1)[0])]
        self.early.setdefault((text, op.index, other.index), EarlyAccess(op, other, text))

    def fence(self, scope: Scope) -> None:
        """Make the partition's accesses so far, and those it knows of, visible to copies."""
        partition = self._partition(self._program(scope))
        np.maximum(partition.fenced, partition.clock, out=partition.fenced)

    # -- copies in groups, stores and products ---------------------------------------------------

    def copy(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, barrier: Any = None,
        kind: str = "copies",
    ) -> None:  # fmt: skip
        """Begin a copy to a view, which lands at the end of its group or its barrier's phase."""
        views = (view,) if barrier is None else (view, barrier)
        if any(self._note_unknown_write(scope, part, None) for part in views):
            return
        value = self._known(view, value, type_)
        partition = self._partition(self._program(scope))
        self._check(op, view, partition, kind, writes=True)
        if barrier is None:
            component, until = self._stamp(partition, kind)
            copies = partition.copies[kind]
        else:
            state = self._barrier(barrier)
            component, until, copies = state.component, state.phase + 1, state.copies
        self._record_write(op, view, component, until, generic=False)
        size = view.offsets.size * type_.element.bytes
        copies.append(Copy(op, view, self._planes(value, type_), size, until))
        self._program(scope).version += 1  # a wait may have too few bytes

    def commit(self, scope: Scope, kind: str = "copies") -> None:
        """Close the partition's group of copies, or begin another operation of a kind."""
        self._partition(self._program(scope)).begun[kind] += 1

    def begin_reads(self, op: Op, scope: Scope, views: Sequence[SharedView]) -> None:
        """Begin an asynchronous product that reads views until the wait for it."""
        for view in views:
            self.read(op, view, "products")
        self.commit(scope, "products")

    def wait(self, scope: Scope, most_in_flight: int, kind: str = "copies") -> None:
        """End all that the partition has begun of a kind, but the last `most_in_flight`."""
        partition = self._partition(self._program(scope))
        ended = max(partition.begun[kind] - most_in_flight, 0)
        component = partition.kinds[kind]
        partition.clock[component] = max(partition.clock[component], ended)
        if kind in partition.copies:
            partition.copies[kind] = landed(partition.copies[kind], ended)

    # -- barriers --------------------------------------------------------------------------------

    def _barrier(self, view: SharedView) -> Barrier:
        key = view.buffer, int(view.places.reshape(-1)[0])
        barrier = self._barriers.get(key)
        if barrier is None:
            raise UnsupportedOp("a barrier is used that was not initialized")
        return barrier

    def begin_phases(self, scope: Scope, barrier: Any, count: int = 1) -> None:
        """Set a barrier to phase 0, which `count` arrivals end."""
        if self._note_unknown_write(scope, barrier, None):
            return
        program = self._program(scope)
        key = barrier.buffer, int(barrier.places.reshape(-1)[0])
        self._barriers[key] = Barrier(self._component(program), count)

    def arrive(
        self, op: Op, scope: Scope, view: Any, count: int = 1, size: int = 0, kind: str = "",
        active: Any = True,
    ) -> None:  # fmt: skip
        """Arrive at a barrier, and announce `size` bytes.

        With a `kind` the arrival is of all that the partition has begun of that kind, when it ends.
        """
        if not isinstance(active, Unknown) and not np.all(active):
            return
        if self._note_unknown_write(scope, view, active):
            return
        program = self._program(scope)
        partition, barrier = self._partition(program), self._barrier(view)
        barrier.arrived += count
        if barrier.arrived > barrier.needed:
            text = MORE_ARRIVALS.format(arrived=barrier.arrived, needed=barrier.needed)
            self.early.setdefault((MORE_ARRIVALS, op.index, op.index), EarlyAccess(op, op, text))
        barrier.expected += size
        np.maximum(barrier.clock, partition.clock, out=barrier.clock)
        np.maximum(barrier.fenced, partition.fenced, out=barrier.fenced)
        if kind:
            component = partition.kinds[kind]
            barrier.clock[component] = max(barrier.clock[component], partition.begun[kind])
            if kind in partition.copies:
                begun, copies = partition.begun[kind] + 1, partition.copies[kind]
                landing = [copy.until for copy in copies if copy.until <= begun]
                barrier.clock[component] = max([int(barrier.clock[component]), *landing])
                partition.copies[kind] = landed(copies, begun)
        partition.advance()
        if not barrier.copies and not barrier.expected:
            self._end_phase(program, barrier)
        program.version += 1
        if self._order == "handing over" and program.turns is not None:
            number = self._current.partition
            program.turns.step_aside()
            self._current.partition = number

    def parity(self, view: Any) -> Any:
        """Return the parity of a barrier's current phase."""
        return view if isinstance(view, Unknown) else constant_sum(self._barrier(view).phase & 1)

    def _end_phase(self, program: Program, barrier: Barrier) -> bool:
        """End a barrier's phase if all arrivals and bytes are there; return whether it ended."""
        size = sum(copy.size for copy in barrier.copies)
        if barrier.arrived < barrier.needed or size < barrier.expected:
            return False
        landed(barrier.copies, barrier.phase + 1)
        barrier.copies, barrier.expected = [], 0
        barrier.arrived -= barrier.needed
        barrier.phase += 1
        barrier.clock[barrier.component] = barrier.phase
        barrier.ended, barrier.ended_fenced = barrier.clock.copy(), barrier.fenced.copy()
        program.version += 1
        return True

    def wait_for_phase(self, op: Op, scope: Scope, barrier: Any, parity: Any, active: Any) -> None:
        """Wait until a barrier's phase with a parity has ended.

        Raises:
            Deadlock: nothing that still runs ends the phase.

        """
        if not isinstance(active, Unknown) and not np.all(active):
            return
        unknown = unknown_of((parity, active))
        if self._note_unknown_write(scope, barrier, unknown):
            return
        program = self._program(scope)
        partition, state = self._partition(program), self._barrier(barrier)
        wanted = int(np.asarray(parity).reshape(-1)[0])
        while (state.phase & 1) == (wanted & 1):
            self._ops[op.index] = op
            size = sum(copy.size for copy in state.copies)
            if size > state.expected and state.arrived >= state.needed:
                first = state.copies[0].op
                key = MORE_BYTES, op.index, first.index
                self.early.setdefault(key, EarlyAccess(op, first, MORE_BYTES))
            if not self._end_phase(program, state):
                self._block(op, scope, program, state, wanted)
        partition.join(state.ended, state.ended_fenced)

    def _block(self, op: Op, scope: Scope, program: Program, barrier: Barrier, parity: int) -> None:
        bytes_text = ""
        if barrier.expected:
            size = sum(copy.size for copy in barrier.copies)
            bytes_text = f" and {size:,} of {barrier.expected:,} bytes"
        text = (
            f"{op.name} at {place(op)} in kernel {scope.launch.kernel!r} waits forever: phase "
            f"{barrier.phase} of its barrier, of parity {parity & 1}, has {barrier.arrived} of "
            f"{barrier.needed} arrivals{bytes_text}"
        )
        if not self.complete:
            raise UnsupportedOp(f"{text}, as far as is known")
        if program.turns is None:
            self.stuck = (op,)
            raise Deadlock(text)
        number = self._current.partition
        program.waits[number] = op, text
        program.turns.wait_for_change(text)
        self._current.partition = number
        del program.waits[number]

    def forget(self, view: Any) -> None:
        """Keep the contents: a buffer is freed at the end of what uses it."""
