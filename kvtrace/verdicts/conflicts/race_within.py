"""The rule `race-within-program`: lanes of one program touch a byte in no order that holds.

Each op that writes is judged against all that other lanes of its program do, at other ops or in
other trips of its loop. What lanes of one execution of one op do is the rule `lane-conflict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kvtrace.metrics.of_ops import kind_of
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.conflicts.lane_pairs import LanePairs
from kvtrace.verdicts.conflicts.messages import RACE_WITHIN, proven, race_within, unknown
from kvtrace.verdicts.conflicts.outcomes import Finding, findings_of
from kvtrace.verdicts.conflicts.parts import parts_of
from kvtrace.verdicts.conflicts.race_within_evaluated import EvaluatedLanes
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return one verdict for each op that stores, or updates what is loaded or stored, too."""
    parts = parts_of(bound.call.module)
    if not bound.programs:
        why = ("the grid has no program",)
        writing = [part.op for part in parts.by_op.values() if part.writes]
        return [proven(RACE_WITHIN, bound, op, "interval", why) for op in writing]
    pairs = LanePairs(bound)
    findings, undecided = findings_of(pairs, parts, one_is_enough=True)
    bound.memo[concrete] = undecided, pairs
    return [
        _verdict(bound, finding, parts.unseen)
        for finding in findings.values()
        if finding.free or finding.open or finding.shown or kind_of(finding.op) == "store"
    ]


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides ops by what each program touches."""
    ops = {v.op.index: v.op for v in undecided if v.rule == RACE_WITHIN and v.evaluating}
    return EvaluatedLanes(bound, ops, *bound.memo[concrete]) if ops else None


def _verdict(bound: BoundCall, finding: Finding, unseen: str | None) -> Verdict:
    op, solver_ns = finding.op, finding.solver_ns
    if finding.shown:
        return race_within(bound.call, op, finding.shown[0], solver_ns)
    reason = finding.open[0].reason if finding.open else None
    evaluating = unseen is None and all(each.evaluating for each in finding.open)
    if reason is None and unseen is not None:
        reason = f"the kernel has {unseen}"
    if reason is not None:
        return unknown(
            RACE_WITHIN, bound, op, reason, evaluating=evaluating, solver_ns=solver_ns
        )  # fmt: skip
    return proven(RACE_WITHIN, bound, op, finding.method, finding.why, solver_ns=solver_ns)
