"""Accesses of a call to storages that it writes: the accesses that may race."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

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
from kvtrace.ir.types import TensorType, integer_bits
from kvtrace.symbolic.conditions import FALSE
from kvtrace.symbolic.prover import Given, Proven, Refuted
from kvtrace.symbolic.prover.digits import Shared, Side
from kvtrace.symbolic.summary import Access, op_index
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.binding import BoundCall, once_per_call
from kvtrace.verdicts.conflicts.copies import Copy
from kvtrace.verdicts.conflicts.parts import Role, roles_of
from kvtrace.verdicts.rules import overflow

_SPREADING: Final = SPREADING | computing("expand_dims")
_SUMS: Final = _SPREADING | (MODULAR & computing("+", "-", "*")) | computing("cast")
ADDRESSES: Final = 1 << 64
"""The count of addresses: an element 2^64 bytes further on is the same one."""
_LEAVES: Final = GIVEN - computing("undefined")


class Sharer(Struct, frozen=True, eq=False):
    """An access to a storage that the launch also writes (None: the storage is not known).

    `side` has the address; if the address is not known, `reason` says why. With a `modulus`, the
    address is known only modulo that many bytes, since its integers may wrap around, or its bytes
    be 2^64 or more. The mask's integers may wrap, too: the side then has no conditions.
    """

    access: Access
    role: Role
    storage: Storage | None
    side: Side | None
    reason: str | None
    modulus: int | None = None

    @property
    def exact(self) -> Side | None:
        """The side if its address and conditions are known exactly, else None."""
        return self.side if self.modulus is None else None


@once_per_call
def sharers_of(bound: BoundCall) -> tuple[Sharer, ...]:
    """Return a call's accesses to written storages, in the summary's order; cached."""
    return tuple(_sharers(bound))


def source_of(module: Module, symbol: Symbol) -> Op | None:
    """Return the op whose result a loaded or untracked symbol stands for, None if there is none."""
    index = op_index(symbol)
    return None if index is None else module.ops[index]


def pairs_of_one_storage(sharers: Sequence[Sharer]) -> Iterator[tuple[Sharer, Sharer]]:
    """Yield each pair of accesses (also each access with itself) that may share a storage."""
    for left, right in combinations_with_replacement(sharers, 2):
        if None in (left.storage, right.storage) or left.storage is right.storage:
            yield left, right


def copy_of(bound: BoundCall, sharer: Sharer) -> Copy:
    """Return the address, width and conditions of an access whose argument is known."""
    access = sharer.access
    assert access.argument is not None
    argument = bound.call.tensor(access.argument)
    address = access.offset + argument.offset_bytes
    return address, access.element_bytes, access.active.conjuncts()


def _sharers(bound: BoundCall) -> Iterator[Sharer]:
    accesses = bound.summary.accesses
    roles = roles_of(bound.call.module).by_op
    tensors = [bound.call.tensor_at(access.argument) for access in accesses]
    pairs = list(zip(accesses, tensors, strict=True))
    written_tensors = [tensor for access, tensor in pairs if access.kind != "load"]
    written_storages_ = {tensor.storage for tensor in written_tensors if tensor is not None}
    for access, tensor in pairs:
        storage = None if tensor is None else tensor.storage
        if storage is None or storage in written_storages_ or None in written_tensors:
            if tensor is None or access.unknown is not None:
                reason = access.unknown or "its address could not be derived"
                yield Sharer(access, roles[access.op.index], storage, None, reason)
            else:
                yield _sharer(bound, access, roles[access.op.index], tensor)


def _sharer(bound: BoundCall, access: Access, role: Role, tensor: TensorArgument) -> Sharer:
    form = bound.ranges.form(access.offset) + tensor.offset_bytes
    reason = "its address may be computed from integers that wrap around"
    if _is_ideal(bound, access):
        side = Side(form, access.element_bytes, bound.active(access))
        if bound.has_ideal_address(access):
            return Sharer(access, role, tensor.storage, side, None)
        return Sharer(access, role, tensor.storage, side, reason, ADDRESSES)
    bits = None if access.calls else _address_bits(access.op, in_one_program=False)
    if bits is None:
        return Sharer(access, role, tensor.storage, None, reason)
    side = Side(form, access.element_bytes, Given((), bound.ranges))
    modulus = min(access.element_bytes << bits, ADDRESSES)
    return Sharer(access, role, tensor.storage, side, reason, modulus)


def _is_ideal(bound: BoundCall, access: Access) -> bool:
    """Return whether no integer that determines an access wraps around where the access runs.

    If that depends on data, a solver runs only if a program may reach the access.
    """
    possible_wrap = bound.may_wrap(access)
    if possible_wrap is None:
        return True
    decision = possible_wrap[1]
    depends_on_data = isinstance(decision, Refuted) and bool(bound.doubts(decision.model))
    return (not depends_on_data or is_unreached(bound, access)) and not overflow.wraps(
        bound, access
    )


def is_unreached(bound: BoundCall, access: Access) -> bool:
    """Return whether no program reaches an access, if no integer wraps around."""
    return isinstance(bound.prove(FALSE, bound.given(access)), Proven)


def as_in_one_program(bound: BoundCall, sharer: Sharer, shared: Shared) -> Sharer:
    """Return an access with an address that is known modulo a power of two, for two lanes.

    Scalars may have any value, as both lanes have the same in the same trips (`shared`).
    In other loops all trips must be those of the loops' formulas.
    """
    if sharer.exact is not None or sharer.storage is None:
        return sharer
    access = sharer.access
    separate_loops = (loop.op for loop in access.loops if not shared(loop.trip))
    is_lost = bool(access.calls) or access.unknown is not None
    if is_lost or not all(bound.has_ideal_trips(loop) for loop in separate_loops):
        return sharer
    bits = _address_bits(access.op, in_one_program=True)
    if bits is None:
        return sharer
    address, width, _ = copy_of(bound, sharer)
    mask = mask_of(access.op)
    is_known = mask is not None and bound.are_ideal((mask,))
    given = Given(access.mask.conjuncts() if is_known else (), bound.ranges)
    side = Side(bound.ranges.form(address), width, given)
    return replace(sharer, side=side, modulus=min(width << bits, ADDRESSES))


def _address_bits(op: Op, *, in_one_program: bool) -> int | None:
    """Return the width in bits modulo which an address is right, None if it is not a sum.

    Sums and products may wrap around and stay right modulo 2 ** width. With `in_one_program`,
    scalars may be computed in any way.
    """
    pointer, bits = value_before(address_of(op), _SPREADING), 64
    while not in_one_program or isinstance(pointer.type, TensorType):
        sum_op = pointer.owner
        if not isinstance(sum_op, Op):
            return bits if _is_function_parameter(pointer) else None
        offset_bits = _offset_bits(sum_op.operand("offset"), in_one_program=in_one_program) if (
            operator_of(sum_op) == "+"
        ) else None  # fmt: skip
        if offset_bits is None:
            return None
        pointer, bits = value_before(sum_op.operand("pointer"), _SPREADING), min(bits, offset_bits)
    return bits


def _offset_bits(offset: Value, *, in_one_program: bool) -> int | None:
    """Return the narrowest width of the sums and products behind an integer, else None."""
    pending, bits = [offset], 64
    while pending:
        value = pending.pop()
        value_bits = integer_bits(value.type)
        if value_bits is None:
            return None
        bits = min(bits, value_bits)
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
