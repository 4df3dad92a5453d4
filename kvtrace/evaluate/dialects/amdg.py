"""`amdg`: copies by the tensor data mover of AMD GPUs (gfx1250).

A descriptor has a position and a predicate; a wait counts copies in both directions, of which each
is a group here. A copy arrives at its barrier, if any, once for each warp.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from kvtrace.evaluate import sums
from kvtrace.evaluate.compiler import Compiler, slot_of, slots_of
from kvtrace.evaluate.dialects.tt_descriptor import (
    INDEX,
    copy_step,
    descriptor_of,
    rows_of,
    store_step,
)
from kvtrace.evaluate.dialects.tt_memory import moved
from kvtrace.evaluate.dialects.ttg import wait
from kvtrace.evaluate.dialects.ttng_partitions import arrival
from kvtrace.evaluate.registry import Step, semantics
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import (
    Descriptor,
    Unknown,
    constant_sum,
    full_array,
    unknown_of,
)
from kvtrace.ir import Op
from kvtrace.ir.flow import warps_of

_TILES = "tiles"


@semantics("amdg.update_tensor_descriptor")
def update_tensor_descriptor(op: Op, _compiler: Compiler) -> Step:
    """Return the step that moves a descriptor, and sets its extents or predicate."""
    source, result = op.operand("descriptor").id, op.results[0].id
    steps, sizes = slots_of(op.group("step")), slots_of(op.group("size"))
    predicate, clamps = slot_of(op, "predicate"), "clamp_bounds" in op.attributes
    size = value_type(op.operand("descriptor").type).element.bytes

    def step(values: list[Any], _scope: Scope) -> None:
        before = descriptor_of(values[source])
        base, extents = before.base, tuple(values[slot] for slot in sizes) or before.shape
        moves = [values[slot] for slot in steps]
        unknown = unknown_of((*moves, *before.strides, *extents))
        if unknown is None:
            for move, stride in zip(moves, before.strides, strict=False):
                base = moved(base, sums.multiply(move, stride, INDEX), size)
            if clamps:
                extents = tuple(
                    sums.larger(sums.subtract(extent, move, INDEX), constant_sum(0), INDEX)
                    for extent, move in zip(extents, moves, strict=True)
                )
        else:
            base = moved(base, unknown, size)
        flag = before.predicate if predicate is None else values[predicate]
        values[result] = Descriptor(base, extents, before.strides, before.padding_nan, flag)

    return step


@semantics("amdg.async_tdm_copy_global_to_local")
def async_tdm_copy_global_to_local(op: Op, compiler: Compiler) -> Step:
    """Return the step that begins the copy of a block to shared memory."""
    block = value_type(op.operand("descriptor").type)
    return _load_step(op, compiler, block, slots_of(op.group("index")))


@semantics("amdg.async_tdm_gather")
def async_tdm_gather(op: Op, compiler: Compiler) -> Step:
    """Return the step that begins the copy of rows, by their indices, to shared memory."""
    return _load_step(op, compiler, *rows_of(op, op.operand("shared")))


def _load_step(op: Op, compiler: Compiler, block: ValueType, positions: Sequence[int]) -> Step:
    begin, end = copy_step(op, compiler.kernel, block, positions, _TILES), _end_step(op)

    def step(values: list[Any], scope: Scope) -> None:
        begin(values, scope)
        scope.launch.shared.commit(scope, _TILES)
        end(values, scope)

    return step


def _end_step(op: Op) -> Step:
    """Return the step by which a copy that ends arrives at its barrier, if it has one."""
    if not op.group("barrier"):
        return lambda _values, _scope: None
    return arrival(op, warps_of(op), kind=_TILES)


@semantics("amdg.async_tdm_copy_local_to_global")
def async_tdm_copy_local_to_global(op: Op, compiler: Compiler) -> Step:
    """Return the step that stores a block at once; lanes outside the extents are dropped."""
    block = value_type(op.operand("descriptor").type)
    return _store_step(op, compiler, block, slots_of(op.group("index")))


@semantics("amdg.async_tdm_scatter")
def async_tdm_scatter(op: Op, compiler: Compiler) -> Step:
    """Return the step that stores rows by their indices at once."""
    return _store_step(op, compiler, *rows_of(op, op.operand("value")))


def _store_step(op: Op, compiler: Compiler, block: ValueType, positions: Sequence[int]) -> Step:
    store, end = store_step(op, block, positions, compiler.module, _TILES), _end_step(op)

    def step(values: list[Any], scope: Scope) -> None:
        store(values, scope)
        end(values, scope)

    return step


semantics("amdg.async_tdm_wait")(partial(wait, kind=_TILES))


@semantics("amdg.local_load_packed_tranposed", "amdg.local_load_packed_transposed")
def local_load_packed_transposed(op: Op, _compiler: Compiler) -> Step:
    """Return the step that loads pairs of 4-bit floats along one axis as pairs along the other."""
    type_, result = value_type(op.operand("shared").type), op.results[0].id
    after, slot = value_type(op.results[0].type).shape, op.operand("shared").id
    (across,) = (axis for axis, extent in enumerate(type_.shape, 1) if after[axis - 1] > extent)
    (along,) = (axis for axis, extent in enumerate(type_.shape, 1) if after[axis - 1] < extent)

    def step(values: list[Any], scope: Scope) -> None:
        value = scope.launch.shared.read(op, values[slot])
        if not isinstance(value, Unknown):
            pairs = full_array(value, type_)
            ones = np.stack((pairs & 15, pairs >> 4 & 15), across + 1).reshape(
                (-1, *(2 * n if axis == across else n for axis, n in enumerate(type_.shape, 1)))
            )
            low, high = np.moveaxis(ones, along, 0)[::2], np.moveaxis(ones, along, 0)[1::2]
            value = np.moveaxis(low | high << 4, 0, along)
        values[result] = value

    return step
