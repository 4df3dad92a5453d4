"""Verdicts of rules on one op of a call, and their rows of `findings`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.ir import Frame, Module, Op, source_stack
from kvtrace.ir.flow import enclosing_ops
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import LOOPS
from kvtrace.ir.stacks import OpStacks
from kvtrace.schema.content import StackRows

if TYPE_CHECKING:
    from kvtrace.evaluate.observe import FailedAssertion, OutOfBounds
    from kvtrace.recorded_calls.recorded import Call

#: The rule whose row reports a call that cannot be judged.
_ACCESSES: Final = "out-of-bounds"

Answer = Literal["violation", "proven", "unknown"]
RANK: Final = ("proven", "unknown", "violation")
Severity = Literal["error", "warning", "note"]
Program = tuple[int, int, int]


class Witness(Struct, frozen=True):
    """A place in an evaluation: a program, a trip of the innermost loop, a lane in the block."""

    program: Program
    iteration: int
    lane: tuple[int, ...] | None


class Verdict(Struct, frozen=True):
    """The result of one rule for one op of one call.

    `method`: how the answer was found (interval, affine, solver or evaluated). `reason` says why it
    is unknown; `assumption` is a condition on a tensor's contents under which the op is safe. A
    violation has a witness: `program`, `iteration` of the innermost loop, `lane` in the block,
    `address_offset` in bytes from the argument's data pointer, `past_end_bytes` from the end of the
    permitted range (negative: bytes before its start). `lanes` counts the lanes that break the rule
    over the grid, None if they were not counted. `expression` is the address in the kernel's own
    names, `nearest` the tensor nearest to it. `other_program` and `other_op` are the second side of
    a race. `solver_ns` is the solver's time. `evaluating`: evaluating the call may decide this
    unknown. `unless`: this verdict is left out if that op's own verdict is unknown. `launches` are
    the launches (`launches.seq`) whose recorded contents the verdict is about; None: all of them.
    """

    rule: str
    verdict: Answer
    op: Op
    message: str
    method: str | None = None
    reason: str | None = None
    access: str | None = None
    arg: str | None = None
    program: Program | None = None
    iteration: int | None = None
    lane: tuple[int, ...] | None = None
    address_offset: int | None = None
    past_end_bytes: int | None = None
    lanes: int | None = None
    expression: str | None = None
    solver_ns: int | None = None
    other_program: Program | None = None
    other_op: Op | None = None
    assumption: str | None = None
    nearest: str | None = None
    evaluating: bool = False
    unless: Op | None = None
    launches: frozenset[int] | None = None

    def at(self, witness: Witness | OutOfBounds | FailedAssertion) -> Verdict:
        """Return the verdict with the place at which its op breaks the rule."""
        program, trip, lane = witness.program, witness.iteration, witness.lane
        return replace(self, program=program, iteration=trip, lane=lane)

    def because(self, reason: str) -> Verdict:
        """Return the unknown verdict with another reason, in its message, too."""
        message = self.message.replace(self.reason or "", reason)
        return replace(self, reason=reason, message=message)

    def undecided(self, message: str, reason: str) -> Verdict:
        """Return an unknown verdict of the same rule on the same access, without a witness."""
        return Verdict(
            self.rule, "unknown", self.op, f"{message}: {reason}", reason=reason,
            access=self.access, arg=self.arg,
        )  # fmt: skip


def worst_by_op(verdicts: Iterable[Verdict | None]) -> list[Verdict]:
    """Return the worst verdict by each rule on each op, in the order of the first ones."""
    worst: dict[tuple[str, int], Verdict] = {}
    for verdict in filter(None, verdicts):
        previous = worst.setdefault((verdict.rule, verdict.op.index), verdict)
        if RANK.index(verdict.verdict) > RANK.index(previous.verdict):
            worst[verdict.rule, verdict.op.index] = verdict
    return [*worst.values()]


def row_of(
    verdict: Verdict, call: Call, stacks: StackRows, severity: Severity = "error"
) -> dict[str, Any]:
    """Return a verdict as a row of the table `findings`.

    Args:
        verdict: the verdict on one op of the call.
        call: the call that was judged.
        stacks: receives the op's source stack.
        severity: the severity of the rule, used if it is violated.

    """
    op_stacks, frames = _op_stacks(call.module), source_stack(verdict.op)
    x, y, z = verdict.program or (None, None, None)
    other_x, other_y, other_z = verdict.other_program or (None, None, None)
    other_op = verdict.other_op
    row = {
        "call_id": call.call_id,
        "op_index": verdict.op.index,
        "rule": verdict.rule,
        "verdict": verdict.verdict,
        "severity": severity if verdict.verdict == "violation" else "note",
        "access": verdict.access,
        "stack_id": stacks.add_stack(op_stacks.of(verdict.op)),
        "program_x": x,
        "program_y": y,
        "program_z": z,
        "iteration": verdict.iteration if _in_loop(verdict.op) else None,
        "lane": None if verdict.lane is None else list(verdict.lane),
        "arg": verdict.arg,
        "address_offset": verdict.address_offset,
        "past_end_bytes": verdict.past_end_bytes,
        "lanes": verdict.lanes,
        "expression": verdict.expression,
        "method": verdict.method,
        "reason": verdict.reason,
        "message": verdict.message,
        "solver_ns": verdict.solver_ns,
        "other_program_x": other_x,
        "other_program_y": other_y,
        "other_program_z": other_z,
        "other_op_index": None if other_op is None else other_op.index,
        "other_stack_id": None if other_op is None else stacks.add_stack(op_stacks.of(other_op)),
        "nearest": verdict.nearest,
        "assumption": verdict.assumption,
    }
    return row | {"finding_id": _identity(call, row, frames)}


@once_per_module
def _op_stacks(_module: Module) -> OpStacks:
    return OpStacks()


def _in_loop(op: Op) -> bool:
    """Return whether an op is in a loop of the kernel."""
    return any(parent.name in LOOPS for parent in enclosing_ops(op))


def _identity(call: Call, row: dict[str, Any], frames: Sequence[Frame]) -> str:
    """Return a hash of a finding that is the same in another run of the same program."""
    shapes = [
        (a.name, getattr(a, "shape", None), getattr(a, "strides", None), getattr(a, "value", None))
        for a in call.arguments
    ]
    source_locations = [(f.file, f.line, f.column) for f in frames]
    columns = tuple(row[key] for key in ("rule", "verdict", "op_index", "arg", "other_op_index"))
    identity = (call.kernel, call.grid, columns, source_locations, shapes)
    return hashlib.sha256(json.dumps(identity, default=str).encode()).hexdigest()[:32]


def unjudged_row(call_id: int, kernel: str, reason: str, rules: Sequence[str]) -> dict[str, Any]:
    """Return the row of `findings` of a call that no rule could judge, under one of `rules`."""
    rule = _ACCESSES if _ACCESSES in rules else rules[0]
    subject = "the accesses" if rule == _ACCESSES else f"the rule {rule}"
    return {
        "finding_id": f"unready-{call_id}",
        "call_id": call_id,
        "rule": rule,
        "verdict": "unknown",
        "severity": "note",
        "reason": reason,
        "message": f"{subject} of {kernel} could not be decided: {reason}",
    }
