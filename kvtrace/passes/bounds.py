"""Bounds verdicts of one call, from evaluating it over its whole grid. Rows of `findings`.

Each memory op gets one verdict. *proven*: every lane of every program and iteration was evaluated
and lies inside its tensor's view. *violation*: a lane that certainly executes does not, with that
lane as the witness. *unknown*: an address, a mask or a branch hangs on tensor data that was not
recorded, or the evaluation could not get there. An assertion of the kernel's own that fails is a
violation of rule `device-assert`; the launch ends with it, and what comes after it is unknown.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kvtrace.evaluate import Argument
from kvtrace.evaluate.observe import Access, FailedAssertion, Observer, OutOfBounds
from kvtrace.ir import Frame, Op, source_stack
from kvtrace.passes.calls import Call
from kvtrace.passes.data_dependence import hanging_on_data
from kvtrace.passes.metrics import kind_of
from kvtrace.passes.stacks import StackRows

_MEMORY = ("load", "store", "atomic")


@dataclass(slots=True)
class _OpBounds:
    executions: int = 0
    arguments: set[int | None] = field(default_factory=set)
    unknown: str | None = None
    defects: dict[str, OutOfBounds] = field(default_factory=dict)
    lanes: dict[str, int] = field(default_factory=dict)


class Bounds(Observer):
    """Collects what is needed for a verdict on each memory op of one call."""

    def __init__(self) -> None:
        self._ops: dict[int, _OpBounds] = {}
        self._assertion: FailedAssertion | None = None

    def access(self, access: Access) -> None:
        """Note a batch of accesses."""
        state = self._ops.setdefault(access.op.index, _OpBounds())
        state.executions += access.executions
        state.arguments.add(access.argument)
        decided = access.active == 0 or access.lowest is not None
        if not decided and state.unknown is None:
            state.unknown = access.reason or "its address could not be derived"

    def out_of_bounds(self, defect: OutOfBounds) -> None:
        """Note lanes that leave their tensor; the first certain one is the witness."""
        state = self._ops.setdefault(defect.op.index, _OpBounds())
        if not defect.certain:
            state.unknown = (
                f"it would leave its tensor in program {defect.program}, but whether that lane "
                "runs hangs on tensor data that was not recorded"
            )
            return
        state.defects.setdefault(defect.rule, defect)
        state.lanes[defect.rule] = state.lanes.get(defect.rule, 0) + defect.lanes

    def device_assert(self, failure: FailedAssertion) -> None:
        """Note the kernel's own assertion, at which the launch ends."""
        self._assertion = failure

    def rows(self, call: Call, stacks: StackRows, failure: str | None) -> list[dict[str, Any]]:
        """Give one or more rows of `findings` per memory op; `failure`: why evaluation ended."""
        rows = []
        if self._assertion is not None:
            rows.append(_placed(_asserted(self._assertion), self._assertion.op, call, stacks))
        for op in call.module.ops:
            kind = kind_of(op)
            if kind in _MEMORY:
                rows += [
                    _placed(row | {"access": kind}, op, call, stacks)
                    for row in self._verdicts(op, call, failure)
                ]
        return rows

    def _verdicts(self, op: Op, call: Call, failure: str | None) -> Iterator[dict[str, Any]]:
        state = self._ops.get(op.index, _OpBounds())
        for rule, defect in state.defects.items():
            yield _violation(rule, defect, state.lanes[rule], call.arguments)
        if state.defects:
            return
        base = {"rule": "out-of-bounds", "arg": _name(state.arguments, call.arguments)}
        reason = failure or state.unknown
        if reason is not None:
            yield base | {
                "verdict": "unknown",
                "severity": "note",
                "reason": reason,
                "message": f"{kind_of(op)} could not be decided: {reason}",
            }
            return
        scope = "in every program" if state.executions else "no program reaches it"
        if call.recorded and op.index in hanging_on_data(call.module):
            scope += f"; for the recorded contents of {', '.join(call.recorded)}"
        yield base | {
            "verdict": "proven",
            "severity": "note",
            "message": f"{kind_of(op)} stays inside its tensor for this call ({scope})",
        }


def _placed(row: dict[str, Any], op: Op, call: Call, stacks: StackRows) -> dict[str, Any]:
    """Add where a finding is, and what identifies it."""
    frames = source_stack(op)
    row |= {
        "call_id": call.call_id,
        "op_index": op.index,
        "stack_id": stacks.add(frames),
        "method": "evaluated",
    }
    return row | {"finding_id": _identity(call, row, frames)}


def _asserted(failure: FailedAssertion) -> dict[str, Any]:
    others = f"; {failure.lanes} lanes do" if failure.lanes > 1 else ""
    return {
        "rule": "device-assert",
        "verdict": "violation",
        "severity": "error",
        "program_x": failure.program[0],
        "program_y": failure.program[1],
        "program_z": failure.program[2],
        "iteration": failure.iteration,
        "lane": list(failure.lane),
        "lanes": failure.lanes,
        "message": f"device_assert fails: {failure.message}{others}",
    }


def _name(indices: set[int | None], arguments: Sequence[Argument]) -> str | None:
    return ",".join(sorted({arguments[i].name for i in indices if i is not None})) or None


def _violation(
    rule: str, defect: OutOfBounds, lanes: int, arguments: Sequence[Argument]
) -> dict[str, Any]:
    name = "?" if defect.argument is None else arguments[defect.argument].name
    past = defect.past_end_bytes
    where = (
        f"ends {past} bytes past the end of {name}"
        if past > 0
        else f"starts {-past} bytes before the start of {name}"
    )
    inside = ", still inside its storage" if rule == "out-of-view" else ""
    others = f"; {lanes} lanes over the grid do" if lanes > 1 else ""
    return {
        "rule": rule,
        "verdict": "violation",
        "severity": "warning" if rule == "out-of-view" else "error",
        "program_x": defect.program[0],
        "program_y": defect.program[1],
        "program_z": defect.program[2],
        "iteration": defect.iteration,
        "lane": list(defect.lane),
        "arg": name,
        "address_offset": defect.address_offset,
        "past_end_bytes": past,
        "lanes": lanes,
        "message": f"{defect.kind} {where}{inside}{others}",
    }


def _identity(call: Call, row: dict[str, Any], frames: Sequence[Frame]) -> str:
    """Hash what is found where: the same for the same defect of the same call in another run."""
    shapes = [
        (a.name, getattr(a, "shape", None), getattr(a, "strides", None), getattr(a, "value", None))
        for a in call.arguments
    ]
    places = [(f.file, f.line, f.column) for f in frames]
    what = (call.kernel, call.grid, row["rule"], row["verdict"], row["op_index"], places, shapes)
    return hashlib.sha256(json.dumps(what, default=str).encode()).hexdigest()[:32]
