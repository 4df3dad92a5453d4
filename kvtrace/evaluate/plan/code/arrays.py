"""Code of instructions that reuse no operand's cell: views, reductions, padding, ramps, calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kvtrace.evaluate.plan import array_functions, torch_kernels
from kvtrace.evaluate.plan.code.memory import write_atomic, write_store
from kvtrace.evaluate.plan.code.writer import Writer, listed, target_of
from kvtrace.evaluate.plan.instructions import (
    Atomic,
    Call,
    Crop,
    Instruction,
    Pad,
    Parameter,
    Ramp,
    Reduce,
    Reshape,
    Store,
    View,
)


def write_other(writer: Writer, instruction: Instruction, depth: int) -> None:
    """Write a line for an instruction that reuses no operand's cell."""
    _WRITERS[type(instruction)](writer, instruction, depth)


def _call(writer: Writer, call: Call, depth: int) -> None:
    sources = call.sources()
    names = [writer.as_new(target, sources) for target in call.targets]
    function = writer.constant(call.function, "f")
    arguments = listed([writer.names[source] for source in sources])
    writer.write(depth, f"{listed(names)} = {function}({arguments})")


def _crop(writer: Writer, crop: Crop, depth: int) -> None:
    source = crop.sources()[0]
    name = writer.as_view(target_of(crop), [source])
    writer.write(depth, f"{name} = {writer.names[source]}[{_box(writer, crop.box)}]")


def _parameter(writer: Writer, parameter: Parameter, depth: int) -> None:
    name = writer.as_view(target_of(parameter), [])
    ones = listed((1,) * len(writer.axes))
    writer.write(depth, f"{name} = numbers[{parameter.argument}].reshape({ones})")


def _view(writer: Writer, view: View, depth: int) -> None:
    source = view.sources()[0]
    name = writer.as_view(target_of(view), [source])
    rank = len(writer.axes) + len(source.lanes)
    source_axes = [axis for axis in view.axes if axis is not None]
    text = writer.names[source]
    dropped = [axis for axis in range(rank) if axis not in source_axes]
    if dropped:
        index = ["0" if axis in dropped else ":" for axis in range(rank)]
        text += f"[{', '.join(index)}]"
    order = [sorted(source_axes).index(axis) for axis in source_axes]
    if order != sorted(order):
        text += f".transpose({listed(order)})"
    if None in view.axes:
        text += f"[{', '.join('None' if axis is None else ':' for axis in view.axes)}]"
    writer.write(depth, f"{name} = {text}")


def _reduce(writer: Writer, reduce: Reduce, depth: int) -> None:
    source = reduce.sources()[0]
    reduction = torch_kernels.reduction if writer.torch else array_functions.reduction
    function = writer.constant(reduction(reduce.function, reduce.working), "f")
    dtype = writer.constant(reduce.working, "d")
    name = writer.into_cell(target_of(reduce))
    axis = len(writer.axes) + reduce.axis
    writer.write(depth, f"{function}({writer.names[source]}, {axis}, {dtype}, {name})")


def _pad(writer: Writer, pad: Pad, depth: int) -> None:
    """Write the lanes inside a box and the fill around it; without a box, a broadcast."""
    inside, outside = pad.operands
    name = writer.into_cell(target_of(pad))
    if any(cut is not None for cut in pad.box):
        writer.write(depth, f"copyto({name}, {writer.operand(outside)})")
        name = f"{name}[{_box(writer, pad.box)}]"
    writer.write(depth, f"copyto({name}, {writer.operand(inside)})")


def _box(writer: Writer, box: Sequence[tuple[int, int] | None]) -> str:
    cuts = [":"] * len(writer.axes)
    cuts += [":" if cut is None else ":".join(writer.numbers(cut)) for cut in box]
    return ", ".join(cuts)


def _ramp(writer: Writer, ramp: Ramp, depth: int) -> None:
    name = writer.as_new(target_of(ramp), [])
    register = target_of(ramp)
    coefficients = dict(ramp.form.outer)
    terms = []
    for axis, symbol in enumerate(writer.axes):
        coefficient = coefficients.pop(symbol, 0)
        if coefficient:
            terms.append(f"({axis}, s{axis}, n{axis}, {writer.number(coefficient)})")
    start = ramp.form.constant
    for axis, number in enumerate(ramp.form.lanes):
        extent = register.lanes[axis]
        if extent > 1:
            term = (len(writer.axes) + axis, ramp.starts[axis], extent, number)
            terms.append(writer.number(term))
        else:
            start += number * ramp.starts[axis]
    trips = [f"t{symbol}*{writer.number(number)}" for symbol, number in coefficients.items()]
    base = "+".join([writer.number(start), *trips])
    rank = len(writer.axes) + len(register.lanes)
    if ramp.condition:
        function = writer.constant(array_functions.ramp_condition, "f")
        writer.write(depth, f"{name} = {function}({base}, ({listed(terms)}), {rank})")
        return
    function, dtype = (
        writer.constant(array_functions.ramp, "f"),
        writer.constant(register.dtype, "d"),
    )
    writer.write(depth, f"{name} = {function}({base}, ({listed(terms)}), {rank}, {dtype})")


def _reshape(writer: Writer, reshape: Reshape, depth: int) -> None:
    source, target = reshape.sources()[0], target_of(reshape)
    name = writer.as_view(target, [source])
    shape = [f"n{axis}" if flag else "1" for axis, flag in enumerate(target.axes)]
    shape += writer.numbers(target.lanes)
    writer.write(depth, f"{name} = {writer.names[source]}.reshape({listed(shape)})")


_WRITERS: dict[type[Instruction], Callable[[Writer, Any, int], None]] = {
    Atomic: write_atomic,
    Call: _call,
    Crop: _crop,
    Pad: _pad,
    Parameter: _parameter,
    Ramp: _ramp,
    Reduce: _reduce,
    Reshape: _reshape,
    Store: write_store,
    View: _view,
}
