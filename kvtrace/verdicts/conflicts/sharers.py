"""Accesses of a call to storages that it writes: the accesses that may race."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.flow import value_before
from kvtrace.ir.ops import (
    FUNCTIONS,
    GIVEN,
    MODULAR,
    SPREADING,
    address_of,
    computing,
    mask_of,
    operator_of,
)
from kvtrace.ir.types import IntegerType, TensorType
from kvtrace.symbolic.conditions import FALSE
from kvtrace.symbolic.prover import Given, Proven, Refuted
from kvtrace.symbolic.prover.digits import Shared, Side
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.conflicts.copies import Copy
from kvtrace.verdicts.conflicts.parts import Part, parts_of
from kvtrace.verdicts.ideal_trips import are_ideal, has_ideal_trips
from kvtrace.verdicts.rules import overflow

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

_SPREADING: Final = SPREADING | computing("expand_dims")
_SUMS: Final = _SPREADING | (MODULAR & computing("+", "-", "*")) | computing("cast")
_LEAVES: Final = GIVEN - computing("undefined")


@dataclass(frozen=True, eq=False)
class Sharer:
    """An access to a storage that the launch writes (None: it is not known which storage).

    `side` has the address; if the address is not known, `reason` says why. With a `modulus`, the
    address is known except for multiples of the modulus, in bytes: its integers may wrap around.
    Those of the mask may wrap too, so the side then has no conditions.
    """

    access: Access
    part: Part
    storage: Storage | None
    side: Side | None
    reason: str | None
    modulus: int | None = None

    @property
    def exact(self) -> Side | None:
        """The side, if its address and conditions are known exactly, else None."""
        return self.side if self.modulus is None else None


def sharers_of(bound: BoundCall) -> tuple[Sharer, ...]:
    """Return the accesses to written storages, in the summary's order, from the call's memo."""
    sharers: tuple[Sharer, ...] | None = bound.memo.get(sharers_of)
    if sharers is None:
        sharers = bound.memo[sharers_of] = tuple(_sharers(bound))
    return sharers


def source_of(module: Module, symbol: Symbol) -> Op | None:
    """Return the op that a loaded or untracked symbol comes from, else None."""
    key: object = symbol.key
    while isinstance(key, tuple):
        key = key[0]
    return module.ops[key] if isinstance(key, int) and 0 <= key < len(module.ops) else None


def pairs_of_one_storage(sharers: Sequence[Sharer]) -> Iterator[tuple[Sharer, Sharer]]:
    """Yield each pair of accesses (or one twice) that may go to the same storage."""
    for one, other in combinations_with_replacement(sharers, 2):
        if None in (one.storage, other.storage) or one.storage is other.storage:
            yield one, other


def copy_of(bound: BoundCall, sharer: Sharer) -> Copy:
    """Return the address, width and conditions of a sharer whose argument is known."""
    access = sharer.access
    assert access.argument is not None
    argument = bound.call.arguments[access.argument]
    assert isinstance(argument, TensorArgument)
    address = access.offset + argument.offset_bytes
    return address, access.element_bytes, access.active.conjuncts()


def _sharers(bound: BoundCall) -> Iterator[Sharer]:
    accesses = bound.summary.accesses
    parts = parts_of(bound.call.module).by_op
    tensors = [_tensor(bound, access) for access in accesses]
    pairs = list(zip(accesses, tensors, strict=True))
    writing = [tensor for access, tensor in pairs if access.kind != "load"]
    written = {tensor.storage for tensor in writing if tensor is not None}
    for access, tensor in pairs:
        storage = None if tensor is None else tensor.storage
        if storage is None or storage in written or None in writing:
            if tensor is None or access.unknown is not None:
                reason = access.unknown or "its address could not be derived"
                yield Sharer(access, parts[access.op.index], storage, None, reason)
            else:
                yield _sharer(bound, access, parts[access.op.index], tensor)


def _tensor(bound: BoundCall, access: Access) -> TensorArgument | None:
    argument = None if access.argument is None else bound.call.arguments[access.argument]
    return argument if isinstance(argument, TensorArgument) else None


def _sharer(bound: BoundCall, access: Access, part: Part, tensor: TensorArgument) -> Sharer:
    form = bound.ranges.form(access.offset).shifted(tensor.offset_bytes)
    if _is_ideal(bound, access):
        side = Side(form, access.element_bytes, bound.active(access))
        return Sharer(access, part, tensor.storage, side, None)
    reason = "its address may be computed from integers that wrap around"
    bits = None if access.calls else _bits_of_sum(access.op, in_one_program=False)
    if bits is None:
        return Sharer(access, part, tensor.storage, None, reason)
    side = Side(form, access.element_bytes, Given((), bound.ranges))
    return Sharer(access, part, tensor.storage, side, reason, access.element_bytes << bits)


def _is_ideal(bound: BoundCall, access: Access) -> bool:
    """Return whether the kernel's integers equal ideal integers wherever an access uses them.

    Where that depends on data, a solver runs only if a program gets to the access.
    """
    wrapping = bound.may_wrap(access)
    if wrapping is None:
        return True
    decision = wrapping[1]
    doubtful = isinstance(decision, Refuted) and bool(bound.doubts(decision.model))
    return (not doubtful or is_unreached(bound, access)) and not overflow.wraps(bound, access)


def is_unreached(bound: BoundCall, access: Access) -> bool:
    """Return whether no program gets to an access, with ideal integers."""
    return isinstance(bound.prove(FALSE, bound.given(access)), Proven)


def as_in_one_program(bound: BoundCall, sharer: Sharer, shared: Shared) -> Sharer:
    """Return an access of one lane with an address that is exact up to wrap-around.

    Scalars may have any value: both lanes have the same, if they are in the same trips (`shared`).
    In other loops all trips must be those of the loops' formulas.
    """
    if sharer.exact is not None or sharer.storage is None:
        return sharer
    access = sharer.access
    separate_loops = (loop.op for loop in access.loops if not shared(loop.trip))
    is_lost = bool(access.calls) or access.unknown is not None
    if is_lost or not all(has_ideal_trips(bound, loop) for loop in separate_loops):
        return sharer
    bits = _bits_of_sum(access.op, in_one_program=True)
    if bits is None:
        return sharer
    address, width, _ = copy_of(bound, sharer)
    mask = mask_of(access.op)
    is_known = mask is not None and are_ideal(bound, (mask,))
    given = Given(access.mask.conjuncts() if is_known else (), bound.ranges)
    side = Side(bound.ranges.form(address), width, given)
    return replace(sharer, side=side, modulus=width << bits)


def _bits_of_sum(op: Op, *, in_one_program: bool) -> int | None:
    """Return the width in bits in which an address is summed, if by sums and products alone.

    These may wrap around anywhere: the result is right modulo 2 ** width. With `in_one_program` the
    sources of scalars do not matter.
    """
    pointer, bits = value_before(address_of(op), _SPREADING), 64
    while not in_one_program or isinstance(pointer.type, TensorType):
        added = pointer.owner
        if not isinstance(added, Op):
            return bits if _is_function_parameter(pointer) else None
        offset = _bits_of(added.operand("offset"), in_one_program=in_one_program) if (
            operator_of(added) == "+"
        ) else None  # fmt: skip
        if offset is None:
            return None
        pointer, bits = value_before(added.operand("pointer"), _SPREADING), min(bits, offset)
    return bits


def _bits_of(offset: Value, *, in_one_program: bool) -> int | None:
    """Return the narrowest width in which an integer is summed, if by sums and products alone."""
    pending, bits = [offset], 64
    while pending:
        value = pending.pop()
        width = _width(value)
        if width is None:
            return None
        bits = min(bits, width)
        if in_one_program and not isinstance(value.type, TensorType):
            continue
        if not isinstance(value.owner, Op):
            if not _is_function_parameter(value):
                return None
        elif value.owner.name in _SUMS:
            pending += value.owner.operands
        elif value.owner.name not in _LEAVES:
            return None
    return bits


def _is_function_parameter(value: Value) -> bool:
    return isinstance(value.owner, Block) and value.owner.region.owner.name in FUNCTIONS


def _width(value: Value) -> int | None:
    kind = value.type.element if isinstance(value.type, TensorType) else value.type
    return kind.width if isinstance(kind, IntegerType) else None
