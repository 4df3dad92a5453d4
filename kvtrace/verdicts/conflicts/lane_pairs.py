"""Pairs of memory ops of one program that touch the same byte, and the order of their threads.

A pair is decided in steps: first whether different lanes meet at all; then whether a barrier lies
between the two, in the kernel or in its compiled code; then whether one thread does both, by the
layouts of the compiled code. A pair that no step decides is run in two orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Final

from msgspec import Struct

from kvtrace.ir import Op
from kvtrace.ir.flow import partition_of
from kvtrace.ir.ops import KINDS, POINTED
from kvtrace.symbolic.conditions import Condition, conjunction, equal, less
from kvtrace.symbolic.prover.digits import Common
from kvtrace.symbolic.terms import Atom, Substitution, Symbol, Term
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.barriers import (
    Barriers,
    PairOrder,
    common_loops,
    may_be_pipelined,
    trips_started_early,
)
from kvtrace.verdicts.conflicts.copies import Actors
from kvtrace.verdicts.conflicts.data import data_behind
from kvtrace.verdicts.conflicts.lane_orders import LaneVisit, WatchedByte
from kvtrace.verdicts.conflicts.lane_replay import find_race
from kvtrace.verdicts.conflicts.messages import RACE_WITHIN, race_within
from kvtrace.verdicts.conflicts.outcomes import (
    ConfirmedConflict,
    NoConflict,
    SuspectedConflict,
    Undecided,
    Witness,
)
from kvtrace.verdicts.conflicts.pairs import Pairs
from kvtrace.verdicts.conflicts.same_values import store_same_value
from kvtrace.verdicts.conflicts.search import meeting, shared_by_lanes
from kvtrace.verdicts.conflicts.sharers import Sharer, pairs_of_one_storage, sharers_of
from kvtrace.verdicts.conflicts.threads import COPIES, OpThreads, Threads, same_threads
from kvtrace.verdicts.verdict import Verdict

_BARRIER: Final = "a barrier orders them"
_LANE: Final = "one lane does both"
_THREAD: Final = "one thread does both, by the layout of its TTGIR"
_OWN_VALUES: Final = "each thread uses the value that it loads for its own store only"
_SAME_VALUE: Final = "both store the same value"
_LOCKSTEP: Final = "only the lockstep of one warp orders the lanes that access the same byte"
_DOUBTFUL: Final = (
    "the kernel's source has no barrier between the lanes that access the same byte, and it is not "
    "known whether the compiled code has one"
)
_ONE_CTA: Final = (
    "a program has several CTAs, a barrier holds the threads of one CTA only, and it is not known "
    "whether the lanes that access the same byte are of one CTA"
)
_ATOMIC: Final = "one of the two accesses is atomic, which by itself orders no lanes of a program"
_COPIES: Final = (
    "one of the two accesses is a copy between global and shared memory, or goes through a "
    "descriptor, whose copies kvtrace does not track"
)
_PARTITIONS: Final = "different warps of the program make the accesses (warp_specialize)"
_NO_LAYOUT: Final = (
    "it is not known which threads do it: kvtrace does not read this layout of the compiled code"
)
_SEVERAL_LOADERS: Final = (
    "several threads load an element that one of them stores, or loads again; "
    "tl.debug_barrier() between the two orders them"
)
_PIPELINED: Final = (
    "a trip loads what an earlier trip stores, and the loop may be pipelined, which starts loads "
    "early; no TTGIR was recorded"
)
_CALLED: Final = "one of the two accesses is in a called function"
_SAME_PLACE: Final = (
    "lanes with the same number in blocks of different shapes access the same byte, and one thread "
    "may hold both; no TTGIR was recorded"
)

_ThreadTerms = tuple[Term, ...]
"""Terms of the lanes: the warp and the thread in the warp, or the lane's number in its block."""


class _LaneDifference(Struct, frozen=True):
    """The difference required of two lanes that meet: in one of `lanes`, or in `places`.

    `why` is the reason of a proof that no such lanes meet; `alike` is the reason why equal places
    may still be different threads.
    """

    lanes: tuple[Symbol, ...] | None = None
    places: tuple[_ThreadTerms, _ThreadTerms] | None = None
    why: str = ""
    alike: str = ""


class LanePairs(Pairs):
    """The pairs of accesses of one call by which two lanes of a program may race."""

    rule: ClassVar[str] = RACE_WITHIN
    least_programs: ClassVar[int] = 1
    always_judged: ClassVar[frozenset[str]] = frozenset({"store"})
    one_race_is_enough: ClassVar[bool] = True

    def __init__(self, bound: BoundCall) -> None:
        super().__init__(bound)
        self._module = bound.call.module
        self._threads = Threads(bound.call)
        self._barriers = Barriers(bound)

    def clashing(self) -> Iterator[tuple[Sharer, Sharer]]:
        """Yield pairs of accesses that race if they meet in no order, in order of the text.

        An op in a loop is also paired with itself, as two trips may clash.
        """
        for left, right in pairs_of_one_storage(sharers_of(self._bound)):
            kinds = {left.role.kind, right.role.kind}
            if kinds in ({"load"}, {"atomic"}) or (
                left is right and not self._barriers.separate_trips(left.access, left.access)
            ):
                continue
            yield (left, right) if left.access.op.index <= right.access.op.index else (right, left)

    def outcome(self, left: Sharer, right: Sharer) -> NoConflict | ConfirmedConflict | Undecided:
        """Return whether two lanes race by these accesses; suspected races are replayed."""
        difference = self._required_difference(left, right)
        if isinstance(difference, NoConflict):
            return difference
        orders = self._barriers.orders(left.access, right.access)
        if not orders:
            return NoConflict("affine", _BARRIER)
        if self._are_equal_stores(left, right):
            return NoConflict("affine", _SAME_VALUE)
        if isinstance(difference, Undecided):
            return difference
        outcomes = [self._outcome_in_order(left, right, order, difference) for order in orders]
        undecided = [(order, outcome) for order, outcome in zip(orders, outcomes, strict=True)
                if not isinstance(outcome, NoConflict)]  # fmt: skip
        if not undecided:
            solver_ns = sum(outcome.solver_ns for outcome in outcomes)
            return NoConflict("solver" if solver_ns else "affine", difference.why, solver_ns)
        return self._replayed(left, right, undecided)

    def violation(self, op: Op, shown: Sequence[ConfirmedConflict], solver_ns: int) -> Verdict:
        """Return the violation of an op, from the first of its confirmed races."""
        return race_within(self._bound.call, op, shown[0], solver_ns)

    def _are_equal_stores(self, left: Sharer, right: Sharer) -> bool:
        """Return whether both accesses are stores of the same value wherever they meet."""
        are_stores = left.role.kind == right.role.kind == "store"
        if not are_stores or left.exact is None or right.exact is None:
            return False
        shared = shared_by_lanes(
            self._module, self._barriers.separate_trips(left.access, right.access)
        )
        common = Common(left.exact, right.exact, shared)
        return store_same_value(self._bound, left, right, common)

    # -- which lanes meet ----------------------------------------------------------------------

    def _required_difference(
        self, left: Sharer, right: Sharer
    ) -> NoConflict | Undecided | _LaneDifference:
        """Return how two lanes must differ to be of different threads, or an outcome.

        The outcome is NoConflict if no such lanes meet in any trips, and Undecided if their threads
        are not known.
        """
        op_threads = self._threads.of_access(left.access), self._threads.of_access(right.access)
        trips = self._barriers.separate_trips(left.access, right.access)
        same_shape = left.access.shape == right.access.shape
        ops = left.access.op, right.access.op
        is_split = partition_of(ops[0]) is not partition_of(ops[1])
        use_pointers = not is_split and all(
            op.name in POINTED and not KINDS[op.name].has("shared") for op in ops
        )
        outcome: NoConflict | SuspectedConflict | Undecided = NoConflict("interval")
        if same_shape and use_pointers:
            outcome = self._find_meeting(left, right, trips, left.access.lanes)
            why = self._single_thread_reason(left, right, op_threads)
            if isinstance(outcome, NoConflict) and why is not None:
                if self._is_started_early(left, right):
                    return Undecided(_PIPELINED, evaluating=False)
                return NoConflict(outcome.method, why, outcome.solver_ns)
        if isinstance(outcome, NoConflict):
            outcome = self._find_meeting(left, right, trips, trips if left is right else None)
        if isinstance(outcome, NoConflict):
            return NoConflict(outcome.method, solver_ns=outcome.solver_ns)
        if not use_pointers:
            return Undecided(_PARTITIONS if is_split else _COPIES, evaluating=False)
        if isinstance(outcome, Undecided):
            return (
                outcome
                if self._barriers.orders(left.access, right.access)
                else NoConflict("affine", _BARRIER)
            )
        if any(side.by_all and not side.is_one for side in op_threads):
            return Undecided(_SEVERAL_LOADERS, evaluating=False)
        if any(side.by_all for side in op_threads):
            return _LaneDifference()
        if not self._threads.compiled:
            if same_shape:
                return _LaneDifference(lanes=left.access.lanes, why=_LANE)
            lane_numbers = (op_threads[0].number,), (op_threads[1].number,)
            return _LaneDifference(places=lane_numbers, alike=_SAME_PLACE)
        places = op_threads[0].warp_and_thread(), op_threads[1].warp_and_thread()
        if places[0] is None or places[1] is None or not self._keep_order(left, right):
            return _LaneDifference()
        return _LaneDifference(places=(places[0], places[1]), why=_THREAD)

    def _is_started_early(self, left: Sharer, right: Sharer) -> bool:
        """Return whether a pipelined loop may load before an earlier trip's store.

        Only without a recorded TTGIR: its loops may have been pipelined.
        """
        if self._threads.compiled:
            return False
        return any(
            not isinstance(
                self._outcome_in_order(left, right, pair_order, _LaneDifference()), NoConflict
            )
            for pair_order in self._barriers.orders(left.access, right.access)
            if _loads_later(left, right, pair_order)
            and any(
                may_be_pipelined(self._bound.call, loop.op)
                for loop in common_loops(left.access, right.access)
            )
        )

    def _single_thread_reason(
        self, left: Sharer, right: Sharer, op_threads: tuple[OpThreads, OpThreads]
    ) -> str | None:
        """Return the reason why one thread does both ops in equal lanes, None if unknown."""
        if any(side.by_all for side in op_threads):
            trips = self._barriers.separate_trips(left.access, right.access)
            later = self._find_meeting(left, right, trips, trips) if trips else NoConflict("affine")
            is_kept = isinstance(later, NoConflict) and self._keep_order(left, right)
            return COPIES if is_kept and self._threads.keep(left.access, right.access) else None
        is_own = any(side.is_own for side in op_threads)
        if self._threads.compiled:
            is_known = all(side.is_known for side in op_threads) and self._keep_order(left, right)
            if not is_known or not same_threads(*op_threads):
                return None
            return _OWN_VALUES if is_own else _THREAD
        return _OWN_VALUES if is_own else _LANE

    def _keep_order(self, left: Sharer, right: Sharer) -> bool:
        """Return whether a thread does both ops in the kernel's order.

        A load of a pipelined loop is asynchronous and starts in an earlier trip.
        """
        compiled = self._bound.call.compiled
        if (
            compiled is None
            or compiled.barriers is None
            or not common_loops(left.access, right.access)
        ):
            return True
        return all(compiled.barriers.is_synchronous(sharer.access.op) for sharer in (left, right))

    def _find_meeting(
        self,
        left: Sharer,
        right: Sharer,
        separate_trips: Sequence[Symbol],
        differing: Sequence[Symbol] | None,
        when: Callable[[Substitution], Condition] | None = None,
    ) -> NoConflict | SuspectedConflict | Undecided:
        if left.storage is None or right.storage is None:
            data = data_behind(self._bound, (left, right))
            reason = left.reason or right.reason or "its address could not be derived"
            return Undecided(data.reason if data else reason)
        shared = shared_by_lanes(self._module, separate_trips)
        return meeting(self._bound, left, right, Actors(differing, shared, when))

    # -- search and replay ---------------------------------------------------------------------

    def _outcome_in_order(
        self, left: Sharer, right: Sharer, pair_order: PairOrder, difference: _LaneDifference
    ) -> NoConflict | SuspectedConflict | Undecided:
        """Return whether lanes of different threads meet in one order of the pair."""
        outer_trip = pair_order.trips[0] if pair_order.trips else None
        atoms = frozenset[Atom]().union(
            *(s.access.offset.atoms() | s.access.active.atoms() for s in (left, right))
        )
        # If a loop takes more trips than its formula says, every trip is treated as the first.
        is_ordered = (
            outer_trip is not None
            and outer_trip in atoms
            and self._bound.ranges.of(outer_trip)[1] > 0
        )
        trip_number = outer_trip.term if outer_trip is not None and is_ordered else None
        places = difference.places if _have_all_lanes(difference.places, atoms) else None

        def with_parts(parts: int) -> NoConflict | SuspectedConflict | Undecided:
            def when(rename: Substitution) -> Condition:
                conditions: list[Condition] = []
                if trip_number is not None:
                    order = (trip_number, rename(trip_number))
                    early, late = order[::-1] if pair_order.is_reversed else order
                    conditions.append(
                        equal(early + 1, late) if pair_order.once else less(early, late)
                    )
                if places is not None:
                    pairs = zip(places[0][:parts], places[1], strict=False)
                    equal_terms = (
                        equal(left_term, rename(right_term)) for left_term, right_term in pairs
                    )
                    conditions.append(~conjunction(equal_terms))
                return conjunction(conditions)

            condition = when if trip_number is not None or places is not None else None
            return self._find_meeting(left, right, pair_order.trips, difference.lanes, condition)

        outcome = with_parts(1)
        if places is None or not isinstance(outcome, NoConflict):
            return outcome
        if difference.alike:
            return Undecided(difference.alike, evaluating=False)
        by_warp_and_thread = with_parts(2)
        return (
            Undecided(_LOCKSTEP, evaluating=False)
            if isinstance(by_warp_and_thread, SuspectedConflict)
            else by_warp_and_thread
        )

    def _replayed(
        self, left: Sharer, right: Sharer,
        undecided: Sequence[tuple[PairOrder, NoConflict | SuspectedConflict | Undecided]],
    ) -> NoConflict | ConfirmedConflict | Undecided:  # fmt: skip
        """Replay the undecided orders of a pair; return a race, or the reason why none occurs."""
        solver_ns = sum(outcome.solver_ns for _, outcome in undecided)
        for pair_order, _ in undecided:
            early_load = self._replay_early_load(left, right, pair_order)
            if isinstance(early_load, Witness):
                return ConfirmedConflict(early_load, "affine", solver_ns, is_pipelined=True)
        for _, outcome in undecided:
            if isinstance(outcome, Undecided):
                return outcome
        if left.access.calls or right.access.calls:
            return Undecided(_CALLED, evaluating=False, solver_ns=solver_ns)
        suspected = [
            (pair_order, outcome)
            for pair_order, outcome in undecided
            if isinstance(outcome, SuspectedConflict)
        ]
        for _, outcome in suspected:
            race = self._replay_across_ctas(left, right, outcome.programs[0], outcome.byte)
            if isinstance(race, Witness):
                return ConfirmedConflict(race, outcome.method, solver_ns, is_across=True)
        if self._threads.one_warp:
            return Undecided(_LOCKSTEP, evaluating=False, solver_ns=solver_ns)
        certain_meetings = [outcome for order, outcome in suspected if not order.is_doubtful]
        if not certain_meetings:
            doubt = _ONE_CTA if self._barriers.several_blocks else _DOUBTFUL
            return Undecided(doubt, evaluating=False, solver_ns=solver_ns)
        reason = ""
        last_program = self._bound.programs - 1
        is_atomic = "atomic" in (left.role.kind, right.role.kind)
        for outcome in certain_meetings:
            # A barrier in a branch may hold this program and not another one.
            for program in dict.fromkeys(
                (outcome.programs[0], 0, min(1, last_program), last_program)
            ):
                race = self._replay(left, right, program, outcome.byte)
                if isinstance(race, Witness):
                    return ConfirmedConflict(race, outcome.method, solver_ns)
                if program == outcome.programs[0]:
                    reason = _ATOMIC if is_atomic else race
        return Undecided(reason, evaluating=False, solver_ns=solver_ns)

    def confirm_at(
        self, left: Sharer, right: Sharer, program: int, byte: int
    ) -> ConfirmedConflict | None:
        """Replay a program in which both accesses touch a byte; return a race, else None.

        Args:
            left: an access.
            right: another access, or the same in other trips.
            program: linear id of a program that does both.
            byte: from the start of the storage of both accesses.

        """
        if left.access.calls or right.access.calls:
            return None
        race = self._replay_across_ctas(left, right, program, byte)
        if isinstance(race, Witness):
            return ConfirmedConflict(race, "evaluated", is_across=True)
        orders = self._barriers.orders(left.access, right.access)
        if self._threads.one_warp or all(order.is_doubtful for order in orders):
            return None
        race = self._replay(left, right, program, byte)
        return ConfirmedConflict(race, "evaluated") if isinstance(race, Witness) else None

    def _replay_early_load(
        self, left: Sharer, right: Sharer, pair_order: PairOrder
    ) -> Witness | str | None:
        """Replay a load that runs before the store of an earlier trip, in a pipelined loop."""
        if not _loads_later(left, right, pair_order):
            return None
        loop = common_loops(left.access, right.access)[-1]
        if pair_order.trips != (loop.trip,):
            return None
        load = left if pair_order.is_reversed else right
        trips_ahead = trips_started_early(self._bound.call, load.access.op, loop.op)
        trip = pair_order.trips[0].term

        def within(rename: Substitution) -> Condition:
            store_trip, load_trip = (
                (rename(trip), trip) if pair_order.is_reversed else (trip, rename(trip))
            )
            return conjunction(
                (less(store_trip, load_trip), ~less(store_trip + trips_ahead, load_trip))
            )

        def differ(first: LaneVisit, second: LaneVisit) -> bool:
            trips = second.visit.iteration - first.visit.iteration
            return second.visit.op is load.access.op and 0 < trips <= trips_ahead

        outcome = (
            self._find_meeting(left, right, pair_order.trips, None, within) if trips_ahead else None
        )
        if not isinstance(outcome, SuspectedConflict):
            return None
        place = self._place(left, outcome.programs[0], outcome.byte)
        return find_race(place, (left.access.op, right.access.op), differ)

    def _replay_across_ctas(
        self, left: Sharer, right: Sharer, program: int, byte: int
    ) -> Witness | str | None:
        """Replay lanes of different CTAs in two orders; barriers of one CTA do not order them."""
        if not self._barriers.several_blocks:
            return None
        threads_of = self._threads_by_op(left, right)

        def differ(first: LaneVisit, second: LaneVisit) -> bool:
            first_threads, second_threads = (threads_of[lane.visit.op] for lane in (first, second))
            return self._threads.in_other_ctas(
                first_threads, first.lane, second_threads, second.lane
            )

        place = self._place(left, program, byte)
        ops = left.access.op, right.access.op
        return find_race(place, ops, differ, barriers_hold=False)

    def _replay(self, left: Sharer, right: Sharer, program: int, byte: int) -> Witness | str:
        threads_of = self._threads_by_op(left, right)
        relations: set[str] = set()

        def differ(first: LaneVisit, second: LaneVisit) -> bool:
            first_threads, second_threads = (threads_of[lane.visit.op] for lane in (first, second))
            relation = self._threads.relation(
                first_threads, first.lane, second_threads, second.lane
            )
            relations.add(relation)
            return relation == "apart"

        is_repeated = any(threads.by_all for threads in threads_of.values())
        result = find_race(
            self._place(left, program, byte), (left.access.op, right.access.op), differ,
            is_repeated=is_repeated,
            is_by_one_thread=is_repeated and all(t.is_one for t in threads_of.values()),
        )  # fmt: skip
        if isinstance(result, Witness) or "apart" in relations:
            return result
        if "not known" in relations:
            return _NO_LAYOUT if self._threads.compiled else _SAME_PLACE
        return _LOCKSTEP if "one warp" in relations else result

    def _threads_by_op(self, *pair: Sharer) -> dict[Op, OpThreads]:
        accesses = (sharer.access for sharer in pair)
        return {access.op: self._threads.of_access(access) for access in accesses}

    def _place(self, sharer: Sharer, program: int, byte: int) -> WatchedByte:
        assert sharer.storage is not None
        return WatchedByte(self._bound, program, sharer.storage, byte)


def _loads_later(left: Sharer, right: Sharer, pair_order: PairOrder) -> bool:
    """Return whether an order has a store first and a load in a later trip of a loop."""
    earlier, later = (right, left) if pair_order.is_reversed else (left, right)
    return bool(pair_order.trips) and earlier.role.kind == "store" and later.role.kind == "load"


def _have_all_lanes(
    places: tuple[_ThreadTerms, _ThreadTerms] | None, atoms: frozenset[Atom]
) -> bool:
    """Return whether the accesses depend on all lane symbols of the thread terms."""
    terms = [term for terms_of_side in places or () for term in terms_of_side]
    symbols = (atom for term in terms for atom in term.atoms() if isinstance(atom, Symbol))
    return atoms.issuperset(symbols)
