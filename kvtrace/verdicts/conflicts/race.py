"""The rule `race`: each op that writes, against all accesses of other programs of the launch.

Formulas come first. Between the two steps of `search.py` they look for reasons why programs may
touch the same byte without harm: numbers that each program draws from a counter, one value that all
programs write, and sections of one lock. A pair that seems to race is replayed before it is
reported. An evaluation of the whole grid decides pairs that formulas leave open and, where atomics
may order programs, follows the programs one by one.
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
from kvtrace.verdicts.conflicts.outcomes import (
    NoConflict,
    ShownConflict,
    SuspectedConflict,
    Undecided,
)
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

_ORDERED: Final = "atomics may order the programs that access the same byte"
_LOCKS: Final = "all locks are open when the kernel starts"


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return one verdict for each op that writes: stores and atomics."""
    return judged(bound, ProgramPairs)


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides ops by the bytes that programs touch over the whole grid."""
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
        """Yield each pair of accesses that race if they meet, a writing one first."""
        for one, other in pairs_of_one_storage(self.sharers):
            one_width = one.access.element_bytes == other.access.element_bytes
            if one.part.clashes(other.part, one_width=one_width):
                yield (one, other) if one.part.writes else (other, one)

    def outcome(self, one: Sharer, other: Sharer) -> NoConflict | ShownConflict | Undecided:
        """Return whether two programs race by these accesses; a race by formulas is replayed."""
        if self._parts.unseen is not None:  # it may order programs
            return Undecided(f"the kernel has {self._parts.unseen}", evaluating=False)
        meeting = self.judged(one, other)
        if not isinstance(meeting, SuspectedConflict):
            return meeting
        bound, solver_ns = self._bound, meeting.solver_ns
        if self._parts.synchronizes:
            hidden = self._unrecorded_atomics()
            reason = f"{_ORDERED}, by {unrecorded(hidden)}" if hidden else _ORDERED
            return Undecided(reason, solver_ns=solver_ns)
        assert one.storage is not None
        ops, whole = (one.access.op, other.access.op), bound.lanes <= bound.budget.lanes
        witness = replayed(
            bound.call, ops, meeting.programs, one.storage, meeting.byte, whole=whole
        )
        if witness is None:
            reason = "a race found by formulas did not occur in the replay"
            return Undecided(reason, solver_ns=solver_ns)
        return ShownConflict(witness, meeting.method, solver_ns)

    def violation(self, op: Op, shown: Sequence[ShownConflict], solver_ns: int) -> Verdict:
        """Return the violation of an op: its first race, and the number of other ops in races."""
        first, *others = (race_.witness.seen_from(op) for race_ in shown)
        more = {witness.second.op for witness in others} - {first.second.op}
        return race(
            self._bound.call, first, shown[0].method, others=len(more), solver_ns=solver_ns,
            missed_by=shown[0].missed_by,
        )  # fmt: skip

    def judged(self, one: Sharer, other: Sharer) -> NoConflict | SuspectedConflict | Undecided:
        """Return whether two programs race by these accesses, by formulas alone."""
        common = by_digits(self._bound, one, other, self._actors)
        if not isinstance(common, Common):
            return common
        if self._exclusion.draws_numbers(one, other, common):
            return NoConflict("affine", "each program draws its own numbers from a counter")
        if store_the_same(self._bound, one, other, common):
            return NoConflict("affine", "all programs write the same value")
        if self._loads_its_own(one, other):
            why = "each program loads what it has itself stored, and all store the same value there"
            return NoConflict("affine", why, settled=True)
        if self._exclusion.takes_turns(one, other, common):
            return NoConflict(
                "affine", "a lock lets one program at a time do it", assumption=_LOCKS
            )
        return searched(self._bound, one, other, self._actors, common)

    def _loads_its_own(self, one: Sharer, other: Sharer) -> bool:
        """Return whether `other` loads what its own program stored, the same in all programs."""
        if other.part.writes or one.side is None:
            return False
        bound, common = self._bound, Common(one.side, one.side)
        alike = store_the_same(bound, one, one, common)
        return alike and _has_stored_all(bound, one, other, self.sharers)

    def _unrecorded_atomics(self) -> tuple[str, ...]:
        """Return the tensors without contents at which programs may wait for each other."""
        waiting = (s.access.argument for s in self.sharers if s.part.acquires)
        tensors = (self._arguments[argument] for argument in waiting if argument is not None)
        names = {t.name for t in tensors if isinstance(t, TensorArgument) if t.storage.data is None}
        return tuple(sorted(names))


# -- loads of what a program has itself stored -----------------------------------------------------


def _has_stored_all(
    bound: BoundCall, store: Sharer, load: Sharer, sharers: Sequence[Sharer]
) -> bool:
    """Return whether each program has stored to every address of the load, before the load.

    The store must be the only one to the storage. If all programs store the same value wherever two
    of them meet, which the caller checks, the load then reads that value in every order of
    programs.
    """
    others = (s for s in sharers if s.storage is None or s.storage is store.storage)
    if [sharer for sharer in others if sharer.part.writes] != [store]:
        return False
    if load.part.kind != "load" or not _comes_first(bound, store, load):
        return False
    if store.exact is None or load.exact is None:
        return False
    covered = _covering_condition(bound, store, load)
    return covered is not None and isinstance(bound.prove(covered, load.exact.given), Proven)


def _comes_first(bound: BoundCall, store: Sharer, load: Sharer) -> bool:
    """Return whether every program does the store, in the kernel's first block, before the load."""
    access = store.access
    first = bound.call.module.main.op.regions[0].blocks[0]
    always = access.guard is TRUE and not access.loops and not access.calls
    return always and access.op.block is first and access.op.index < load.access.op.index


def _covering_condition(bound: BoundCall, store: Sharer, load: Sharer) -> Condition | None:
    """Return the condition that a lane of the store covers the load's address; None: not known.

    The lanes of the store are consecutive elements: the covering lane is the load's distance, in
    elements, from the first.
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
    distance = Term({monomial: factor // width for monomial, factor in gap.coefficients.items()})
    if access.mask.opaques():
        return None
    active = access.mask.substitute(Substitution({symbol: distance}))
    return conjunction((at_least(distance), at_least(shape[0] - 1 - distance), active))
