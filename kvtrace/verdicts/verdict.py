"""Verdicts of rules on one op of a call, and their rows of `findings`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.ir import Module, Op, source_stack
from kvtrace.ir.flow import enclosing_ops
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import LOOPS
from kvtrace.ir.stacks import OpStacks
from kvtrace.schema.content import Stack, StackRows

if TYPE_CHECKING:
    from kvtrace.evaluate.observe import FailedAssertion, OutOfBounds
    from kvtrace.recorded_calls.recorded import Call

_JSON: Final = json.JSONEncoder(default=str).encode
#: The columns of a finding that identify it, beside its call and source locations.
_IDENTIFYING: Final = ("rule", "verdict", "op_index", "arg", "other_op_index")

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
    """Return a verdict as a row of the table `findings`, as `rows_of`."""
    return rows_of([(verdict, severity)], call, stacks)[0]


def rows_of(
    judged: Iterable[tuple[Verdict, Severity]], call: Call, stacks: StackRows
) -> list[dict[str, Any]]:
    """Return verdicts as rows of the table `findings`.

    Args:
        judged: verdicts on ops of the call, each with its rule's severity, used if it is violated.
        call: the call that was judged.
        stacks: receives the ops' source stacks.

    """
    head, tail = _call_texts(call)
    rows = []
    for verdict, severity in judged:
        row = _row_of(verdict, call, stacks, severity)
        columns = _json_text(*[row[name] for name in _IDENTIFYING])
        locations = _op_facts(call.module).of(verdict.op).locations
        identity = f"{head}, {columns}, {locations}, {tail}"
        row["finding_id"] = hashlib.sha256(identity.encode()).hexdigest()[:32]
        rows.append(row)
    return rows


def _row_of(verdict: Verdict, call: Call, stacks: StackRows, severity: Severity) -> dict[str, Any]:
    op_facts = _op_facts(call.module)
    facts = op_facts.of(verdict.op)
    x, y, z = verdict.program or (None, None, None)
    other_x, other_y, other_z = verdict.other_program or (None, None, None)
    other_op = verdict.other_op
    return {
        "call_id": call.call_id,
        "op_index": verdict.op.index,
        "rule": verdict.rule,
        "verdict": verdict.verdict,
        "severity": severity if verdict.verdict == "violation" else "note",
        "access": verdict.access,
        "stack_id": stacks.add_stack(facts.stack),
        "program_x": x,
        "program_y": y,
        "program_z": z,
        "iteration": verdict.iteration if facts.in_loop else None,
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
        "other_stack_id": None
        if other_op is None
        else stacks.add_stack(op_facts.of(other_op).stack),
        "nearest": verdict.nearest,
        "assumption": verdict.assumption,
    }


@lru_cache(1 << 12)
def _json_text(*columns: str | int | None) -> str:
    """Return columns as JSON, which calls of one kernel often share."""
    return _JSON(columns)


class _OpFacts(Struct, frozen=True):
    """An op's source stack, whether it is in a loop, and its source locations as JSON."""

    stack: Stack
    in_loop: bool
    locations: str


class _OpsFacts:
    """The facts of one module's ops, computed once per op for all calls of the kernel."""

    def __init__(self) -> None:
        self._stacks = OpStacks()
        self._facts: dict[Op, _OpFacts] = {}

    def of(self, op: Op) -> _OpFacts:
        """Return an op's facts."""
        facts = self._facts.get(op)
        if facts is None:
            in_loop = any(parent.name in LOOPS for parent in enclosing_ops(op))
            locations = _JSON([(f.file, f.line, f.column) for f in source_stack(op)])
            facts = self._facts[op] = _OpFacts(self._stacks.of(op), in_loop, locations)
        return facts


@once_per_module
def _op_facts(_module: Module) -> _OpsFacts:
    return _OpsFacts()


def _call_texts(call: Call) -> tuple[str, str]:
    """Return the beginning and the end of the JSON text of which a finding's id is a hash.

    The text is the same in another run of the same program.
    """
    shapes = [
        (a.name, getattr(a, "shape", None), getattr(a, "strides", None), getattr(a, "value", None))
        for a in call.arguments
    ]
    return f"[{_JSON(call.kernel)}, {_JSON(call.grid)}", f"{_JSON(shapes)}]"


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
