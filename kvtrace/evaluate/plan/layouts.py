"""In which order the axes of an array lie in memory.

A matrix product over many programs is one product of tall matrices if its result lies as
(shared program axes, left ones, rows, right ones, columns). Where rows are reduced afterwards, and
are short, NumPy is faster at (shared, right ones, columns, left ones, rows): it then combines whole
rows of memory with one another.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvtrace.evaluate.plan.instructions import Dot, Instruction, Loop, Map, Reduce
from kvtrace.evaluate.plan.values import Register

Layout = tuple[int, ...]
"""Logical axis per axis of memory, slowest first."""


@dataclass(frozen=True)
class Folding:
    """How the program axes take part in a product: `shared` by both operands, or in one only."""

    shared: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    neither: tuple[int, ...]


def folding(left: Register, right: Register) -> Folding:
    """Sort the program axes by the operands that vary over them."""
    pairs = list(enumerate(zip(left.axes, right.axes, strict=True)))
    return Folding(
        tuple(axis for axis, flags in pairs if all(flags)),
        tuple(axis for axis, flags in pairs if flags == (True, False)),
        tuple(axis for axis, flags in pairs if flags == (False, True)),
        tuple(axis for axis, flags in pairs if not any(flags)),
    )


def identity(register: Register) -> Layout:
    """Axes in order."""
    return tuple(range(len(register.axes) + len(register.lanes)))


class Layouts:
    """The layouts of all registers of a list of instructions.

    `reduces_rows_slowly`: whether it is worth it to avoid reductions along memory, over short rows.
    """

    def __init__(self, instructions: list[Instruction], *, reduces_rows_slowly: bool) -> None:
        self._found: dict[Register, Layout] = {}
        self.transposed = reduces_rows_slowly and _reduces_rows(instructions)
        self._settle(instructions)

    def of(self, register: Register) -> Layout:
        """Return a register's layout."""
        return self._found.get(register) or identity(register)

    def of_product(self, dot: Dot) -> Layout:
        """Return the layout in which a product comes."""
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

    def _settle(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, Dot) and instruction.target is not None:
                self._found[instruction.target] = self.of_product(instruction)
            elif isinstance(instruction, Map):
                self._inherit(instruction)
            elif isinstance(instruction, Loop):
                self._settle_loop(instruction)

    def _inherit(self, instruction: Map) -> None:
        target = instruction.target
        assert target is not None
        for source in instruction.sources():
            if source in self._found and _alike(source, target):
                self._found[target] = self._found[source]
                return

    def _settle_loop(self, loop: Loop) -> None:
        """Carried registers lie as what the body makes of them; that may take two looks."""
        for _ in range(2):
            self._settle(loop.body)
            for carried, outcome, result in zip(
                loop.carried, loop.outcomes, loop.results, strict=True
            ):
                if outcome in self._found and _alike(outcome, carried):
                    self._found[carried] = self._found[result] = self._found[outcome]


def _alike(first: Register, second: Register) -> bool:
    return first.axes == second.axes and first.lanes == second.lanes


def _reduces_rows(instructions: list[Instruction]) -> bool:
    """Whether some loop or list has a product and a reduction along the last of two axes."""
    products = any(isinstance(i, Dot) for i in instructions)
    reductions = any(
        isinstance(i, Reduce) and i.axis == 1 and len(i.sources()[0].lanes) == 2
        for i in instructions
    )
    if products and reductions:
        return True
    return any(_reduces_rows(i.body) for i in instructions if isinstance(i, Loop))
