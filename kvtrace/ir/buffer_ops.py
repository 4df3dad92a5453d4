"""AMD's accesses by a buffer, written as accesses by pointers, which every pass knows.

`amdg.buffer_load %base[%offsets]` becomes `tt.splat %base`, `tt.addptr` with the offsets, and
`tt.load`. A device drops accesses of offsets below 0, or from 2 GiB on; as accesses by pointers,
those outside of their tensor are defects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.ir.model import Op, Value
from kvtrace.ir.types import PointerType, TensorType, Type

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
    kind = TensorType(offsets.type.shape, base.type, offsets.type.encoding)
    splat = _new_op(op, "tt.splat", (base,), kind, values)
    address = _new_op(op, "tt.addptr", (splat.results[0], offsets), kind, values + 1)
    before = [splat, address]
    position = op.block.ops.index(op)
    op.block.ops = (*op.block.ops[:position], *before, *op.block.ops[position:])
    op.name = access
    op.operands = (address.results[0], *(operands[name] for name in kept if name in operands))
    present = (1, *(int(name in operands) for name in kept))
    segments = DenseArrayAttribute(segments.element, present)
    op.attributes = {**op.attributes, "operandSegmentSizes": segments}
    return before


def _new_op(near: Op, name: str, operands: tuple[Value, ...], kind: Type, number: int) -> Op:
    op = Op(near.index, name, near.block, near.location)
    op.operands = operands
    op.results = (Value(number, f"%buffer{number}", kind, op, 0),)
    return op
