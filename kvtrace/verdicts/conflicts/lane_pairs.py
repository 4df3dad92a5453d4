"""Pairs of memory ops of one program that touch the same byte, and the order of their threads.

A pair is decided in steps: first whether different lanes meet at all; then whether a barrier lies
between the two, in the kernel or in its compiled code; then whether one thread does both, by the
layouts of the compiled code. A pair that no step decides is run in two orders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from kvtrace.ir import Op
from kvtrace.ir.ops import POINTED
from kvtrace.symbolic.conditions import Condition, conjunction, equal, less
from kvtrace.symbolic.prover.digits import Common
from kvtrace.symbolic.terms import Atom, Substitution, Symbol, Term
from kvtrace.verdicts.conflicts.barriers import Barriers
from kvtrace.verdicts.conflicts.copies import Actors
from kvtrace.verdicts.conflicts.data import data_behind
from kvtrace.verdicts.conflicts.lane_orders import LaneVisit
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
from kvtrace.verdicts.conflicts.pipelined import may_be_pipelined, trips_started_early
from kvtrace.verdicts.conflicts.same_values import store_same_value
from kvtrace.verdicts.conflicts.search import lanes_of, meeting, shared_by_lanes
from kvtrace.verdicts.conflicts.sharers import Sharer, pairs_of_one_storage, sharers_of
from kvtrace.verdicts.conflicts.threads import OpThreads, Threads, same_threads
from kvtrace.verdicts.ideal_trips import has_ideal_trips
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtrace.symbolic.summary import Loop
    from kvtrace.verdicts.binding import BoundCall

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
_DESCRIPTOR: Final = (
    "one of the two accesses goes through a descriptor, whose copies kvtrace does not track"
)
_NO_LAYOUT: Final = (
    "it is not known which threads do it: kvtrace does not read this layout of the compiled code"
)
_SEVERAL_LOADERS: Final = "several threads load an element that one of them stores, or loads again"
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


@dataclass(frozen=True)
class _PairOrder:
    """An order of the ops of a pair with no barrier between; `is_reversed`: the second op first.

    `trips` are those of the common loops that may be in different trips, outermost first. In the
    first of these loops the earlier op is in an earlier trip, or in the trip directly before if
    `once`.
    """

    is_reversed: bool
    trips: tuple[Symbol, ...]
    once: bool
    is_doubtful: bool


@dataclass(frozen=True)
class _LaneDifference:
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
                left is right and not self._separate_trips(left, left)
            ):
                continue
            yield (left, right) if left.access.op.index <= right.access.op.index else (right, left)

    def outcome(self, left: Sharer, right: Sharer) -> NoConflict | ConfirmedConflict | Undecided:
        """Return whether two lanes race by these accesses; suspected races are replayed."""
        op_threads = self._threads.of_access(left.access), self._threads.of_access(right.access)
        difference = self._required_difference(left, right, op_threads)
        if isinstance(difference, NoConflict):
            return difference
        orders = self._pair_orders(left, right)
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
        return self._replayed(left, right, op_threads, undecided)

    def violation(self, op: Op, shown: Sequence[ConfirmedConflict], solver_ns: int) -> Verdict:
        """Return the violation of an op, from the first of its confirmed races."""
        return race_within(self._bound.call, op, shown[0], solver_ns)

    def _are_equal_stores(self, left: Sharer, right: Sharer) -> bool:
        """Return whether both accesses are stores of the same value wherever they meet."""
        if not left.role.kind == right.role.kind == "store" or left.exact is None:
            return False
        if right.exact is None:
            return False
        shared = shared_by_lanes(self._module, self._separate_trips(left, right))
        common = Common(left.exact, right.exact, shared)
        return store_same_value(self._bound, left, right, common)

    # -- which lanes meet ----------------------------------------------------------------------

    def _required_difference(
        self, left: Sharer, right: Sharer, op_threads: tuple[OpThreads, OpThreads]
    ) -> NoConflict | Undecided | _LaneDifference:
        """Return how two lanes must differ to be of different threads, or an outcome.

        The outcome is NoConflict if no such lanes meet in any trips, and Undecided if their threads
        are not known.
        """
        trips = self._separate_trips(left, right)
        same_shape = left.access.shape == right.access.shape
        use_pointers = all(side.access.op.name in POINTED for side in (left, right))
        outcome: NoConflict | SuspectedConflict | Undecided = NoConflict("interval")
        if same_shape and use_pointers:
            outcome = self._find_meeting(left, right, trips, lanes_of(left))
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
            return Undecided(_DESCRIPTOR, evaluating=False)
        if isinstance(outcome, Undecided):
            return outcome if self._pair_orders(left, right) else NoConflict("affine", _BARRIER)
        if any(side.by_all and not side.is_one for side in op_threads):
            return Undecided(_SEVERAL_LOADERS, evaluating=False)
        if any(side.by_all for side in op_threads):
            return _LaneDifference()
        if not self._threads.compiled:
            if same_shape:
                return _LaneDifference(lanes=lanes_of(left), why=_LANE)
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
            for pair_order in self._pair_orders(left, right)
            if _loads_later(left, right, pair_order)
            and any(
                may_be_pipelined(self._bound.call, loop.op) for loop in _common_loops(left, right)
            )
        )

    def _single_thread_reason(
        self, left: Sharer, right: Sharer, op_threads: tuple[OpThreads, OpThreads]
    ) -> str | None:
        """Return the reason why one thread does both ops in equal lanes, None if unknown."""
        if any(side.by_all for side in op_threads):
            return None
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
        if compiled is None or compiled.barriers is None or not _common_loops(left, right):
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
            return Undecided(data.reason if data else reason, evaluating=False)
        shared = shared_by_lanes(self._module, separate_trips)
        return meeting(self._bound, left, right, Actors(differing, shared, when))

    # -- orders --------------------------------------------------------------------------------

    def _separate_trips(self, left: Sharer, right: Sharer) -> tuple[Symbol, ...]:
        """Return the trip symbols of common loops whose trips may differ between accesses."""
        return tuple(loop.trip for loop in _common_loops(left, right) if self._may_repeat(loop))

    def _may_repeat(self, loop: Loop) -> bool:
        takes_several_trips = self._bound.ranges.of(loop.trip)[1] > 0
        return takes_several_trips or not has_ideal_trips(self._bound, loop.op)

    def _pair_orders(self, left: Sharer, right: Sharer) -> list[_PairOrder]:
        """Return the orders in which two ops can run with no barrier between them."""
        pair_orders: list[_PairOrder] = []
        for is_reversed in (False, True):
            earlier, later = (right, left) if is_reversed else (left, right)
            if earlier is later and is_reversed:
                continue
            if earlier.access.calls or later.access.calls:
                return [_PairOrder(False, self._separate_trips(left, right), False, True)]
            pair_orders += (
                _PairOrder(is_reversed, *pair_order)
                for pair_order in self._orders_without_barrier(earlier, later)
            )
        return pair_orders

    def _orders_without_barrier(
        self, earlier: Sharer, later: Sharer
    ) -> Iterator[tuple[tuple[Symbol, ...], bool, bool]]:
        """Yield trips, `once` and doubt of each way in which the second op follows the first."""
        is_separated = self._barriers.separate(earlier.access.op, later.access.op)
        if is_separated:
            return
        common_loops = _common_loops(earlier, later)
        once: dict[tuple[int, bool, bool], bool] = {}
        for path in self._barriers.order.paths(earlier.access.op, later.access.op):
            is_common_loop = path.turn < len(common_loops)
            key = min(path.turn, len(common_loops)), path.is_doubtful, path.nested
            once[key] = once.get(key, True) and (path.once or not is_common_loop)
        for (turn, is_doubtful, nested), one_turn in sorted(once.items()):
            if turn < len(common_loops):
                if not self._may_repeat(common_loops[turn]):
                    continue
            elif earlier is later:
                continue
            if is_doubtful and (not once.get((turn, False, False), True)):
                continue  # implied by a path that is not doubtful
            trips = tuple(loop.trip for loop in common_loops[turn:] if self._may_repeat(loop))
            ptx_is_unclear = is_doubtful and (nested or bool(common_loops))
            yield trips, one_turn, self._is_doubtful(is_doubtful, is_separated, ptx_is_unclear)

    def _is_doubtful(
        self, is_doubtful: bool, is_separated: bool | None, ptx_is_unclear: bool
    ) -> bool:
        """Return whether the compiled code may have a barrier that the kernel's source lacks.

        `ptx_is_unclear`: the PTX does not show in which trip of a loop a barrier is, or whether the
        PTX has the loop.
        """
        if not self._threads.compiled:
            return is_doubtful
        return is_separated is None or ptx_is_unclear

    # -- search and replay ---------------------------------------------------------------------

    def _outcome_in_order(
        self, left: Sharer, right: Sharer, pair_order: _PairOrder, difference: _LaneDifference
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
        self, left: Sharer, right: Sharer, op_threads: tuple[OpThreads, OpThreads],
        undecided: Sequence[tuple[_PairOrder, NoConflict | SuspectedConflict | Undecided]],
    ) -> NoConflict | ConfirmedConflict | Undecided:  # fmt: skip
        """Replay the undecided orders of a pair; return a race, or the reason why none occurs."""
        solver_ns = sum(outcome.solver_ns for _, outcome in undecided)
        for pair_order, _ in undecided:
            early_load = self._replay_early_load(left, right, pair_order)
            if early_load is not None:
                return ConfirmedConflict(early_load, "affine", solver_ns, is_pipelined=True)
        for _, outcome in undecided:
            if isinstance(outcome, Undecided):
                return outcome
        if left.access.calls or right.access.calls:
            return Undecided(_CALLED, evaluating=False, solver_ns=solver_ns)
        suspected = [outcome for _, outcome in undecided if isinstance(outcome, SuspectedConflict)]
        for outcome in suspected if self._barriers.several_blocks else ():
            cross_cta_race = self._replay_across_ctas(
                (left, right), op_threads, outcome.programs[0], outcome.byte
            )
            if cross_cta_race is not None:
                return ConfirmedConflict(cross_cta_race, outcome.method, solver_ns, is_across=True)
        if self._threads.one_warp:
            return Undecided(_LOCKSTEP, evaluating=False, solver_ns=solver_ns)
        certain_meetings = [
            outcome
            for pair_order, outcome in undecided
            if not pair_order.is_doubtful and isinstance(outcome, SuspectedConflict)
        ]
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
                race = self._replay((left, right), op_threads, program, outcome.byte)
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
        op_threads = self._threads.of_access(left.access), self._threads.of_access(right.access)
        if self._barriers.several_blocks:
            cross_cta_race = self._replay_across_ctas((left, right), op_threads, program, byte)
            if cross_cta_race is not None:
                return ConfirmedConflict(cross_cta_race, "evaluated", is_across=True)
        is_certain = any(
            not pair_order.is_doubtful for pair_order in self._pair_orders(left, right)
        )
        if not is_certain or self._threads.one_warp:
            return None
        race = self._replay((left, right), op_threads, program, byte)
        return ConfirmedConflict(race, "evaluated") if isinstance(race, Witness) else None

    def _replay_early_load(
        self, left: Sharer, right: Sharer, pair_order: _PairOrder
    ) -> Witness | None:
        """Replay a load that runs before the store of an earlier trip, in a pipelined loop."""
        if not _loads_later(left, right, pair_order) or pair_order.trips != (
            _common_loops(left, right)[-1].trip,
        ):
            return None
        load = left if pair_order.is_reversed else right
        loop = _common_loops(left, right)[-1]
        trips_ahead = trips_started_early(self._bound.call, load.access.op, loop.op)
        trip = pair_order.trips[0].term

        def within(rename: Substitution) -> Condition:
            store_trip, load_trip = (
                (rename(trip), trip) if pair_order.is_reversed else (trip, rename(trip))
            )
            return conjunction(
                (less(store_trip, load_trip), ~less(store_trip + trips_ahead, load_trip))
            )

        outcome = (
            self._find_meeting(left, right, pair_order.trips, None, within) if trips_ahead else None
        )
        if not isinstance(outcome, SuspectedConflict):
            return None

        def differ(first: LaneVisit, second: LaneVisit) -> bool:
            trips = second.visit.iteration - first.visit.iteration
            return second.visit.op is load.access.op and 0 < trips <= trips_ahead

        race = self._find_race_at((left, right), outcome.programs[0], outcome.byte, differ)
        return race if isinstance(race, Witness) else None

    def _replay_across_ctas(
        self,
        pair: tuple[Sharer, Sharer],
        op_threads: tuple[OpThreads, OpThreads],
        program: int,
        byte: int,
    ) -> Witness | None:
        """Replay lanes of different CTAs in two orders; barriers of one CTA do not order them."""
        threads_by_op = {
            sharer.access.op: threads for sharer, threads in zip(pair, op_threads, strict=True)
        }

        def differ(left: LaneVisit, right: LaneVisit) -> bool:
            left_threads, right_threads = (
                threads_by_op[left.visit.op],
                threads_by_op[right.visit.op],
            )
            return self._threads.in_other_ctas(left_threads, left.lane, right_threads, right.lane)

        race = self._find_race_at(pair, program, byte, differ, barriers_hold=False)
        return race if isinstance(race, Witness) else None

    def _replay(
        self,
        pair: tuple[Sharer, Sharer],
        op_threads: tuple[OpThreads, OpThreads],
        program: int,
        byte: int,
    ) -> Witness | str:
        threads_by_op = {
            sharer.access.op: op_threads_
            for sharer, op_threads_ in zip(pair, op_threads, strict=True)
        }
        relations: set[str] = set()

        def differ(left: LaneVisit, right: LaneVisit) -> bool:
            relation = self._threads.relation(
                threads_by_op[left.visit.op], left.lane, threads_by_op[right.visit.op], right.lane
            )
            relations.add(relation)
            return relation == "apart"

        def threads(left: LaneVisit, right: LaneVisit) -> tuple[bool, bool]:
            pair_threads = threads_by_op[left.visit.op], threads_by_op[right.visit.op]
            repeated = any(op_threads_.by_all for op_threads_ in pair_threads)
            return repeated, repeated and all(op_threads_.is_one for op_threads_ in pair_threads)

        result = self._find_race_at(pair, program, byte, differ, threads)
        if isinstance(result, Witness) or "apart" in relations:
            return result
        if "not known" in relations:
            return _NO_LAYOUT if self._threads.compiled else _SAME_PLACE
        return _LOCKSTEP if "one warp" in relations else result

    def _find_race_at(
        self,
        pair: tuple[Sharer, Sharer],
        program: int,
        byte: int,
        differ: Callable[[LaneVisit, LaneVisit], bool],
        threads: Callable[[LaneVisit, LaneVisit], tuple[bool, bool]] = lambda *_: (False, False),
        *,
        barriers_hold: bool = True,
    ) -> Witness | str:
        ops, storage = (pair[0].access.op, pair[1].access.op), pair[0].storage
        assert storage is not None
        return find_race(
            self._bound, ops, program, storage, byte, differ, threads, barriers_hold=barriers_hold
        )


def _loads_later(left: Sharer, right: Sharer, pair_order: _PairOrder) -> bool:
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


def _common_loops(left: Sharer, right: Sharer) -> list[Loop]:
    """Return the loops around both accesses, outermost first."""
    loops = []
    for left_loop, right_loop in zip(left.access.loops, right.access.loops, strict=False):
        if left_loop.op is not right_loop.op:
            break
        loops.append(left_loop)
    return loops
