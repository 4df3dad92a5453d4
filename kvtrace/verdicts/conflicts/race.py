"""The rule `race`: each op that writes, against all that other programs of the launch do.

On formulas first: between the two steps of `search.py` comes what programs may touch together
without harm, such as numbers that each draws for itself, one value that all write, and sections of
one lock. A pair that seems to race is run before it is shown. What formulas leave open is
decided by who touches what over the whole grid, and, where atomics may order programs, by following
them one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from kvtrace.evaluate import TensorArgument
from kvtrace.ir import Op
from kvtrace.symbolic.conditions import TRUE, Condition, at_least, conjunction
from kvtrace.symbolic.prover import Proven
from kvtrace.symbolic.prover.digits import Common
from kvtrace.symbolic.terms import Substitution, Symbol, Term, lane
from kvtrace.verdicts.conflicts.copies import two_programs
from kvtrace.verdicts.conflicts.data import unrecorded
from kvtrace.verdicts.conflicts.exclusion import Exclusion
from kvtrace.verdicts.conflicts.messages import RACE, race
from kvtrace.verdicts.conflicts.outcomes import Free, Meeting, Open, Shown
from kvtrace.verdicts.conflicts.pairs import Pairs, evaluation, judged
from kvtrace.verdicts.conflicts.parts import parts_of
from kvtrace.verdicts.conflicts.race_evaluated import EvaluatedRaces
from kvtrace.verdicts.conflicts.race_replay import replayed
from kvtrace.verdicts.conflicts.releases import releases_of
from kvtrace.verdicts.conflicts.same_values import store_the_same
from kvtrace.verdicts.conflicts.search import by_digits, searched
from kvtrace.verdicts.conflicts.sharers import Sharer, copy_of, pairs_of_one_storage, sharers_of
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall
    from kvtrace.verdicts.concrete import Concrete

_ORDERED: Final = "atomics may order the programs that meet here"
_LOCKS: Final = "all locks are open when the kernel starts"


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return one verdict for each op that writes: stores and atomics."""
    return judged(bound, ProgramPairs)


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides ops by who touches what over the whole grid."""
    return evaluation(bound, ProgramPairs, undecided, EvaluatedRaces)


class ProgramPairs(Pairs):
    """The pairs of accesses by two programs of one call, and the outcome of each."""

    rule: ClassVar[str] = RACE
    least_programs: ClassVar[int] = 2
    always_judged: ClassVar[frozenset[str]] = frozenset({"store", "atomic"})
    one_is_enough: ClassVar[bool] = False

    def __init__(self, bound: BoundCall) -> None:
        super().__init__(bound)
        self._arguments = bound.call.arguments
        self._actors = two_programs(bound.call.grid)
        self._parts = parts_of(bound.call.module)
        self.sharers = sharers_of(bound)
        self._exclusion = Exclusion(bound.call.module, self.sharers, releases_of(bound))

    def clashing(self) -> Iterator[tuple[Sharer, Sharer]]:
        """Return each two sharers (or one) that race where they meet, the first one writing."""
        for one, other in pairs_of_one_storage(self.sharers):
            one_width = one.access.element_bytes == other.access.element_bytes
            if one.part.clashes(other.part, one_width=one_width):
                yield (one, other) if one.part.writes else (other, one)

    def outcome(self, one: Sharer, other: Sharer) -> Free | Shown | Open:
        """Return whether two programs race by these accesses; a race that formulas show is run."""
        if self._parts.unseen is not None:  # it may order programs
            return Open(f"the kernel has {self._parts.unseen}", evaluating=False)
        found = self.judged(one, other)
        if not isinstance(found, Meeting):
            return found
        bound, solver_ns = self._bound, found.solver_ns
        if self._parts.synchronises:
            hidden = self._unrecorded_atomics()
            reason = f"{_ORDERED}, by {unrecorded(hidden)}" if hidden else _ORDERED
            return Open(reason, solver_ns=solver_ns)
        assert one.storage is not None
        ops, whole = (one.access.op, other.access.op), bound.lanes <= bound.budget.lanes
        witness = replayed(bound.call, ops, found.programs, one.storage, found.byte, whole=whole)
        if witness is None:
            reason = "a race that formulas show did not show when it was run"
            return Open(reason, solver_ns=solver_ns)
        return Shown(witness, found.method, solver_ns)

    def violation(self, op: Op, shown: Sequence[Shown], solver_ns: int) -> Verdict:
        """Return the violation of an op: its first race, and how many other ops it races with."""
        first, *others = (each.witness.seen_from(op) for each in shown)
        more = {witness.second.op for witness in others} - {first.second.op}
        return race(
            self._bound.call, first, shown[0].method, others=len(more), solver_ns=solver_ns,
            missed_by=shown[0].missed_by,
        )  # fmt: skip

    def judged(self, one: Sharer, other: Sharer) -> Free | Meeting | Open:
        """Return by formulas alone whether two programs race by these accesses."""
        found = by_digits(self._bound, one, other, self._actors)
        if not isinstance(found, Common):
            return found
        if self._exclusion.draws_numbers(one, other, found):
            return Free("affine", "each program draws its own numbers from a counter")
        if store_the_same(self._bound, one, other, found):
            return Free("affine", "all programs write the same value")
        if self._loads_its_own(one, other):
            why = "each program loads what it has itself stored, and all store the same there"
            return Free("affine", why, settled=True)
        if self._exclusion.takes_turns(one, other, found):
            return Free("affine", "a lock lets one program at a time do it", assumption=_LOCKS)
        return searched(self._bound, one, other, self._actors, found)

    def _loads_its_own(self, one: Sharer, other: Sharer) -> bool:
        """Whether `one` stores the same in all programs, and each `other` loads its own store."""
        if other.part.writes or one.side is None:
            return False
        bound, common = self._bound, Common(one.side, one.side)
        alike = store_the_same(bound, one, one, common)
        return alike and _loads_what_it_stored(bound, one, other, self.sharers)

    def _unrecorded_atomics(self) -> tuple[str, ...]:
        """Return the tensors without contents through which programs may wait for each other."""
        waiting = (s.access.argument for s in self.sharers if s.part.acquires)
        tensors = (self._arguments[argument] for argument in waiting if argument is not None)
        names = {t.name for t in tensors if isinstance(t, TensorArgument) if t.storage.data is None}
        return tuple(sorted(names))


# -- loads of what a program has itself stored -----------------------------------------------------


def _loads_what_it_stored(
    bound: BoundCall, store: Sharer, load: Sharer, sharers: Sequence[Sharer]
) -> bool:
    """Whether each program has itself stored to all places that it loads from, before the load.

    Nobody writes the storage but the one store. If all programs store the same wherever two of them
    meet, which is for the caller to tell, the load then finds that value in every order of
    programs, whoever's store came last.
    """
    others = (s for s in sharers if s.storage is None or s.storage is store.storage)
    if [each for each in others if each.part.writes] != [store]:
        return False
    if load.part.kind != "load" or not _comes_first(bound, store, load):
        return False
    if store.exact is None or load.exact is None:
        return False
    covered = _covered(bound, store, load)
    return covered is not None and isinstance(bound.prove(covered, load.exact.given), Proven)


def _comes_first(bound: BoundCall, store: Sharer, load: Sharer) -> bool:
    """Whether every program stores, in the kernel's own first block, before it gets to the load."""
    access = store.access
    first = bound.call.module.main.op.regions[0].blocks[0]
    always = access.guard is TRUE and not access.loops and not access.calls
    return always and access.op.block is first and access.op.index < load.access.op.index


def _covered(bound: BoundCall, store: Sharer, load: Sharer) -> Condition | None:
    """Return the condition that a lane of the store covers the load's place; None: not known.

    The store's lanes are elements in a row: the lane is how many the load is from the first.
    """
    (access, width), shape = (store.access, store.access.element_bytes), store.access.shape
    if load.access.element_bytes != width or len(shape) != 1 or shape[0] < 2:
        return None
    along = lane(0, shape[0])
    first = copy_of(bound, store)[0] - along * width
    symbol = next(iter(along.atoms()))
    if not isinstance(symbol, Symbol) or any(symbol in atom.within() for atom in first.atoms()):
        return None
    gap = copy_of(bound, load)[0] - first
    if any(factor % width for factor in gap.coefficients.values()):
        return None
    place = Term({monomial: factor // width for monomial, factor in gap.coefficients.items()})
    if access.mask.opaques():
        return None
    active = access.mask.substitute(Substitution({symbol: place}))
    return conjunction((at_least(place), at_least(shape[0] - 1 - place), active))
