"""State of the code while it is written: lines, names, and cells.

Arrays that hold intermediate results are *cells*: made once for a size of chunk, handed in, and
used again as soon as what they held is not needed any more. Everything else is a view. Numbers that
depend on the call (offsets, strides, extents) go by names: other sizes have the same text then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kvtrace.evaluate.plan.code.cells import Cell
from kvtrace.evaluate.plan.instructions import Instruction, Load, Operand, defined
from kvtrace.evaluate.plan.layouts import Layouts
from kvtrace.evaluate.plan.liveness import shares_memory
from kvtrace.evaluate.plan.values import Register


@dataclass(eq=False)
class Writer:
    """What has been written so far, and what each register is called.

    `axes` are the symbols of the program axes; `offsets` gives, for each tensor argument, where its
    data pointer lies in its storage. `roots` says whose memory a register shares; `unsteady` are
    those that may lie in a storage that the kernel writes to. With `torch`, what PyTorch is faster
    at is left to it (see torch_kernels.py).
    """

    axes: tuple[int, ...]
    offsets: dict[int, int]
    layouts: Layouts
    torch: bool
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
    unsteady: set[Register] = field(default_factory=set)

    def constant(self, value: Any, prefix: str = "k") -> str:
        """Name an object that the code refers to."""
        name = self._constants.get(id(value))
        if name is None:
            name = self._constants[id(value)] = f"{prefix}{len(self.globals)}"
            self.globals[name] = value
        return name

    def number(self, value: int | tuple[int, ...]) -> str:
        """Name a number that depends on the call, so that the text is that of other calls too."""
        name = f"i{len(self.globals)}"
        self.globals[name] = value
        return name

    def numbers(self, values: Sequence[int]) -> list[str]:
        """Name numbers that depend on the call; 0 and 1 stay, as code may be another for them."""
        return [str(value) if 0 <= value <= 1 else self.number(value) for value in values]

    def operand(self, operand: Operand) -> str:
        """Name a register or a constant."""
        if isinstance(operand, Register):
            return self.names[operand]
        return self.constant(operand)

    def cell_of(self, register: Register) -> Cell:
        """Say which kind of cell holds a register."""
        found = self._kinds.get(register)
        if found is None:
            layout = self.layouts.of(register)
            found = Cell(register.axes, register.lanes, register.dtype, layout)
            self._kinds[register] = found
        return found

    def take(self, cell: Cell) -> str:
        """Return a free cell of a kind."""
        free = self.free.setdefault(cell, [])
        if free:
            return free.pop()
        self.cells.append(cell)
        return f"v{len(self.cells) - 1}"

    def into_cell(self, register: Register, name: str | None = None) -> str:
        """Put a register into a cell, a free one unless it is named."""
        name = name or self.take(self.cell_of(register))
        self.names[register] = name
        self.roots[register] = frozenset({register})
        return name

    def as_view(self, register: Register, sources: Sequence[Register]) -> str:
        """Name a register that may share the memory of others."""
        name = f"r{register.number}"
        self.names[register] = name
        if len(sources) == 1:
            self.roots[register] = self.roots[sources[0]]
        else:
            self.roots[register] = frozenset().union(*[self.roots[source] for source in sources])
        if not self.unsteady.isdisjoint(sources):
            self.unsteady.add(register)
        return name

    def as_new(self, register: Register, sources: Sequence[Register]) -> str:
        """Name a register that a function makes, perhaps from the memory of others."""
        self.made.append(self.cell_of(register))
        return self.as_view(register, sources)

    def release(self, register: Register) -> None:
        """Let the cell of a register be used again."""
        self.free.setdefault(self.cell_of(register), []).append(self.names[register])

    def write(self, depth: int, text: str) -> None:
        """Add a line."""
        self.lines.append(" " * depth + text)

    def roots_ahead(self, instructions: list[Instruction]) -> dict[Register, frozenset[Register]]:
        """Work out, before writing, whose memory each register will share."""
        roots = dict(self.roots)
        nothing: frozenset[Register] = frozenset()
        for instruction in instructions:
            # What is written to later is copied when read, so it may be a cell.
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
    """Write a comma-separated list that also makes a tuple of one."""
    text = ", ".join(map(str, items))
    return text + "," if len(items) == 1 else text


def target_of(instruction: Instruction) -> Register:
    """Return the register that an instruction defines."""
    assert instruction.target is not None
    return instruction.target
