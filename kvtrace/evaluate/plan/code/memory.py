"""Code of loads, stores and atomic updates: views of the storages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kvtrace.evaluate.plan import array_functions
from kvtrace.evaluate.plan.affine import Affine
from kvtrace.evaluate.plan.code.writer import Writer, listed
from kvtrace.evaluate.plan.instructions import Atomic, Load, Store
from kvtrace.evaluate.plan.values import Register


def view_of(
    writer: Writer,
    argument: int,
    form: Affine,
    dtype: np.dtype[Any],
    axes: Sequence[bool],
    lanes: Sequence[int],
) -> str:
    """Return the code of a strided view of an argument's storage, over these axes and lanes."""
    writer.buffers.add(argument)
    coefficients = dict(form.outer)
    steps = [coefficients.pop(symbol, 0) for symbol in writer.axes]
    offset = [writer.number(form.constant + writer.offsets[argument])]
    offset += [f"s{axis}*{writer.number(step)}" for axis, step in enumerate(steps) if step]
    offset += [f"t{symbol}*{writer.number(number)}" for symbol, number in coefficients.items()]
    shape = [f"n{axis}" if flag else "1" for axis, flag in enumerate(axes)]
    shape += writer.numbers(lanes)
    strides = (*steps, *(form.lanes or (0,) * len(lanes)))
    return (
        f"nd(({listed(shape)}), {writer.constant(dtype, 'd')}, b{argument}, "
        f"{'+'.join(offset)}, {writer.number(strides)})"
    )


def write_load(writer: Writer, load: Load, depth: int, copied: bool) -> None:
    """Write a load as a view of memory; with `copied`, as a copy of the view in a cell."""
    register = load.target
    assert register is not None
    view = view_of(writer, load.argument, load.form, load.dtype, register.axes, register.lanes)
    if copied:
        writer.write(depth, f"copyto({writer.into_cell(register)}, {view})")
        return
    writer.names[register] = f"r{register.number}"
    writer.roots[register] = frozenset()
    if load.written:
        writer.unsteady.add(register)
    writer.write(depth, f"r{register.number} = {view}")


def target_of_store(writer: Writer, store: Store) -> tuple[str, tuple[bool, ...], tuple[int, ...]]:
    """Return the code of a store's view, its flags of program axes, and its lane extents."""
    named = {symbol for symbol, _ in store.form.outer}
    axes = tuple(symbol in named for symbol in writer.axes)
    steps = store.form.lanes or (0,) * len(store.lanes)
    lanes = tuple(n if step else 1 for n, step in zip(store.lanes, steps, strict=True))
    return view_of(writer, store.argument, store.form, store.dtype, axes, lanes), axes, lanes


def write_store(writer: Writer, store: Store, depth: int) -> None:
    """Write a store; where programs or lanes share an address, the last value is stored."""
    view, axes, lanes = target_of_store(writer, store)
    source = store.operands[0]
    value = writer.operand(source)
    if isinstance(source, Register):
        index = [
            "-1:" if varies and not is_stored else ":"
            for varies, is_stored in zip(
                (*source.axes, *(n > 1 for n in source.lanes)),
                (*axes, *(n > 1 for n in lanes)),
                strict=True,
            )
        ]
        if "-1:" in index:
            value += f"[{', '.join(index)}]"
    mask = f", where={writer.operand(store.operands[1])}" if len(store.operands) > 1 else ""
    casting = "" if isinstance(source, Register) else ", casting='unsafe'"
    writer.write(depth, f"copyto({view}, {value}{casting}{mask})")


def write_atomic(writer: Writer, atomic: Atomic, depth: int) -> None:
    """Write a call that updates a storage at element indices."""
    writer.buffers.add(atomic.argument)
    value, index, *mask = (writer.operand(operand) for operand in atomic.operands)
    shape = [f"n{axis}" for axis in range(len(writer.axes))]
    shape += writer.numbers(atomic.lanes)
    function = writer.constant(array_functions.update_memory, "f")
    update, dtype = writer.constant(atomic.update, "f"), writer.constant(atomic.dtype, "d")
    arguments = (
        f"b{atomic.argument}", dtype, index, value, mask[0] if mask else None,
        f"({listed(shape)})", update,
    )  # fmt: skip
    writer.write(depth, f"{function}({listed(arguments)})")
