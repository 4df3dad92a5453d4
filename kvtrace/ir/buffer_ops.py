"""AMD's accesses by a buffer, written as accesses by pointers, which every pass knows.

`amdg.buffer_load %base[%offsets]` becomes `tt.splat %base`, `tt.addptr` with the offsets, and
`tt.load` under the mask `%offsets < limit`, unsigned: the device drops lanes whose byte offset is
below 0 or from `BUFFER_BYTES` on, and loads 0 for them. Offsets in bytes have 32 bits, so those of
lanes from 4 GiB on wrap around; they count as dropped, too (the rule `buffer-range` names them).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kvtrace.ir.attributes import Attribute, DenseArrayAttribute, DenseAttribute, IntegerAttribute
from kvtrace.ir.model import Op, Value
from kvtrace.ir.types import FloatType, IntegerType, PointerType, TensorType, Type, pointee_bytes

BUFFER_BYTES: Final = (1 << 31) - 2
"""Bytes that Triton lets a buffer have, from its base: `numRecordsByte` is the largest int32 less 1
in its BufferOpsEmitter.cpp, and so in the IR that 3.6 to 3.9 compile for gfx942 to gfx1250."""
IN_BUFFER: Final = "in_buffer"
"""The attribute of an access by a buffer: 1 if its mask is only that offsets are in the buffer."""

#: By op: its operands (`?` marks optional ones), and name and operands of the access by pointers.
FORMS: Final[Mapping[str, tuple[tuple[str, ...], str, tuple[str, ...]]]] = {
    "amdg.buffer_load": (
        ("base", "offsets", "stride?", "mask?", "other?"), "tt.load", ("mask", "other"),
    ),
    "amdg.buffer_store": (
        ("value", "base", "offsets", "stride?", "mask?"), "tt.store", ("value", "mask"),
    ),
    "amdg.buffer_atomic_rmw": (
        ("base", "offsets", "value", "stride?", "mask?"), "tt.atomic_rmw", ("value", "mask"),
    ),
    "amdg.buffer_load_to_local": (
        ("shared", "base", "offsets", "mask?", "other?", "stride?"),
        "ttg.async_copy_global_to_local", ("shared", "mask", "other"),
    ),
}  # fmt: skip


def with_pointers(ops: list[Op], values: int) -> tuple[tuple[Op, ...], int]:
    """Return a module's ops and number of values, with accesses by a buffer rewritten in place.

    `values` is the number of values before.
    """
    if FORMS.keys().isdisjoint(op.name for op in ops):
        return tuple(ops), values
    rewritten: list[Op] = []
    for op in ops:
        before = _addressed(op, values) if op.name in FORMS else []
        values += len(before)
        rewritten += [*before, op]
    for index, op in enumerate(rewritten):
        op.index = index
    return tuple(rewritten), values


def _addressed(op: Op, values: int) -> list[Op]:
    """Make an op access memory by pointers; return the ops before it that compute these."""
    names, access, kept = FORMS[op.name]
    segments = op.attributes.get("operandSegmentSizes")
    if not isinstance(segments, DenseArrayAttribute) or len(segments.values) != len(names):
        return []
    remaining = iter(op.operands)
    sizes = zip(names, segments.values, strict=True)
    operands = {name.rstrip("?"): next(remaining) for name, size in sizes if size}
    base, offsets = operands["base"], operands["offsets"]
    if op.block is None or not isinstance(base.type, PointerType):
        return []
    if not isinstance(offsets.type, TensorType):
        return []
    shape, encoding = offsets.type.shape, offsets.type.encoding
    pointers = TensorType(shape, base.type, encoding)
    lanes = TensorType(shape, IntegerType(1), encoding)
    before: list[Op] = []

    def new(name: str, operands: tuple[Value, ...], kind: Type, **attributes: Attribute) -> Value:
        number = values + len(before)
        before.append(_new_op(op, name, operands, kind, number, attributes))
        return before[-1].results[0]

    splat = new("tt.splat", (base,), pointers)
    address = new("tt.addptr", (splat, offsets), pointers)
    number = DenseAttribute(offsets.type, True, (BUFFER_BYTES // pointee_bytes(base.type),))
    limit = new("arith.constant", (), offsets.type, value=number)
    below = IntegerAttribute(6, IntegerType(64))
    mask = new("arith.cmpi", (offsets, limit), lanes, predicate=below)
    unmasked = "mask" not in operands
    if not unmasked:
        mask = new("arith.andi", (operands["mask"], mask), lanes)
    elif "other" in kept and isinstance(base.type.pointee, IntegerType | FloatType):
        loaded = TensorType(shape, base.type.pointee, encoding)
        zero = DenseAttribute(loaded, True, (0,))
        operands.setdefault("other", new("arith.constant", (), loaded, value=zero))
    operands["mask"] = mask
    position = op.block.ops.index(op)
    op.block.ops = (*op.block.ops[:position], *before, *op.block.ops[position:])
    op.name = access
    op.operands = (address, *(operands[name] for name in kept if name in operands))
    present = (1, *(int(name in operands) for name in kept))
    op.attributes = {
        **op.attributes,
        "operandSegmentSizes": DenseArrayAttribute(segments.element, present),
        IN_BUFFER: IntegerAttribute(unmasked, IntegerType(1)),
    }
    return before


def _new_op(
    near: Op,
    name: str,
    operands: tuple[Value, ...],
    kind: Type,
    number: int,
    attributes: dict[str, Attribute],
) -> Op:
    op = Op(near.index, name, near.block, near.location)
    op.operands, op.attributes = operands, attributes
    op.results = (Value(number, f"%buffer{number}", kind, op, 0),)
    return op
