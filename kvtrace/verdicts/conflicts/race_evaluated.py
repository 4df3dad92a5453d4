"""Race detection by evaluating the whole grid: programs that touch a byte, unordered by atomics.

Values that depend on the order of programs (results of atomics, or values that other programs
wrote) differ from run to run. Where such a value decides only whether an access happens, several
orders are run; where it decides an address, no evaluation is a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.evaluate.observe import Access as Evaluated
from kvtrace.ir import Op
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Atom, Symbol
from kvtrace.verdicts.conflicts.clocks import Ordering, races_in_orders
from kvtrace.verdicts.conflicts.messages import RACE
from kvtrace.verdicts.conflicts.orders import (
    MOST_PROGRAMS,
    Order,
    Renamed,
    orders_of,
    run_in_order,
)
from kvtrace.verdicts.conflicts.outcomes import NoConflict, ShownConflict, Undecided
from kvtrace.verdicts.conflicts.pairs import EvaluatedPairs, Pairs, UndecidedPairs, ascending
from kvtrace.verdicts.conflicts.parts import parts_of
from kvtrace.verdicts.conflicts.race_replay import replayed
from kvtrace.verdicts.conflicts.releases import releases_of
from kvtrace.verdicts.conflicts.sweep import SharedBytes, Sweep
from kvtrace.verdicts.feeding import feeding
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

_MOST_WATCHED: Final = 1 << 23
_BARRIER_UNKNOWN: Final = (
    "an atomic orders the accesses of its own thread, and it is not known whether a barrier orders "
    "those of the other threads of its program before it"
)
_ORDERED: Final = "atomics order the programs that access the same byte"
_IN_ORDERS: Final = "run with the programs in order of their ids, backwards and shuffled"


@dataclass(frozen=True)
class _OrderedMeeting:
    """Two ops that meet, and the order of programs in which they do (None: by their ids)."""

    meeting: SharedBytes
    order: Order | None


class EvaluatedRaces(EvaluatedPairs[Pairs]):
    """An observer that decides the ops whose pairs formulas leave open."""

    rules: ClassVar[frozenset[str]] = frozenset({RACE})

    def __init__(
        self, bound: BoundCall, pairs: Pairs, undecided: UndecidedPairs, ops: Sequence[Op]
    ) -> None:
        """Prepare a sweep of the grid in the order of its programs' ids."""
        super().__init__(bound, pairs, undecided, ops)
        self._open = undecided.pairs
        self._parts = parts_of(bound.call.module)
        self._sweep = Sweep(bound.call.module, bound.call.arguments)

    def access(self, access: Evaluated) -> None:
        """Note the bytes that an access touches."""
        self._sweep.access(access)

    def verdicts(self, failure: str | None) -> list[Verdict]:
        """Return one verdict for each of the ops."""
        return super().verdicts(failure or self._sweep.failure)

    # -- one op --------------------------------------------------------------------------------

    def outcomes(self, op: Op) -> Iterator[NoConflict | ShownConflict | Undecided]:
        """Yield the outcome of each meeting of an op, and reasons why meetings may be missing."""
        yield from map(Undecided, self._unknown_addresses(op))
        meetings = [
            ordered
            for ordered in self._meetings
            if op in (ordered.meeting.first, ordered.meeting.second)
        ]
        for ordered in meetings:
            yield self._outcome_of(op, ordered)
        yield from map(Undecided, self._unstable_addresses(op))
        if self._failure_in_orders is not None:
            yield Undecided(self._failure_in_orders)
        yield NoConflict("evaluated", _IN_ORDERS if meetings or self._depends_on_order else "")

    def _outcome_of(
        self, op: Op, ordered: _OrderedMeeting
    ) -> NoConflict | ShownConflict | Undecided:
        """Return whether the programs of a meeting race; a race is replayed."""
        meeting = ordered.meeting
        if not meeting.certain:
            return Undecided(self._sweep.doubt or "whether the accesses happen depends on data")
        ops, programs = (meeting.first, meeting.second), meeting.programs
        byte, order = meeting.byte, ordered.order
        if self._parts.synchronizes:
            if self._ordering.doubt is not None:
                return Undecided(self._ordering.doubt)
            first_index, second_index = sorted(op_.index for op_ in ops)
            key = (first_index, second_index, meeting.storage)
            race = self._ordering.races.get(key)
            if race is None:
                unclear = key in self._ordering.doubtful
                return Undecided(_BARRIER_UNKNOWN) if unclear else NoConflict("evaluated", _ORDERED)
            ops, programs = (race.first, race.second), race.programs
            byte, order = race.byte, race.order
        if ops[0] is not op:
            ops, programs = ops[::-1], programs[::-1]
        witness = replayed(
            self._call, ops, programs, meeting.storage, byte, whole=True, order=order
        )
        if witness is None:
            return Undecided("two programs accessed the same byte, but not in the replay")
        missed = releases_of(self._bound).missed_by(*ops) if self._parts.synchronizes else None
        return ShownConflict(witness, "evaluated", missed_by=missed)

    def _unknown_addresses(self, op: Op) -> Iterator[str]:
        """Yield the reasons why the address of this op, or of one it clashes with, is unknown."""
        storages = self._storages(op)
        for (index, argument), reason in self._sweep.lost.items():
            if ascending(op.index, index) in self._open and (
                index == op.index or argument is None or self._storage(argument) in storages
            ):
                yield reason

    def _unstable_addresses(self, op: Op) -> Iterator[str]:
        for access in self._bound.summary.accesses:
            index = access.op.index
            if ascending(op.index, index) in self._open and self._has_unstable_address(access):
                yield "its address depends on the order in which programs run"

    # -- order ---------------------------------------------------------------------------------

    @cached_property
    def _order_dependent_ops(self) -> frozenset[int]:
        """The indices of the ops whose results depend on what other programs did before.

        If there are any, values that programs write may depend on them, and so may all loads from
        written storages.
        """
        parts = self._parts.by_op.items()
        sources = {i for i, p in parts if p.kind == "load" and i in self._undecided.meeting}
        sources |= {i for i, p in parts if p.kind == "atomic"}
        if not sources:
            return frozenset()
        written = {s for _, p in parts if p.writes for s in self._storages(p.op)}
        return frozenset(sources).union(
            i for i, p in parts if p.kind == "load" and not written.isdisjoint(self._storages(p.op))
        )

    def _has_unstable_address(self, access: Access) -> bool:
        """Return whether an address depends on the order of programs."""
        lost = access.unknown is not None
        return self._is_decided_by_order(access, access.offset.atoms(), lost=lost)

    @cached_property
    def _depends_on_order(self) -> bool:
        """The order of programs decides addresses or masks of ops that may race."""
        indices = {index for pair in self._open for index in pair}
        return any(
            self._is_decided_by_order(
                access,
                access.offset.atoms() | access.active.atoms(),
                lost=access.unknown is not None or bool(access.active.opaques()),
            )
            for access in self._bound.summary.accesses
            if access.op.index in indices
        )

    def _is_decided_by_order(self, access: Access, atoms: Iterable[Atom], *, lost: bool) -> bool:
        """Return whether the order of programs decides atoms, or (`lost`) untracked values."""
        for atom in atoms:
            if isinstance(atom, Symbol) and atom.kind in ("content", "unknown"):
                index = atom.key if isinstance(atom.key, int) else atom.key[0]
                if index in self._order_dependent_ops:
                    return True
                lost = lost or atom.kind == "unknown"
            lost = lost or (isinstance(atom, Choice) and bool(atom.condition.opaques()))
        return lost and bool(self._order_dependent_ops & feeding(access.op, self._call.module))

    @cached_property
    def _other_sweeps(self) -> tuple[tuple[Sweep, Order], ...]:
        """Sweeps in other orders of the programs, if the order matters."""
        if not self._depends_on_order or self._bound.programs > MOST_PROGRAMS:
            return ()
        sweeps = []
        for order in orders_of(self._bound.programs)[1:]:
            sweep = Sweep(self._call.module, self._call.arguments, order)
            sweep.failure = run_in_order(self._call, [sweep], Renamed(order)) or sweep.failure
            sweeps.append((sweep, order))
        return tuple(sweeps)

    @cached_property
    def _failure_in_orders(self) -> str | None:
        if self._depends_on_order and self._bound.programs > MOST_PROGRAMS:
            return f"its {self._bound.programs:,} programs are too many to run in other orders"
        return next((sweep.failure for sweep, _ in self._other_sweeps if sweep.failure), None)

    @cached_property
    def _meetings(self) -> tuple[_OrderedMeeting, ...]:
        """The meetings of open pairs, certain ones first."""
        sweeps = [(self._sweep, None), *self._other_sweeps]
        meetings = [
            _OrderedMeeting(meeting, order)
            for sweep, order in sweeps
            for meeting in sweep.meetings()
            if ascending(meeting.first.index, meeting.second.index) in self._open
        ]
        return tuple(sorted(meetings, key=lambda ordered: not ordered.meeting.certain))

    @cached_property
    def _ordering(self) -> Ordering:
        """The races among the meetings: those that atomics do not order."""
        watched: dict[Storage, NDArray[np.int64]] = {}
        for ordered in self._meetings:
            storage, more = ordered.meeting.storage, ordered.meeting.all_bytes()
            before = watched.get(storage)
            watched[storage] = more if before is None else np.union1d(before, more)
        count = sum(len(bytes_) for bytes_ in watched.values())
        if count > _MOST_WATCHED:
            return Ordering({}, f"its programs share {count:,} bytes, too many to follow")
        racing = frozenset(
            op.index
            for ordered in self._meetings
            for op in (ordered.meeting.first, ordered.meeting.second)
        )
        return races_in_orders(self._call, watched, racing, releases_of(self._bound))

    # -- storages ------------------------------------------------------------------------------

    def _arguments(self, op: Op) -> Iterable[int]:
        accesses = (access for access in self._bound.summary.accesses if access.op is op)
        return {access.argument for access in accesses if access.argument is not None}

    def _storage(self, argument: int) -> Storage | None:
        value = self._call.arguments[argument]
        return value.storage if isinstance(value, TensorArgument) else None

    def _storages(self, op: Op) -> frozenset[Storage]:
        storages = (self._storage(argument) for argument in self._arguments(op))
        return frozenset(storage for storage in storages if storage is not None)
