"""Pairs of memory ops of one program that touch the same byte, and whether threads order the two.

A pair is decided in steps: first whether different lanes meet at all; then whether a barrier lies
between, in the kernel or in its compiled code; then whether one thread does both, by the layouts of
the compiled code. A pair that no step decides is run in two orders.
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
from kvtrace.verdicts.conflicts.lane_replay import raced
from kvtrace.verdicts.conflicts.messages import RACE_WITHIN, race_within
from kvtrace.verdicts.conflicts.outcomes import (
    NoConflict,
    ShownConflict,
    SuspectedConflict,
    Undecided,
    Witness,
)
from kvtrace.verdicts.conflicts.pairs import Pairs
from kvtrace.verdicts.conflicts.pipelined import may_be_pipelined, trips_started_early
from kvtrace.verdicts.conflicts.same_values import store_the_same
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
_OWN: Final = "each thread uses the value that it loads for its own store only"
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
_SEVERAL: Final = "several threads load an element that one of them stores, or loads again"
_PIPELINED: Final = (
    "a trip loads what an earlier trip stores, and the loop may be pipelined, which starts loads "
    "early; no TTGIR was recorded"
)
_CALLED: Final = "one of the two accesses is in a called function"


_SAME_PLACE: Final = (
    "lanes with the same number in blocks of different shapes access the same byte, and one thread "
    "may hold both; no TTGIR was recorded"
)

_Place = tuple[Term, ...]
"""The warp and the thread in the warp that hold a lane; or the number of a lane in its block."""


@dataclass(frozen=True)
class _Sequence:
    """One order in which the two ops of a pair can come: `turned` has the pair's second op first.

    `trips` are of the common loops that may be in different trips, outermost first. In the first of
    these loops the earlier op is in an earlier trip; in the trip directly before if `once`.
    """

    turned: bool
    trips: tuple[Symbol, ...]
    once: bool
    doubtful: bool


@dataclass(frozen=True)
class _Differing:
    """The difference to require of two lanes that meet: in one of `lanes`, or in `places`.

    `why` is the reason of a proof if no such lanes meet; `alike` the reason why equal places are
    not known to be one thread.
    """

    lanes: tuple[Symbol, ...] | None = None
    places: tuple[_Place, _Place] | None = None
    why: str = ""
    alike: str = ""


class LanePairs(Pairs):
    """The pairs of accesses of one call by which lanes of one program may race."""

    rule: ClassVar[str] = RACE_WITHIN
    least_programs: ClassVar[int] = 1
    always_judged: ClassVar[frozenset[str]] = frozenset({"store"})
    one_is_enough: ClassVar[bool] = True

    def __init__(self, bound: BoundCall) -> None:
        super().__init__(bound)
        self._module = bound.call.module
        self._threads = Threads(bound.call)
        self._barriers = Barriers(bound)

    def clashing(self) -> Iterator[tuple[Sharer, Sharer]]:
        """Yield each pair of accesses that race if they meet in no order, in the text's order.

        One op is a pair with itself in a loop, where two trips may clash.
        """
        for one, other in pairs_of_one_storage(sharers_of(self._bound)):
            kinds = {one.part.kind, other.part.kind}
            if kinds in ({"load"}, {"atomic"}) or (one is other and not self._own_trips(one, one)):
                continue
            yield (one, other) if one.access.op.index <= other.access.op.index else (other, one)

    def outcome(self, one: Sharer, other: Sharer) -> NoConflict | ShownConflict | Undecided:
        """Return whether two lanes race by these accesses; a race by formulas is replayed first."""
        op_threads = self._threads.of_access(one.access), self._threads.of_access(other.access)
        lanes = self._differing_lanes(one, other, op_threads)
        if isinstance(lanes, NoConflict):
            return lanes
        cases = self._sequences(one, other)
        if not cases:
            return NoConflict("affine", _BARRIER)
        if self._store_same_value(one, other):
            return NoConflict("affine", _SAME_VALUE)
        if isinstance(lanes, Undecided):
            return lanes
        outcomes = [self._outcome_in(one, other, case, lanes) for case in cases]
        undecided = [(case, outcome) for case, outcome in zip(cases, outcomes, strict=True)
                if not isinstance(outcome, NoConflict)]  # fmt: skip
        if not undecided:
            solver_ns = sum(outcome.solver_ns for outcome in outcomes)
            return NoConflict("solver" if solver_ns else "affine", lanes.why, solver_ns)
        return self._replayed(one, other, op_threads, undecided)

    def violation(self, op: Op, shown: Sequence[ShownConflict], solver_ns: int) -> Verdict:
        """Return the violation of an op by the first of its races."""
        return race_within(self._bound.call, op, shown[0], solver_ns)

    def _store_same_value(self, one: Sharer, other: Sharer) -> bool:
        """Return whether both ops store the same value wherever they meet."""
        if not one.part.kind == other.part.kind == "store" or one.exact is None:
            return False
        if other.exact is None:
            return False
        shared = shared_by_lanes(self._module, self._own_trips(one, other))
        common = Common(one.exact, other.exact, shared)
        return store_the_same(self._bound, one, other, common)

    # -- which lanes meet ----------------------------------------------------------------------

    def _differing_lanes(
        self, one: Sharer, other: Sharer, op_threads: tuple[OpThreads, OpThreads]
    ) -> NoConflict | Undecided | _Differing:
        """Return how lanes must differ to be of different threads, or the outcome without a search.

        The outcome is free if no such lanes meet in any trips, and open if their threads are not
        known.
        """
        trips = self._own_trips(one, other)
        same = one.access.shape == other.access.shape
        pointed = all(side.access.op.name in POINTED for side in (one, other))
        outcome: NoConflict | SuspectedConflict | Undecided = NoConflict("interval")
        if same and pointed:
            outcome = self._meeting(one, other, trips, lanes_of(one))
            why = self._reason_of_one_thread(one, other, op_threads)
            if isinstance(outcome, NoConflict) and why is not None:
                if self._is_started_early(one, other):
                    return Undecided(_PIPELINED, evaluating=False)
                return NoConflict(outcome.method, why, outcome.solver_ns)
        if isinstance(outcome, NoConflict):
            outcome = self._meeting(one, other, trips, trips if one is other else None)
        if isinstance(outcome, NoConflict):
            return NoConflict(outcome.method, solver_ns=outcome.solver_ns)
        if not pointed:
            return Undecided(_DESCRIPTOR, evaluating=False)
        if isinstance(outcome, Undecided):
            return outcome if self._sequences(one, other) else NoConflict("affine", _BARRIER)
        if any(side.by_all and not side.is_one for side in op_threads):
            return Undecided(_SEVERAL, evaluating=False)
        if any(side.by_all for side in op_threads):
            return _Differing()
        if not self._threads.compiled:
            if same:
                return _Differing(lanes=lanes_of(one), why=_LANE)
            numbers = (op_threads[0].number,), (op_threads[1].number,)
            return _Differing(places=numbers, alike=_SAME_PLACE)
        places = op_threads[0].places(), op_threads[1].places()
        if places[0] is None or places[1] is None or not self._keep_order(one, other):
            return _Differing()
        return _Differing(places=(places[0], places[1]), why=_THREAD)

    def _is_started_early(self, one: Sharer, other: Sharer) -> bool:
        """Return whether a thread may load in a later trip before the store that it reads.

        This is asked of code that was not recorded: its loops may have been pipelined.
        """
        if self._threads.compiled:
            return False
        return any(
            not isinstance(self._outcome_in(one, other, case, _Differing()), NoConflict)
            for case in self._sequences(one, other)
            if _loads_later(one, other, case)
            and any(
                may_be_pipelined(self._bound.call, loop.op) for loop in _common_loops(one, other)
            )
        )

    def _reason_of_one_thread(
        self, one: Sharer, other: Sharer, op_threads: tuple[OpThreads, OpThreads]
    ) -> str | None:
        """Return the reason why one thread does both where only the same lanes meet, else None."""
        if any(side.by_all for side in op_threads):
            return None
        is_own = any(side.is_own for side in op_threads)
        if self._threads.compiled:
            is_known = all(side.is_known for side in op_threads) and self._keep_order(one, other)
            if not is_known or not same_threads(*op_threads):
                return None
            return _OWN if is_own else _THREAD
        return _OWN if is_own else _LANE

    def _keep_order(self, one: Sharer, other: Sharer) -> bool:
        """Return whether a thread that does both ops does them in the kernel's order.

        A load of a pipelined loop is asynchronous, and began some trips before.
        """
        compiled = self._bound.call.compiled
        if compiled is None or compiled.barriers is None or not _common_loops(one, other):
            return True
        return all(compiled.barriers.ends(sharer.access.op) for sharer in (one, other))

    def _meeting(
        self,
        one: Sharer,
        other: Sharer,
        own_trips: Sequence[Symbol],
        differing: Sequence[Symbol] | None,
        when: Callable[[Substitution], Condition] | None = None,
    ) -> NoConflict | SuspectedConflict | Undecided:
        if one.storage is None or other.storage is None:
            data = data_behind(self._bound, (one, other))
            reason = one.reason or other.reason or "its address could not be derived"
            return Undecided(data.reason if data else reason, evaluating=False)
        shared = shared_by_lanes(self._module, own_trips)
        return meeting(self._bound, one, other, Actors(differing, shared, when))

    # -- orders --------------------------------------------------------------------------------

    def _own_trips(self, one: Sharer, other: Sharer) -> tuple[Symbol, ...]:
        """Return the trips of the loops around both accesses that may take several trips."""
        return tuple(loop.trip for loop in _common_loops(one, other) if self._may_repeat(loop))

    def _may_repeat(self, loop: Loop) -> bool:
        several = self._bound.ranges.of(loop.trip)[1] > 0
        return several or not has_ideal_trips(self._bound, loop.op)

    def _sequences(self, one: Sharer, other: Sharer) -> list[_Sequence]:
        """Return the orders in which the two can come with no barrier between."""
        sequences: list[_Sequence] = []
        for turned in (False, True):
            first, second = (other, one) if turned else (one, other)
            if first is second and turned:
                continue
            if first.access.calls or second.access.calls:
                return [_Sequence(False, self._own_trips(one, other), False, True)]
            sequences += (
                _Sequence(turned, *case) for case in self._cases_without_barrier(first, second)
            )
        return sequences

    def _cases_without_barrier(
        self, first: Sharer, second: Sharer
    ) -> Iterator[tuple[tuple[Symbol, ...], bool, bool]]:
        """Yield the cases in which the second comes after the first, without `turned`."""
        separate = self._barriers.separate(first.access.op, second.access.op)
        if separate:
            return
        common = _common_loops(first, second)
        once: dict[tuple[int, bool, bool], bool] = {}
        for path in self._barriers.order.paths(first.access.op, second.access.op):
            inside = path.turn < len(common)
            key = min(path.turn, len(common)), path.doubtful, path.nested
            once[key] = once.get(key, True) and (path.once or not inside)
        for (turn, doubtful, nested), one_turn in sorted(once.items()):
            if turn < len(common):
                if not self._may_repeat(common[turn]):
                    continue
            elif first is second:
                continue
            if doubtful and (not once.get((turn, False, False), True)):
                continue  # a path that is not doubtful says as much
            trips = tuple(loop.trip for loop in common[turn:] if self._may_repeat(loop))
            unclear = doubtful and (nested or bool(common))
            yield trips, one_turn, self._is_doubtful(doubtful, separate, unclear)

    def _is_doubtful(self, doubtful: bool, separate: bool | None, unclear: bool) -> bool:
        """Return whether the compiled code may have a barrier that the kernel's source lacks.

        `unclear`: the PTX does not show in which trip of a loop a barrier is, or whether the PTX
        has the loop.
        """
        if not self._threads.compiled:
            return doubtful
        return separate is None or unclear

    # -- what is left --------------------------------------------------------------------------

    def _outcome_in(
        self, one: Sharer, other: Sharer, case: _Sequence, lanes: _Differing
    ) -> NoConflict | SuspectedConflict | Undecided:
        """Return whether different threads meet in one order, those of different warps first."""
        trip = case.trips[0] if case.trips else None
        atoms = frozenset[Atom]().union(
            *(s.access.offset.atoms() | s.access.active.atoms() for s in (one, other))
        )
        # Of a loop that takes more trips than by its formula, all are as the first.
        is_ordered = trip is not None and trip in atoms and self._bound.ranges.of(trip)[1] > 0
        trip_number = trip.term if trip is not None and is_ordered else None
        places = lanes.places if _have_all_lanes(lanes.places, atoms) else None

        def with_parts(parts: int) -> NoConflict | SuspectedConflict | Undecided:
            def when(rename: Substitution) -> Condition:
                conditions: list[Condition] = []
                if trip_number is not None:
                    order = (trip_number, rename(trip_number))
                    early, late = order[::-1] if case.turned else order
                    conditions.append(equal(early + 1, late) if case.once else less(early, late))
                if places is not None:
                    pairs = zip(places[0][:parts], places[1], strict=False)
                    same = (equal(mine, rename(others)) for mine, others in pairs)
                    conditions.append(~conjunction(same))
                return conjunction(conditions)

            needed = when if trip_number is not None or places is not None else None
            return self._meeting(one, other, case.trips, lanes.lanes, needed)

        outcome = with_parts(1)
        if places is None or not isinstance(outcome, NoConflict):
            return outcome
        if lanes.alike:
            return Undecided(lanes.alike, evaluating=False)
        by_warp_and_thread = with_parts(2)
        return (
            Undecided(_LOCKSTEP, evaluating=False)
            if isinstance(by_warp_and_thread, SuspectedConflict)
            else by_warp_and_thread
        )

    def _replayed(
        self, one: Sharer, other: Sharer, op_threads: tuple[OpThreads, OpThreads],
        undecided: Sequence[tuple[_Sequence, NoConflict | SuspectedConflict | Undecided]],
    ) -> NoConflict | ShownConflict | Undecided:  # fmt: skip
        """Replay the meetings of undecided cases; return a race, or the reason why none shows."""
        solver_ns = sum(outcome.solver_ns for _, outcome in undecided)
        for case, _ in undecided:
            early = self._replay_early_load(one, other, case)
            if early is not None:
                return ShownConflict(early, "affine", solver_ns, is_pipelined=True)
        for _, outcome in undecided:
            if isinstance(outcome, Undecided):
                return outcome
        if one.access.calls or other.access.calls:
            return Undecided(_CALLED, evaluating=False, solver_ns=solver_ns)
        meetings = [outcome for _, outcome in undecided if isinstance(outcome, SuspectedConflict)]
        for outcome in meetings if self._barriers.several_blocks else ():
            across = self._replay_across_ctas(
                (one, other), op_threads, outcome.programs[0], outcome.byte
            )
            if across is not None:
                return ShownConflict(across, outcome.method, solver_ns, is_across=True)
        if self._threads.one_warp:
            return Undecided(_LOCKSTEP, evaluating=False, solver_ns=solver_ns)
        certain = [
            outcome
            for case, outcome in undecided
            if not case.doubtful and isinstance(outcome, SuspectedConflict)
        ]
        if not certain:
            doubt = _ONE_CTA if self._barriers.several_blocks else _DOUBTFUL
            return Undecided(doubt, evaluating=False, solver_ns=solver_ns)
        reason = ""
        last = self._bound.programs - 1
        is_atomic = "atomic" in (one.part.kind, other.part.kind)
        for outcome in certain:
            # A barrier in a branch may hold this program and not another one.
            for program in dict.fromkeys((outcome.programs[0], 0, min(1, last), last)):
                shown = self._replay((one, other), op_threads, program, outcome.byte)
                if isinstance(shown, Witness):
                    return ShownConflict(shown, outcome.method, solver_ns)
                if program == outcome.programs[0]:
                    reason = _ATOMIC if is_atomic else shown
        return Undecided(reason, evaluating=False, solver_ns=solver_ns)

    def shown_at(self, one: Sharer, other: Sharer, program: int, byte: int) -> ShownConflict | None:
        """Replay a program in which both accesses touch a byte; None: no race shows.

        Args:
            one: an access.
            other: another access, or the same in other trips.
            program: linear id of a program that does both.
            byte: from the start of the storage of both accesses.

        """
        if one.access.calls or other.access.calls:
            return None
        op_threads = self._threads.of_access(one.access), self._threads.of_access(other.access)
        if self._barriers.several_blocks:
            across = self._replay_across_ctas((one, other), op_threads, program, byte)
            if across is not None:
                return ShownConflict(across, "evaluated", is_across=True)
        is_certain = any(not case.doubtful for case in self._sequences(one, other))
        if not is_certain or self._threads.one_warp:
            return None
        shown = self._replay((one, other), op_threads, program, byte)
        return ShownConflict(shown, "evaluated") if isinstance(shown, Witness) else None

    def _replay_early_load(self, one: Sharer, other: Sharer, case: _Sequence) -> Witness | None:
        """Replay a load before the store of an earlier trip, if the loop is so pipelined."""
        if not _loads_later(one, other, case) or case.trips != (
            _common_loops(one, other)[-1].trip,
        ):
            return None
        load = one if case.turned else other
        loop = _common_loops(one, other)[-1]
        early = trips_started_early(self._bound.call, load.access.op, loop.op)
        trip = case.trips[0].term

        def within(rename: Substitution) -> Condition:
            store, late = (rename(trip), trip) if case.turned else (trip, rename(trip))
            return conjunction((less(store, late), ~less(store + early, late)))

        outcome = self._meeting(one, other, case.trips, None, within) if early else None
        if not isinstance(outcome, SuspectedConflict):
            return None

        def differ(first: LaneVisit, second: LaneVisit) -> bool:
            trips = second.visit.iteration - first.visit.iteration
            return second.visit.op is load.access.op and 0 < trips <= early

        shown = self._race_at((one, other), outcome.programs[0], outcome.byte, differ)
        return shown if isinstance(shown, Witness) else None

    def _replay_across_ctas(
        self,
        pair: tuple[Sharer, Sharer],
        op_threads: tuple[OpThreads, OpThreads],
        program: int,
        byte: int,
    ) -> Witness | None:
        """Replay lanes of different CTAs in two orders: a barrier of one CTA does not hold both."""
        by_op = {
            sharer.access.op: threads for sharer, threads in zip(pair, op_threads, strict=True)
        }

        def differ(one: LaneVisit, other: LaneVisit) -> bool:
            mine, theirs = by_op[one.visit.op], by_op[other.visit.op]
            return self._threads.in_other_ctas(mine, one.lane, theirs, other.lane)

        shown = self._race_at(pair, program, byte, differ, barriers_hold=False)
        return shown if isinstance(shown, Witness) else None

    def _replay(
        self,
        pair: tuple[Sharer, Sharer],
        op_threads: tuple[OpThreads, OpThreads],
        program: int,
        byte: int,
    ) -> Witness | str:
        by_op = {sharer.access.op: side for sharer, side in zip(pair, op_threads, strict=True)}
        relations: set[str] = set()

        def differ(one: LaneVisit, other: LaneVisit) -> bool:
            relation = self._threads.relation(
                by_op[one.visit.op], one.lane, by_op[other.visit.op], other.lane
            )
            relations.add(relation)
            return relation == "apart"

        def threads(one: LaneVisit, other: LaneVisit) -> tuple[bool, bool]:
            sides = by_op[one.visit.op], by_op[other.visit.op]
            repeated = any(side.by_all for side in sides)
            return repeated, repeated and all(side.is_one for side in sides)

        result = self._race_at(pair, program, byte, differ, threads)
        if isinstance(result, Witness) or "apart" in relations:
            return result
        if "not known" in relations:
            return _NO_LAYOUT if self._threads.compiled else _SAME_PLACE
        return _LOCKSTEP if "one warp" in relations else result

    def _race_at(
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
        return raced(
            self._bound, ops, program, storage, byte, differ, threads, barriers_hold=barriers_hold
        )


def _loads_later(one: Sharer, other: Sharer, case: _Sequence) -> bool:
    """Return whether a case has a store first, and a load in a later trip of a loop."""
    first, second = (other, one) if case.turned else (one, other)
    return bool(case.trips) and first.part.kind == "store" and second.part.kind == "load"


def _have_all_lanes(places: tuple[_Place, _Place] | None, atoms: frozenset[Atom]) -> bool:
    """Return whether all lanes that determine the threads are among the accesses' atoms."""
    terms = [term for terms_of_side in places or () for term in terms_of_side]
    symbols = (atom for term in terms for atom in term.atoms() if isinstance(atom, Symbol))
    return atoms.issuperset(symbols)


def _common_loops(one: Sharer, other: Sharer) -> list[Loop]:
    """Return the loops around both accesses, outermost first."""
    loops = []
    for mine, others in zip(one.access.loops, other.access.loops, strict=False):
        if mine.op is not others.op:
            break
        loops.append(mine)
    return loops
