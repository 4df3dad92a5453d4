"""Meanings of pointer arithmetic, loads, stores and atomics of `tt`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kvtrace.ir.model import number_of
from kvtrace.ir.ops import KINDS, contents_of, mask_of
from kvtrace.ir.types import bytes_in_memory, integer_bits, is_pointer, pointee_bytes, shape_of
from kvtrace.symbolic.conditions import TRUE, Condition
from kvtrace.symbolic.functions import choice
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.meanings.merging import as_number, as_truth
from kvtrace.symbolic.summary import (
    Access,
    BlockPointer,
    Formula,
    Pointer,
    PointerChoice,
    unknown_pointer,
)
from kvtrace.symbolic.terms import Atom, Symbol, Term, signed_range

if TYPE_CHECKING:
    from kvtrace.ir import Op, Value
    from kvtrace.symbolic.walk import Walk

OPERATORS = {
    1: "and", 2: "or", 3: "xor", 4: "add", 5: "fadd", 6: "max", 7: "min", 8: "umax", 9: "umin",
    10: "xchg",
}  # fmt: skip
"""Triton's RMWOp by number."""

FROM_INTEGER = "a pointer made of an integer"
FROM_MEMORY = "a pointer that was loaded from memory"
"""Reasons of unknown accesses; with FROM_INTEGER the offset is the address."""

_LARGEST_ADDRESS = (1 << 63) - 1


@meaning("tt.addptr")
def addptr(walk: Walk, op: Op) -> None:
    """Set the result to pointers advanced by a number of elements."""
    pointer, steps = walk.pointer(op.operand("pointer")), walk.term(op.operand("offset"))
    distance = steps * pointee_bytes(op.operand("pointer").type)
    walk.set(op.results[0], moved(pointer, distance, shape_of(op.results[0].type)))


def moved(pointer: Pointer, distance: Term, shape: tuple[int, ...]) -> Pointer:
    """Return pointers advanced by a number of bytes, in a shape."""
    choices = tuple(replace(option, offset=option.offset + distance) for option in pointer.choices)
    return Pointer(choices, shape)


@meaning("tt.ptr_to_int")
def ptr_to_int(walk: Walk, op: Op) -> None:
    """Set the result to addresses: an unknown base for each argument, plus the offset."""
    result: Term | None = None
    for option in walk.pointer(op.operand("source")).choices:
        if option.argument is None:
            walk.set_unknown(op.results[0], op, option.unknown or "an unknown address")
            return
        address = _address_of(option.argument) + option.offset
        result = address if result is None else choice(option.condition, address, result)
    if result is not None:
        walk.set(op.results[0], result)


def _address_of(argument: int) -> Term:
    key = (("address", argument), "the address of an argument")
    return Symbol("unknown", key, 0, _LARGEST_ADDRESS).term


@meaning("tt.int_to_ptr")
def int_to_ptr(walk: Walk, op: Op) -> None:
    """Set the result to a pointer into the argument whose address is a summand, or from 0."""
    address, shape = walk.term(op.operand("source")), shape_of(op.results[0].type)
    affine_form = address.affine()
    atoms = affine_form[1].items() if affine_form is not None else ()
    bases = [
        (atom, argument)
        for atom, number in atoms
        if number == 1 and (argument := _argument_of(atom)) is not None
    ]
    if len(bases) != 1:
        reason = FROM_MEMORY if address.symbols("content") else FROM_INTEGER
        made = PointerChoice(None, address, TRUE, reason)
        walk.set(op.results[0], Pointer((made,), shape))
        return
    atom, argument = bases[0]
    offset = address - atom.term
    walk.set(op.results[0], Pointer((PointerChoice(argument, offset, TRUE),), shape))


def _argument_of(atom: Atom) -> int | None:
    """Return the argument whose address a symbol represents, or None."""
    match atom:
        case Symbol(kind="unknown", key=(("address", int(argument)), _)):
            return argument
    return None


# -- loads and stores ---------------------------------------------------------------------------


@meaning("ttg.async_copy_global_to_local")
def async_copy(walk: Walk, op: Op) -> None:
    """Record the load of a copy to shared memory."""
    view = contents_of(op).type
    walk.record_accesses(
        op, "load", walk.pointer(op.operand("pointer")), _mask(walk, op), bytes_in_memory(view),
        shape_of(view),
    )  # fmt: skip


@meaning("tt.load")
def load(walk: Walk, op: Op) -> None:
    """Record a load, and set the result to the memory's content, or `other` in masked lanes.

    The padding of a block pointer in lanes outside is unknown.
    """
    value, other = op.results[0], op.optional("other")
    pointer, mask = _places(walk, op, value)
    accesses = walk.record_accesses(
        op, "load", pointer, mask, bytes_in_memory(value.type), shape_of(value.type), value=value
    )
    fill = None if other is None else walk.formula(other)
    walk.set(value, loaded(walk, op, value, accesses, mask, fill))


def _mask(walk: Walk, op: Op) -> Condition:
    mask = mask_of(op)
    return TRUE if mask is None else walk.condition(mask)


def _places(walk: Walk, op: Op, value: Value) -> tuple[Pointer, Condition]:
    """Return the pointers and the mask of a load or store of a value, also of a block's."""
    from kvtrace.symbolic.meanings.tt_blocks import block_access, checked_axes

    pointer = walk.formula(op.operand("pointer"))
    if not isinstance(pointer, BlockPointer):
        return walk.pointer(op.operand("pointer")), _mask(walk, op)
    size = pointee_bytes(op.operand("pointer").type)
    return block_access(pointer, shape_of(value.type), size, checked_axes(op))


def loaded(
    walk: Walk,
    op: Op,
    value: Value,
    accesses: Sequence[Access],
    mask: Condition,
    fill: Formula | None,
) -> Formula | None:
    """Return the formula of loaded values: the content of memory where the mask holds, else `fill`.

    Without `fill`, masked lanes are unknown; floats have no formula. The symbol of a content has
    the key (op index, argument, *calls), and its only coordinate is the byte offset, so that a load
    from the same address gives the same symbol.
    """
    if is_pointer(value.type):
        return unknown_pointer(FROM_MEMORY, shape_of(value.type))
    bits = integer_bits(value.type)
    if bits is None:
        return None
    term: Term | None = None
    for access in accesses:
        if access.argument is None:
            return walk.unknown_formula(value, op, f"loaded through {access.unknown}")
        key = walk.key(op, access.argument)
        content = Symbol("content", key, *signed_range(bits), (access.offset,)).term
        term = content if term is None else choice(access.mask, content, term)
    if term is None:
        return walk.unknown_formula(value, op, "loaded from nowhere")
    if mask is not TRUE:
        term = choice(mask, term, _filled(walk, op, value, fill))
    return as_truth(term) if bits == 1 else term


def _filled(walk: Walk, op: Op, value: Value, fill: Formula | None) -> Term:
    if fill is None:
        fill = walk.unknown_formula(value, op, "a masked lane that nothing fills")
    if isinstance(fill, Condition):
        return as_number(fill)
    assert isinstance(fill, Term)
    return fill


@meaning("tt.store", "tt.atomic_store")
def store(walk: Walk, op: Op) -> None:
    """Record a store, also through a block pointer."""
    value = op.operand("value")
    pointer, mask = _places(walk, op, value)
    walk.record_accesses(
        op, "store", pointer, mask, bytes_in_memory(value.type), shape_of(value.type), value=value
    )


@meaning("tt.atomic_load", "tt.atomic_poll")
def atomic_load(walk: Walk, op: Op) -> None:
    """Record a load of memory that other programs may write; the result is unknown."""
    result = op.results[0]
    in_memory = op.operand("expected") if KINDS[op.name].has("expected") else result
    walk.record_accesses(
        op,
        "load",
        walk.pointer(op.operand("pointer")),
        _mask(walk, op),
        bytes_in_memory(in_memory.type),
        shape_of(in_memory.type),
        value=None if in_memory is not result else result,
    )
    walk.set_unknown(result, op, "what an atomic read found", always_new=True)


@meaning("tt.atomic_rmw", "tt.atomic_cas")
def atomic(walk: Walk, op: Op) -> None:
    """Record an atomic update with its operator; its result is unknown."""
    value = op.results[0]
    swaps = op.name == "tt.atomic_cas"
    walk.record_accesses(
        op,
        "atomic",
        walk.pointer(op.operand("pointer")),
        _mask(walk, op),
        bytes_in_memory(value.type),
        shape_of(value.type),
        value=value,
        operator="cas" if swaps else OPERATORS.get(number_of(op, "atomic_rmw_op"), ""),
    )
    walk.set_unknown(value, op, "what an atomic update found", always_new=True)
