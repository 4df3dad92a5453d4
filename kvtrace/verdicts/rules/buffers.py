"""The rule buffer-range: accesses whose offsets AMD's buffers do not reach.

A buffer begins at its base pointer and ends before 2 GiB; the device drops lanes outside. Triton
makes accesses by pointers into accesses by buffers where it proves that they lie within, or where
the tensor is smaller than 2 GiB (`ConvertToBufferOps.cpp` of its AMD backend).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kvtrace.evaluate.scope import program_at
from kvtrace.ir import Op, Value
from kvtrace.ir.buffer_ops import BUFFER_BYTES, IN_BUFFER
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import KINDS, SPREADING, operator_of
from kvtrace.ir.types import TensorType, pointee_bytes
from kvtrace.symbolic.conditions import Condition, at_least
from kvtrace.symbolic.prover import Given, Proven, Refuted
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import ZERO, Term
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.verdict import Answer, Verdict

RULE: Final = "buffer-range"


def judge(bound: BoundCall) -> Iterator[Verdict]:
    """Yield a verdict on each access by a buffer, and on each that cannot become one."""
    if not bound.call.module.target.startswith("hip:"):
        return
    for access in bound.summary.accesses:
        if access.calls or not KINDS[access.op.name].has("pointer"):
            continue
        is_buffer = IN_BUFFER in access.op.attributes
        steps, base = _steps(access.op.operand("pointer"))
        elements = _distance(bound, steps)
        if elements is None or not (is_buffer or _needs_proof(bound, access, base)):
            continue
        given = bound.active(access)
        if is_buffer:
            given = bound.given_of((*access.reached.conjuncts(), *_own_mask(bound, access)))
        if not bound.is_unreached(access, given):
            yield from _judge_access(bound, access, elements, given)


def _steps(pointer: Value) -> tuple[list[Value], Value]:
    """Return the numbers of elements that are added to a pointer, and the pointer before."""
    steps: list[Value] = []
    while isinstance(op := pointer.owner, Op) and _moves(op):
        if KINDS[op.name].has("offset"):
            steps.append(op.operand("offset"))
            pointer = op.operand("pointer")
        else:
            pointer = op.operand("source")
        if not isinstance(pointer.type, TensorType):
            break
    return steps, pointer


def _moves(op: Op) -> bool:
    return op.name in SPREADING or operator_of(op) == "+"


def _distance(bound: BoundCall, steps: Iterable[Value]) -> Term | None:
    total = ZERO
    for step in steps:
        term = bound.summary.values.get(step.id)
        if not isinstance(term, Term):
            return None
        total += term
    return total


def _needs_proof(bound: BoundCall, access: Access, base: Value) -> bool:
    """Return whether a buffer from a base is larger than 2 GiB, as far as Triton knows."""
    tensor = bound.call.tensor_at(access.argument)
    is_start = base in bound.call.module.main.arguments
    return not (is_start and tensor is not None and tensor.storage.nbytes <= BUFFER_BYTES)


def _own_mask(bound: BoundCall, access: Access) -> Iterable[Condition]:
    """Return the mask that the kernel gives to an access by a buffer."""
    both = access.op.operand("mask").owner
    if not isinstance(both, Op) or attribute(access.op, IN_BUFFER):
        return ()
    mask = bound.summary.values.get(both.operand("left").id)
    return (mask,) if isinstance(mask, Condition) else ()


def _judge_access(
    bound: BoundCall, access: Access, elements: Term, given: Given
) -> Iterator[Verdict]:
    is_buffer = IN_BUFFER in access.op.attributes
    size = pointee_bytes(access.op.operand("pointer").type)
    offset = elements * size
    decision = bound.prove(at_least(offset) & at_least(BUFFER_BYTES - size - offset), given)
    is_within = isinstance(decision, Proven) and bound.may_wrap(access) is None
    if is_within and not is_buffer:
        return
    low, high = bound.ranges.interval(offset)
    reach = f"bytes {low:,} to {high + size - 1:,} from its base"
    subject = f"this {access.kind} is at {reach}"
    is_refuted = isinstance(decision, Refuted) and not bound.doubts(decision.model)
    answer: Answer = "proven" if is_within else "violation"
    message = f"{subject}, in the 2 GiB of its buffer"
    if is_buffer and not is_within:
        answer = "violation" if is_refuted else "unknown"
        message = f"{subject}: the device drops lanes outside of 0 to 2 GiB"
    elif not is_within:
        message = f"{subject}, not surely in 0 to 2 GiB, so that Triton uses no buffer for it"
    witness = None
    if isinstance(decision, Refuted) and is_refuted:
        witness = program_at(bound.program_of(decision.model), bound.call.grid)
    yield bound.verdict(
        RULE, answer, access, message, getattr(decision, "method", "interval"),
        reason=reach if answer == "unknown" else None, program=witness,
    )  # fmt: skip
