"""Planning of ops that move elements; of affine values only the lane axes change."""

from __future__ import annotations

from typing import Any

from kvtrace.evaluate.plan.affine import Affine
from kvtrace.evaluate.plan.signals import Unplannable
from kvtrace.evaluate.plan.values import Condition, Constant, Integer, Pointer, Tensor
from kvtrace.evaluate.plan.walk import Walk

Axes = tuple[int | None, ...]
"""Source lane axis of each result axis; None: a new axis, of extent 1 (or repeated)."""


def _moved_form(form: Affine, axes: Axes) -> Affine:
    if not form.lanes:
        return form
    lanes = tuple([0 if axis is None else form.lanes[axis] for axis in axes])
    return Affine(form.constant, form.outer, lanes if any(lanes) else ())


def rearranged(walk: Walk, value: Any, axes: Axes, shape: tuple[int, ...]) -> Any:
    """Return a value with its lane axes moved as `axes` says; the result has `shape`."""
    if isinstance(value, Integer):
        return Integer(_moved_form(value.form, axes), shape, value.bits)
    if isinstance(value, Pointer):
        return Pointer(value.argument, _moved_form(value.form, axes), shape)
    if isinstance(value, Condition):
        return Condition(tuple(_moved_form(form, axes) for form in value.forms), shape)
    if isinstance(value, Constant):
        return Constant(value.value, shape)
    if isinstance(value, Tensor):
        return _moved_tensor(walk, value, axes, shape)
    raise Unplannable(f"the axes of a {type(value).__name__} value are rearranged")


def _moved_tensor(walk: Walk, value: Tensor, axes: Axes, shape: tuple[int, ...]) -> Tensor:
    register = value.register
    if axes != tuple(range(len(register.lanes))):
        register = walk.view(register, axes)
    box = value.box
    if box is not None:
        box = tuple(None if axis is None else box[axis] for axis in axes)
    fill = value.fill
    if fill is not None:
        fill = rearranged(walk, fill, axes, shape)
    return Tensor(register, shape, box, fill)


def unit_axes(source: tuple[int, ...], shape: tuple[int, ...]) -> Axes | None:
    """Return the source axis of each axis if shapes differ by extents of 1 only, else None."""
    long_axes = [axis for axis, extent in enumerate(source) if extent != 1]
    if [source[axis] for axis in long_axes] != [extent for extent in shape if extent != 1]:
        return None
    remaining = iter(long_axes)
    return tuple(None if extent == 1 else next(remaining) for extent in shape)
