"""The rules misaligned and null-pointer: addresses that the hardware rejects.

An access of elements of n bytes needs an address that is a multiple of n. Storages are assumed to
start at multiples of 256 bytes, as those of PyTorch's allocators do, unless the recorded alignment
of a data pointer says that they do not; a pointer's offset in its storage was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kvtrace.evaluate import Observer, ScalarArgument, TensorArgument
from kvtrace.evaluate.observe import Access as Touched
from kvtrace.evaluate.scope import program_at
from kvtrace.ir import Op
from kvtrace.symbolic.conditions import FALSE, Condition, at_least, equal, in_order
from kvtrace.symbolic.expressions import address_expression
from kvtrace.symbolic.functions import remainder
from kvtrace.symbolic.meanings.tt_memory import FROM_INTEGER, FROM_MEMORY
from kvtrace.symbolic.prover import Proven, Refuted, Unknown
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Symbol, Term
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.replaying import NOT_REPRODUCED, run
from kvtrace.verdicts.unknown_fields import RULE_FIELDS, unknown_text
from kvtrace.verdicts.verdict import Verdict, Witness, worst_by_op

MISALIGNED: Final = "misaligned"
NULL: Final = "null-pointer"
_NULL_PAGE: Final = 4096
"""Addresses below this are small offsets from a null pointer: no allocation has them."""


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return the worst verdict by rule and op; none for accesses that are aligned in every call."""
    return worst_by_op(
        _judge_null(bound, access)
        if _is_integer_pointer(bound, access)
        else _judge_alignment(bound, access)
        for access in bound.summary.accesses
    )


# -- alignment ----------------------------------------------------------------------------------


def _judge_alignment(bound: BoundCall, access: Access) -> Verdict | None:
    """Return the verdict misaligned on an access, None if it is aligned in every call."""
    size = access.element_bytes
    tensor = bound.call.tensor_at(access.argument)
    if tensor is None or size == 1:
        return None
    address = access.offset + tensor.address
    if _is_multiple(address, size):  # true of nearly all accesses
        unknown = unknown_text(RULE_FIELDS[MISALIGNED], (tensor,))
        return _unknown(bound, access, unknown) if unknown else None
    given = bound.active(access)
    if bound.is_unreached(access, given):
        return None
    decision = bound.prove(equal(remainder(address, size, floor=True)), given)
    if isinstance(decision, Unknown):
        return _unknown(bound, access, decision.reason)
    if isinstance(decision, Proven):
        if bound.may_wrap(access) is not None:
            return _unknown(bound, access, "the arithmetic of the address may overflow")
        message = f"{access.kind} of {tensor.name} is at multiples of {size} bytes"
        return bound.verdict(MISALIGNED, "proven", access, message, decision.method)
    doubts = bound.doubts(decision.model)
    if doubts:
        return _unknown(bound, access, doubts.reason)
    offset = _value(bound, decision, access.offset)
    program = bound.program_of(decision.model)
    observer = _Offsets(access.op)
    failure = run(bound.call, (observer,), (program,), lanes=bound.budget.replay_lanes)
    if offset not in observer.offsets:
        return _unknown(bound, access, f"{NOT_REPRODUCED} ({failure or 'not seen'})")
    bytes_past = (offset + tensor.address) % size
    message = (
        f"{access.kind} of {size} bytes at byte {offset} of {tensor.name}, {bytes_past} bytes past "
        f"a multiple of {size}"
    )
    return _violation(MISALIGNED, bound, access, message, offset, decision)


def _is_multiple(term: Term, number: int) -> bool:
    """Return whether each summand is a multiple of a number, which wrap-around preserves."""
    return all(coefficient % number == 0 for coefficient in term.coefficients.values())


def _unknown(bound: BoundCall, access: Access, reason: str) -> Verdict:
    name = bound.name_of(access)
    message = f"whether {access.kind} of {name} is aligned could not be decided: {reason}"
    return bound.verdict(MISALIGNED, "unknown", access, message, reason=reason)


def _value(bound: BoundCall, refuted: Refuted, term: Term) -> int:
    """Return a term's value at a counterexample, with the smallest of each missing symbol."""
    point = dict(refuted.model)
    for atom in term.atoms():
        if isinstance(atom, Symbol) and atom not in point:
            point[atom] = bound.ranges.of(atom)[0]
    return term.value(point)


class _Offsets(Observer):
    """An observer that records the byte offsets of an op's active lanes."""

    def __init__(self, op: Op) -> None:
        self._op = op
        self.offsets: set[int] = set()
        self.active = False

    def access(self, access: Touched) -> None:
        """Record the offsets of a batch of accesses of the op."""
        if access.op is not self._op:
            return
        certain = access.certain or access.argument is None
        self.active = self.active or (certain and bool(access.active))
        elements = access.elements()
        if elements is not None:
            self.offsets.update(elements[0].tolist())


# -- null pointers ------------------------------------------------------------------------------


def _is_integer_pointer(bound: BoundCall, access: Access) -> bool:
    """Return whether a pointer is an integer, cast or loaded, or its storage is empty."""
    if access.argument is None:
        return access.unknown in (FROM_INTEGER, FROM_MEMORY)
    argument = bound.call.arguments[access.argument]
    return isinstance(argument, ScalarArgument) or argument.storage.nbytes == 0


def _judge_null(bound: BoundCall, access: Access) -> Verdict | None:
    """Return the violation null-pointer if a run shows it, else None."""
    given = bound.active(access)
    if bound.is_unreached(access, given):
        return None
    claim = _is_no_null_pointer(bound, access)
    if claim is None:
        return None
    decision = bound.prove(claim, given)
    if not isinstance(decision, Refuted) or bound.doubts(decision.model):
        return None  # the rule out-of-bounds reports an unknown pointer
    observer = _Offsets(access.op)
    run(bound.call, (observer,), (bound.program_of(decision.model),))
    if not observer.active:
        return None
    offset = _value(bound, decision, access.offset)
    message = f"{access.kind} through a null pointer" + (f" plus {offset} bytes" if offset else "")
    return _violation(NULL, bound, access, message, offset, decision)


def _is_no_null_pointer(bound: BoundCall, access: Access) -> Condition | None:
    """Return the condition that an address is no null pointer; None: it is unknown."""
    if access.argument is None:
        symbols = [a for a in in_order(access.offset.atoms()) if isinstance(a, Symbol)]
        if bound.unrecorded(symbols):
            return None
        return at_least(access.offset, _NULL_PAGE) | at_least(-1 - access.offset)
    argument = bound.call.arguments[access.argument]
    is_null = isinstance(argument, TensorArgument) or argument.value == 0
    return FALSE if is_null else None


def _violation(
    rule: str, bound: BoundCall, access: Access, message: str, offset: int, refuted: Refuted
) -> Verdict:
    lane = tuple(
        refuted.model.get(Symbol("lane", axis, 0, extent - 1), 0) if extent > 1 else 0
        for axis, extent in enumerate(access.shape)
    )
    trip = refuted.model.get(access.loops[-1].trip, 0) if access.loops else 0
    program = program_at(bound.program_of(refuted.model), bound.call.grid)
    expression = address_expression(access, bound.summary)
    verdict = bound.verdict(
        rule, "violation", access, message, refuted.method, address_offset=offset,
        expression=expression,
    )  # fmt: skip
    return verdict.at(Witness(program, trip, lane))
