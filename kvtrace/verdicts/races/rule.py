"""The rule `race`: each op that writes, against all that other programs of the launch do.

On formulas first; a pair that seems to race is run before it is shown. What formulas leave open is
decided by who touches what over the whole grid, and, where atomics may order programs, by following
them one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kvtrace.ir import Op
from kvtrace.verdicts.races.data_behind import unrecorded
from kvtrace.verdicts.races.pairs import Pairs
from kvtrace.verdicts.races.parts import Parts, parts_of
from kvtrace.verdicts.races.replay import Witness, replayed
from kvtrace.verdicts.races.search import Free, Meeting, Open
from kvtrace.verdicts.races.sharers import Sharer
from kvtrace.verdicts.races.swept import Left, Swept
from kvtrace.verdicts.races.telling import (
    RULE,
    names_of,
    proven,
    strongest,
    unknown,
    violation,
)
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall
    from kvtrace.verdicts.concrete import Concrete

_ORDERED: Final = "atomics may order the programs that meet here"


@dataclass
class _Finding:
    """What is known of one writing op: what became of each pair that it is in."""

    op: Op
    free: list[Free] = field(default_factory=list)
    open: list[Open] = field(default_factory=list)
    witnesses: list[tuple[Witness, Meeting]] = field(default_factory=list)


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return one verdict for each op that writes: stores and atomics."""
    parts = parts_of(bound.call.module)
    findings = {index: _Finding(p.op) for index, p in parts.by_op.items() if p.writes}
    if bound.programs > 1 and parts.unseen is None:
        _look_at_pairs(bound, findings)
    for finding in findings.values():
        yield _verdict(bound, finding, parts)


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides ops by who touches what over the whole grid."""
    ops = {v.op.index for v in undecided if v.rule == RULE and v.evaluating}
    return Swept(bound, ops, bound.memo[concrete]) if ops else None


def _look_at_pairs(bound: BoundCall, findings: dict[int, _Finding]) -> None:
    pairs = Pairs(bound)
    left_open: set[tuple[int, int]] = set()
    met: set[int] = set()
    for one, other in pairs.clashing():
        outcome = pairs.judged(one, other)
        witness = None
        if isinstance(outcome, Meeting):
            outcome, witness = _run(bound, pairs, (one, other), outcome)
        if isinstance(outcome, Open):
            left_open.add(_key(one, other))
        if not isinstance(outcome, Free) or (outcome.why and not outcome.settled):
            met.update(_key(one, other))
        for sharer in dict.fromkeys((one, other)):
            finding = findings.get(sharer.access.op.index)
            if finding is not None:
                _note(finding, outcome, witness)
    why = {index: tuple(each.why for each in found.free) for index, found in findings.items()}
    bound.memo[concrete] = Left(frozenset(left_open), frozenset(met), why)


def _key(one: Sharer, other: Sharer) -> tuple[int, int]:
    low, high = sorted((one.access.op.index, other.access.op.index))
    return low, high


def _note(finding: _Finding, outcome: Free | Meeting | Open, witness: Witness | None) -> None:
    if isinstance(outcome, Free):
        finding.free.append(outcome)
    elif isinstance(outcome, Open):
        finding.open.append(outcome)
    elif witness is not None:
        own_side = witness.first.op is finding.op
        finding.witnesses.append((witness if own_side else witness.turned(), outcome))


def _run(
    bound: BoundCall, pairs: Pairs, pair: tuple[Sharer, Sharer], meeting: Meeting
) -> tuple[Meeting | Open, Witness | None]:
    """Run two programs that seem to race, and give what is left of that."""
    if parts_of(bound.call.module).synchronises:
        hidden = pairs.unrecorded_atomics()
        reason = f"{_ORDERED}, by {unrecorded(hidden)}" if hidden else _ORDERED
        return Open(reason, solver_ns=meeting.solver_ns), None
    storage = pair[0].storage
    assert storage is not None
    ops = pair[0].access.op, pair[1].access.op
    whole = bound.lanes <= bound.budget.lanes
    witness = replayed(bound.call, ops, meeting.programs, storage, meeting.byte, whole=whole)
    if witness is None:
        reason = "a race that formulas show did not show when it was run"
        return Open(reason, solver_ns=meeting.solver_ns), None
    return meeting, witness


def _verdict(bound: BoundCall, finding: _Finding, parts: Parts) -> Verdict:
    op, arg = finding.op, names_of(bound, finding.op)
    taken = sum(each.solver_ns for each in finding.free)
    taken += sum(each.solver_ns for each in finding.open)
    if finding.witnesses:
        witness, meeting = finding.witnesses[0]
        others = len({w.second.op.index for w, _ in finding.witnesses}) - 1
        taken += meeting.solver_ns
        return violation(bound.call, witness, meeting.method, others=others, solver_ns=taken)
    if bound.programs > 1 and parts.unseen is not None:
        reason = f"the kernel has {parts.unseen}"
        return unknown(op, arg, reason, evaluating=False)
    if finding.open:
        first = min(finding.open, key=lambda each: each.evaluating)
        assumption = next((each.assumption for each in finding.open if each.assumption), None)
        return unknown(
            op, arg, first.reason, evaluating=first.evaluating, assumption=assumption,
            solver_ns=taken,
        )  # fmt: skip
    why = [each.why for each in finding.free]
    if bound.programs <= 1:
        why = ["the grid has one program"]
    assumption = next((each.assumption for each in finding.free if each.assumption), None)
    method = strongest(each.method for each in finding.free)
    return proven(bound.call, op, arg, method, why, assumption, taken)
