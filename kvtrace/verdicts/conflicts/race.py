"""The rule `race`: a writing op and an access of another program touch a byte in no order.

Formulas come first. Between the two steps of `search.py`, the rule looks for reasons why programs
may touch the same byte without a race: numbers that each program draws from a counter, a value that
all programs write, and sections of one lock. A pair that seems to race is replayed before it is
reported. An evaluation of the whole grid decides pairs that formulas leave open and, where atomics
may order programs, follows the programs one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import ClassVar, Final

from kvtrace.ir import Op
from kvtrace.symbolic.conditions import TRUE, Condition, at_least, conjunction, equal
from kvtrace.symbolic.prover import Proven
from kvtrace.symbolic.prover.digits import Common
from kvtrace.symbolic.terms import Substitution, Symbol, Term, lane
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.conflicts.copies import two_programs
from kvtrace.verdicts.conflicts.messages import RACE, race
from kvtrace.verdicts.conflicts.outcomes import (
    ConfirmedConflict,
    NoConflict,
    SuspectedConflict,
    Undecided,
)
from kvtrace.verdicts.conflicts.pairs import Pairs, evaluation, judged
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.conflicts.published import Flags
from kvtrace.verdicts.conflicts.race_evaluated import EvaluatedRaces
from kvtrace.verdicts.conflicts.race_replay import by_results, replayed
from kvtrace.verdicts.conflicts.releases import Exclusion, releases_of
from kvtrace.verdicts.conflicts.reservations import reservations
from kvtrace.verdicts.conflicts.same_places import store_same_value_at_same_index
from kvtrace.verdicts.conflicts.same_values import store_same_value
from kvtrace.verdicts.conflicts.search import compare_digits, search_pair
from kvtrace.verdicts.conflicts.sharers import Sharer, copy_of, pairs_of_one_storage, sharers_of
from kvtrace.verdicts.contents.loaded import depends_on
from kvtrace.verdicts.verdict import Verdict

_ORDERED: Final = "atomics may order the programs that access the same byte"
_SAME_VALUE: Final = "all programs write the same value"
_NUMBERS: Final = "each program draws its own numbers from a counter"
_LOCKS: Final = "all locks are open when the kernel starts"


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return one verdict for each store and atomic of a call."""
    return judged(bound, ProgramPairs)


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides ops by the bytes programs touch, None if none is open."""
    return evaluation(bound, ProgramPairs, undecided, EvaluatedRaces)


class ProgramPairs(Pairs):
    """The pairs of accesses of one call by which two programs may race, and their outcomes."""

    rule: ClassVar[str] = RACE
    least_programs: ClassVar[int] = 2
    always_judged: ClassVar[frozenset[str]] = frozenset({"store", "atomic"})
    one_race_is_enough: ClassVar[bool] = False

    def __init__(self, bound: BoundCall) -> None:
        super().__init__(bound)
        self._actors = two_programs(bound.call.grid)
        self._roles = roles_of(bound.call.module)
        self.sharers = sharers_of(bound)
        releases = releases_of(bound)
        self._exclusion = Exclusion(bound.call.module, self.sharers, releases)
        self._flags = Flags(bound, self.sharers, releases, self._actors)

    def clashing(self) -> Iterator[tuple[Sharer, Sharer]]:
        """Yield each pair of accesses that race if they meet unordered, a writing access first."""
        for left, right in pairs_of_one_storage(self.sharers):
            one_width = left.access.element_bytes == right.access.element_bytes
            if left.role.clashes(right.role, one_width=one_width):
                yield (left, right) if left.role.writes else (right, left)

    def outcome(self, left: Sharer, right: Sharer) -> NoConflict | ConfirmedConflict | Undecided:
        """Return whether two programs race by these accesses, after a replay if formulas say so."""
        if self._roles.unseen is not None:  # it may order programs
            return Undecided(f"the kernel has {self._roles.unseen}", evaluating=False)
        result = self.judged(left, right)
        if not isinstance(result, SuspectedConflict):
            return result
        bound, solver_ns = self._bound, result.solver_ns
        if self._roles.synchronizes:
            read = (sharer.access.op.index for sharer in self.sharers if sharer.role.acquires)
            hidden = bound.contents.read_by(frozenset(read))
            reason = f"{_ORDERED}: {depends_on(hidden)}" if hidden else _ORDERED
            return Undecided(reason, solver_ns=solver_ns)
        assert left.storage is not None
        ops, can_run_grid = (left.access.op, right.access.op), bound.lanes <= bound.budget.lanes
        witness = replayed(
            bound.call, ops, result.programs, left.storage, result.byte, whole=can_run_grid
        )
        if witness is None:
            reason = "a race found by formulas did not occur in the replay"
            return Undecided(reason, solver_ns=solver_ns)
        return by_results(bound, ConfirmedConflict(witness, result.method, solver_ns))

    def violation(self, op: Op, confirmed: Sequence[ConfirmedConflict], solver_ns: int) -> Verdict:
        """Return the violation of an op: its first race, and the count of other racing ops."""
        first_witness, *other_witnesses = (
            conflict.witness.ordered_for(op) for conflict in confirmed
        )
        other_ops = {witness.second.op for witness in other_witnesses} - {first_witness.second.op}
        return race(
            self._bound.call, first_witness, confirmed[0].method, others=len(other_ops),
            solver_ns=solver_ns, unordering_release=confirmed[0].unordering_release,
            unrecorded=confirmed[0].unrecorded,
        )  # fmt: skip

    def judged(self, left: Sharer, right: Sharer) -> NoConflict | SuspectedConflict | Undecided:
        """Return whether two programs race by these accesses, from formulas without a replay."""
        common = compare_digits(self._bound, left, right, self._actors)
        if isinstance(common, NoConflict):
            return common
        places = [reservations(self._bound).get(s.access.op.index) for s in (left, right)]
        if places[0] is not None and places[0] == places[1]:
            return NoConflict("affine", _NUMBERS, settled=True)
        if isinstance(common, Undecided) and store_same_value_at_same_index(
            self._bound, left, right
        ):
            return NoConflict("affine", _SAME_VALUE)
        if not isinstance(common, Common):
            return common
        if store_same_value(self._bound, left, right, common):
            return NoConflict("affine", _SAME_VALUE)
        if self._loads_own_store(left, right):
            why = "each program loads what it has itself stored, and all store the same value there"
            return NoConflict("affine", why, settled=True)
        if self._exclusion.are_locked(left, right, common):
            return NoConflict(
                "affine", "a lock lets one program at a time do it", assumption=_LOCKS
            )
        return self._flags.order(left, right) or search_pair(
            self._bound, left, right, self._actors, common
        )

    def _loads_own_store(self, store: Sharer, load: Sharer) -> bool:
        """Return whether a program loads only what it has stored, equal in all programs."""
        if load.role.writes or store.side is None:
            return False
        bound, common = self._bound, Common(store.side, store.side)
        same_values = store_same_value(bound, store, store, common)
        return same_values and _has_stored_all(bound, store, load, self.sharers)


# -- loads of a program's own stores ---------------------------------------------------------------


def _has_stored_all(
    bound: BoundCall, store: Sharer, load: Sharer, sharers: Sequence[Sharer]
) -> bool:
    """Return whether each program stores to every address of a load before that load.

    The store must be the only write to the storage. If all programs store the same value wherever
    two of them meet, which the caller checks, the load then reads that value in every order of
    programs.
    """
    same_storage = (s for s in sharers if s.storage is None or s.storage is store.storage)
    if [sharer for sharer in same_storage if sharer.role.writes] != [store]:
        return False
    if load.role.kind != "load" or not _comes_first(bound, store, load):
        return False
    if store.exact is None or load.exact is None:
        return False
    condition = _covering_condition(bound, store, load)
    return condition is not None and isinstance(bound.prove(condition, load.exact.given), Proven)


def _comes_first(bound: BoundCall, store: Sharer, load: Sharer) -> bool:
    """Return whether every program runs the store in the kernel's first block, before the load."""
    access = store.access
    first_block = bound.call.module.main.op.regions[0].blocks[0]
    is_unconditional = access.guard is TRUE and not access.loops and not access.calls
    return (
        is_unconditional
        and access.op.block is first_block
        and access.op.index < load.access.op.index
    )


def _covering_condition(bound: BoundCall, store: Sharer, load: Sharer) -> Condition | None:
    """Return the condition that a store's lane covers a load's address; None if unknown.

    The lanes of the store are consecutive elements: the covering lane is the load's distance, in
    elements, from the first.
    """
    (access, width), shape = (store.access, store.access.element_bytes), store.access.shape
    if load.access.element_bytes != width or len(shape) > 1 or access.mask.opaques():
        return None
    if prod(shape) == 1:
        return access.mask & equal(copy_of(bound, load)[0], copy_of(bound, store)[0])
    lane_term = lane(0, shape[0])
    first_address = copy_of(bound, store)[0] - lane_term * width
    lane_symbol = next(iter(lane_term.atoms()))
    if not isinstance(lane_symbol, Symbol) or any(
        lane_symbol in atom.within() for atom in first_address.atoms()
    ):
        return None
    gap = copy_of(bound, load)[0] - first_address
    if any(factor % width for factor in gap.coefficients.values()):
        return None
    distance = Term({monomial: factor // width for monomial, factor in gap.coefficients.items()})
    active = access.mask.substitute(Substitution({lane_symbol: distance}))
    return conjunction((at_least(distance), at_least(shape[0] - 1 - distance), active))
