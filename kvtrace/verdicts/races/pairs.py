"""Two accesses of a call, by two different programs: whether they can touch one byte unordered.

Both are analyzed with the program's ids, lanes and trips free, so nothing depends on how large the
grid is. First the digits of their addresses; then what programs may touch together without harm:
one value that all write, and sections of one lock; then linear reasoning and a solver over two
copies of everything that is a program's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import TensorArgument
from kvtrace.symbolic.decide import Method, Proven, Refuted, decide_given
from kvtrace.symbolic.linear import propagated
from kvtrace.symbolic.terms import MOST_PROGRAMS, Symbol
from kvtrace.verdicts.races.confined import assumption_of
from kvtrace.verdicts.races.copies import Question
from kvtrace.verdicts.races.data_behind import data_behind, is_loaded
from kvtrace.verdicts.races.digits import Common, Side, are_apart, are_far_apart
from kvtrace.verdicts.races.exclusion import Exclusion
from kvtrace.verdicts.races.own_stores import loads_its_own
from kvtrace.verdicts.races.read_indices import Met, ReadIndices
from kvtrace.verdicts.races.releases import releases_of
from kvtrace.verdicts.races.same_values import store_the_same
from kvtrace.verdicts.races.sharers import Sharer, copy_of, is_unreached, sharers_of

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

_AXES: Final = tuple(Symbol("program", axis, 0, MOST_PROGRAMS - 1) for axis in range(3))
_LOCKS: Final = "all locks are open when the kernel starts"


@dataclass(frozen=True)
class Free:
    """The two do not race; `why` is the reason if they may meet all the same.

    `settled`: what one loads is the same in whatever order programs run.
    """

    method: Method
    why: str = ""
    assumption: str | None = None
    solver_ns: int = 0
    settled: bool = False


@dataclass(frozen=True)
class Suspect:
    """Two programs (linear ids) that seem to race at a byte from the storage's start."""

    programs: tuple[int, int]
    byte: int
    method: Method
    solver_ns: int = 0


@dataclass(frozen=True)
class Open:
    """It is not known; `reason` says why. `assumption` would make it safe.

    `evaluating` the grid may tell.
    """

    reason: str
    assumption: str | None = None
    solver_ns: int = 0
    evaluating: bool = True


Outcome = Free | Suspect | Open


class Pairs:
    """The accesses of one call that may race, and what becomes of each two of them."""

    def __init__(self, bound: BoundCall) -> None:
        self._bound = bound
        self._arguments = bound.call.arguments
        grid = bound.call.grid
        self._axes = tuple(axis for axis, extent in zip(_AXES, grid, strict=True) if extent > 1)
        self.sharers = sharers_of(bound)
        self._exclusion = Exclusion(bound.call.module, self.sharers, releases_of(bound))
        self._indices = ReadIndices(bound, self._axes)

    def clashing(self) -> Iterator[tuple[Sharer, Sharer]]:
        """Return each two sharers (or one) that race where they meet, the first one writing."""
        for position, one in enumerate(self.sharers):
            for other in self.sharers[position:]:
                if None not in (one.storage, other.storage) and one.storage is not other.storage:
                    continue
                one_width = one.access.element_bytes == other.access.element_bytes
                if one.part.clashes(other.part, one_width=one_width):
                    yield (one, other) if one.part.writes else (other, one)

    def judged(self, one: Sharer, other: Sharer) -> Outcome:
        """Tell whether two programs race that do these."""
        sides = (one.exact, other.exact)
        if any(side is not None and side.given.is_impossible for side in sides):
            return Free("interval")
        if one.side is None or other.side is None:
            return self._lost(one, other)
        if one.modulus is not None or other.modulus is not None:
            return self._judged_modulo(one, other)
        if are_far_apart(one.side, other.side):
            return Free("interval")
        common = Common(one.side, other.side)
        if common.are_equal(self._axes) or self._is_one_program(one.side, other.side):
            return Free("affine")
        if self._exclusion.draws_numbers(one, other, common):
            return Free("affine", "each program draws its own numbers from a counter")
        if store_the_same(self._bound, one, other, common):
            return Free("affine", "all programs write the same value")
        if self._loads_its_own(one, other):
            why = "each program loads what it has itself stored, and all store the same there"
            return Free("affine", why, settled=True)
        if self._exclusion.takes_turns(one, other, common):
            return Free("affine", "a lock lets one program at a time do it", _LOCKS)
        if one is not other and are_apart(one.side, other.side):
            return Free("affine")
        return self._decided(one, other, common)

    def _judged_modulo(self, one: Sharer, other: Sharer) -> Outcome:
        """Judge two of which an address may wrap: as ideal ones, if these lie near each other.

        Addresses that are equal modulo the modulus then are equal.
        """
        moduli = {each.modulus for each in (one, other) if each.modulus is not None}
        if one.side is not None and other.side is not None and len(moduli) == 1:
            common = Common(one.side, other.side)
            if common.spread <= min(moduli) and common.are_equal(self._axes):
                return Free("affine")
        return self._lost(one, other)

    def _lost(self, one: Sharer, other: Sharer) -> Outcome:
        """Say why it is not known where one of two goes."""
        data = data_behind(self._bound, (one, other))
        if data is not None and not data.evaluating:
            if self._is_unreached(one, other):
                return Free("affine")
            assumption = assumption_of(self._bound, (one, other), None, self._axes)
            return Open(data.reason, assumption, evaluating=False)
        return Open(one.reason or other.reason or "its address could not be derived")

    # -- what settles a pair -------------------------------------------------------------------

    def _is_unreached(self, *pair: Sharer) -> bool:
        """Whether no program gets to one of two accesses, wherever it would go."""
        exact = (each.access for each in pair if each.exact is not None)
        return any(is_unreached(self._bound, access) for access in exact)

    def _is_one_program(self, one: Side, other: Side) -> bool:
        """Whether guards leave only one and the same program on both sides."""
        found = [_only_program(side, self._axes) for side in (one, other)]
        return found[0] is not None and found[0] == found[1]

    def _loads_its_own(self, one: Sharer, other: Sharer) -> bool:
        """Whether one stores what all programs store, and the other loads it in each of them."""
        if other.part.writes or one.side is None:
            return False
        bound, common = self._bound, Common(one.side, one.side)
        alike = store_the_same(bound, one, one, common)
        return alike and loads_its_own(bound, one, other, self.sharers)

    # -- two copies ----------------------------------------------------------------------------

    def _decided(self, one: Sharer, other: Sharer, common: Common) -> Outcome:
        """Look for two programs that meet, with a solver if necessary."""
        bound = self._bound
        assert one.storage is not None
        nbytes = one.storage.nbytes
        copies = copy_of(bound, one), copy_of(bound, other)
        question = Question(*copies, self._axes, bound.ranges, nbytes)
        data = data_behind(bound, (one, other))
        if data is not None and not data.evaluating and self._is_unreached(one, other):
            return Free("affine")
        if question.is_lost:
            reason = "a branch that is not followed is part of an address"
            return Open(reason) if data is None else Open(data.reason, evaluating=data.evaluating)
        if any(is_loaded(each.access.offset.atoms()) for each in (one, other)):
            # Of an address from memory a solver finds but what the memory might hold.
            decision = decide_given(question.claim, question.given, budget=0)
        else:
            decision = bound.decide(question.claim, question.given)
        if isinstance(decision, Proven):
            return Free(decision.method, solver_ns=decision.solver_ns)
        read = self._indices.judged(*copies, nbytes)
        if isinstance(read, Met):
            first, second = map(bound.program_of, read.sides)
            return Suspect((first, second), read.byte, "affine", decision.solver_ns)
        if read:
            return Free("affine", solver_ns=decision.solver_ns)
        if data is not None:
            assumption = assumption_of(bound, (one, other), common, self._axes)
            return Open(data.reason, assumption, decision.solver_ns, data.evaluating)
        if not isinstance(decision, Refuted):
            return Open(decision.reason, solver_ns=decision.solver_ns)
        first, second = (bound.program_of(side) for side in question.sides(decision.model))
        byte = question.byte(decision.model)
        return Suspect((first, second), byte, decision.method, decision.solver_ns)

    def unrecorded_atomics(self) -> tuple[str, ...]:
        """Return the tensors without contents through which programs may wait for each other."""
        waiting = (s.access.argument for s in self.sharers if s.part.acquires)
        tensors = (self._arguments[argument] for argument in waiting if argument is not None)
        names = {t.name for t in tensors if isinstance(t, TensorArgument) if t.storage.data is None}
        return tuple(sorted(names))


def _only_program(side: Side, axes: Sequence[Symbol]) -> tuple[int, ...] | None:
    """Return the only program that can be active, if there is but one."""
    found: tuple[int, ...] | None = None
    for forms in side.given.alternatives:
        box = dict(side.ranges.intervals)
        for axis in axes:
            box.setdefault(axis, side.ranges.of(axis))
        if not propagated(forms, box):
            continue
        if any(box[axis][0] != box[axis][1] for axis in axes):
            return None
        program = tuple(int(box[axis][0]) for axis in axes)
        if found not in (None, program):
            return None
        found = program
    return found
