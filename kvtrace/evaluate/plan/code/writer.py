"""State of the code that is being written: lines, names, and cells.

Arrays of intermediate results are *cells*: created once for a size of chunk, passed to the code,
and reused as soon as their contents are not needed any more. All other arrays are views. Numbers
that depend on the call (offsets, strides, extents) have names, so that other sizes have the same
text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kvtrace.evaluate.plan import array_functions
from kvtrace.evaluate.plan.affine import Affine
from kvtrace.evaluate.plan.code.cells import Cell
from kvtrace.evaluate.plan.instructions import (
    Atomic,
    Call,
    Crop,
    Instruction,
    Load,
    Loop,
    Map,
    Operand,
    Parameter,
    Ramp,
    Reshape,
    Store,
    View,
    defined,
    read_by,
)
from kvtrace.evaluate.plan.layouts import Layouts
from kvtrace.evaluate.plan.values import Register


def shares_memory(instruction: Instruction) -> bool:
    """Return whether an instruction's results may be views of operands or of memory."""
    if isinstance(instruction, Map):
        return instruction.operation.into is None
    return isinstance(instruction, _VIEWS)


_VIEWS = (Load, View, Crop, Reshape, Call, Ramp, Parameter)


def is_overwritten(instructions: list[Instruction], position: int) -> bool:
    """Return whether a store runs between the load at `position` and the last use of its data."""
    load = instructions[position]
    assert isinstance(load, Load)
    assert load.target is not None
    if not load.written:
        return False
    aliases = {load.target}
    last_use = position
    for later, instruction in enumerate(instructions[position + 1 :], position + 1):
        if any(register in aliases for register in read_by(instruction)):
            last_use = later
            if shares_memory(instruction):
                aliases.update(defined(instruction))
    return any(_stores(instruction) for instruction in instructions[position + 1 : last_use])


def _stores(instruction: Instruction) -> bool:
    if isinstance(instruction, Loop):
        return any(_stores(inner) for inner in instruction.body)
    return isinstance(instruction, Store)


def last_reads(
    instructions: list[Instruction], roots: dict[Register, frozenset[Register]]
) -> dict[Register, int]:
    """Return the position of the last read of each register, and of the `roots` it shares."""
    last: dict[Register, int] = {}
    for position, instruction in enumerate(instructions):
        for register in read_by(instruction):
            for root in roots.get(register, ()):
                last[root] = position
            last[register] = position
    return last


@dataclass(eq=False)
class Writer:
    """The lines written so far, and the name of each register.

    `axes` are the symbols of the program axes; `offsets` has each tensor argument's offset in its
    storage. `roots` has the registers whose memory a register shares.
    """

    axes: tuple[int, ...]
    offsets: dict[int, int]
    layouts: Layouts
    lines: list[str] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    free: dict[Cell, list[str]] = field(default_factory=dict)
    names: dict[Register, str] = field(default_factory=dict)
    roots: dict[Register, frozenset[Register]] = field(default_factory=dict)
    globals: dict[str, Any] = field(default_factory=dict)
    _constants: dict[int, str] = field(default_factory=dict)
    _kinds: dict[Register, Cell] = field(default_factory=dict)
    buffers: set[int] = field(default_factory=set)
    made: list[Cell] = field(default_factory=list)

    def constant(self, value: Any, prefix: str = "k") -> str:
        """Return the name of an object that the code refers to, adding it to the globals once."""
        name = self._constants.get(id(value))
        if name is None:
            name = self._constants[id(value)] = f"{prefix}{len(self.globals)}"
            self.globals[name] = value
        return name

    def number(self, value: int | tuple[int, ...]) -> str:
        """Return a new global name for a number (or tuple) that depends on the call."""
        name = f"i{len(self.globals)}"
        self.globals[name] = value
        return name

    def numbers(self, values: Sequence[int]) -> list[str]:
        """Return code for each number: 0 and 1 themselves, new global names for others."""
        return [str(value) if 0 <= value <= 1 else self.number(value) for value in values]

    def operand(self, operand: Operand) -> str:
        """Return the name of a register, or of a constant."""
        if isinstance(operand, Register):
            return self.names[operand]
        return self.constant(operand)

    def cell_of(self, register: Register) -> Cell:
        """Return a description of the cell that a register needs: shape, dtype, layout."""
        cell = self._kinds.get(register)
        if cell is None:
            layout = self.layouts.of(register)
            cell = Cell(register.axes, register.lanes, register.dtype, layout)
            self._kinds[register] = cell
        return cell

    def take(self, cell: Cell) -> str:
        """Return the name of a free cell that fits a description; a new cell if none is free."""
        free = self.free.setdefault(cell, [])
        if free:
            return free.pop()
        self.cells.append(cell)
        return f"v{len(self.cells) - 1}"

    def into_cell(self, register: Register, name: str | None = None) -> str:
        """Assign a register to the cell `name`, or to a free one; return the cell's name."""
        name = name or self.take(self.cell_of(register))
        self.names[register] = name
        self.roots[register] = frozenset({register})
        return name

    def as_view(self, register: Register, sources: Sequence[Register]) -> str:
        """Return a new name for a register that may be a view of `sources`' memory."""
        name = f"r{register.number}"
        self.names[register] = name
        if len(sources) == 1:
            self.roots[register] = self.roots[sources[0]]
        else:
            self.roots[register] = frozenset().union(*[self.roots[source] for source in sources])
        return name

    def as_new(self, register: Register, sources: Sequence[Register]) -> str:
        """Return a new name for a register that a function returns, perhaps as a view."""
        self.made.append(self.cell_of(register))
        return self.as_view(register, sources)

    def release(self, register: Register) -> None:
        """Mark the cell of a register as free."""
        self.free.setdefault(self.cell_of(register), []).append(self.names[register])

    def write(self, depth: int, text: str) -> None:
        """Append a line, indented by `depth`."""
        self.lines.append(" " * depth + text)

    def roots_ahead(self, instructions: list[Instruction]) -> dict[Register, frozenset[Register]]:
        """Return the registers whose memory each register will share; nothing is written."""
        roots = dict(self.roots)
        nothing: frozenset[Register] = frozenset()
        for instruction in instructions:
            # Memory that is written later is copied when loaded, so it may be a cell.
            copied = isinstance(instruction, Load) and instruction.written
            if copied or not shares_memory(instruction):
                for register in defined(instruction):
                    roots[register] = frozenset((register,))
                continue
            sources = instruction.sources()
            if len(sources) == 1:
                shared = roots.get(sources[0], nothing)
            else:
                shared = nothing.union(*[roots.get(source, nothing) for source in sources])
            for register in defined(instruction):
                roots[register] = shared
        return roots


def listed(items: Sequence[Any]) -> str:
    """Return items separated by commas, with a comma at the end of a single item."""
    text = ", ".join(map(str, items))
    return text + "," if len(items) == 1 else text


def target_of(instruction: Instruction) -> Register:
    """Return the register that an instruction defines."""
    assert instruction.target is not None
    return instruction.target


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
