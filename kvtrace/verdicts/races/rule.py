"""The rule `race`: each op that writes, against all that other programs of the launch do.

On formulas first; a pair that seems to race is run before it is shown. What formulas leave open is
decided by who touches what over the whole grid, and, where atomics may order programs, by following
them one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kvtrace.verdicts.races.messages import RACE, proven, race, unknown
from kvtrace.verdicts.races.outcomes import Finding, findings_of
from kvtrace.verdicts.races.pairs import Pairs
from kvtrace.verdicts.races.parts import parts_of
from kvtrace.verdicts.races.swept import Swept
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall
    from kvtrace.verdicts.concrete import Concrete


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return one verdict for each op that writes: stores and atomics."""
    parts = parts_of(bound.call.module)
    writing = [part.op for part in parts.by_op.values() if part.writes]
    if bound.programs <= 1:
        why = ("the grid has one program",)
        return [proven(RACE, bound, op, "interval", why) for op in writing]
    if parts.unseen is not None:
        reason = f"the kernel has {parts.unseen}"
        return [unknown(RACE, bound, op, reason, evaluating=False) for op in writing]
    findings, bound.memo[concrete] = findings_of(Pairs(bound), parts)
    return [_verdict(bound, finding) for finding in findings.values()]


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides ops by who touches what over the whole grid."""
    ops = {v.op.index for v in undecided if v.rule == RACE and v.evaluating}
    return Swept(bound, ops, bound.memo[concrete]) if ops else None


def _verdict(bound: BoundCall, finding: Finding) -> Verdict:
    op, solver_ns = finding.op, finding.solver_ns
    if finding.shown:
        witnesses = [shown.witness.seen_from(op) for shown in finding.shown]
        others = len({witness.second.op for witness in witnesses}) - 1
        method = finding.shown[0].method
        return race(bound.call, witnesses[0], method, others=others, solver_ns=solver_ns)
    outcomes = finding.open or finding.free
    assumption = next((each.assumption for each in outcomes if each.assumption), None)
    if finding.open:
        first = min(finding.open, key=lambda each: each.evaluating)
        return unknown(
            RACE, bound, op, first.reason, evaluating=first.evaluating, solver_ns=solver_ns,
            assumption=assumption,
        )  # fmt: skip
    return proven(
        RACE, bound, op, finding.method, finding.why, solver_ns=solver_ns, assumption=assumption
    )
