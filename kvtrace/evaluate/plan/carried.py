"""Shapes of the registers that a loop carries: the program axes and lanes along which they vary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvtrace.evaluate.plan.instructions import (
    Dot,
    Instruction,
    Load,
    Map,
    Ramp,
    Reduce,
    Store,
    View,
)
from kvtrace.evaluate.plan.values import Constant, Register, Tensor
from kvtrace.evaluate.plan.walk import Walk


class Shape(NamedTuple):
    """The program axes along which a register varies, as flags, and its extents over lanes."""

    axes: tuple[bool, ...]
    lanes: tuple[int, ...]


def shape_of(walk: Walk, value: Constant | Tensor) -> Shape:
    """Return the shape of a value's register."""
    if isinstance(value, Tensor):
        return Shape(value.register.axes, value.register.lanes)
    return Shape((False,) * len(walk.axes), (1,) * len(value.shape))


def full_shape(walk: Walk, value: Constant | Tensor) -> Shape:
    """Return the shape of a register that varies over all axes."""
    return Shape((True,) * len(walk.axes), value.shape)


def joined(shape: Shape, other: Shape | Register) -> Shape:
    """Return the shape of a register that varies wherever either of two shapes does."""
    return Shape(
        tuple([a or b for a, b in zip(shape.axes, other.axes, strict=True)]),
        tuple([max(a, b) for a, b in zip(shape.lanes, other.lanes, strict=True)]),
    )


def lead_to_shapes(
    body: Sequence[Instruction],
    carried: Sequence[Register],
    outcomes: Sequence[Register],
    starts: Sequence[Shape],
    tried: Sequence[Shape],
) -> bool:
    """Return whether carried registers that begin with `starts` come to vary as in `tried`.

    `body` was planned with the tried shapes. False also if a kind of instruction does not prove it.
    """
    least_shapes: dict[Register, Shape] = dict(zip(carried, starts, strict=True))
    for instruction in body:
        if isinstance(instruction, Store):
            continue
        if type(instruction) not in _PLAIN and not isinstance(instruction, Dot):
            return False
        sources = instruction.sources()
        target = instruction.target
        if target is None:
            return False
        if not any(source in least_shapes for source in sources):
            continue  # it does not depend on carried registers
        shapes = [least_shapes.get(s) or Shape(s.axes, s.lanes) for s in sources]
        least_shapes[target] = _least_shape(instruction, target, shapes)
    return all(
        joined(start, least_shapes.get(outcome, outcome)) == shape
        for start, outcome, shape in zip(starts, outcomes, tried, strict=True)
    )


_PLAIN = frozenset({Load, Map, Ramp, Reduce, View})


def _least_shape(instruction: Instruction, target: Register, shapes: Sequence[Shape]) -> Shape:
    joined_shape, *further_shapes = shapes
    if isinstance(instruction, View):
        count = len(joined_shape.axes)
        moved = instruction.axes[count:]
        return Shape(
            joined_shape.axes,
            tuple([1 if axis is None else joined_shape.lanes[axis - count] for axis in moved]),
        )
    if isinstance(instruction, Reduce):
        axis = instruction.axis
        return Shape(joined_shape.axes, joined_shape.lanes[:axis] + joined_shape.lanes[axis + 1 :])
    if isinstance(instruction, Dot):
        axes = tuple([any(flags) for flags in zip(*[shape.axes for shape in shapes], strict=True)])
        return Shape(axes, target.lanes)
    for other in further_shapes:
        joined_shape = joined(joined_shape, other)
    return joined_shape
