"""Code of a list of instructions, in order; cells are freed after their last use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kvtrace.evaluate.plan import array_functions
from kvtrace.evaluate.plan.array_functions import ROUND_AND_NARROW
from kvtrace.evaluate.plan.code.cells import Cell
from kvtrace.evaluate.plan.code.loops import write_loop
from kvtrace.evaluate.plan.code.writer import (
    Writer,
    is_overwritten,
    last_reads,
    listed,
    target_of,
    target_of_store,
    write_atomic,
    write_load,
    write_store,
)
from kvtrace.evaluate.plan.instructions import (
    Atomic,
    Call,
    Crop,
    Dot,
    Instruction,
    Load,
    Loop,
    Map,
    Pad,
    Parameter,
    Ramp,
    Reduce,
    Reshape,
    Store,
    View,
    defined,
    read_by,
)
from kvtrace.evaluate.plan.layouts import Layout, folding, identity
from kvtrace.evaluate.plan.optimize import use_counts
from kvtrace.evaluate.plan.values import Register


def write_block(
    writer: Writer,
    instructions: list[Instruction],
    depth: int,
    live_after: frozenset[Register],
    owned: Sequence[Register] = (),
) -> None:
    """Write lines for instructions in order, and free cells after their last use.

    `live_after`: roots that are read after these instructions; `owned`: earlier cells that may be
    reused when they are not needed any more.
    """
    last_read = last_reads(instructions, writer.roots_ahead(instructions))
    reusable = set(owned)
    roots = writer.roots
    uses = use_counts(instructions) if any(type(i) is Store for i in instructions) else {}
    fused_store: Instruction | None = None
    for position, instruction in enumerate(instructions):
        if instruction is fused_store:
            continue
        dying = {
            root
            for source in read_by(instruction)
            for root in roots.get(source, ())
            if root in reusable and last_read.get(root) == position and root not in live_after
        }
        reused: frozenset[Register] = frozenset()
        if isinstance(instruction, Map):
            store = instructions[position + 1] if position + 1 < len(instructions) else None
            if instruction.target not in live_after and is_fused(writer, instruction, store, uses):
                assert isinstance(store, Store)
                write_stored(writer, instruction, store, depth)
                fused_store = store
            else:
                reused = write_map(writer, instruction, depth, dying)
        elif isinstance(instruction, Loop):
            reused = write_loop(writer, instruction, depth, dying, live_after, write_block)
        elif isinstance(instruction, Load):
            write_load(writer, instruction, depth, is_overwritten(instructions, position))
        elif isinstance(instruction, Dot):
            reused = write_product(writer, instruction, depth, dying)
        else:
            write_other(writer, instruction, depth)
        for root in dying - reused:
            writer.release(root)
        for register in defined(instruction):
            own_roots = roots.get(register, ())
            if len(own_roots) == 1 and register in own_roots:
                reusable.add(register)
                if register not in last_read and register not in live_after:
                    writer.release(register)
                    reusable.discard(register)


# -- matrix products -------------------------------------------------------------------------------


def write_product(
    writer: Writer, dot: Dot, depth: int, dying: set[Register]
) -> frozenset[Register]:
    """Write a product plus its addend; return the addend (if any) whose cell it reuses."""
    register = dot.target
    assert register is not None
    left, right = dot.sources()[:2]
    addend = dot.sources()[2] if len(dot.operands) > 2 else None
    cell = writer.cell_of(register)
    axes = tuple(a or b for a, b in zip(left.axes, right.axes, strict=True))
    product = Cell(axes, register.lanes, register.dtype, writer.layouts.of_product(dot))
    if addend is None or (addend not in dying and product == cell):
        name = writer.into_cell(register)
        _multiply(writer, dot, name, product.layout, depth)
        if addend is not None:
            _add(writer, writer.names[addend], name, name, depth)
        return frozenset()
    reuses_addend = addend in dying and writer.cell_of(addend) == cell
    name = writer.into_cell(register, writer.names[addend] if reuses_addend else None)
    scratch = writer.take(product)
    _multiply(writer, dot, scratch, product.layout, depth)
    _add(writer, writer.names[addend], scratch, name, depth)
    writer.free[product].append(scratch)
    return frozenset({addend}) if reuses_addend else frozenset()


def _add(writer: Writer, first: str, second: str, out: str, depth: int) -> None:
    writer.write(depth, f"{writer.constant(np.add, 'f')}({first}, {second}, {out})")


def _multiply(writer: Writer, dot: Dot, out: str, layout: Layout, depth: int) -> None:
    """Write a product, as one of tall matrices, into `out`."""
    left, right = dot.sources()[:2]
    fold, count = folding(left, right), len(writer.axes)
    rank = len(left.lanes)
    batch = tuple(range(count, count + rank - 2))
    row, column = count + rank - 2, count + rank - 1
    shared = (*fold.shared, *fold.neither, *batch)
    stack = [f"n{axis}" for axis in fold.shared] + writer.numbers(left.lanes[:-2])
    sizes = ["*".join(stack)] if stack else []
    rows = "*".join([*(f"n{axis}" for axis in fold.left), *writer.numbers(left.lanes[-2:-1])])
    columns = "*".join([*(f"n{axis}" for axis in fold.right), *writer.numbers(right.lanes[-1:])])
    (inner,) = writer.numbers(left.lanes[-1:])
    if writer.layouts.transposed:
        left_order = (*shared, *fold.right, column, *fold.left, row)
        right_order = (*shared, *fold.left, *fold.right, column, row)
        left_code = _as_matrices(writer, right, right_order, [*sizes, columns, inner])
        right_code = _as_matrices(writer, left, left_order, [*sizes, inner, rows])
        shape = [*sizes, columns, rows]
    else:
        left_order = (*shared, *fold.right, *fold.left, row, column)
        right_order = (*shared, *fold.left, row, *fold.right, column)
        left_code = _as_matrices(writer, left, left_order, [*sizes, rows, inner])
        right_code = _as_matrices(writer, right, right_order, [*sizes, inner, columns])
        shape = [*sizes, rows, columns]
    if layout != tuple(range(len(layout))):
        out += f".transpose({listed(layout)})"
    function = writer.constant(np.matmul, "f")
    writer.write(depth, f"{function}({left_code}, {right_code}, {out}.reshape({listed(shape)}))")


def _as_matrices(writer: Writer, register: Register, order: Layout, shape: list[str]) -> str:
    """Return the code of a register transposed and reshaped to a stack of matrices."""
    name = writer.names[register]
    if order != identity(register):
        name += f".transpose({listed(order)})"
    return f"{name}.reshape({listed(shape)})"


# -- elementwise operations ------------------------------------------------------------------------


def is_fused(
    writer: Writer, instruction: Map, store: Instruction | None, uses: dict[Register, int]
) -> bool:
    """Return whether a result can go straight to the memory of `store`, its only use."""
    register = instruction.target
    assert register is not None
    if type(store) is not Store or store.operands[0] is not register:
        return False
    operation = instruction.operation
    if uses[register] != 1 or len(store.operands) > 1 or register.dtype != store.dtype:
        return False
    if not isinstance(operation.into, np.ufunc) and operation is not ROUND_AND_NARROW:
        return False
    _, axes, lanes = target_of_store(writer, store)
    return axes == register.axes and lanes == register.lanes


def write_stored(writer: Writer, instruction: Map, store: Store, depth: int) -> None:
    """Write an operation whose result goes directly to the memory of a store."""
    function = writer.constant(instruction.operation.into, "f")
    operands = [writer.operand(operand) for operand in instruction.operands]
    writer.write(depth, f"{function}({listed([*operands, target_of_store(writer, store)[0]])})")


def write_map(
    writer: Writer, instruction: Map, depth: int, dying: set[Register]
) -> frozenset[Register]:
    """Write an operation; return the register (if any) whose cell the result reuses."""
    register, operation = instruction.target, instruction.operation
    assert register is not None
    if operation.into is None:
        arrays = [
            operand
            if isinstance(operand, Register)
            else np.full((1,) * (len(writer.axes) + len(register.lanes)), operand)
            for operand in instruction.operands
        ]
        names = [
            writer.names[array] if isinstance(array, Register) else writer.constant(array)
            for array in arrays
        ]
        function = writer.constant(operation.function, "f")
        name = writer.as_new(register, instruction.sources())
        writer.write(depth, f"{name} = {function}({listed(names)})")
        return frozenset()
    operands = [writer.operand(operand) for operand in instruction.operands]
    reused = _reused_operand(writer, instruction, dying)
    name = writer.into_cell(register, None if reused is None else writer.names[reused])
    function = writer.constant(operation.into, "f")
    writer.write(depth, f"{function}({listed([*operands, name])})")
    return frozenset() if reused is None else frozenset({reused})


def _reused_operand(writer: Writer, instruction: Map, dying: set[Register]) -> Register | None:
    """Return an operand whose cell the result can overwrite; None if there is none."""
    register = instruction.target
    assert register is not None
    cell = writer.cell_of(register)
    for position, operand in enumerate(instruction.operands):
        if not isinstance(operand, Register) or operand not in dying:
            continue
        if position not in instruction.operation.in_place or writer.cell_of(operand) != cell:
            continue
        other_sources = [source for source in instruction.sources() if source is not operand]
        if any(operand in writer.roots[source] for source in other_sources):
            continue
        return operand
    return None


# -- views, reductions, padding, ramps, calls ------------------------------------------------------


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
    reduction = array_functions.reduction(reduce.function, reduce.working)
    function = writer.constant(reduction, "f")
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
