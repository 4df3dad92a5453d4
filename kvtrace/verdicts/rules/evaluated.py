"""Bounds of memory ops, from an evaluation of the grid.

An op is *proven* if every lane of every program and iteration was evaluated and lies inside its
tensor's view. It is *violated* if a lane that certainly executes lies outside; the first such lane
is the witness. It is *unknown* if an address, mask or branch depends on tensor data that was not
recorded, or the evaluation ended before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate import Argument, TensorArgument
from kvtrace.evaluate.observe import Access, OutOfBounds
from kvtrace.ir import Op
from kvtrace.ir.ops import effect_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.text import plural
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.contents.loaded import recorded_text
from kvtrace.verdicts.verdict import Verdict

RULE: Final = "out-of-bounds"


class _OpBounds(Struct):
    """The executions and defects of one op that were seen so far."""

    executions: int = 0
    arguments: set[int | None] = set()
    unknown: str | None = None
    defects: dict[str, OutOfBounds] = {}


class EvaluatedBounds(Concrete):
    """An observer that records how ops leave their tensors, and returns verdicts.

    `ops` has the indices of the ops to judge; None: all.
    """

    rules = frozenset({RULE, "out-of-view"})

    def __init__(self, call: Call, ops: Collection[int] | None = None) -> None:
        self._call = call
        self._judged_ops = None if ops is None else frozenset(ops)
        self._ops: dict[int, _OpBounds] = {}

    def access(self, access: Access) -> None:
        """Record the executions, argument and unknown address of a batch of accesses."""
        state = self._ops.setdefault(access.op.index, _OpBounds())
        state.executions += access.executions
        state.arguments.add(access.argument)
        decided = access.active == 0 or access.lowest is not None
        if not decided and state.unknown is None:
            state.unknown = access.reason or "its address could not be derived"

    def out_of_bounds(self, defect: OutOfBounds) -> None:
        """Record lanes that leave their tensor; the first lane that surely runs is the witness."""
        state = self._ops.setdefault(defect.op.index, _OpBounds())
        if not defect.certain:
            state.unknown = (
                f"it would leave its tensor in program {defect.program}, but whether that lane "
                "runs depends on tensor data that was not recorded"
            )
            return
        first = state.defects.get(defect.rule)
        state.defects[defect.rule] = defect if first is None else first.followed_by(defect)

    def verdicts(self, failure: str | None) -> list[Verdict]:
        """Return one or more verdicts per memory op; `failure`: why the evaluation ended early."""
        verdicts: list[Verdict] = []
        for op in self._call.module.ops:
            kind = effect_of(op)
            if kind and (self._judged_ops is None or op.index in self._judged_ops):
                verdicts += self._verdicts_on_op(op, kind, failure)
        return verdicts

    def defects(self, op: int) -> dict[str, OutOfBounds]:
        """Return an op's first certain defect by rule, with the count of all lanes with defects."""
        state = self._ops.get(op)
        return {} if state is None else state.defects

    def _verdicts_on_op(self, op: Op, kind: str, failure: str | None) -> Iterator[Verdict]:
        state = self._ops.get(op.index, _OpBounds())
        for defect in state.defects.values():
            yield outside_verdict(defect, self._call.arguments)
        if state.defects:
            return
        names = {self._call.arguments[i].name for i in state.arguments if i is not None}
        arg = ",".join(sorted(names)) or None
        reason = failure or state.unknown
        if reason is not None:
            yield undecided_verdict(op, kind, arg, reason, "evaluated")
        else:
            is_reached = bool(state.executions)
            yield inside_verdict(self._call, op, kind, arg, "evaluated", is_reached=is_reached)


def inside_verdict(
    call: Call, op: Op, kind: str, arg: str | None, method: str, *, is_reached: bool
) -> Verdict:
    """Return the verdict on an op that stays inside its tensor; `arg` names the tensor."""
    scope = "in every program" if is_reached else "no program reaches it"
    message = f"{kind} stays inside its tensor for this call ({scope}{recorded_text(call, op)})"
    return Verdict(RULE, "proven", op, message, method, access=kind, arg=arg)


def undecided_verdict(
    op: Op, kind: str, arg: str | None, reason: str, method: str | None = None, **more: Any
) -> Verdict:
    """Return the unknown verdict on an op, with more fields of it."""
    message = f"{kind} could not be decided: {reason}"
    return Verdict(RULE, "unknown", op, message, method, reason, kind, arg, **more)


def outside_verdict(
    defect: OutOfBounds,
    arguments: Sequence[Argument],
    method: str = "evaluated",
    *,
    counted: bool = True,
    farthest: bool = True,
) -> Verdict:
    """Return the verdict on an access that left its tensor in an evaluation.

    The verdict is a violation, or unknown if the storage may extend past the tensor.

    Args:
        defect: the access as observed, with byte offsets from the data pointer.
        arguments: the call's arguments, by index.
        method: value of the column `method`.
        counted: whether `defect` counts the lanes of the whole grid.
        farthest: whether `defect` includes the farthest lane of the whole grid.

    """
    name = arguments[defect.argument].name
    if may_be_inside(defect, arguments):
        reason = (
            f"the access {outside_text(defect, name)}, and the size of the storage of {name} was "
            "not recorded"
        )
        verdict = undecided_verdict(defect.op, defect.kind, name, reason, method)
        return replace(verdict, rule=defect.rule)
    inside = ", still inside its storage" if defect.rule == "out-of-view" else ""
    lanes = defect.lanes if counted else None
    others = _other_lanes_text(defect, lanes) if farthest else ""
    message = f"{defect.kind} {outside_text(defect, name)}{inside}{others}"
    return Verdict(
        defect.rule, "violation", defect.op, message, method, access=defect.kind, arg=name,
        address_offset=defect.address_offset, past_end_bytes=defect.past_end_bytes, lanes=lanes,
        nearest=_nearest_tensor(arguments, defect.argument, defect.address_offset),
    ).at(defect)  # fmt: skip


def may_be_inside(defect: OutOfBounds, arguments: Sequence[Argument]) -> bool:
    """Return whether an access past a tensor's end may be inside a storage of unknown size."""
    tensor = arguments[defect.argument]
    past_the_end = defect.rule == "out-of-bounds" and defect.past_end_bytes > 0
    return past_the_end and isinstance(tensor, TensorArgument) and "storage_bytes" in tensor.unknown


def _other_lanes_text(defect: OutOfBounds, lanes: int | None) -> str:
    """Return a phrase for the count of lanes outside, and the distance of the farthest."""
    farthest = abs(defect.farthest_bytes)
    distance = plural(farthest, "byte") if farthest > abs(defect.past_end_bytes) else ""
    outside = "out of bounds" if defect.rule == "out-of-bounds" else "outside of it"
    if lanes is None:
        return f"; the farthest lane is {outside} by {distance}" if distance else ""
    if lanes < 2:
        return ""
    return f"; {lanes:,} lanes of the grid are {outside}" + (
        f", by up to {distance}" if distance else ""
    )


def outside_text(defect: OutOfBounds, name: str) -> str:
    """Return a phrase for how far an access starts before or ends past a tensor."""
    past = defect.past_end_bytes
    if past > 0:
        return f"ends {plural(past, 'byte')} past the end of {name}"
    return f"starts {plural(-past, 'byte')} before the start of {name}"


def _nearest_tensor(arguments: Sequence[Argument], index: int, address_offset: int) -> str | None:
    """Return a phrase for the tensor of the same storage nearest to a byte offset, else None.

    `address_offset` counts from the argument's data pointer. Addresses of storages are unknown.
    """
    accessed = arguments[index]
    assert isinstance(accessed, TensorArgument)
    byte = accessed.offset_bytes + address_offset
    distances = []
    for position, candidate in enumerate(arguments):
        if position == index or not isinstance(candidate, TensorArgument):
            continue
        if candidate.storage is not accessed.storage:
            continue
        start, end = (candidate.offset_bytes + limit for limit in candidate.view_bytes)
        before, after = max(start - byte, 0), max(byte - end + 1, 0)
        distances.append(
            (max(before, after), position, candidate.name, before, after, byte - start)
        )
    if not distances:
        return None
    _, _, name, before, after, offset = min(distances)
    if before:
        return f"{name}, {plural(before, 'byte')} further on"
    if after:
        return f"{name}, {plural(after, 'byte')} past its end"
    return f"{name}, {plural(offset, 'byte')} into it"
