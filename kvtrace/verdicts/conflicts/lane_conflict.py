"""The rule `lane-conflict`: two lanes of one store write different values to the same byte.

The rule judges each store of a block: two lanes that are active in the same execution.
Formulas come first; two lanes that seem to conflict are replayed before they are reported. Stores
that formulas leave open are decided by the bytes that they touch over the whole grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

import numpy as np

from kvtrace.evaluate.observe import Access as Evaluated
from kvtrace.ir import Op, Value
from kvtrace.ir.flow import backward
from kvtrace.ir.ops import ELEMENTWISE, SPREADING
from kvtrace.symbolic.conditions import FALSE, Condition, equal
from kvtrace.symbolic.prover import Given, Proven
from kvtrace.symbolic.prover.digits import Common
from kvtrace.symbolic.terms import Term
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.conflicts.copies import Actors, Question
from kvtrace.verdicts.conflicts.lane_replay import conflict_of
from kvtrace.verdicts.conflicts.messages import LANE_CONFLICT, lane_conflict, proven, unknown
from kvtrace.verdicts.conflicts.outcomes import NoConflict, SuspectedConflict, Undecided
from kvtrace.verdicts.conflicts.pairs import Finding
from kvtrace.verdicts.conflicts.same_values import EqualityCondition, equality_conditions
from kvtrace.verdicts.conflicts.search import compare_digits, search_pair, shared_by_lanes
from kvtrace.verdicts.conflicts.sharers import Sharer, copy_of, pairs_of_one_storage, sharers_of
from kvtrace.verdicts.verdict import Verdict

_SAME_VALUE: Final = "lanes that store to the same byte store the same value"
_MOST_ELEMENTS: Final = 1 << 26
_MAX_REPLAYED: Final = 16
"""Limit of programs with overlapping lanes that are replayed in search of a conflict."""


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return one verdict for each store of a block of several lanes."""
    by_op: dict[int, list[Sharer]] = {}
    for sharer in sharers_of(bound):
        if sharer.role.kind == "store" and not sharer.role.strong and sharer.access.lanes:
            by_op.setdefault(sharer.access.op.index, []).append(sharer)
    for sharers in by_op.values():
        yield _judge_store(bound, sharers)


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides stores by the bytes that they touch over the whole grid."""
    ops = [v.op for v in undecided if v.rule == LANE_CONFLICT and v.evaluating]
    return _EvaluatedStores(bound, ops) if ops else None


def _judge_store(bound: BoundCall, sharers: Sequence[Sharer]) -> Verdict:
    """Return the verdict of a store from its accesses to one or several arguments."""
    op = sharers[0].access.op
    if not bound.programs:
        return proven(LANE_CONFLICT, bound, op, "interval", ("the grid has no program",))
    finding = Finding(op)
    for left, right in pairs_of_one_storage(sharers):
        outcome = _pair_outcome(bound, left, right)
        if isinstance(outcome, SuspectedConflict):
            return _replayed_verdict(bound, op, outcome, finding.solver_ns + outcome.solver_ns)
        finding.add(outcome)
    return finding.verdict(bound, LANE_CONFLICT, unless=op)


def _pair_outcome(
    bound: BoundCall, left: Sharer, right: Sharer
) -> NoConflict | SuspectedConflict | Undecided:
    """Return whether two lanes of the same execution conflict by two accesses of a store."""
    actors = Actors(left.access.lanes, shared_by_lanes(bound.call.module))
    shared_digits = compare_digits(bound, left, right, actors)
    if not isinstance(shared_digits, Common):
        return shared_digits
    conditions = equality_conditions(bound, left, shared_digits) if left is right else None
    if conditions == []:
        return NoConflict("affine", _SAME_VALUE)
    outcome = search_pair(bound, left, right, actors, shared_digits)
    if isinstance(outcome, NoConflict) or conditions is None:
        return outcome
    proof = _proof_of_equal_values(bound, left, conditions, actors)
    if proof is None:
        return outcome
    return NoConflict(proof.method, _SAME_VALUE, outcome.solver_ns + proof.solver_ns)


def _proof_of_equal_values(
    bound: BoundCall, store: Sharer, equalities: Sequence[EqualityCondition], actors: Actors
) -> Proven | None:
    """Return a proof that two lanes that meet store the same value, None if there is none."""
    assert store.storage is not None
    copies, nbytes = (copy_of(bound, store), copy_of(bound, store)), store.storage.nbytes
    formulas = [
        formula
        for equality in equalities
        for formula in (equality.formula, *equality.path)
        if formula is not None
    ]
    question = Question(*copies, actors, bound.ranges, nbytes, formulas)
    proof = Proven("affine")
    for equality in equalities:
        conditions = [*question.given.exact, question.is_same_address]
        for condition in equality.path:
            conditions += question.both(condition)
        claim: Condition = FALSE
        if isinstance(equality.formula, Term):
            claim = equal(question.gap(equality.formula))
        elif equality.formula is not None:
            left, right = question.both(equality.formula)
            claim = (left & right) | (~left & ~right)
        decision = bound.prove(claim, Given(conditions, question.given.ranges))
        if not isinstance(decision, Proven):
            return None
        solver_ns = proof.solver_ns + decision.solver_ns
        by_solver = "solver" in (decision.method, proof.method)
        proof = Proven("solver" if by_solver else "affine", solver_ns)
    return proof


def _replayed_verdict(
    bound: BoundCall, op: Op, meeting: SuspectedConflict, solver_ns: int
) -> Verdict:
    """Return the violation if a suspected conflict occurs in a replay, else an unknown verdict."""
    violation = _violation(bound, op, (meeting.programs[0],), meeting.method, solver_ns)
    if isinstance(violation, Verdict):
        return violation
    return unknown(LANE_CONFLICT, bound, op, violation, evaluating=True, solver_ns=solver_ns)


def _violation(
    bound: BoundCall, op: Op, programs: Sequence[int], method: str, solver_ns: int = 0
) -> Verdict | str:
    """Replay programs until two lanes conflict; return the violation, or the reason if none do."""
    load = _updated_load(bound, op)
    conflict = conflict_of(bound, op, load, programs)
    if isinstance(conflict, str):
        return conflict
    return lane_conflict(
        bound.call, conflict.witness, conflict.values, method, is_update=conflict.is_update,
        updates=load is not None, solver_ns=solver_ns,
    )  # fmt: skip


def _updated_load(bound: BoundCall, store: Op) -> Op | None:
    """Return the load that a store updates in place, else None.

    Each lane stores to the address from which it loads, and the loaded value feeds the stored one.
    """

    def through(value: Value) -> Sequence[Value]:
        op = value.owner
        if not isinstance(op, Op) or op.name not in ELEMENTWISE | SPREADING:
            return ()
        return op.operands

    source_ids = {value.id for value in backward((store.operand("value"),), through)}
    store_accesses = [s for s in sharers_of(bound) if s.access.op is store and s.side is not None]
    for sharer in sharers_of(bound):
        op = sharer.access.op
        if sharer.role.kind != "load" or sharer.side is None or op.block is not store.block:
            continue
        if not any(result.id in source_ids for result in op.results):
            continue
        address = copy_of(bound, sharer)[0]
        if any(
            s.storage is sharer.storage and copy_of(bound, s)[0] == address for s in store_accesses
        ):
            return op
    return None


class _EvaluatedStores(Concrete):
    """An observer that decides stores by the bytes that their lanes touch over the whole grid."""

    rules: ClassVar[frozenset[str]] = frozenset({LANE_CONFLICT})

    def __init__(self, bound: BoundCall, ops: Sequence[Op]) -> None:
        self._bound = bound
        self._ops = {op.index: op for op in ops}
        self._elements = 0
        self._reasons: dict[int, str] = {}
        self._meeting_programs: dict[int, dict[int, None]] = {index: {} for index in self._ops}

    def access(self, access: Evaluated) -> None:
        """Record the programs in which two lanes touch the same byte in one execution."""
        index = access.op.index
        if index not in self._ops or access.active == 0:
            return
        if access.lowest is None:
            self._reasons.setdefault(index, access.reason or "its address could not be derived")
            return
        self._elements += access.lanes if access.active is None else access.active
        if self._elements > _MOST_ELEMENTS:
            self._reasons[index] = f"it touches more than {_MOST_ELEMENTS:,} elements"
            return
        elements = access.elements()
        if elements is None:
            return
        offsets, programs = elements
        order = np.lexsort((offsets, programs))
        offsets, programs = offsets[order], programs[order]
        overlaps = (np.diff(offsets) < access.element_bytes) & (programs[1:] == programs[:-1])
        for program in np.unique(programs[1:][overlaps])[:_MAX_REPLAYED].tolist():
            self._meeting_programs[index][program] = None
        if overlaps.any() and not access.certain:
            reason = access.reason or "whether the access happens depends on data"
            self._reasons.setdefault(index, reason)

    def verdicts(self, failure: str | None) -> list[Verdict]:
        """Return one verdict for each store."""
        return [self._verdict(op, failure) for op in self._ops.values()]

    def _verdict(self, op: Op, failure: str | None) -> Verdict:
        bound = self._bound
        reason = self._reasons.get(op.index) or failure
        programs = tuple(self._meeting_programs[op.index])[:_MAX_REPLAYED]
        if programs:
            violation = _violation(bound, op, programs, "evaluated")
            if isinstance(violation, Verdict):
                return violation
            reason = reason or violation
        if reason is not None:
            return unknown(LANE_CONFLICT, bound, op, reason, evaluating=True, method="evaluated")
        return proven(LANE_CONFLICT, bound, op, "evaluated")
