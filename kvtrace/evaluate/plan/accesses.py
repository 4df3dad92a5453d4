"""Planning of memory accesses: records, and instructions for loads, stores and atomic updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.evaluate.errors import LeavesTensor, Unplannable
from kvtrace.evaluate.observe import AccessKind
from kvtrace.evaluate.plan.affine import (
    Affine,
    multiples,
    over,
    shifted,
)
from kvtrace.evaluate.plan.array_functions import (
    ROUND_AND_NARROW,
    ROUND_TO_BF16,
    narrowing,
    selection,
    widening,
)
from kvtrace.evaluate.plan.instructions import Atomic, Load, Map, Operand, Operation, Store
from kvtrace.evaluate.plan.masks import ALL, NOTHING, ResolvedMask, resolved
from kvtrace.evaluate.plan.records import AccessRecord
from kvtrace.evaluate.plan.values import (
    Condition,
    Constant,
    Integer,
    Pointer,
    Register,
    Tensor,
)
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.evaluate.types import ElementType, ValueType
from kvtrace.ir import Op


def mask_of(walk: Walk, mask: Any) -> ResolvedMask:
    """Return a memory op's mask (a planned value or None), resolved; Unplannable otherwise."""
    if mask is None:
        return ALL
    if isinstance(mask, Constant):
        return ALL if mask.value else NOTHING
    if isinstance(mask, Condition):
        return resolved(walk, mask)
    raise Unplannable("a mask is no conjunction of affine comparisons, or depends on data")


def record(
    walk: Walk, op: Op, kind: AccessKind, pointer: Pointer, mask: ResolvedMask, element: ElementType
) -> None:
    """Append an access to `walk.accesses`; LeavesTensor if it may leave its tensor."""
    trips = tuple((symbol, walk.domain.ranges[symbol]) for symbol in walk.nest)
    lanes = None if mask.nothing else mask.lanes(pointer.shape)
    low, high = (0, 0) if lanes is None else walk.domain.extremes(pointer.form, lanes)
    walk.accesses.append(
        AccessRecord(
            op, kind, pointer.argument, pointer.form, pointer.shape, lanes, mask.conditions,
            element.bytes, walk.region, trips, (low, high),
        )
    )  # fmt: skip
    if lanes is None:
        return
    tensor = walk.arguments[pointer.argument]
    assert isinstance(tensor, TensorArgument)
    first, last = tensor.storage_bytes
    view_first, view_last = tensor.view_bytes
    if low < max(first, view_first) or high + element.bytes > min(last, view_last):
        raise LeavesTensor(f"a {kind} leaves {tensor.name}, or its mask is not a box of lanes")


def load(walk: Walk, op: Op, pointer: Any, mask: ResolvedMask, other: Any, type_: ValueType) -> Any:
    """Emit a load and return its value; masked-off lanes have `other`, or zero if None."""
    if not isinstance(pointer, Pointer):
        raise Unplannable("a pointer does not come from an argument")
    element = type_.element
    record(walk, op, "load", pointer, mask, element)
    zero: Any = Constant(element.value.type(0), type_.shape)
    if element.kind == "i":
        zero = Integer(Affine(0), type_.shape, element.bits)
    outside = zero if other is None else other
    if mask.nothing:
        return outside
    form, extents = _active_block(walk, pointer, mask)
    register = walk.register(walk.axes_of(form), walk.lanes_of(form, extents), element.memory)
    wide = widening(element)
    written = pointer.argument in walk.written
    walk.emit(Load(register, (), pointer.argument, form, register.dtype, written))
    if wide is not None:
        register = walk.map(wide, (register,))
    value = Tensor(register, type_.shape)
    if mask.box is not None:
        value = _with_fill_outside(walk, value, mask, outside)
    if mask.conditions:
        value = walk.elementwise(  # type: ignore[assignment]
            selection(element.value),
            (Condition(mask.conditions, type_.shape), value, outside),
            type_.shape,
        )
    return value


def _with_fill_outside(walk: Walk, value: Tensor, mask: ResolvedMask, outside: Any) -> Tensor:
    """Return loaded lanes inside the mask's box, with the value `outside` elsewhere."""
    assert mask.box is not None
    fill = walk.constant_or_tensor(outside)
    if isinstance(fill, Constant):
        return Tensor(value.register, value.shape, mask.box, fill)
    fill = walk.padded(fill)
    varies = any(
        cut is not None and n != 1 for cut, n in zip(mask.box, fill.register.lanes, strict=True)
    )
    if not varies:
        return Tensor(value.register, value.shape, mask.box, fill)
    zero = Constant(value.register.dtype.type(0), value.shape)
    full = walk.padded(Tensor(value.register, value.shape, mask.box, zero))
    inside = _box_conditions(mask, value.shape)
    selected = walk.elementwise(selection(value.register.dtype), (inside, full, fill), value.shape)
    assert isinstance(selected, Tensor)
    return selected


def _box_conditions(mask: ResolvedMask, shape: tuple[int, ...]) -> Condition:
    forms = []
    for axis, cut in enumerate(mask.box or ()):
        if cut is None:
            continue
        unit = tuple(int(position == axis) for position in range(len(shape)))
        forms.append(Affine(-cut[0], (), unit))
        forms.append(Affine(cut[1] - 1, (), tuple(-coefficient for coefficient in unit)))
    return Condition(tuple(forms), shape)


def store(
    walk: Walk, op: Op, pointer: Any, mask: ResolvedMask, value: Any, type_: ValueType
) -> None:
    """Emit a store of `value` to the active lanes of a mask."""
    if not isinstance(pointer, Pointer):
        raise Unplannable("a pointer does not come from an argument")
    element = type_.element
    record(walk, op, "store", pointer, mask, element)
    if mask.nothing:
        return
    source = _stored(walk, value, mask, element)
    operands: tuple[Operand, ...] = (source,)
    if mask.conditions:
        operands = (source, walk.conditions(mask.conditions, mask.lanes(type_.shape)))
    form, extents = _active_block(walk, pointer, mask)
    if walk.runs:
        _refuse_overlap(walk, form, extents, element.bytes, op)
    if walk.runs and len(operands) > 1:
        _refuse_repeats(walk, form, extents, operands)
    walk.emit(Store(None, operands, pointer.argument, form, extents, element.memory))


def _active_block(
    walk: Walk, pointer: Pointer, mask: ResolvedMask
) -> tuple[Affine, tuple[int, ...]]:
    """Return the address of a mask's first active lane, and its lane counts per axis."""
    lanes = mask.lanes(pointer.shape)
    form = walk.domain.folded(pointer.form)
    start = sum(
        coefficient * first for coefficient, (first, _) in zip(form.lanes, lanes, strict=False)
    )
    return shifted(form, start), tuple([last - first + 1 for first, last in lanes])


def _stored(walk: Walk, value: Any, mask: ResolvedMask, element: ElementType) -> Operand:
    """Return the elements to store for a mask's active lanes, in memory's dtype."""
    source = walk.constant_or_tensor(value)
    narrow = narrowing(element)
    if isinstance(source, Constant):
        if narrow is None:
            return source.value
        narrowed_number: np.generic = narrow.function(np.full(1, source.value))[0]
        return narrowed_number
    if mask.box is None:
        source = walk.padded(source)
    elif source.box != mask.box:
        source = walk.cropped(source, mask.box)
    return source.register if narrow is None else _narrowed(walk, source.register, narrow)


def _narrowed(walk: Walk, source: Register, narrow: Operation) -> Register:
    """Emit the conversion of a register to memory's dtype, merged with a rounding before it."""
    latest = walk.instructions[-1] if walk.instructions else None
    if isinstance(latest, Map) and latest.operation is ROUND_TO_BF16 and latest.target is source:
        return walk.map(ROUND_AND_NARROW, latest.operands)
    return walk.map(narrow, (source,))


def _refuse_overlap(walk: Walk, form: Affine, extents: tuple[int, ...], size: int, op: Op) -> None:
    """Raise Unplannable if two programs or lanes may write to one address.

    An axis that does not change the address is allowed: the last value stays.
    """
    steps = [
        (abs(step), walk.domain.extent(symbol))
        for symbol, step in form.outer
        if symbol not in walk.nest
    ]
    steps += [
        (abs(step), extent)
        for step, extent in zip(form.lanes, extents, strict=False)
        if step and extent > 1
    ]
    reach = size
    for step, extent in sorted(steps):
        if step < reach:
            raise Unplannable(f"lanes or programs of a {op.name} may write to the same address")
        reach = step * (extent - 1) + reach


def _refuse_repeats(
    walk: Walk, form: Affine, extents: tuple[int, ...], operands: tuple[Operand, ...]
) -> None:
    """Raise Unplannable if the value or mask varies along axes that the address does not."""
    axes, lanes = walk.axes_of(form), walk.lanes_of(form, extents)
    for operand in operands:
        if not isinstance(operand, Register):
            continue
        wider = any(a and not b for a, b in zip(operand.axes, axes, strict=True))
        if wider or any(a > b for a, b in zip(operand.lanes, lanes, strict=True)):
            raise Unplannable("a mask chooses between values for the same address")


def atomic(
    walk: Walk,
    op: Op,
    pointer: Any,
    mask: ResolvedMask,
    value: Any,
    type_: ValueType,
    update: Callable[..., Any],
) -> None:
    """Emit an atomic update of a mask's active lanes by `update(memory, index, values)`."""
    if not isinstance(pointer, Pointer):
        raise Unplannable("a pointer does not come from an argument")
    element = type_.element
    record(walk, op, "atomic", pointer, mask, element)
    if mask.nothing:
        return
    tensor = walk.arguments[pointer.argument]
    assert isinstance(tensor, TensorArgument)
    offsets = shifted(walk.domain.folded(pointer.form), tensor.offset_bytes)
    multiple_terms, other_terms = multiples(offsets, element.bytes)
    if other_terms.outer or other_terms.lanes or other_terms.constant % element.bytes:
        raise Unplannable("an atomic update goes to an address that is not aligned")
    lanes = mask.lanes(type_.shape)
    form = over(shifted(multiple_terms, other_terms.constant), element.bytes)
    operands = [
        _stored(walk, value, mask, element),
        walk.ramp(form, lanes, np.dtype(np.int64), condition=False),
    ]
    if mask.conditions:
        operands.append(walk.conditions(mask.conditions, lanes))
    extents = tuple(last - first + 1 for first, last in lanes)
    walk.emit(
        Atomic(None, tuple(operands), pointer.argument, form, extents, element.memory, update)
    )
