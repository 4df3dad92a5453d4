"""Two memory ops of one program at one byte: whether threads may do them in either order.

First whether different lanes meet at all, then whether a barrier lies between, in the kernel or in
the code that was made of it; then whether one thread does both, by the layouts of that code. What
is left is run in two orders.
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
from kvtrace.verdicts.conflicts.outcomes import Free, Meeting, Open, Shown, Witness
from kvtrace.verdicts.conflicts.pairs import Pairs
from kvtrace.verdicts.conflicts.pipelined import may_be_pipelined, trips_started_early
from kvtrace.verdicts.conflicts.same_values import store_the_same
from kvtrace.verdicts.conflicts.search import lanes_of, meeting, shared_by_lanes
from kvtrace.verdicts.conflicts.sharers import Sharer, pairs_of_one_storage, sharers_of
from kvtrace.verdicts.conflicts.threads import Doing, Threads, same_threads
from kvtrace.verdicts.ideal_trips import has_ideal_trips
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtrace.symbolic.summary import Loop
    from kvtrace.verdicts.binding import BoundCall

_BARRIER: Final = "a barrier orders them"
_LANE: Final = "one lane does both"
_THREAD: Final = "one thread does both, by the layout of its TTGIR"
_OWN: Final = "each thread uses what it loads for what it stores itself"
_ALIKE: Final = "both store the same value"
_LOCKSTEP: Final = "only the lockstep of one warp orders the lanes that meet"
_DOUBTFUL: Final = (
    "no barrier of the kernel's own orders the lanes that meet, and whether the code that was "
    "compiled of it has one between is not known"
)
_ONE_CTA: Final = (
    "a program is of several CTAs, and a barrier holds the threads of one of them only; whether "
    "the lanes that meet are of one CTA is not known"
)
_ATOMIC: Final = "one of two that meet is atomic, which by itself orders no lanes of a program"
_DESCRIPTOR: Final = "one of two that meet goes through a descriptor, whose copies are not followed"
_NO_LAYOUT: Final = "which threads do it is not known: it was compiled with a layout not read here"
_SEVERAL: Final = "several threads load what one of them stores, or loads again"
_PIPELINED: Final = (
    "a trip loads what an earlier one stores, the loop may be pipelined, which starts loads early, "
    "and no TTGIR was recorded"
)
_CALLED: Final = "one of two that meet is in a function that is called"


_SAME_PLACE: Final = (
    "lanes of one number in blocks of different shapes meet, which one thread may hold; no TTGIR "
    "was recorded"
)

_Place = tuple[Term, ...]
"""The warp, and the thread in it; or the number of a lane in its block."""


@dataclass(frozen=True)
class _Case:
    """One order in which two can come: `turned` has the second one of the pair first.

    `trips` are of the common loops that may be in different trips, outermost first; of the first of
    them the earlier op is in an earlier trip, in the one before if `once`.
    """

    turned: bool
    trips: tuple[Symbol, ...]
    once: bool
    doubtful: bool


@dataclass(frozen=True)
class _Differing:
    """What is to differ where two lanes meet: one of `lanes`, or the place of either side.

    `why` says what keeps the two apart where none do, and `alike` why that is not known.
    """

    lanes: tuple[Symbol, ...] | None = None
    places: tuple[_Place, _Place] | None = None
    why: str = ""
    alike: str = ""


class LanePairs(Pairs):
    """The accesses of one call that lanes of one program may race with."""

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
        """Return each two sharers that race where they meet out of order, in the text's order.

        One and the same op counts in loops, of which two trips may clash.
        """
        for one, other in pairs_of_one_storage(sharers_of(self._bound)):
            kinds = {one.part.kind, other.part.kind}
            if kinds in ({"load"}, {"atomic"}) or (one is other and not self._own(one, one)):
                continue
            yield (one, other) if one.access.op.index <= other.access.op.index else (other, one)

    def outcome(self, one: Sharer, other: Sharer) -> Free | Shown | Open:
        """Return whether two lanes race by these accesses; a race that formulas show is run."""
        doing = self._threads.doing(one.access), self._threads.doing(other.access)
        lanes = self._apart(one, other, doing)
        if isinstance(lanes, Free):
            return lanes
        cases = self._cases(one, other)
        if not cases:
            return Free("affine", _BARRIER)
        if self._store_alike(one, other):
            return Free("affine", _ALIKE)
        if isinstance(lanes, Open):
            return lanes
        found = [self._met(one, other, case, lanes) for case in cases]
        left = [(case, met) for case, met in zip(cases, found, strict=True)
                if not isinstance(met, Free)]  # fmt: skip
        if not left:
            solver_ns = sum(each.solver_ns for each in found)
            return Free("solver" if solver_ns else "affine", lanes.why, solver_ns)
        return self._decided(one, other, doing, left)

    def violation(self, op: Op, shown: Sequence[Shown], solver_ns: int) -> Verdict:
        """Return the violation of an op by the first of its races."""
        return race_within(self._bound.call, op, shown[0], solver_ns)

    def _store_alike(self, one: Sharer, other: Sharer) -> bool:
        """Whether both store one value where they meet."""
        if not one.part.kind == other.part.kind == "store" or one.exact is None:
            return False
        if other.exact is None:
            return False
        shared = shared_by_lanes(self._module, self._own(one, other))
        common = Common(one.exact, other.exact, shared)
        return store_the_same(self._bound, one, other, common)

    # -- which lanes meet ----------------------------------------------------------------------

    def _apart(
        self, one: Sharer, other: Sharer, doing: tuple[Doing, Doing]
    ) -> Free | Open | _Differing:
        """Tell whether lanes that may be of different threads meet, in whatever trips."""
        own = self._own(one, other)
        same = one.access.shape == other.access.shape
        pointed = all(each.access.op.name in POINTED for each in (one, other))
        found: Free | Meeting | Open = Free("interval")
        if same and pointed:
            found = self._meeting(one, other, own, lanes_of(one))
            why = self._one_thread(one, other, doing)
            if isinstance(found, Free) and why is not None:
                if self._is_started_early(one, other):
                    return Open(_PIPELINED, evaluating=False)
                return Free(found.method, why, found.solver_ns)
        if isinstance(found, Free):
            found = self._meeting(one, other, own, own if one is other else None)
        if isinstance(found, Free):
            return Free(found.method, solver_ns=found.solver_ns)
        if not pointed:
            return Open(_DESCRIPTOR, evaluating=False)
        if isinstance(found, Open):
            return found if self._cases(one, other) else Free("affine", _BARRIER)
        if any(each.by_all and not each.is_one for each in doing):
            return Open(_SEVERAL, evaluating=False)
        if any(each.by_all for each in doing):
            return _Differing()
        if not self._threads.compiled:
            if same:
                return _Differing(lanes=lanes_of(one), why=_LANE)
            numbers = (doing[0].number,), (doing[1].number,)
            return _Differing(places=numbers, alike=_SAME_PLACE)
        places = doing[0].places(), doing[1].places()
        if places[0] is None or places[1] is None or not self._in_turn(one, other):
            return _Differing()
        return _Differing(places=(places[0], places[1]), why=_THREAD)

    def _is_started_early(self, one: Sharer, other: Sharer) -> bool:
        """Whether a load in a later trip may come before the store that it reads, in one thread.

        Of code that was not recorded: its loops may have been pipelined.
        """
        if self._threads.compiled:
            return False
        return any(
            not isinstance(self._met(one, other, case, _Differing()), Free)
            for case in self._cases(one, other)
            if _loads_later(one, other, case)
            and any(may_be_pipelined(self._bound.call, loop.op) for loop in _common(one, other))
        )

    def _one_thread(self, one: Sharer, other: Sharer, doing: tuple[Doing, Doing]) -> str | None:
        """Say why one thread does both where only the same lanes meet; None: it may not."""
        if any(each.by_all for each in doing):
            return None
        is_own = any(each.is_own for each in doing)
        if self._threads.compiled:
            known = all(each.is_known for each in doing) and self._in_turn(one, other)
            if not known or not same_threads(*doing):
                return None
            return _OWN if is_own else _THREAD
        return _OWN if is_own else _LANE

    def _in_turn(self, one: Sharer, other: Sharer) -> bool:
        """Whether a thread that does both does them in the kernel's order.

        A load that a loop was pipelined for is asynchronous, and began some trips before.
        """
        compiled = self._bound.call.compiled
        if compiled is None or compiled.barriers is None or not _common(one, other):
            return True
        return all(compiled.barriers.ends(each.access.op) for each in (one, other))

    def _meeting(
        self,
        one: Sharer,
        other: Sharer,
        own: Sequence[Symbol],
        differing: Sequence[Symbol] | None,
        when: Callable[[Substitution], Condition] | None = None,
    ) -> Free | Meeting | Open:
        if one.storage is None or other.storage is None:
            data = data_behind(self._bound, (one, other))
            reason = one.reason or other.reason or "its address could not be derived"
            return Open(data.reason if data else reason, evaluating=False)
        shared = shared_by_lanes(self._module, own)
        return meeting(self._bound, one, other, Actors(differing, shared, when))

    # -- orders --------------------------------------------------------------------------------

    def _own(self, one: Sharer, other: Sharer) -> tuple[Symbol, ...]:
        """Return the trips of the loops that both are in, where there are several."""
        return tuple(loop.trip for loop in _common(one, other) if self._turns(loop))

    def _turns(self, loop: Loop) -> bool:
        """Whether a loop may take a second trip."""
        several = self._bound.ranges.of(loop.trip)[1] > 0
        return several or not has_ideal_trips(self._bound, loop.op)

    def _cases(self, one: Sharer, other: Sharer) -> list[_Case]:
        """Return the orders in which the two can come with no barrier between."""
        found: list[_Case] = []
        for turned in (False, True):
            first, second = (other, one) if turned else (one, other)
            if first is second and turned:
                continue
            if first.access.calls or second.access.calls:
                return [_Case(False, self._own(one, other), False, True)]
            found += (_Case(turned, *case) for case in self._open(first, second))
        return found

    def _open(
        self, first: Sharer, second: Sharer
    ) -> Iterator[tuple[tuple[Symbol, ...], bool, bool]]:
        """Yield the rest of the cases in which the second comes after the first."""
        separate = self._barriers.separate(first.access.op, second.access.op)
        if separate:
            return
        common = _common(first, second)
        once: dict[tuple[int, bool, bool], bool] = {}
        for path in self._barriers.order.paths(first.access.op, second.access.op):
            inside = path.turn < len(common)
            key = min(path.turn, len(common)), path.doubtful, path.nested
            once[key] = once.get(key, True) and (path.once or not inside)
        for (turn, doubtful, nested), one_turn in sorted(once.items()):
            if turn < len(common):
                if not self._turns(common[turn]):
                    continue
            elif first is second:
                continue
            if doubtful and (not once.get((turn, False, False), True)):
                continue  # a path that is not doubtful says as much
            trips = tuple(loop.trip for loop in common[turn:] if self._turns(loop))
            unclear = doubtful and (nested or bool(common))
            yield trips, one_turn, self._is_doubtful(doubtful, separate, unclear)

    def _is_doubtful(self, doubtful: bool, separate: bool | None, unclear: bool) -> bool:
        """Whether there may be a barrier all the same.

        `unclear`: PTX does not say of a loop in which trip, or whether it has one.
        """
        if not self._threads.compiled:
            return doubtful
        return separate is None or unclear

    # -- what is left --------------------------------------------------------------------------

    def _met(
        self, one: Sharer, other: Sharer, case: _Case, lanes: _Differing
    ) -> Free | Meeting | Open:
        """Tell whether different threads meet in one order, those of different warps first."""
        trip = case.trips[0] if case.trips else None
        atoms = frozenset[Atom]().union(
            *(s.access.offset.atoms() | s.access.active.atoms() for s in (one, other))
        )
        # Of a loop that takes more trips than by its formula, all are as the first.
        is_ordered = trip is not None and trip in atoms and self._bound.ranges.of(trip)[1] > 0
        ends = trip.term if trip is not None and is_ordered else None
        places = lanes.places if _are_of(lanes.places, atoms) else None

        def asked(parts: int) -> Free | Meeting | Open:
            def when(rename: Substitution) -> Condition:
                found: list[Condition] = []
                if ends is not None:
                    order = (ends, rename(ends))
                    early, late = order[::-1] if case.turned else order
                    found.append(equal(early + 1, late) if case.once else less(early, late))
                if places is not None:
                    pairs = zip(places[0][:parts], places[1], strict=False)
                    same = (equal(mine, rename(others)) for mine, others in pairs)
                    found.append(~conjunction(same))
                return conjunction(found)

            needed = when if ends is not None or places is not None else None
            return self._meeting(one, other, case.trips, lanes.lanes, needed)

        met = asked(1)
        if places is None or not isinstance(met, Free):
            return met
        if lanes.alike:
            return Open(lanes.alike, evaluating=False)
        again = asked(2)
        return Open(_LOCKSTEP, evaluating=False) if isinstance(again, Meeting) else again

    def _decided(
        self, one: Sharer, other: Sharer, doing: tuple[Doing, Doing],
        left: Sequence[tuple[_Case, Free | Meeting | Open]],
    ) -> Free | Shown | Open:  # fmt: skip
        """Run what seems to race; say why it is open where that does not show it."""
        solver_ns = sum(met.solver_ns for _, met in left)
        for case, _ in left:
            early = self._run_early(one, other, case)
            if early is not None:
                return Shown(early, "affine", solver_ns, is_pipelined=True)
        for _, met in left:
            if isinstance(met, Open):
                return met
        if one.access.calls or other.access.calls:
            return Open(_CALLED, evaluating=False, solver_ns=solver_ns)
        meetings = [met for _, met in left if isinstance(met, Meeting)]
        for met in meetings if self._barriers.several_blocks else ():
            across = self._run_across((one, other), doing, met.programs[0], met.byte)
            if across is not None:
                return Shown(across, met.method, solver_ns, is_across=True)
        if self._threads.one_warp:
            return Open(_LOCKSTEP, evaluating=False, solver_ns=solver_ns)
        sure = [met for case, met in left if not case.doubtful and isinstance(met, Meeting)]
        if not sure:
            doubt = _ONE_CTA if self._barriers.several_blocks else _DOUBTFUL
            return Open(doubt, evaluating=False, solver_ns=solver_ns)
        reason = ""
        last = self._bound.programs - 1
        is_atomic = "atomic" in (one.part.kind, other.part.kind)
        for met in sure:
            # A barrier in a branch may hold this program and not another one.
            for program in dict.fromkeys((met.programs[0], 0, min(1, last), last)):
                shown = self._run((one, other), doing, program, met.byte)
                if isinstance(shown, Witness):
                    return Shown(shown, met.method, solver_ns)
                if program == met.programs[0]:
                    reason = _ATOMIC if is_atomic else shown
        return Open(reason, evaluating=False, solver_ns=solver_ns)

    def shown_at(self, one: Sharer, other: Sharer, program: int, byte: int) -> Shown | None:
        """Run a program in which both were seen to touch a byte; None: no race shows.

        Args:
            one: an access.
            other: another one, or the same in other trips.
            program: linear id of a program that does both.
            byte: from the start of the storage that both go to.

        """
        if one.access.calls or other.access.calls:
            return None
        doing = self._threads.doing(one.access), self._threads.doing(other.access)
        if self._barriers.several_blocks:
            across = self._run_across((one, other), doing, program, byte)
            if across is not None:
                return Shown(across, "evaluated", is_across=True)
        sure = any(not case.doubtful for case in self._cases(one, other))
        if not sure or self._threads.one_warp:
            return None
        shown = self._run((one, other), doing, program, byte)
        return Shown(shown, "evaluated") if isinstance(shown, Witness) else None

    def _run_early(self, one: Sharer, other: Sharer, case: _Case) -> Witness | None:
        """Run a load before the store of an earlier trip, where a pipelined loop does that."""
        if not _loads_later(one, other, case) or case.trips != (_common(one, other)[-1].trip,):
            return None
        load = one if case.turned else other
        loop = _common(one, other)[-1]
        early = trips_started_early(self._bound.call, load.access.op, loop.op)
        trip = case.trips[0].term

        def within(rename: Substitution) -> Condition:
            store, late = (rename(trip), trip) if case.turned else (trip, rename(trip))
            return conjunction((less(store, late), ~less(store + early, late)))

        met = self._meeting(one, other, case.trips, None, within) if early else None
        if not isinstance(met, Meeting):
            return None

        def differ(first: LaneVisit, second: LaneVisit) -> bool:
            trips = second.visit.iteration - first.visit.iteration
            return second.visit.op is load.access.op and 0 < trips <= early

        shown = self._raced((one, other), met.programs[0], met.byte, differ)
        return shown if isinstance(shown, Witness) else None

    def _run_across(
        self, pair: tuple[Sharer, Sharer], doing: tuple[Doing, Doing], program: int, byte: int
    ) -> Witness | None:
        """Run lanes of different CTAs in two orders, as a barrier of one CTA does not hold both."""
        by_op = {sharer.access.op: each for sharer, each in zip(pair, doing, strict=True)}

        def differ(one: LaneVisit, other: LaneVisit) -> bool:
            mine, theirs = by_op[one.visit.op], by_op[other.visit.op]
            return self._threads.in_other_ctas(mine, one.lane, theirs, other.lane)

        shown = self._raced(pair, program, byte, differ, barriers_hold=False)
        return shown if isinstance(shown, Witness) else None

    def _run(
        self, pair: tuple[Sharer, Sharer], doing: tuple[Doing, Doing], program: int, byte: int
    ) -> Witness | str:
        by_op = {sharer.access.op: each for sharer, each in zip(pair, doing, strict=True)}
        seen: set[str] = set()

        def differ(one: LaneVisit, other: LaneVisit) -> bool:
            relation = self._threads.relation(
                by_op[one.visit.op], one.lane, by_op[other.visit.op], other.lane
            )
            seen.add(relation)
            return relation == "apart"

        def threads(one: LaneVisit, other: LaneVisit) -> tuple[bool, bool]:
            sides = by_op[one.visit.op], by_op[other.visit.op]
            repeated = any(each.by_all for each in sides)
            return repeated, repeated and all(each.is_one for each in sides)

        found = self._raced(pair, program, byte, differ, threads)
        if isinstance(found, Witness) or "apart" in seen:
            return found
        if "not known" in seen:
            return _NO_LAYOUT if self._threads.compiled else _SAME_PLACE
        return _LOCKSTEP if "one warp" in seen else found

    def _raced(
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


def _loads_later(one: Sharer, other: Sharer, case: _Case) -> bool:
    """Whether a case has a store first, and a load in a later trip of a loop."""
    first, second = (other, one) if case.turned else (one, other)
    return bool(case.trips) and first.part.kind == "store" and second.part.kind == "load"


def _are_of(places: tuple[_Place, _Place] | None, atoms: frozenset[Atom]) -> bool:
    """Whether all lanes that threads follow from are among the atoms of the accesses."""
    terms = [term for place in places or () for term in place]
    symbols = (atom for term in terms for atom in term.atoms() if isinstance(atom, Symbol))
    return atoms.issuperset(symbols)


def _common(one: Sharer, other: Sharer) -> list[Loop]:
    """Return the loops that both are in, outermost first."""
    found = []
    for mine, others in zip(one.access.loops, other.access.loops, strict=False):
        if mine.op is not others.op:
            break
        found.append(mine)
    return found
