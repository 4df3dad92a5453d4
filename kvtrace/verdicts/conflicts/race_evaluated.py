"""Race detection by evaluating the whole grid: programs that touch a byte, unordered by atomics.

Values that depend on the order of programs (results of atomics, or values that other programs
wrote) differ from run to run. Where such a value decides only whether an access happens, several
orders are run, a proof if these show all that it decides (`drawn_numbers.py`); where it decides an
address, no evaluation is a proof.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Access, Argument, Observer, Storage, TensorArgument
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.touches import Touches
from kvtrace.ir import Module, Op
from kvtrace.ir.feeding import feeding
from kvtrace.ir.model import line_text
from kvtrace.ir.ops import effect_of
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.summary import Access as AccessFormula
from kvtrace.symbolic.summary import op_index
from kvtrace.symbolic.terms import Atom, Symbol
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.all_orders import races_in_all_orders
from kvtrace.verdicts.conflicts.clocked_runs import (
    Ordering,
    races_by_schedule,
    races_in_orders,
    schedules_by_chance,
)
from kvtrace.verdicts.conflicts.clocks import Race, RaceKey
from kvtrace.verdicts.conflicts.drawn_numbers import undecided_atomic
from kvtrace.verdicts.conflicts.messages import RACE
from kvtrace.verdicts.conflicts.outcomes import ConfirmedConflict, NoConflict, Undecided
from kvtrace.verdicts.conflicts.pairs import EvaluatedPairs, Pairs, UndecidedPairs, ascending
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.conflicts.race_replay import by_results, replayed
from kvtrace.verdicts.conflicts.releases import releases_of
from kvtrace.verdicts.conflicts.schedules import MOST_PROGRAMS, Schedule, orders_of
from kvtrace.verdicts.conflicts.slots import slot_stores
from kvtrace.verdicts.replaying import run
from kvtrace.verdicts.verdict import Verdict

MOST_ELEMENTS = 1 << 26
"""Limit of elements that a sweep reads, over all accesses to written storages."""

MOST_CELLS = 1 << 26
"""Limit of cells that a sweep stores, over all ops and storages, at 16 bytes each."""


@dataclass(frozen=True)
class SharedBytes:
    """The bytes of a storage that two ops touch in different programs, at least one op writing.

    `programs` touch the first byte; `certain` False: it depends on unrecorded data whether one of
    the accesses happens.
    """

    first: Op
    second: Op
    storage: Storage
    bytes: NDArray[np.int64]
    programs: tuple[int, int]
    certain: bool


class _Kind(NamedTuple):
    """A kind of accesses that meet others or not: by one op, with elements of one width."""

    op_index: int
    certain: bool
    width: int


class Sweep(Observer):
    """An observer that records which programs touch each byte of the written storages.

    `lost` has, by op index and argument (None: any), the reason why an address is not known;
    `doubt` the reason why some recorded accesses may not happen; `failure` the reason why the sweep
    stopped. No element of the `slots`, ops by index, may be touched twice: they have one actor an
    element.
    """

    def __init__(
        self,
        module: Module,
        arguments: Sequence[Argument],
        slots: frozenset[int] = frozenset(),
    ) -> None:
        self._arguments = arguments
        self._roles = roles_of(module).by_op
        all_written = written_storages(module, arguments)
        tensors = [a for a in arguments if isinstance(a, TensorArgument)]
        written = [tensor.storage for tensor in tensors if tensor.storage in all_written]
        self._touches = {storage: Touches[_Kind](storage.nbytes) for storage in written}
        self._slots = slots
        self._slot_touches = {storage: Touches[_Kind](storage.nbytes) for storage in written}
        self._elements = self._slot_elements = 0
        self.lost: dict[tuple[int, int | None], str] = {}
        self.doubt: str | None = None
        self.failure: str | None = None

    def access(self, access: Access) -> None:
        """Record the bytes that an access touches, or the reason why they are unknown."""
        if access.active == 0 or self.failure is not None:
            return
        argument = None if access.argument is None else self._arguments[access.argument]
        if isinstance(argument, TensorArgument) and argument.storage not in self._touches:
            return
        if access.lowest is None or not isinstance(argument, TensorArgument):
            reason = access.reason or "its address could not be derived"
            self.lost.setdefault((access.op.index, access.argument), reason)
            return
        self._elements += access.lanes if access.active is None else access.active
        if self._elements > MOST_ELEMENTS:
            self.failure = f"it touches more than {MOST_ELEMENTS:,} elements that may be shared"
            return
        elements = access.elements()
        assert elements is not None
        if not access.certain:
            self.doubt = self.doubt or access.reason
        offsets, programs = elements
        self._record(access, argument.storage, offsets + argument.offset_bytes, programs)

    def _record(
        self,
        access: Access,
        storage: Storage,
        starts: NDArray[np.int64],
        programs: NDArray[np.int64],
    ) -> None:
        kind = _Kind(access.op.index, access.certain, access.element_bytes)
        self._touches[storage].add(kind, starts, kind.width, programs)
        if self._slots:
            actors = np.full(len(starts), -1)
            if kind.op_index in self._slots:
                actors = np.arange(len(starts)) + self._slot_elements
                self._slot_elements += len(starts)
            self._slot_touches[storage].add(kind, starts, kind.width, actors)
        if sum(touches.count for touches in self._touches.values()) > MOST_CELLS:
            self.failure = f"programs share more than {MOST_CELLS:,} cells of memory"

    def shares_slots(self, op_index: int) -> bool:
        """Return whether an element that an op stores to a slot may be touched a second time."""
        return any(
            not kind.certain or touches.meeting(kind, other) is not None
            for touches in self._slot_touches.values()
            for kind in touches.kinds
            if kind.op_index == op_index
            for other in touches.kinds
        )

    def meetings(self) -> Iterator[SharedBytes]:
        """Yield the shared bytes of each pair of ops that clash in different programs."""
        for storage, touches in self._touches.items():
            for left, right in combinations_with_replacement(touches.kinds, 2):
                roles = self._roles[left.op_index], self._roles[right.op_index]
                if not roles[0].clashes(roles[1], one_width=left.width == right.width):
                    continue
                if not roles[0].writes:
                    left, right, roles = right, left, roles[::-1]
                meeting = touches.meeting(left, right)
                if meeting is not None:
                    yield SharedBytes(
                        roles[0].op, roles[1].op, storage, meeting.bytes, meeting.actors,
                        certain=left.certain and right.certain,
                    )  # fmt: skip


_MAX_WATCHED: Final = 1 << 23
_BARRIER_UNKNOWN: Final = (
    "an atomic orders the accesses of its own thread, and it is not known whether a barrier orders "
    "those of the other threads of its program, or ends copies of descriptors, before it"
)
_ORDERED: Final = "atomics order the programs that access the same byte"
_IN_ALL_ORDERS: Final = "in all orders in which atomics may run"
_IN_ORDERS: Final = "run with the programs in order of their ids, backwards and shuffled"


@dataclass(frozen=True)
class _OrderedMeeting:
    """Two programs that touch the same bytes, and the schedule of that run (None: by ids)."""

    meeting: SharedBytes
    schedule: Schedule | None


class EvaluatedRaces(EvaluatedPairs[Pairs]):
    """An observer that decides races of programs which formulas leave undecided."""

    rules: ClassVar[frozenset[str]] = frozenset({RACE})

    def __init__(
        self, bound: BoundCall, pairs: Pairs, undecided: UndecidedPairs, ops: Sequence[Op]
    ) -> None:
        """Prepare a sweep of the grid in ascending order of the programs."""
        super().__init__(bound, pairs, undecided, ops)
        self._open_pairs = undecided.pairs
        self._roles = roles_of(bound.call.module)
        self._slots = slot_stores(bound)
        self._sweep = Sweep(bound.call.module, bound.call.arguments, slots=self._slots)

    def access(self, access: Access) -> None:
        """Record the bytes that an access touches."""
        self._sweep.access(access)

    def verdicts(self, failure: str | None) -> list[Verdict]:
        """Return one verdict for each op to decide."""
        return super().verdicts(failure or self._sweep.failure)

    # -- one op --------------------------------------------------------------------------------

    def outcomes(self, op: Op) -> Iterator[NoConflict | ConfirmedConflict | Undecided]:
        """Yield the outcome of each meeting of an op, and reasons why meetings may be missing."""
        yield from map(Undecided, self._unknown_addresses(op))
        meetings = [
            ordered
            for ordered in self._meetings
            if op in (ordered.meeting.first, ordered.meeting.second)
        ]
        for ordered in meetings:
            yield self._meeting_outcome(op, ordered)
        reasons = (*self._unstable_addresses(op), *self._unseen_orders(op))
        all_orders = self._races_in_all_orders if reasons else None
        for races in self._races_by_schedules if reasons else ():
            yield from self._outcomes_of_races(op, races)
        if all_orders is None or any(op.index in pair for pair in all_orders):
            yield from map(Undecided, reasons)
        if self._failure_in_orders is not None:
            yield Undecided(self._failure_in_orders)
        is_one_run = meetings and self._roles.synchronizes and self._ordering.is_fixed
        in_orders = self._depends_on_order or (meetings and not is_one_run)
        why = _IN_ORDERS if all_orders is None else _IN_ALL_ORDERS
        yield NoConflict("evaluated", why if in_orders else "")

    def _meeting_outcome(
        self, op: Op, ordered: _OrderedMeeting
    ) -> NoConflict | ConfirmedConflict | Undecided:
        """Return whether the programs of a meeting race, after a replay if they seem to."""
        meeting = ordered.meeting
        if not meeting.certain:
            return Undecided(self._sweep.doubt or "whether the accesses happen depends on data")
        ops, programs = (meeting.first, meeting.second), meeting.programs
        byte, schedule = int(meeting.bytes[0]), ordered.schedule
        if self._roles.synchronizes:
            if self._ordering.doubt is not None:
                return Undecided(self._ordering.doubt)
            first_index, second_index = sorted(op_.index for op_ in ops)
            race_key = (first_index, second_index, meeting.storage)
            race = self._ordering.races.get(race_key)
            if race is None:
                is_doubtful = race_key in self._ordering.doubtful
                return (
                    Undecided(_BARRIER_UNKNOWN)
                    if is_doubtful
                    else NoConflict("evaluated", _ORDERED)
                )
            ops, programs = (race.first, race.second), race.programs
            byte, schedule = race.byte, race.schedule
        earlier = ops[0]
        if ops[0] is not op:
            ops, programs = ops[::-1], programs[::-1]
        witness = replayed(
            self._call, ops, programs, meeting.storage, byte, whole=True, schedule=schedule
        )
        if witness is None:
            return Undecided("two programs accessed the same byte, but not in the replay")
        missed = (
            releases_of(self._bound).unordering_release(earlier)
            if self._roles.synchronizes
            else None
        )
        conflict = ConfirmedConflict(witness, "evaluated", unordering_release=missed)
        outcome = by_results(self._bound, conflict)
        if schedule is not None and isinstance(outcome, Undecided):
            return by_results(self._bound, conflict, schedule)
        return outcome

    def _outcomes_of_races(
        self, op: Op, races: Mapping[RaceKey, Race]
    ) -> Iterator[NoConflict | ConfirmedConflict | Undecided]:
        """Yield the outcomes of the op's races in one run."""
        for race in races.values():
            ops = (race.first, race.second)
            if op not in ops or ascending(ops[0].index, ops[1].index) not in self._open_pairs:
                continue
            witness = replayed(
                self._call, ops, race.programs, race.storage, race.byte, whole=True,
                schedule=race.schedule,
            )  # fmt: skip
            if witness is not None:
                conflict = ConfirmedConflict(witness.ordered_for(op), "evaluated")
                yield by_results(self._bound, conflict, race.schedule)

    @cached_property
    def _races_in_all_orders(self) -> Mapping[tuple[int, int], Schedule] | None:
        """A schedule for each open pair that may race in some order; None if not all are known."""
        return races_in_all_orders(self._bound, self._open_pairs)

    @cached_property
    def _races_by_schedules(self) -> tuple[Mapping[RaceKey, Race], ...]:
        """The races of runs by these schedules, and of some by chance."""
        by_pair, releases = self._races_in_all_orders, releases_of(self._bound)
        chance = schedules_by_chance(self._call) if by_pair != {} else ()
        schedules = (*(by_pair or {}).values(), *chance)
        return tuple(races_by_schedule(self._call, releases, schedule) for schedule in schedules)

    def _unknown_addresses(self, op: Op) -> Iterator[str]:
        """Yield the reasons for unknown addresses of an op and of ops that it clashes with."""
        storages = self._storages(op)
        for (index, argument), reason in self._sweep.lost.items():
            if ascending(op.index, index) in self._open_pairs and (
                index == op.index
                or argument is None
                or ((tensor := self._call.tensor_at(argument)) and tensor.storage in storages)
            ):
                yield reason

    def _unstable_addresses(self, op: Op) -> Iterator[str]:
        """Yield a reason for each address that depends on the order of programs."""
        partners = self._undecided.partners(op.index)
        indices = {op.index, *partners} if partners else ()
        for access in self._bound.summary.accesses:
            if access.op.index not in indices or access.op.index in self._separate_slots:
                continue
            if self._has_unstable_address(access):
                sources = self._order_dependent_ops & feeding(access.op, self._call.module)
                op_ = self._call.module.ops[min(sources or self._order_dependent_ops)]
                yield (
                    "its address depends on the order in which programs run, by what the "
                    f"{effect_of(op_)}{line_text(op_, 'in')} returns; no race was seen in the "
                    "orders that were run, and only places that follow from one number that one "
                    "counter gave are proven for all"
                )

    def _unseen_orders(self, op: Op) -> Iterator[str]:
        """Yield a reason for each access of which an order that was not run may decide."""
        if self._roles.synchronizes and self._ordering.is_fixed:
            return
        module, partners = self._call.module, self._undecided.partners(op.index)
        for index in sorted({op.index, *partners} - self._separate_slots if partners else ()):
            atomic = undecided_atomic(module.ops[index], module)
            if atomic is not None:
                yield (
                    "whether it happens depends on the order in which programs run, by what the "
                    f"atomic{line_text(atomic, 'in')} returns; no race was seen in the orders that "
                    "were run"
                )

    # -- order ---------------------------------------------------------------------------------

    @cached_property
    def _order_dependent_ops(self) -> frozenset[int]:
        """The indices of the ops whose results depend on earlier writes of other programs.

        If there are any, every written value may depend on them, and so may all loads from
        written storages.
        """
        roles = self._roles.by_op.items()
        sources = {
            index
            for index, role in roles
            if role.kind == "load" and index in self._undecided.meeting and index in self._met
        }
        sources |= {index for index, role in roles if role.kind == "atomic"}
        if not sources:
            return frozenset()
        written_storages = {
            storage for _, role in roles if role.writes for storage in self._storages(role.op)
        }
        return frozenset(sources).union(
            index
            for index, role in roles
            if role.kind == "load" and not written_storages.isdisjoint(self._storages(role.op))
        )

    @cached_property
    def _met(self) -> Collection[int]:
        """The indices of ops that touch bytes of other programs' writes; of all if not known.

        Loads that meet no write in one order of the programs read the same in any order.
        """
        if self._sweep.lost or self._sweep.doubt or self._sweep.failure:
            return self._roles.by_op
        return {
            op.index for meeting in self._sweep.meetings() for op in (meeting.first, meeting.second)
        }

    def _has_unstable_address(self, access: AccessFormula) -> bool:
        """Return whether an access's address depends on the order of programs."""
        lost = access.unknown is not None
        return self._reads_order(access, access.offset.atoms(), lost=lost)

    @cached_property
    def _separate_slots(self) -> frozenset[int]:
        """The indices of the ops that store to slots of which no two share a byte.

        Empty if the order affects other undecided ops.
        """
        slots = frozenset(index for index in self._slots if not self._sweep.shares_slots(index))
        return frozenset() if self._order_affects_all_but(slots) else slots

    @cached_property
    def _depends_on_order(self) -> bool:
        """The order of programs affects addresses or masks of undecided ops."""
        return self._order_affects_all_but(self._separate_slots)

    def _order_affects_all_but(self, slots: frozenset[int]) -> bool:
        """Return whether the order affects an undecided op that is not one of the `slots`."""
        indices = {index for pair in self._open_pairs for index in pair} - slots
        return any(
            self._reads_order(
                access,
                access.offset.atoms() | access.active.atoms(),
                lost=access.unknown is not None or bool(access.active.opaques()),
            )
            for access in self._bound.summary.accesses
            if access.op.index in indices
        )

    def _reads_order(self, access: AccessFormula, atoms: Iterable[Atom], *, lost: bool) -> bool:
        """Return whether the order of programs affects atoms or (`lost`) untracked values."""
        for atom in atoms:
            if isinstance(atom, Symbol) and atom.kind in ("content", "unknown"):
                if op_index(atom) in self._order_dependent_ops:
                    return True
                lost = lost or atom.kind == "unknown"
            lost = lost or (isinstance(atom, Choice) and bool(atom.condition.opaques()))
        return lost and bool(self._order_dependent_ops & feeding(access.op, self._call.module))

    @cached_property
    def _other_sweeps(self) -> tuple[tuple[Sweep, Schedule], ...]:
        """The sweeps in two other orders of the programs, empty if the order does not matter."""
        if not self._depends_on_order or self._bound.programs > MOST_PROGRAMS:
            return ()
        sweeps = []
        for order in orders_of(self._bound.programs)[1:]:
            sweep = Sweep(self._call.module, self._call.arguments)
            failure = run(self._call, [sweep], order, contents="all", one_by_one=True)
            sweep.failure = failure or sweep.failure
            sweeps.append((sweep, Schedule(order)))
        return tuple(sweeps)

    @cached_property
    def _failure_in_orders(self) -> str | None:
        """The reason why a sweep in another order failed, None if all succeeded."""
        if self._depends_on_order and self._bound.programs > MOST_PROGRAMS:
            return f"its {self._bound.programs:,} programs are too many to run in other orders"
        return next((sweep.failure for sweep, _ in self._other_sweeps if sweep.failure), None)

    @cached_property
    def _meetings(self) -> tuple[_OrderedMeeting, ...]:
        """All meetings of undecided pairs; those that certainly happen come first."""
        sweeps = [(self._sweep, None), *self._other_sweeps]
        meetings = [
            _OrderedMeeting(meeting, schedule)
            for sweep, schedule in sweeps
            for meeting in sweep.meetings()
            if ascending(meeting.first.index, meeting.second.index) in self._open_pairs
        ]
        return tuple(sorted(meetings, key=lambda ordered: not ordered.meeting.certain))

    @cached_property
    def _ordering(self) -> Ordering:
        """The races among the meetings that no atomic orders."""
        watched: dict[Storage, NDArray[np.int64]] = {}
        for ordered in self._meetings:
            storage, shared_bytes = ordered.meeting.storage, ordered.meeting.bytes
            earlier_bytes = watched.get(storage)
            watched[storage] = (
                shared_bytes if earlier_bytes is None else np.union1d(earlier_bytes, shared_bytes)
            )
        count = sum(len(byte_offsets) for byte_offsets in watched.values())
        if count > _MAX_WATCHED:
            return Ordering({}, f"its programs share {count:,} bytes, too many to follow")
        meetings = (ordered.meeting for ordered in self._meetings)
        keys = frozenset((*ascending(m.first.index, m.second.index), m.storage) for m in meetings)
        return races_in_orders(self._call, watched, keys, releases_of(self._bound))

    # -- storages ------------------------------------------------------------------------------

    def _storages(self, op: Op) -> frozenset[Storage]:
        accesses = (access for access in self._bound.summary.accesses if access.op is op)
        tensors = (self._call.tensor_at(access.argument) for access in accesses)
        return frozenset(tensor.storage for tensor in tensors if tensor is not None)
