"""The array instructions of a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kvtrace.evaluate.plan.affine import Affine, Interval
from kvtrace.evaluate.plan.values import Box, Register
from kvtrace.evaluate.types import ElementType

if TYPE_CHECKING:
    from kvtrace.evaluate.plan.staircase import Staircase

Operand = Register | np.generic


@dataclass(frozen=True, eq=False)
class Operation:
    """An elementwise function of arrays that broadcast.

    `into(*operands, out)` stores the result in `out`, which may be the operand at a position in
    `in_place`. Without `into`, `function(*operands)` returns a new array, or an operand.
    """

    name: str
    function: Callable[..., Any]
    into: Callable[..., Any] | None
    in_place: frozenset[int]
    dtype: np.dtype[Any]


@dataclass(slots=True, eq=False)
class Instruction:
    """Base class: the register that an instruction defines, and the operands that it reads."""

    target: Register | None
    operands: tuple[Operand, ...]
    _sources: list[Register] = field(init=False)
    _defined: tuple[Register, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._sources = [operand for operand in self.operands if type(operand) is Register]
        self._defined = () if self.target is None else (self.target,)

    def sources(self) -> list[Register]:
        """Return the registers that the instruction reads; the list must not be changed."""
        return self._sources


@dataclass(slots=True, eq=False)
class Load(Instruction):
    """A load of elements, in memory's dtype, at the byte offsets `form` from an argument's pointer.

    `written`: the kernel writes to the storage, so the elements may change later.
    """

    argument: int
    form: Affine
    dtype: np.dtype[Any]
    written: bool


@dataclass(slots=True, eq=False)
class Store(Instruction):
    """A store of operand 0, as memory's dtype, to `lanes` per axis; operand 1 may be a mask."""

    argument: int
    form: Affine
    lanes: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(slots=True, eq=False)
class Atomic(Store):
    """An update of memory with operand 0 by `update(memory, index, values)`, lane after lane.

    Operand 1 is the index of each element in the storage, operand 2, if any, is a mask.
    """

    update: Callable[..., Any]


@dataclass(slots=True, eq=False)
class Map(Instruction):
    """An elementwise operation on the operands."""

    operation: Operation


@dataclass(slots=True, eq=False)
class Ramp(Instruction):
    """The integers of an affine form; with `condition`, Booleans: whether they are >= 0.

    `starts` has the first lane of each axis.
    """

    form: Affine
    starts: tuple[int, ...]
    condition: bool


@dataclass(slots=True, eq=False)
class Parameter(Instruction):
    """A float argument, which is passed when the code runs."""

    argument: int
    element: ElementType


@dataclass(slots=True, eq=False)
class View(Instruction):
    """Operand 0 with its axes rearranged.

    `axes` has the source axis for each axis, None for a new one of extent 1. Source axes that are
    left out have extent 1.
    """

    axes: tuple[int | None, ...]


@dataclass(slots=True, eq=False)
class Crop(Instruction):
    """The part of operand 0 whose lanes lie inside a box."""

    box: Box


@dataclass(slots=True, eq=False)
class Pad(Instruction):
    """Operand 0 inside a box, operand 1 outside; with no box, operand 0 spread over all lanes."""

    box: Box


@dataclass(slots=True, eq=False)
class Reshape(Instruction):
    """Operand 0 with its lanes in another shape, in row-major order."""


@dataclass(slots=True, eq=False)
class Reduce(Instruction):
    """A reduction along a lane axis by a ufunc, in `working` precision."""

    function: Any
    axis: int
    working: np.dtype[Any]


@dataclass(slots=True, eq=False)
class Dot(Instruction):
    """Matrix product of operands 0 and 1 on the last two axes, plus operand 2 if there is one."""


@dataclass(slots=True, eq=False)
class Call(Instruction):
    """A function of whole arrays (program axes, lanes) that returns the arrays of `targets`."""

    function: Callable[..., tuple[Any, ...]]
    targets: tuple[Register, ...]

    def __post_init__(self) -> None:
        self._sources = [operand for operand in self.operands if type(operand) is Register]
        self._defined = self.targets


@dataclass(slots=True, eq=False)
class Loop(Instruction):
    """A loop around a body. `operands` are the initial carried registers, `results` the final ones.

    `carried` are the registers in the body; `outcomes` become `carried` in the next trip. With
    `stairs`, only some of the programs run each trip.
    """

    symbol: int
    trips: Interval
    carried: tuple[Register, ...]
    outcomes: tuple[Register, ...]
    results: tuple[Register, ...]
    body: list[Instruction] = field(default_factory=list)
    stairs: Staircase | None = None
    _reads: list[Register] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._sources = [operand for operand in self.operands if type(operand) is Register]
        self._defined = self.results

    def with_body(self, body: list[Instruction]) -> Loop:
        """Return a copy of the loop with another body."""
        return Loop(
            None, self.operands, self.symbol, self.trips, self.carried, self.outcomes,
            self.results, body, self.stairs,
        )  # fmt: skip

    def reads(self) -> list[Register]:
        """Return the registers that the loop and its body read but do not define."""
        registers = self._reads
        if registers is None:
            registers = self._reads = list(self._sources)
            inside: set[Register] = set(self.carried)
            for inner in self.body:
                registers += [register for register in read_by(inner) if register not in inside]
                inside.update(defined(inner))
            registers += [register for register in self.outcomes if register not in inside]
        return registers


def read_by(instruction: Instruction) -> list[Register]:
    """Return the registers that an instruction and a loop's body read but do not define."""
    return instruction.reads() if isinstance(instruction, Loop) else instruction.sources()


def defined(instruction: Instruction) -> tuple[Register, ...]:
    """Return the registers that an instruction defines for later ones."""
    return instruction._defined
