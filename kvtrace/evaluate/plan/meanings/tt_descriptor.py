"""Planning of tensor descriptors: pointers and masks of their blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import slots_of
from kvtrace.evaluate.errors import Unplannable
from kvtrace.evaluate.plan.accesses import load, mask_of, store
from kvtrace.evaluate.plan.affine import (
    Affine,
    plus,
    shifted,
    times,
)
from kvtrace.evaluate.plan.comparisons import simplified_condition
from kvtrace.evaluate.plan.masks import ResolvedMask
from kvtrace.evaluate.plan.meanings import PlanStep, planned
from kvtrace.evaluate.plan.steps import PlanCompiler, rearranged, unit_axes
from kvtrace.evaluate.plan.values import (
    Constant,
    Descriptor,
    Integer,
    Pointer,
)
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.ir import Op
from kvtrace.ir.model import attribute
from kvtrace.ir.tensor_maps import elements_stored_at_once


@planned("tt.make_tensor_descriptor")
def make_tensor_descriptor(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a descriptor of a base pointer, affine extents and strides."""
    base_slot, sizes = op.operand("pointer").id, slots_of(op.group("size"))
    strides = slots_of(op.group("stride"))
    padding_nan = attribute(op, "padding", 1) in (2, "nan")
    result = op.results[0].id

    def step(walk: Walk) -> None:
        base = walk.values[base_slot]
        extents = tuple(walk.values[slot] for slot in sizes)
        steps = tuple(walk.values[slot] for slot in strides)
        if not isinstance(base, Pointer) or not all(
            isinstance(x, Integer) for x in (*extents, *steps)
        ):
            raise Unplannable("the base, extents or strides of a descriptor are not affine")
        walk.values[result] = Descriptor(base, extents, steps, padding_nan)

    return step


def _block_access(
    walk: Walk, value: Any, positions: list[Any], block: ValueType, chunk: int = 1
) -> tuple[Pointer, ResolvedMask]:
    """Return pointer and mask of a block at `positions`, in chunks along the inner axis."""
    if not isinstance(value, Descriptor) or not all(isinstance(x, Integer) for x in positions):
        raise Unplannable("the position of a descriptor's block is not affine")
    form = value.base.form
    forms: tuple[Affine, ...] = ()
    rank = len(block.shape)
    for axis, position in enumerate(positions):
        unit = tuple(int(other_axis == axis) for other_axis in range(rank))
        lanes = plus(position.form, Affine(0, (), unit if block.shape[axis] > 1 else ()))
        stride = walk.constant_of(value.strides[axis])
        if stride is None:
            raise Unplannable("a descriptor's stride varies")
        extent = value.extents[axis].form
        if chunk > 1 and axis == rank - 1:
            extent = _whole_chunks(walk, value.extents[axis], chunk)
        forms += (shifted(plus(extent, lanes, -1), -1), lanes)
        form = plus(form, times(lanes, stride * block.element.bytes))
    mask = simplified_condition(walk, forms, block.shape)
    return Pointer(value.base.argument, form, block.shape), mask_of(walk, mask)


def _whole_chunks(walk: Walk, extent: Any, chunk: int) -> Affine:
    """Return an extent rounded up to a multiple of `chunk` elements."""
    elements = walk.constant_of(extent)
    if elements is None:
        raise Unplannable("a descriptor's inner extent varies")
    return Affine(-(-elements // chunk) * chunk, (), ())


@planned("tt.descriptor_load")
def descriptor_load(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a load of a block, padded outside the extents."""
    block, target = value_type(op.operand("descriptor").type), value_type(op.results[0].type)
    source, positions = op.operand("descriptor").id, slots_of(op.group("index"))
    result = op.results[0].id

    def step(walk: Walk) -> None:
        values = walk.values
        descriptor = values[source]
        pointer, mask = _block_access(walk, descriptor, [values[slot] for slot in positions], block)
        fill = None
        if descriptor.padding_nan and block.element.kind == "f":
            fill = Constant(block.element.value.type(np.nan), block.shape)
        loaded = load(walk, op, pointer, mask, fill, block)
        values[result] = _without_units(walk, loaded, block.shape, target.shape)

    return step


@planned("tt.descriptor_store")
def descriptor_store(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan a store of a block; elements outside the extents are dropped."""
    size = value_type(op.operand("descriptor").type).element.bytes
    chunk = elements_stored_at_once(compiler.module, size)
    block, data = value_type(op.operand("descriptor").type), value_type(op.operand("value").type)
    target, source = op.operand("descriptor").id, op.operand("value").id
    positions = slots_of(op.group("index"))

    def step(walk: Walk) -> None:
        values = walk.values
        indices = [values[slot] for slot in positions]
        pointer, mask = _block_access(walk, values[target], indices, block, chunk)
        value = _without_units(walk, values[source], data.shape, block.shape)
        store(walk, op, pointer, mask, value, block)

    return step


def _without_units(walk: Walk, value: Any, source: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """Return a value whose shape differs from the target only by axes of extent 1, reshaped."""
    axes = None if source == shape else unit_axes(source, shape)
    return value if axes is None else rearranged(walk, value, axes, shape)
