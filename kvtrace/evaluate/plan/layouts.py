"""Layouts of arrays: the order of their axes in memory.

A matrix product over many programs is one product of tall matrices if the axes of the result are in
the order (shared program axes, left operand's, rows, right operand's, columns). If short rows are
reduced afterwards, NumPy is faster with (shared, right operand's, columns, left operand's, rows):
it then combines whole rows of memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvtrace.evaluate.plan.instructions import Dot, Instruction, Loop, Map, Reduce
from kvtrace.evaluate.plan.values import Register

Layout = tuple[int, ...]
"""Logical axis per axis of memory, slowest first."""


@dataclass(frozen=True)
class Folding:
    """The program axes of a product, by the operands that vary along them."""

    shared: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    neither: tuple[int, ...]


def folding(left: Register, right: Register) -> Folding:
    """Return the program axes of a product by the operands that vary along them."""
    pairs = list(enumerate(zip(left.axes, right.axes, strict=True)))
    return Folding(
        tuple(axis for axis, flags in pairs if all(flags)),
        tuple(axis for axis, flags in pairs if flags == (True, False)),
        tuple(axis for axis, flags in pairs if flags == (False, True)),
        tuple(axis for axis, flags in pairs if not any(flags)),
    )


def identity(register: Register) -> Layout:
    """Return the layout of a register with all axes in order."""
    return tuple(range(len(register.axes) + len(register.lanes)))


class Layouts:
    """The layouts of all registers of a list of instructions."""

    def __init__(self, instructions: list[Instruction]) -> None:
        self._layouts: dict[Register, Layout] = {}
        self.transposed = _reduces_rows(instructions)
        self._assign(instructions)

    def of(self, register: Register) -> Layout:
        """Return a register's layout; all axes in order if no product decided it."""
        return self._layouts.get(register) or identity(register)

    def of_product(self, dot: Dot) -> Layout:
        """Return the layout in which a product's result is written."""
        left, right = dot.sources()[:2]
        fold, count = folding(left, right), len(left.axes)
        rank = len(left.lanes)
        batch = tuple(range(count, count + rank - 2))
        rows, columns = count + rank - 2, count + rank - 1
        if self.transposed:
            return (
                *fold.shared, *fold.neither, *batch, *fold.right, columns, *fold.left, rows,
            )  # fmt: skip
        return (*fold.shared, *fold.neither, *batch, *fold.left, rows, *fold.right, columns)

    def _assign(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, Dot) and instruction.target is not None:
                self._layouts[instruction.target] = self.of_product(instruction)
            elif isinstance(instruction, Map):
                self._inherit(instruction)
            elif isinstance(instruction, Loop):
                self._assign_loop(instruction)

    def _inherit(self, instruction: Map) -> None:
        target = instruction.target
        assert target is not None
        for source in instruction.sources():
            if source in self._layouts and _same_shape(source, target):
                self._layouts[target] = self._layouts[source]
                return

    def _assign_loop(self, loop: Loop) -> None:
        """Assign to carried registers the layouts of the body's outcomes, in two passes."""
        for _ in range(2):
            self._assign(loop.body)
            for carried, outcome, result in zip(
                loop.carried, loop.outcomes, loop.results, strict=True
            ):
                if outcome in self._layouts and _same_shape(outcome, carried):
                    self._layouts[carried] = self._layouts[result] = self._layouts[outcome]


def _same_shape(left: Register, right: Register) -> bool:
    return left.axes == right.axes and left.lanes == right.lanes


def _reduces_rows(instructions: list[Instruction]) -> bool:
    """Return whether a list or loop has a product and a reduction of the last of two axes."""
    products = any(isinstance(i, Dot) for i in instructions)
    reductions = any(
        isinstance(i, Reduce) and i.axis == 1 and len(i.sources()[0].lanes) == 2
        for i in instructions
    )
    if products and reductions:
        return True
    return any(_reduces_rows(i.body) for i in instructions if isinstance(i, Loop))
