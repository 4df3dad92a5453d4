"""Stores that need no order though their addresses have no formula: the value follows from them.

Two programs that store to one element have the same index there, however it was computed. So they
store the same value if it comes from constants, parameters, the index itself, and loads with the
same index from tensors that the launch does not write. Indices of 64 bits may differ by 2^64 bytes:
then elements as large, or 2 or 4 times as large, are the same, but the indices are not.

Example: `tl.store(y + p, tl.load(x + p) * 2)`, where a loop over loaded group sizes gives `p`.
"""

from __future__ import annotations

from kvtrace.ir import Op, Value
from kvtrace.ir.flow import constant_of, value_before
from kvtrace.ir.ops import KINDS, SPREADING
from kvtrace.ir.types import integer_bits, is_block_pointer, pointee_bytes, shape_of
from kvtrace.symbolic.meanings.tt_shape import lanes_of
from kvtrace.symbolic.prover import Given
from kvtrace.symbolic.prover.digits import Common, Side
from kvtrace.symbolic.terms import ZERO
from kvtrace.symbolic.trees.formulas import Coordinates
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.same_values import EqualitySearch, source_key
from kvtrace.verdicts.conflicts.sharers import Sharer

Part = tuple[int, Coordinates]
"""A summand of an index: the id of a value, and its lanes."""


def store_same_value_at_same_index(bound: BoundCall, left: Sharer, right: Sharer) -> bool:
    """Return whether programs that store to the same element store the same value there.

    Both accesses are of one op, or of two that store one value which does not depend on the index.
    """
    ops = left.access.op, right.access.op
    if source_key(ops[0]) is None or source_key(ops[0]) != source_key(ops[1]):
        return False
    if left.access.element_bytes != right.access.element_bytes:
        return False
    pointers = [op.operand("pointer") for op in ops if KINDS[op.name].has("pointer")]
    if len(pointers) < 2 or any(is_block_pointer(pointer.type) for pointer in pointers):
        return False
    search = _IndexSearch(bound)
    (base, index), (other_base, _) = (search.place(p, lanes_of(shape_of(p.type))) for p in pointers)
    if base is not other_base or base.id not in search.parameters:
        return False
    search.index = index if ops[0] is ops[1] else ()
    if search.is_wide and not all(
        a.unknown is None and bound.is_ideal(a) for a in (left.access, right.access)
    ):
        search.far_bytes = left.access.element_bytes
    value = ops[0].operand("value")
    return search.conditions(value, lanes_of(shape_of(value.type))) == []


def _part(value: Value, lanes: Coordinates) -> Part:
    extents = shape_of(value.type)
    return value.id, tuple(term for term, extent in zip(lanes, extents, strict=True) if extent > 1)


def _before_spreading(source: Value, lanes: Coordinates) -> Coordinates:
    """Return the indices of a value that is repeated to elements at `lanes`."""
    extents = shape_of(source.type)
    if len(extents) != len(lanes):
        return (ZERO,) * len(extents)
    return tuple(ZERO if n == 1 else index for n, index in zip(extents, lanes, strict=True))


class _IndexSearch(EqualitySearch):
    """A search for equal values where the sum of the parts of an `index` is equal on both sides."""

    def __init__(self, bound: BoundCall) -> None:
        nowhere = Side(ZERO, 1, Given((), bound.ranges))
        super().__init__(bound, Common(nowhere, nowhere), in_one_program=False)
        self.index: tuple[Part, ...] = ()
        self.is_wide = False  #: a part has 64 bits
        self.far_bytes: int | None = None  #: of an element, if indices of one element may differ

    def place(self, pointer: Value, lanes: Coordinates) -> tuple[Value, tuple[Part, ...]]:
        """Return the value that pointers are made of, and the numbers added to it, in elements.

        Constants and parameters are left out.
        """
        parts: list[Part] = []
        while True:
            source = value_before(pointer, SPREADING)
            if source is not pointer:
                pointer, lanes = source, _before_spreading(source, lanes)
            op = pointer.owner
            row = KINDS.get(op.name) if isinstance(op, Op) else None
            if not isinstance(op, Op) or row is None or not row.has("offset"):
                return pointer, tuple(sorted(parts, key=lambda part: part[0]))
            offset = value_before(op.operand("offset"), SPREADING)
            if offset.id not in self.parameters and constant_of(offset) is None:
                parts.append(_part(offset, _before_spreading(offset, lanes)))
                self.is_wide = self.is_wide or integer_bits(offset.type) == 64
            pointer = op.operand("pointer")

    def is_known(self, value: Value, lanes: Coordinates) -> bool:
        """Return whether a value is a parameter, the index, or a parameter's element at it."""
        if super().is_known(value, lanes):
            return True
        if self._enclosing_loops:
            return False  # it may be of another trip
        if self.index == (_part(value, lanes),):
            return self.far_bytes is None
        base, index = self.place(value, lanes)
        is_same_place = bool(index) and index == self.index and base.id in self.parameters
        return is_same_place and not (self.far_bytes and pointee_bytes(base.type) % self.far_bytes)

    def _access_of(self, op: Op) -> None:
        """Return None, as no formula tells an index: pointers are followed."""
