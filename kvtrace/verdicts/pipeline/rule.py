"""The rule pipeline-order: TTGIR waits for what is in flight, in any number of trips."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate.errors import UNFIT, UnfitOp
from kvtrace.ir import source_stack
from kvtrace.ir.asynchronous import Act, act_of
from kvtrace.ir.types import SharedType
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.pipeline.explore import explore
from kvtrace.verdicts.pipeline.faults import (
    OVERWRITES,
    READS_EARLY,
    STORED_EARLY,
    USED_EARLY,
    WRITES_EARLY,
    Explored,
    Fault,
)
from kvtrace.verdicts.pipeline.replay import shows

if TYPE_CHECKING:
    from kvtrace.ir import Module, Op
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.verdicts.pipeline.views import View
    from kvtrace.verdicts.verdict import Answer

RULE: Final = "pipeline-order"

_WORDS: Final = {
    READS_EARLY: "reads {view}{when}, which {other} may not have brought yet",
    WRITES_EARLY: "writes {view}{when}, which {other} may still be reading",
    OVERWRITES: "writes {view}{when}, to which {other} may still be in flight",
    STORED_EARLY: "writes {view}{when}, which {other} may still be reading",
    USED_EARLY: "uses{when} what {other} may not have made yet",
}
_NOUNS: Final = {
    Act.ALLOCATE: "a new tile", Act.READ: "a load", Act.WRITE: "a store", Act.COPY: "a copy",
    Act.ARRIVE: "a copy by descriptor", Act.PRODUCT: "a product", Act.STORE: "a copy to memory",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OrderVerdict:
    """A result for one kernel's TTGIR; `op` and `other` are ops of that."""

    verdict: Answer
    message: str
    reason: str | None = None
    op: Op | None = None
    other: Op | None = None
    iteration: int | None = None


NOTHING_GOES_ON: Final = OrderVerdict(
    "proven", "nothing in its TTGIR comes too early", "no op of its TTGIR is asynchronous"
)


def undecided(reason: str) -> OrderVerdict:
    """Say that it is not known."""
    return OrderVerdict(
        "unknown",
        f"whether anything in its TTGIR comes too early was not decided: {reason}",
        reason,
    )


def judge_order(module: Module, kernel: str, calls: Iterable[Call]) -> OrderVerdict:
    """Judge the TTGIR of a kernel; a fault is looked for in evaluations of its calls, too."""
    try:
        found = explore(module)
    except KvtraceError as error:
        return undecided(str(error))
    except UNFIT as error:  # recorded IR may be anything; reported for the kernel
        return undecided(str(UnfitOp(kernel, error)))
    return _judged(found, module, calls)


def _judged(found: Explored, module: Module, calls: Iterable[Call]) -> OrderVerdict:
    if found.fault is not None:
        seen = _seen(found.fault, module, calls)
        if seen is not False:
            return _violation(found.fault, confirmed=bool(seen))
        return undecided(f"{_told(found.fault)}, but evaluations of its calls do not show it")
    calls = list(calls) if found.possible else []
    for fault in found.possible:
        if _seen(fault, module, calls):
            return _violation(fault, confirmed=True)
    if found.possible:
        return undecided(f"{_told(found.possible[0])}, unless {found.possible[0].doubt}")
    if found.blocked is not None:
        return undecided(f"{found.blocked.name} may wait for what nothing begins")
    if found.given_away is not None:
        op, other = found.given_away
        return undecided(f"{op.name} may get memory that {other.name} still uses")
    return OrderVerdict("proven", "nothing in its TTGIR comes too early, in any number of trips")


def _seen(fault: Fault, module: Module, calls: Iterable[Call]) -> bool | None:
    """Tell whether a fault shows where calls are evaluated; None: that cannot be decided."""
    answers = set()
    for call in calls:
        answers.add(shows(fault, module, call))
        if True in answers:
            return True
    return False if answers == {False} else None


def _violation(fault: Fault, *, confirmed: bool) -> OrderVerdict:
    how = "an evaluation of the TTGIR shows it" if confirmed else "no evaluation could show it"
    return OrderVerdict(
        "violation",
        f"{_told(fault)}; {how}",
        op=fault.op,
        other=fault.other,
        iteration=fault.trips[-1] if fault.trips else None,
    )


def _told(fault: Fault) -> str:
    """Say what comes too early."""
    other = f"the {_noun(fault.other).partition(' ')[2]}{_line(fault.other)}"
    began = _when(fault.other_trips, "begun")
    words = _WORDS[fault.kind].format(
        view="" if fault.view is None else _buffer(fault.view),
        when=_when(fault.trips),
        other=f"{other},{began}," if began else other,
    )
    return f"{_noun(fault.op)} ({fault.op.name}) {words}"


def _line(op: Op) -> str:
    stack = source_stack(op)
    return f" at line {stack[0].line}" if stack else ""


def _noun(op: Op) -> str:
    act = act_of(op)
    return "an op" if act is None else _NOUNS.get(act, "an op")


def _when(trips: tuple[int, ...], verb: str = "") -> str:
    begun = f" {verb}" if verb else ""
    if not trips:
        return f"{begun} before the loop" if verb else ""
    if len(trips) == 1:
        return f"{begun} in iteration {trips[0]}"
    return f"{begun} in iteration {trips[-1]} of iteration {', '.join(map(str, trips[:-1]))}"


def _buffer(view: View) -> str:
    """Name a view by its buffer: which part of what shape."""
    type_ = view.buffer.results[0].type
    assert isinstance(type_, SharedType)
    text = f"the buffer of {'×'.join(map(str, type_.shape))} {type_.element}"
    first, last = view.box[0]
    if view.exact and len(view.box) > 1 and last - first == 1 < type_.shape[0]:
        return f"part {first} of {text}"
    return text
