"""Replay of two programs that seem to race, and what they leave in other orders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.evaluate import (
    Access,
    Argument,
    Observer,
    OutOfBounds,
    Storage,
    TensorArgument,
)
from kvtrace.evaluate.arguments import with_storages
from kvtrace.evaluate.order import written_storages
from kvtrace.ir import Op
from kvtrace.ir.feeding import feeding, feeding_values_and_trips, loads_behind
from kvtrace.ir.ops import CONSTANTS, READING, SPREADING, computing
from kvtrace.ir.types import FloatType, element_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.conflicts.outcomes import (
    ConfirmedConflict,
    NoConflict,
    Touch,
    Undecided,
    Witness,
)
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.conflicts.schedules import Schedule
from kvtrace.verdicts.conflicts.sharers import sharers_of
from kvtrace.verdicts.contents.loaded import depends_on
from kvtrace.verdicts.replaying import run, run_with
from kvtrace.verdicts.rules.fills import with_contents
from kvtrace.verdicts.rules.undefined_lanes import uses_undefined

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

_ONE_RESULT: Final = (
    "programs store to the same byte, and left one result in the orders that were run, but"
)
_ONE_VALUE: Final = "all programs write the same value, by recorded contents"
_STORED: Final = "programs store to the same byte what depends on"
_MOST_BYTES: Final = 1 << 24
"""Limit of the bytes of a call's written storages whose results are compared."""
_MADE_UP_NUMBERS: Final = 8_191
"""Numbers of an argument: a prime, so that rows at strides of powers of two differ."""
_EXACT: Final = computing("where", "bitcast", "negate", "abs", "cast")
_MOST_PROGRAMS_ALONE: Final = 256
"""Limit of programs that are all run for that, each in an evaluation of its own."""


class _TouchObserver(Observer):
    """An observer that records, per op and program, one lane that surely touches a byte."""

    def __init__(
        self, arguments: Sequence[Argument], storage: Storage, byte: int, programs: Sequence[int]
    ) -> None:
        self._arguments = arguments
        self._storage = storage
        self._byte = byte
        self._programs = programs
        self.by_op: dict[tuple[int, int], Touch] = {}

    def witness(self, ops: tuple[Op, Op], programs: tuple[int, int]) -> Witness | None:
        """Return the accesses of two ops by two programs, None if one was not recorded."""
        first, second = (
            self.by_op.get((op.index, program)) for op, program in zip(ops, programs, strict=True)
        )
        if first is None or second is None:
            return None
        return Witness(first, second, max(map(self._start, (first, second))))

    def _start(self, touch: Touch) -> int:
        """Return the first byte of an access, from the start of the storage."""
        argument = self._arguments[touch.argument]
        assert isinstance(argument, TensorArgument)
        return touch.address_offset + argument.offset_bytes

    def access(self, access: Access) -> None:
        """Record a lane of each watched program that touches the byte."""
        if access.argument is None or access.lowest is None or not access.certain:
            return
        argument = self._arguments[access.argument]
        if not isinstance(argument, TensorArgument) or argument.storage is not self._storage:
            return
        byte = self._byte - argument.offset_bytes
        assert access.highest is not None
        if not access.lowest <= byte < access.highest + access.element_bytes:
            return
        self._record_lanes(access, access.argument, byte)

    def _record_lanes(self, access: Access, argument: int, byte: int) -> None:
        parts = access.parts
        if parts is None:
            return
        shape, is_watched = parts.shape, np.isin(parts.programs, self._programs)
        covers = parts.covers(byte, access.element_bytes) & is_watched.reshape(
            (-1,) + (1,) * len(parts.block)
        )
        for row in np.flatnonzero(covers.any(axis=tuple(range(1, covers.ndim)))):
            op_and_program = access.op.index, int(parts.programs[row])
            if op_and_program in self.by_op:
                continue
            lane = np.unravel_index(int(covers[row].argmax()), parts.block) if parts.block else ()
            offset = np.broadcast_to(parts.offsets(), shape)[(int(row), *lane)]
            self.by_op[op_and_program] = Touch(
                access.op,
                op_and_program[1],
                parts.iteration,
                tuple(map(int, lane)),
                argument,
                int(offset),
            )


def touched(
    call: Call, op: Op, program: int, storage: Storage, byte: int, *, lanes: int
) -> Touch | None:
    """Evaluate a program and return the access of its op to a byte, None if none happens.

    Args:
        call: the call to evaluate.
        op: the memory op.
        program: linear id, x fastest.
        storage: the storage of one of the call's arguments.
        byte: offset from the start of the storage, possibly outside of the storage.
        lanes: number of lanes of memory accesses after which the evaluation stops.

    """
    touches = _TouchObserver(call.arguments, storage, byte, (program,))
    run(call, [touches], (program,), contents="all", lanes=lanes)
    return touches.by_op.get((op.index, program))


def replayed(
    call: Call,
    ops: tuple[Op, Op],
    programs: tuple[int, int],
    storage: Storage,
    byte: int,
    *,
    whole: bool,
    schedule: Schedule | None = None,
) -> Witness | None:
    """Evaluate two programs and return their accesses to a byte, None if not both touch it.

    Args:
        call: the call to evaluate.
        ops: the memory op of each program.
        programs: linear ids, x fastest.
        storage: the storage of one of the call's arguments.
        byte: offset from the start of the storage.
        whole: whether to run all programs if these two alone do not both touch the byte.
        schedule: that of a run in which both touched the byte; None: in ascending order.

    """
    tries = [(programs, "none"), (programs, "integers"), (None, "integers")]
    touches = _TouchObserver(call.arguments, storage, byte, programs)
    for programs_to_run, contents in tries[: 3 if whole else 2]:
        run(call, [touches], programs_to_run, contents=contents)
        witness = touches.witness(ops, programs)
        if witness is not None:
            return witness
        touches.by_op.clear()
    if whole and schedule is not None:
        order, instrument = schedule.order, schedule.instrument
        run(call, [touches], order, contents="all", one_by_one=True, instrument=instrument)
    return touches.witness(ops, programs)


# -- results in other orders ----------------------------------------------------------------------


def by_results(
    bound: BoundCall, conflict: ConfirmedConflict, schedule: Schedule | None = None
) -> NoConflict | ConfirmedConflict | Undecided:
    """Return two racing accesses, unless they leave the same memory in whatever order programs run.

    The two programs are run in both orders, and a small grid upward and downward. Stores leave the
    same if all write one value to their byte, other accesses if a program leaves the same with and
    without the other's writes. Contents that were not recorded are made up. The race stays, too,
    for what such runs do not show (undefined lanes, loads that others may change), if contents
    that were not recorded decide where an access goes, and if the programs cannot be run.

    If each program of the grid has stored the same, from recorded contents that no program
    changes, then all orders do. With a `schedule`, stores are compared in that run alone.
    """
    call, witness = bound.call, conflict.witness
    ops = (witness.first.op, witness.second.op)
    roles = roles_of(call.module).by_op
    are_stores = all(roles[op.index].kind == "store" and not roles[op.index].strong for op in ops)
    values = [op.operand("value") for op in ops if are_stores]
    hidden = _unrecorded_behind(bound, feeding_values_and_trips(values, call.module))
    conflict = replace(conflict, unrecorded=hidden)
    atomics = {role.kind for role in roles.values() if role.kind == "atomic" or role.strong}
    written = {sharer.storage for sharer in sharers_of(bound)}
    if (
        not atomics <= {"atomic" if are_stores else ""}
        or any(_unrecorded_behind(bound, feeding(op, call.module)) for op in ops)
        or sum(storage.nbytes for storage in written if storage is not None) > _MOST_BYTES
        or uses_undefined(bound)
    ):
        return conflict
    grid: Sequence[int] = ()
    if bound.programs <= _MOST_PROGRAMS_ALONE and bound.lanes <= bound.budget.replay_lanes:
        grid = range(bound.programs)
    made_up = (_is_float, lambda _: True)[: 2 if hidden or not are_stores else 1]
    for arguments in (_filled(call, numbers) for numbers in made_up):
        if not are_stores and not _is_same_memory(call, arguments, witness, grid):
            return conflict
        schedules = _schedules(witness, grid) if schedule is None else [schedule]
        for scheduled in schedules if are_stores else ():
            doubt = _run_scheduled(call, arguments, scheduled, witness)[0]
            if doubt.unknown:
                reason = f"{_STORED} {', '.join(sorted(doubt.unknown))}"
                return Undecided(reason, evaluating=False, solver_ns=conflict.solver_ns)
            if doubt.happened if schedule is None else doubt.changed:
                return replace(conflict, witness=_changing(call, witness, doubt) or witness)
    computed = [call.module.ops[i] for i in feeding_values_and_trips(values, call.module)]
    if hidden:
        doubts = depends_on(hidden)
    elif not grid:
        doubts = f"{_ONE_RESULT} only those of two of {bound.programs:,} programs"
    elif atomics:
        doubts = f"{_ONE_RESULT} what atomics return may be another number in others"
    elif not are_stores or not all(sharer.role.writes for sharer in sharers_of(bound)):
        doubts = f"{_ONE_RESULT} the kernel loads from there, too"
    elif not _rounds_alike(computed):
        doubts = f"{_ONE_RESULT} a GPU may round what they compute in another way"
    else:
        return NoConflict("evaluated", _ONE_VALUE, conflict.solver_ns)
    return Undecided(doubts, evaluating=False, solver_ns=conflict.solver_ns)


def _rounds_alike(ops: Iterable[Op]) -> bool:
    """Return whether ops give the same floats on a GPU as here: none is contracted or inexact."""
    names = {
        op.name
        for op in ops
        if op.name not in READING | SPREADING | CONSTANTS
        and any(isinstance(element_of(value.type), FloatType) for value in op.results)
    }
    return names <= _EXACT | computing("+", "-") or names <= _EXACT | computing("*")


def _unrecorded_behind(bound: BoundCall, ops: Collection[int]) -> tuple[TensorArgument, ...]:
    """Return the tensors without recorded contents that ops load, or that their addresses need."""
    module = bound.call.module
    loads = [module.ops[index] for index in ops if module.ops[index].name in READING]
    behind = frozenset(ops).union(*(loads_behind(load, module) for load in loads))
    return tuple(dict.fromkeys(bound.contents.read_by(behind)))


def _schedules(witness: Witness, grid: Sequence[int]) -> list[Schedule]:
    """Return both orders of two programs, and a grid upward and downward."""
    first, second = witness.first.program, witness.second.program
    orders = [(first, second), (second, first), grid, grid[::-1]]
    return [Schedule(np.array(order, np.int64)) for order in orders]


def _is_same_memory(
    call: Call, arguments: Sequence[Argument], witness: Witness, grid: Sequence[int]
) -> bool:
    """Return whether memory is the same after two programs, and a grid, in any order."""
    memories = []
    alone = [[witness.first.program], [witness.second.program], []]
    schedules = [Schedule(np.array(order, np.int64)) for order in alone]
    for schedule in [*_schedules(witness, grid), *schedules]:
        doubt, memory = _run_scheduled(call, arguments, schedule, witness)
        if doubt.happened:
            return False
        memories.append(np.concatenate(memory))
    both, swapped, upward, downward, one, other, before = memories
    pairs = ((both, swapped), (upward, downward), (both, np.where(one == before, other, one)))
    return all(np.array_equal(left, right) for left, right in pairs)


class _ChangedByte(NamedTuple):
    """A byte of an argument's storage in which two programs have stored different values."""

    argument: int
    byte: int
    programs: tuple[int, int]


class _DoubtObserver(Observer):
    """An observer of what a run in one order of programs and lanes leaves out.

    Loads out of bounds give 0 in all programs, of the lanes of one store that touch the same
    element the last one wins, and so does the last program by racing stores of several values.
    """

    def __init__(self, arguments: Sequence[Argument], witness: Witness) -> None:
        self._ops = (witness.first.op, witness.second.op)
        self._tensors = [a if isinstance(a, TensorArgument) else None for a in arguments]
        touched = (self._tensors[witness.first.argument], self._tensors[witness.second.argument])
        self._storages = [tensor.storage for tensor in touched if tensor is not None]
        self._writers: dict[Storage, NDArray[np.int32]] = {}
        self._pending: tuple[int, NDArray[np.int64], int, NDArray[np.uint8]] | None = None
        self._happened = False
        self.unknown: frozenset[str] = frozenset()
        self.changed: _ChangedByte | None = None

    @property
    def happened(self) -> bool:
        """The run left out something."""
        self._compare_values()
        return self._happened

    def out_of_bounds(self, defect: OutOfBounds) -> None:  # noqa: ARG002
        """Note that an access left its tensor."""
        self._happened = True

    def forget(self, storage: Storage, sources: frozenset[str]) -> None:
        """Note what decides a value, or its place, that the run does not know."""
        if storage in self._storages:
            self.unknown |= sources
            self._happened = True

    def fail(self, failure: str | None) -> None:
        """Note the last store of a run, and why it ended early, if it did."""
        self._compare_values()
        self._happened |= failure is not None

    def access(self, access: Access) -> None:
        """Note that lanes of a store touch the same element, and watch a racing store."""
        self._compare_values()
        elements = access.elements() if access.kind == "store" and access.active else None
        if elements is None or access.argument is None:
            return
        starts, programs = elements
        self._happened |= len(np.unique(starts)) < len(starts)
        tensor = self._tensors[access.argument]
        if access.op not in self._ops or tensor is None:
            return
        data = tensor.storage.data
        if data is None:
            self._happened = True
            return
        bytes_ = (starts[:, None] + tensor.offset_bytes + np.arange(access.element_bytes)).ravel()
        bytes_ = bytes_[(bytes_ >= 0) & (bytes_ < len(data))]  # others are not stored
        self._pending = access.argument, bytes_, int(programs[0]), data[bytes_]

    def _compare_values(self) -> None:
        """Note that a store, which is reported before, has changed what another program stored."""
        if self._pending is None:
            return
        argument, bytes_, program, before = self._pending
        tensor = self._tensors[argument]
        assert tensor is not None
        storage, self._pending = tensor.storage, None
        if storage.data is None:
            self._happened = True
            return
        if storage not in self._writers:
            self._writers[storage] = np.full(storage.nbytes, -1, np.int32)
        writers = self._writers[storage]
        earlier = writers[bytes_]
        is_changed = (storage.data[bytes_] != before) & (earlier >= 0) & (earlier != program)
        if is_changed.any():
            first = int(is_changed.argmax())
            programs = int(earlier[first]), program
            self.changed = self.changed or _ChangedByte(argument, int(bytes_[first]), programs)
            self._happened = True
        writers[bytes_] = program


def _is_float(argument: TensorArgument) -> bool:
    return argument.element.kind == "f"


def _filled(call: Call, is_made_up: Callable[[TensorArgument], bool]) -> tuple[Argument, ...]:
    """Return arguments with recorded contents; other numbers are made up, or zero.

    No two arguments have one number, and sums of floats are rounded.
    """
    names = [argument.name for argument in call.arguments]

    def numbers(argument: TensorArgument) -> Sequence[float]:
        if not is_made_up(argument):
            return ()
        made_up = np.arange(1, _MADE_UP_NUMBERS + 1) + _MADE_UP_NUMBERS * names.index(argument.name)
        return list(np.sqrt(made_up) if _is_float(argument) else made_up)

    return with_contents(call.arguments, numbers)


def _changing(call: Call, witness: Witness, doubt: _DoubtObserver) -> Witness | None:
    """Return the accesses of the programs that stored two values; None: those of the witness."""
    if doubt.changed is None:
        return None
    argument, byte, programs = doubt.changed
    ops, storage = (witness.first.op, witness.second.op), call.tensor(argument).storage
    witnesses = (
        replayed(call, ops, pair, storage, byte, whole=False)
        for pair in (programs, programs[::-1])
        if set(pair) != {witness.first.program, witness.second.program}
    )
    return next((other for other in witnesses if other is not None), None)


def _run_scheduled(
    call: Call, arguments: Sequence[Argument], schedule: Schedule, witness: Witness
) -> tuple[_DoubtObserver, list[NDArray[np.uint8]]]:
    """Run programs on copies of memory; return what that leaves out, and the copies."""
    written = written_storages(call.module, arguments)
    copies = with_storages(
        arguments,
        lambda storage: (
            Storage(storage.nbytes, np.array(storage.data), storage.address)
            if storage in written
            else storage
        ),
    )
    storages = {argument.storage for argument in arguments if isinstance(argument, TensorArgument)}
    doubt = _DoubtObserver(copies, witness)
    failure = run_with(
        call, copies, (doubt,), schedule.order, instrument=schedule.instrument, one_by_one=True
    )
    doubt.fail(failure)
    tensors = (argument for argument in copies if isinstance(argument, TensorArgument))
    changed = (s for s in dict.fromkeys(t.storage for t in tensors) if s not in storages)
    return doubt, [storage.data for storage in changed if storage.data is not None]
