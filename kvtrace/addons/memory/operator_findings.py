"""Rows of `findings` that stand at the line of an operator."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kvtrace.addons.memory.rules import RULES
from kvtrace.ir.locations import Frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtrace.addons.memory.following import Operator
    from kvtrace.metrics.stacks import StackRows
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.verdicts.verdict import Answer


class OperatorLine(NamedTuple):
    """A tensor of an operator, and where the operator was called: its frames, innermost first."""

    operator: Operator
    tensor: int
    frames: Sequence[Frame]


class StoringCall(NamedTuple):
    """The call of a kernel that left out what an operator reads, and the name of its argument."""

    call: Call
    argument: str


def operator_row(
    line: OperatorLine,
    rule: str,
    verdict: Answer,
    message: str,
    stacks: StackRows,
    *,
    reason: str | None = None,
    stored_by: StoringCall | None = None,
) -> dict[str, Any]:
    """Return a verdict on what an operator reads as a row of the table `findings`.

    It has the call of the kernel that left out what is read, or none; `stacks` receives the frames.
    """
    frames = tuple(line.frames)
    operator, tensor = line.operator, line.operator.tensors[line.tensor]
    identity = (
        rule, verdict, operator.name, line.tensor, tensor.dtype, tensor.shape, tensor.strides,
        [(frame.file, frame.line) for frame in frames],
        None if stored_by is None else (stored_by.call.kernel, stored_by.argument),
    )  # fmt: skip
    return {
        "finding_id": hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32],
        "call_id": None if stored_by is None else stored_by.call.call_id,
        "rule": rule,
        "verdict": verdict,
        "severity": RULES[rule]["severity"] if verdict == "violation" else "note",
        "access": "load",
        "stack_id": stacks.add(frames),
        "arg": None if stored_by is None else stored_by.argument,
        "method": "followed",
        "reason": reason,
        "message": message,
    }
