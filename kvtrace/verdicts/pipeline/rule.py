"""The rule pipeline-order: TTGIR waits for operations in flight, for any number of trips.

To replay a fault, contents of tensors are not needed: only integers that depend on arguments, and
operations in flight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate import Argument, ScalarArgument
from kvtrace.evaluate.errors import UNFIT, UnfitOp
from kvtrace.evaluate.partitions import needs_clocks
from kvtrace.evaluate.registry import Step, place
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.shared_memory import READS_EARLY as SEEN_READING
from kvtrace.evaluate.shared_memory import WRITES_EARLY as SEEN_WRITING
from kvtrace.ir import Module, Op
from kvtrace.ir.asynchronous import Act, act_of, is_asynchronous, targets_amd
from kvtrace.ir.flow import enclosing_ops
from kvtrace.ir.model import line_text
from kvtrace.ir.ops import LOOPS, PARTITIONED
from kvtrace.ir.types import SharedType
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.pipeline.contentless import Contentless, EmptyShared
from kvtrace.verdicts.pipeline.explore import explore
from kvtrace.verdicts.pipeline.partitions import find_disorder
from kvtrace.verdicts.pipeline.views import Early, Fault, Findings, View
from kvtrace.verdicts.verdict import Answer

RULE: Final = "pipeline-order"

_PREDICATES: Final[dict[Early, str]] = {
    "reads early": "reads {view}{when}, which {other} may not have filled yet",
    "writes early": "writes {view}{when}, which {other} may still be reading",
    "overwrites": "writes {view}{when}, to which {other} may still be in flight",
    "stored early": "writes {view}{when}, which {other} may still be reading",
    "used early": "uses{when} the result of {other}, which may not be complete yet",
}
_NOUNS: Final = {
    Act.ALLOCATE: "a new tile", Act.READ: "a load", Act.WRITE: "a store", Act.COPY: "a copy",
    Act.ARRIVE: "a copy by descriptor", Act.PRODUCT: "a product", Act.STORE: "a copy to memory",
}  # fmt: skip


class OrderVerdict(Struct, frozen=True):
    """The verdict on one kernel's TTGIR; `op` and `other` are the ops of a fault."""

    verdict: Answer
    message: str
    reason: str | None = None
    op: Op | None = None
    other: Op | None = None
    iteration: int | None = None


NO_ASYNCHRONOUS_OPS: Final = OrderVerdict(
    "proven", "nothing in its TTGIR comes too early", "no op of its TTGIR is asynchronous"
)


def undecided(reason: str) -> OrderVerdict:
    """Return an unknown verdict with its reason."""
    return OrderVerdict(
        "unknown",
        f"whether anything in its TTGIR comes too early was not decided: {reason}",
        reason,
    )


def judge_order(module: Module, kernel: str, calls: Iterable[Call]) -> OrderVerdict:
    """Return the verdict on a kernel's TTGIR; faults are replayed for its calls."""
    if needs_clocks(module) or targets_amd(module):
        return _verdict_by_clocks(module, calls)
    try:
        findings = explore(module)
    except KvtraceError as error:
        return undecided(str(error))
    except UNFIT as error:  # recorded IR may be anything; reported for the kernel
        return undecided(str(UnfitOp(kernel, error)))
    return _verdict_of(findings, module, calls)


def _verdict_by_clocks(module: Module, calls: Iterable[Call]) -> OrderVerdict:
    """Return the verdict on a kernel whose barriers, or AMD's copies, are followed by calls."""
    outcomes = find_disorder(module, calls)
    found = [outcome for outcome in outcomes if outcome is not None]
    if found:
        finding = min(found, key=lambda each: each.other is None)  # an early access explains more
        return OrderVerdict("violation", finding.text, op=finding.op, other=finding.other)
    followed = (op.name for op in module.ops if op.name in PARTITIONED or is_asynchronous(op))
    name = next(followed, "a kernel for AMD GPUs")
    shown = "evaluations of its calls show no disorder" if outcomes else "no call was evaluated"
    return undecided(f"{name} is followed for single calls only, and {shown}")


def _verdict_of(findings: Findings, module: Module, calls: Iterable[Call]) -> OrderVerdict:
    if findings.fault is not None:
        is_confirmed = _occurs_in_any(findings.fault, module, calls)
        if is_confirmed is not False:
            return _violation(findings.fault, confirmed=bool(is_confirmed))
        return undecided(
            f"{_fault_text(findings.fault)}, but evaluations of its calls do not show it"
        )
    calls = list(calls) if findings.possible else []
    for fault in findings.possible:
        if _occurs_in_any(fault, module, calls):
            return _violation(fault, confirmed=True)
    if findings.possible:
        return undecided(f"{_fault_text(findings.possible[0])}, but {findings.possible[0].doubt}")
    if findings.endless_wait is not None:
        return undecided(f"{findings.endless_wait.name} may wait for a phase that never ends")
    if findings.reused_memory is not None:
        op, other = findings.reused_memory
        return undecided(f"{op.name} may be given memory that {other.name} still uses")
    if findings.unfinished is not None:  # PTX promises nothing of it after the program's end
        op = findings.unfinished
        return undecided(
            f"nothing waits for {op.name}{line_text(op, 'at')} before the program ends"
        )
    return OrderVerdict("proven", "nothing in its TTGIR comes too early, in any number of trips")


def _occurs_in_any(fault: Fault, module: Module, calls: Iterable[Call]) -> bool | None:
    """Return whether a fault occurs in an evaluation of any call, None if undecided."""
    answers = set()
    for call in calls:
        answers.add(occurs_in(fault, module, call))
        if True in answers:
            return True
    return False if answers == {False} else None


def _violation(fault: Fault, *, confirmed: bool) -> OrderVerdict:
    evidence = "an evaluation of the TTGIR shows it" if confirmed else "no evaluation could show it"
    return OrderVerdict(
        "violation",
        f"{_fault_text(fault)}; {evidence}",
        op=fault.op,
        other=fault.other,
        iteration=fault.trips[-1] if fault.trips else None,
    )


def _fault_text(fault: Fault) -> str:
    other = f"the {_noun_of(fault.other).partition(' ')[2]}{line_text(fault.other, 'at')}"
    started = _trips_text(fault.other_trips, "begun")
    predicate = _PREDICATES[fault.kind].format(
        view="" if fault.view is None else _view_text(fault.view),
        when=_trips_text(fault.trips),
        other=f"{other},{started}," if started else other,
    )
    return f"{_noun_of(fault.op)} ({fault.op.name}) {predicate}"


def _noun_of(op: Op) -> str:
    act = act_of(op)
    return "an op" if act is None else _NOUNS.get(act, "an op")


def _trips_text(trips: tuple[int, ...], verb: str = "") -> str:
    participle = f" {verb}" if verb else ""
    if not trips:
        return f"{participle} before the loop" if verb else ""
    if len(trips) == 1:
        return f"{participle} in iteration {trips[0]}"
    return f"{participle} in iteration {trips[-1]} of iteration {', '.join(map(str, trips[:-1]))}"


def _view_text(view: View) -> str:
    """Return the name of a view: its buffer's shape and type, and its part."""
    type_ = view.buffer.results[0].type
    assert isinstance(type_, SharedType)
    text = f"the buffer of {'×'.join(map(str, type_.shape))} {type_.element}"
    first, last = view.box[0]
    if view.exact and len(view.box) > 1 and last - first == 1 < type_.shape[0]:
        return f"part {first} of {text}"
    return text


# -- replay of a fault -----------------------------------------------------------------------------


_FAULT_TEXTS: Final[dict[Early, str]] = {"reads early": SEEN_READING, "writes early": SEEN_WRITING}
_LARGE_INTEGER: Final = 4096


def occurs_in(fault: Fault, module: Module, call: Call) -> bool | None:
    """Return whether a fault occurs in an evaluation of a call's TTGIR, None if undecided.

    The call's integers are used first, then large integers, as the call's loops may be too short.
    Undecided if the buffer is allocated in a loop: an evaluation makes a new one in each trip.
    """
    parents = (
        [] if fault.view is None else [parent.name for parent in enclosing_ops(fault.view.buffer)]
    )
    if fault.kind not in _FAULT_TEXTS or not LOOPS.isdisjoint(parents):
        return None
    description = f"{fault.op.name} at {place(fault.op)} {_FAULT_TEXTS[fault.kind]}"
    result: bool | None = None
    for arguments in _arguments(call):
        replay = _Replay(fault)
        try:
            replay.run(module, call, arguments)
        except (KvtraceError, *UNFIT):  # not all ops are evaluated; nothing is concluded then
            continue
        if description in replay.shared.faults:
            return True
        if replay.shared.complete and replay.has_reached_fault:
            result = False
    return result


def _arguments(call: Call) -> Iterator[tuple[Argument, ...]]:
    yield call.arguments
    yield tuple(
        replace(argument, value=max(argument.value, _LARGE_INTEGER))
        if isinstance(argument, ScalarArgument)
        and type(argument.value) is int
        and argument.value > 1
        else argument
        for argument in call.arguments
    )


class _Replay(Contentless[EmptyShared]):
    """The evaluation of a call up to a fault."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(EmptyShared)
        self._fault = fault
        self._executions = 0

    @property
    def has_reached_fault(self) -> bool:
        """True once the replay has reached the trip at which the op is at fault."""
        return self._executions > max(self._fault.trips, default=0)

    def wrapped(self, op: Op, step: Step) -> Step:
        """Count the executions of the op at fault; replace ops that compute tensors."""
        if op is not self._fault.op:
            return super().wrapped(op, step)

        def counted(values: list[Any], scope: Scope) -> None:
            self._executions += 1
            step(values, scope)

        return counted
