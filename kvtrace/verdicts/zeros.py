"""Verdicts that rest on a zero of ours: on what a load gives in lanes that are out of bounds.

Such a lane reads whatever lies there; the evaluator gives it 0. What is concluded from that 0 (an
index that stays inside, a divisor that is zero) is no fact about the kernel. A verdict after such a
load stays where contents do not count for it, or where its witness lies in a program whose loads
are all in bounds; otherwise it becomes unknown and names the load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.ir import source_stack
from kvtrace.schema.dataclass import replace
from kvtrace.verdicts.evaluated import EvaluatedBounds
from kvtrace.verdicts.feeding import loads_behind
from kvtrace.verdicts.replaying import linear_program, run
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.ir import Module, Op
    from kvtrace.passes.calls import Call

_BOUNDS: Final = "out-of-bounds"

#: An evaluation of the witness's program ends after so many lanes.
_MOST_LANES = 1 << 25


def without_zeros(
    call: Call, verdicts: Sequence[Verdict], judge: Callable[[Call], Iterable[Verdict]]
) -> list[Verdict]:
    """Return verdicts of a call, those that rest on a zero of ours as unknown ones.

    Args:
        call: the call that was judged.
        verdicts: all verdicts on it.
        judge: judges another call by the same rules.

    """
    if not call.recorded:
        return list(verdicts)  # nothing is concluded from what a load gives
    resting = _resting(call.module, verdicts)
    if not resting:
        return list(verdicts)
    bare = {(each.rule, each.op.index): each.verdict for each in judge(_without_contents(call))}
    return [
        _unknown(each, resting[id(each)])
        if id(each) in resting
        and each.verdict != "unknown"
        and bare.get((each.rule, each.op.index)) != each.verdict
        and not _is_witnessed(call, each, resting[id(each)])
        else each
        for each in verdicts
    ]


def without_any_zeros(module: Module, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return what was seen of one launch, all that may rest on a zero of ours as unknown.

    Its contents are gone: nothing can be run again.
    """
    resting = _resting(module, verdicts)
    return [_unknown(each, resting[id(each)]) if id(each) in resting else each for each in verdicts]


def _resting(module: Module, verdicts: Sequence[Verdict]) -> dict[int, list[Op]]:
    """Give the loads out of bounds that decide what verdicts are about, by the verdicts' ids."""
    wild = {
        each.op.index: each.op
        for each in verdicts
        if each.rule == _BOUNDS and each.verdict == "violation" and each.access != "store"
    }
    found: dict[int, list[Op]] = {}
    for each in verdicts if wild else ():
        behind = set(loads_behind(each.op, module))
        if each.other_op is not None:
            behind |= loads_behind(each.other_op, module)
        # The first lane of a load that leaves its tensor rests on no zero of that load's own.
        behind.discard(each.op.index)
        loads = [op for index, op in wild.items() if index in behind]
        if loads:
            found[id(each)] = loads
    return found


def _without_contents(call: Call) -> Call:
    storages = {
        id(each.storage): Storage(each.storage.nbytes)
        for each in call.arguments
        if isinstance(each, TensorArgument)
    }
    arguments = tuple(
        replace(each, storage=storages[id(each.storage)])
        if isinstance(each, TensorArgument)
        else each
        for each in call.arguments
    )
    return replace(call, arguments=arguments, recorded=())


def _is_witnessed(call: Call, verdict: Verdict, loads: Sequence[Op]) -> bool:
    """Whether a witness lies in programs in which these loads stay in bounds."""
    if verdict.verdict != "violation" or verdict.program is None:
        return False
    programs = {
        linear_program(program, call.grid)
        for program in (verdict.program, verdict.other_program)
        if program is not None
    }
    seen = EvaluatedBounds(call, [op.index for op in loads])
    run(call, (seen,), programs, contents="all", lanes=_MOST_LANES)
    return not any(seen.defects(op.index) for op in loads)


def _unknown(verdict: Verdict, loads: Sequence[Op]) -> Verdict:
    frames = source_stack(loads[0])
    place = f" in line {frames[0].line}" if frames else ""
    reason = (
        f"it depends on what the load{place} gives, which is itself out of bounds and may read "
        "anything"
    )
    what = verdict.access or verdict.rule
    return Verdict(
        verdict.rule,
        "unknown",
        verdict.op,
        f"{what} could not be decided: {reason}",
        reason=reason,
        access=verdict.access,
        arg=verdict.arg,
        method=verdict.method,
        expression=verdict.expression,
    )
